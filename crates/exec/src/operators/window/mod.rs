//! Window: functions over the rows around each row. Sorts by partition and order, then works partition by partition while the
//! result is read. Holds what the sort holds, which goes to disk when memory runs short, and one partition.
//!
//! - [`frames`]: which rows each row's frame has
//! - [`partition_scan`]: the result as a table, computed from sorted rows
//! - [`running`]: aggregates over frames

mod frames;
mod partition_scan;
mod running;

use crate::ExecContext;
use crate::control::QueryControl;
use crate::expression::Program;
use crate::operators::sort::{Keys, Sort};
use crate::pipeline::{Flow, Position, Sink, SinkWorker, concrete};
use chalet_base::Result;
use chalet_columns::keys::{Order, RowKeys, group_keys, sort_keys};
use chalet_columns::{Block, Column, Vector};
use chalet_function_api::Partition;
use chalet_memory::Reservation;
use chalet_plan::{FrameSpec, WindowImpl};
use chalet_storage::Scan;
use chalet_types::DataType;
use frames::Frames;
use std::any::Any;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// The sink of window functions that share partition and order.
#[derive(Clone)]
pub struct Window {
    /// Those inputs that are not columns of the rows already, and how many.
    pub computed: Program,
    pub n_computed: usize,
    /// Partition keys, then order keys, then the arguments of all calls: positions among the columns of the rows, behind which
    /// the computed ones stand.
    pub inputs: Vec<usize>,
    pub n_partition: usize,
    pub orders: Vec<Order>,
    pub order_types: Vec<DataType>,
    pub calls: Vec<Call>,
}

/// One window function.
#[derive(Clone)]
pub struct Call {
    pub function: WindowImpl,
    pub arg_types: Vec<DataType>,
    pub result: DataType,
    pub frame: FrameSpec,
}

impl Window {
    /// The sort that brings partitions together.
    fn sort(&self) -> Sort {
        let ascending = std::iter::repeat_n(Order::ASCENDING, self.n_partition);
        let ordered = self.orders.iter().zip(&self.order_types).map(|(order, ty)| order.of(ty));
        Sort {
            keys: Keys::Columns(self.inputs[..self.n_partition + self.orders.len()].to_vec()),
            orders: ascending.chain(ordered).collect(),
            limit: None,
            top_k_threshold: None,
            rows_in: Arc::default(),
        }
    }
}

impl Sink for Window {
    fn name(&self) -> &'static str {
        "Window"
    }

    fn worker(&self, ctx: &ExecContext) -> Result<Box<dyn SinkWorker>> {
        Ok(Box::new(Worker { computed: self.computed.clone(), sort: self.sort().worker(ctx)? }))
    }

    fn finish(&self, workers: Vec<Box<dyn SinkWorker>>, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let workers = concrete::<Worker>(workers).into_iter().map(|worker| worker.sort).collect();
        let sorted = self.sort().finish(workers, ctx)?;
        partition_scan::open(self.clone(), &*sorted, ctx)
    }
}

/// Sorts the rows together with what is computed from them.
struct Worker {
    computed: Program,
    sort: Box<dyn SinkWorker>,
}

impl SinkWorker for Worker {
    fn push(&mut self, position: Position, block: Block) -> Result<Flow> {
        let computed = self.computed.evaluate(&block)?;
        let n_rows = block.n_rows();
        let mut columns = block.into_columns();
        columns.extend(computed);
        self.sort.push(position, Block::new(columns, n_rows))
    }

    fn end(&mut self) -> Result<()> {
        self.sort.end()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// What is kept of a row beside its columns, at least: its peers, frame and result.
const BYTES_A_ROW: usize = 40;

impl Window {
    /// The results of all calls beside the columns of whole partitions.
    fn compute(&self, block: Block, control: &QueryControl) -> Result<Block> {
        let n_rows = block.n_rows();
        let mut memory = Reservation::new(control.memory.clone());
        memory.grow(n_rows * BYTES_A_ROW * self.calls.len().max(1))?;
        let check = || control.check_with_interrupt();
        let inputs: Vec<Cow<Vector>> = self.inputs.iter().map(|&at| block.column(at).flat()).collect();
        let n_keys = self.n_partition + self.orders.len();
        let columns = |range: Range<usize>| self.inputs[range].iter().map(|&at| block.column(at));
        let partitions =
            runs(&group_keys(&columns(0..self.n_partition).collect::<Vec<_>>(), n_rows), 0..n_rows);
        let ordered: Vec<(&Column, Order)> =
            columns(self.n_partition..n_keys).zip(self.orders.iter().copied()).collect();
        let keys = sort_keys(&ordered, n_rows);
        check()?;

        let mut results: Vec<Vec<Vector>> = vec![Vec::new(); self.calls.len()];
        for partition in partitions {
            check()?;
            let peers = peers(partition.clone(), &keys);
            let cut = |v: &Cow<Vector>| v.slice(partition.start, partition.len());
            let order_values: Vec<Vector> = inputs[self.n_partition..n_keys].iter().map(cut).collect();
            let mut next_arg = n_keys;
            for (call, results) in self.calls.iter().zip(&mut results) {
                let args: Vec<Vector> =
                    inputs[next_arg..next_arg + call.arg_types.len()].iter().map(cut).collect();
                next_arg += call.arg_types.len();
                let frames = Frames {
                    spec: &call.frame,
                    peers: &peers,
                    order: order_values.first().zip(self.orders.first()),
                    order_type: self.order_types.first(),
                    n_rows: partition.len(),
                };
                let frames = frames.compute()?;
                results.push(match &call.function {
                    WindowImpl::Aggregate(aggregate) => {
                        running::aggregate(&**aggregate, &args, &frames, &check)?
                    }
                    WindowImpl::Window(function) => {
                        let partition = Partition {
                            args: &args,
                            peers: &peers,
                            frames: &frames,
                            n_rows: partition.len(),
                        };
                        function.execute(&partition, &call.arg_types, &call.result)?
                    }
                });
            }
        }
        drop(inputs);
        let mut columns = block.into_columns();
        columns.truncate(columns.len() - self.n_computed);
        columns.extend(
            results.iter().map(|parts| Column::Flat(Vector::concat(&parts.iter().collect::<Vec<_>>()))),
        );
        Ok(Block::new(columns, n_rows))
    }
}

/// Consecutive rows with equal keys.
fn runs(keys: &RowKeys, rows: Range<usize>) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let mut start = rows.start;
    for row in rows.start + 1..=rows.end {
        if row == rows.end || keys.get(row) != keys.get(start) {
            runs.push(start..row);
            start = row;
        }
    }
    runs
}

/// Consecutive rows of a partition that are equal under its order, counted from its start.
fn peers(partition: Range<usize>, keys: &RowKeys) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = partition.start;
    for row in partition.start + 1..=partition.end {
        if row == partition.end || keys.get(row) != keys.get(start) {
            found.push(start - partition.start..row - partition.start);
            start = row;
        }
    }
    found
}
