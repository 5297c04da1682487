//! Window: functions over the rows around each row. Sorts by partition and order; whole partitions are computed while the result
//! is read, side by side where the sort holds its rows in memory. Holds what the sort holds, which goes to disk when memory runs
//! short, and the partitions that are computed.
//!
//! - [`bounds`]: where partitions and peers begin and end
//! - [`frames`]: which rows each row's frame has
//! - [`long_partition`]: partitions that are computed part by part
//! - [`neighbours`]: which rows differ from the one before
//! - [`partition_scan`]: the result as a table, computed from sorted rows that come from disk
//! - [`partition_tasks`]: the same of rows in memory, by many workers
//! - [`running`]: aggregates over frames

mod bounds;
mod frames;
mod long_partition;
mod neighbours;
mod partition_scan;
mod partition_tasks;
mod running;

use crate::ExecContext;
use crate::control::QueryControl;
use crate::expression::Program;
use crate::operators::bucket_sort::Buckets;
use crate::operators::sort::{Held, Keys, Sort, held};
use crate::pipeline::{Flow, Position, Sink, SinkWorker, concrete};
use bounds::Bounds;
use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_columns::keys::Order;
use chalet_columns::{Block, Column, Vector};
use chalet_function_api::Partitions;
use chalet_memory::Reservation;
use chalet_plan::{FrameBound, FrameSpec, FrameUnit, WindowImpl};
use chalet_storage::Scan;
use chalet_types::{DataType, Value};
use frames::Frames;
use running::FramedRows;
use std::any::Any;
use std::cell::OnceCell;
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
    /// Bytes of the partition's keys where all have as many, and are equal when the keys are.
    pub partition_bytes: Option<usize>,
    pub orders: Vec<Order>,
    pub order_types: Vec<DataType>,
    pub calls: Vec<Call>,
    /// Positions of columns that nobody reads behind the window, computed ones too.
    pub unread: Vec<usize>,
}

/// One window function.
#[derive(Clone)]
pub struct Call {
    pub function: WindowImpl,
    pub arg_types: Vec<DataType>,
    /// The values of those arguments that are constants.
    pub constants: Vec<Option<Value>>,
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
            offset: 0,
            n_group: match self.range_parts() {
                None => Some(self.n_partition),
                Some(parts) => parts.peers.then_some(self.orders.len()),
            },
            top_k_threshold: None,
            unread: Vec::new(),
            needs_keys: true,
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
        match held(workers, 0..usize::MAX, ctx)? {
            Held::InMemory(rows) => {
                let has_room = ctx.control.memory.exceeded_by(rows.bytes() as u64).is_none();
                let bits = self.partition_bits(&rows.buffer.packing()).filter(|_| has_room);
                let unread = self.unread_of_sorted(bits.is_some());
                events::add(Event::UnreadColumnsLeftOut, unread.len() as u64);
                let buckets = Buckets::new(*rows, &(0..usize::MAX), &unread, ctx)?;
                partition_tasks::open(self.clone(), buckets, bits, ctx)
            }
            Held::OnDisk(sorted) => {
                let places = self.range_parts().map(|_| sorted.clone());
                Ok(partition_scan::open(self.clone(), sorted, places, ctx))
            }
        }
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
    /// Positions of columns that nobody reads of sorted rows, neither behind the window nor within. With `knows_bounds` it is known
    /// where partitions and peers end.
    fn unread_of_sorted(&self, knows_bounds: bool) -> Vec<usize> {
        let (keys, args) = self.inputs.split_at(self.n_partition + self.orders.len());
        let own = match (knows_bounds, self.measures_distances()) {
            (false, _) => keys,
            (true, true) => &keys[self.n_partition..],
            (true, false) => &[],
        };
        let is_read = |at: &usize| own.contains(at) || args.contains(at);
        self.unread.iter().copied().filter(|at| !is_read(at)).collect()
    }

    /// Does a frame reach as far as a distance in the values of ORDER BY?
    fn measures_distances(&self) -> bool {
        let is_distance =
            |bound: &FrameBound| matches!(bound, FrameBound::Preceding(..) | FrameBound::Following(..));
        let measures = |frame: &FrameSpec| {
            frame.unit == FrameUnit::Range && (is_distance(&frame.start) || is_distance(&frame.end))
        };
        self.calls.iter().any(|call| measures(&call.frame))
    }

    /// The results of all calls beside the columns of whole partitions, whose bounds may be known.
    fn compute(&self, block: Block, bounds: Option<Bounds>, control: &QueryControl) -> Result<Block> {
        let n_rows = block.n_rows();
        let mut memory = Reservation::new(control.memory.clone());
        memory.grow(n_rows * BYTES_A_ROW * self.calls.len().max(1))?;
        let check = || control.check_with_interrupt();
        let (keys, args) = self.inputs.split_at(self.n_partition + self.orders.len());
        let order = keys.get(self.n_partition).filter(|_| self.measures_distances());
        let order = order.map(|&at| block.column(at).flat().into_owned());
        let inputs: Vec<Vector> = args.iter().map(|&at| block.column(at).flat().into_owned()).collect();
        let Bounds { partitions, peers } = bounds.unwrap_or_else(|| self.bounds(&block));
        check()?;

        // Where a frame is of rows, no row has peers for the functions that count them.
        let alone: OnceCell<Vec<Range<usize>>> = OnceCell::new();
        // Calls over one window mostly have the same frames.
        let mut framed: Vec<(&FrameSpec, Vec<Range<usize>>)> = Vec::new();
        let mut results = Vec::with_capacity(self.calls.len());
        let mut next_arg = 0;
        for call in &self.calls {
            let args = &inputs[next_arg..next_arg + call.arg_types.len()];
            next_arg += call.arg_types.len();
            let uses_frames = match &call.function {
                WindowImpl::Aggregate(_) => true,
                WindowImpl::Window(function) => function.uses_frames(),
            };
            if uses_frames && framed.iter().all(|(spec, _)| *spec != &call.frame) {
                let frames = Frames {
                    spec: &call.frame,
                    partitions: &partitions,
                    peers: &peers,
                    order: order.as_ref().zip(self.orders.first()),
                    order_type: self.order_types.first(),
                    n_rows,
                };
                framed.push((&call.frame, frames.compute()?));
            }
            let known = framed.iter().find(|(spec, _)| *spec == &call.frame);
            let frames = known.map_or(&[][..], |(_, frames)| frames);
            let result = match &call.function {
                WindowImpl::Aggregate(aggregate) => {
                    let rows = FramedRows { partitions: &partitions, frames, check: &check };
                    rows.aggregate(&**aggregate, args)?
                }
                WindowImpl::Window(function) => {
                    let peers = match call.frame.unit {
                        FrameUnit::Rows => {
                            alone.get_or_init(|| (0..n_rows).map(|row| row..row + 1).collect())
                        }
                        _ => &peers,
                    };
                    let ranges = &partitions;
                    let partitions = Partitions { args, ranges, peers, frames, n_rows, part: None };
                    function.execute(&partitions, &call.arg_types, &call.result)?
                }
            };
            results.push(Column::Flat(result));
            check()?;
        }
        drop((inputs, order));
        Ok(self.beside(block, results))
    }

    /// The results of all calls beside the columns of the rows; what was computed for the calls goes.
    fn beside(&self, rows: Block, results: Vec<Column>) -> Block {
        let n_rows = rows.n_rows();
        let mut columns = rows.into_columns();
        columns.truncate(columns.len() - self.n_computed);
        columns.extend(results);
        Block::new(columns, n_rows)
    }
}
