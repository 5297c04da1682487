//! LimitByFromEnd: LIMIT BY whose numbers count from the end of a value's rows: `LIMIT -2 BY k` keeps the last two of each k, in
//! the input's order. How many rows a value has is known when all are in, so all are kept until then. Stops between blocks.

use super::collect::blocks_as_source;
use crate::ExecContext;
use crate::expression::Program;
use crate::hash_table::{GroupTable, KeyLayout};
use crate::pipeline::{Flow, Position, Sink, SinkWorker, concrete};
use chalet_base::Result;
use chalet_columns::Block;
use chalet_memory::Reservation;
use chalet_plan::FromEnd;
use chalet_storage::Scan;
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

pub struct LimitByFromEnd {
    pub columns: Program,
    /// How the values of these columns are kept.
    pub layout: Arc<KeyLayout>,
    pub limit: u64,
    pub offset: u64,
    pub from_end: FromEnd,
}

impl LimitByFromEnd {
    /// The rows that are kept of a value that has `n`.
    fn kept_of(&self, n: u64) -> Range<u64> {
        self.from_end.rows(Some(self.limit), self.offset, n)
    }
}

impl Sink for LimitByFromEnd {
    fn name(&self) -> &'static str {
        "LimitBy"
    }

    fn worker(&self, ctx: &ExecContext) -> Result<Box<dyn SinkWorker>> {
        let memory = Reservation::new(ctx.control.memory.clone());
        Ok(Box::new(Worker { blocks: Vec::new(), kept: 0, memory }))
    }

    fn finish(&self, workers: Vec<Box<dyn SinkWorker>>, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let workers = concrete::<Worker>(workers);
        // Until the rows are chosen they are charged to the query.
        let (memory, blocks): (Vec<Reservation>, Vec<_>) =
            workers.into_iter().map(|worker| (worker.memory, worker.blocks)).unzip();
        let mut blocks: Vec<(Position, Block)> = blocks.into_iter().flatten().collect();
        // Stable: blocks of one position stay in the order in which they came.
        blocks.sort_by_key(|(position, _)| *position);
        let mut values = GroupTable::new(self.layout.clone());
        let mut counts: Vec<u64> = Vec::new();
        let mut numbered = Vec::with_capacity(blocks.len());
        for (_, block) in blocks {
            ctx.control.check_with_interrupt()?;
            let keys = self.columns.evaluate(&block)?;
            let groups = values.groups(&keys, block.n_rows());
            counts.resize(values.len(), 0);
            groups.iter().for_each(|&group| counts[group as usize] += 1);
            numbered.push((block, groups));
        }
        let ranges: Vec<Range<u64>> = counts.iter().map(|&n| self.kept_of(n)).collect();
        counts.fill(0);
        let mut kept = Vec::with_capacity(numbered.len());
        for (block, groups) in numbered {
            ctx.control.check_with_interrupt()?;
            let mut rows = Vec::new();
            for (row, group) in (0..).zip(groups) {
                let count = &mut counts[group as usize];
                if ranges[group as usize].contains(count) {
                    rows.push(row);
                }
                *count += 1;
            }
            if rows.len() == block.n_rows() {
                kept.push(block);
            } else if !rows.is_empty() {
                kept.push(block.gather(&rows));
            }
        }
        drop(memory);
        Ok(blocks_as_source(kept, ctx))
    }
}

struct Worker {
    blocks: Vec<(Position, Block)>,
    /// Bytes of these.
    kept: usize,
    memory: Reservation,
}

impl SinkWorker for Worker {
    fn push(&mut self, position: Position, block: Block) -> Result<Flow> {
        self.kept += block.memory();
        self.memory.resize(self.kept)?;
        if !block.is_empty() {
            self.blocks.push((position, block));
        }
        Ok(Flow::Continue)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
