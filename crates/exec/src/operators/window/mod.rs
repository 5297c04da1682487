//! Window: functions over the rows around each row. Sorts by partition and order, then works partition by partition.
//! Holds all rows.
//!
//! - [`frames`]: which rows each row's frame has
//! - [`running`]: aggregates over frames

mod frames;
mod running;

use crate::ExecContext;
use crate::expression::Program;
use crate::operators::aggregate::split;
use crate::operators::collect::blocks_as_source;
use crate::operators::materialize;
use crate::pipeline::{Sink, SinkWorker};
use chalet_base::Result;
use chalet_columns::keys::{Order, RowKeys, group_keys, sort_keys};
use chalet_columns::{Block, Column, Vector};
use chalet_function_api::Partition;
use chalet_memory::Reservation;
use chalet_plan::{FrameSpec, WindowImpl};
use chalet_storage::Scan;
use chalet_types::DataType;
use frames::Frames;
use std::ops::Range;
use std::sync::Arc;

/// The sink of window functions that share partition and order.
pub struct Window {
    /// Partition keys, then order keys, then the arguments of all calls.
    pub inputs: Program,
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

impl Sink for Window {
    fn name(&self) -> &'static str {
        "Window"
    }

    fn worker(&self, ctx: &ExecContext) -> Result<Box<dyn SinkWorker>> {
        Ok(materialize::worker(ctx))
    }

    fn finish(&self, workers: Vec<Box<dyn SinkWorker>>, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let blocks = materialize::in_order(workers);
        if blocks.is_empty() {
            return Ok(blocks_as_source(Vec::new(), ctx));
        }
        let result = self.compute(Block::concat(&blocks), ctx)?;
        Ok(blocks_as_source(split(result, ctx.settings.max_block_size), ctx))
    }
}

/// What is kept of a row beside its columns, at least: its number, key, peers, frame and result.
const BYTES_A_ROW: usize = 48;

impl Window {
    fn compute(&self, block: Block, ctx: &ExecContext) -> Result<Block> {
        let n_rows = block.n_rows();
        let mut memory = Reservation::new(ctx.control.memory.clone());
        memory.grow(n_rows * BYTES_A_ROW * self.calls.len().max(1))?;
        let check = || ctx.control.check_with_interrupt();
        let inputs = self.inputs.evaluate(&block)?;
        let n_keys = self.n_partition + self.orders.len();
        let orders =
            std::iter::repeat_n(Order::ASCENDING, self.n_partition).chain(self.orders.iter().copied());
        let ordered: Vec<(&Column, Order)> = inputs[..n_keys].iter().zip(orders).collect();
        let keys = sort_keys(&ordered, n_rows);
        let mut rows: Vec<u32> = (0..n_rows as u32).collect();
        rows.sort_by(|&a, &b| keys.get(a as usize).cmp(keys.get(b as usize)));
        check()?;
        let block = block.gather(&rows);
        let inputs: Vec<Vector> = inputs.into_iter().map(|c| c.gather(&rows).into_flat()).collect();
        let partition_keys: Vec<Column> =
            inputs[..self.n_partition].iter().cloned().map(Column::Flat).collect();
        let partitions = runs(&group_keys(&partition_keys.iter().collect::<Vec<_>>(), n_rows), 0..n_rows);
        let sorted = |row: usize| keys.get(rows[row] as usize);

        let mut results: Vec<Vec<Vector>> = vec![Vec::new(); self.calls.len()];
        for partition in partitions {
            check()?;
            let peers = peers(partition.clone(), &sorted);
            let cut = |v: &Vector| v.slice(partition.start, partition.len());
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
        let mut columns = block.into_columns();
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
fn peers<'k>(partition: Range<usize>, sorted: &impl Fn(usize) -> &'k [u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = partition.start;
    for row in partition.start + 1..=partition.end {
        if row == partition.end || sorted(row) != sorted(start) {
            found.push(start - partition.start..row - partition.start);
            start = row;
        }
    }
    found
}
