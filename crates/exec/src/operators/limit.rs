//! Limit: rows `offset..offset + limit` of the input's order. Holds at most `offset + limit` rows per task (all of them
//! when it counts from the end or a part of them is asked for); workers stop taking tasks when enough rows are in.

use super::collect::blocks_as_source;
use crate::ExecContext;
use crate::expression::Program;
use crate::pipeline::{Flow, Position, Sink, SinkWorker, concrete};
use chalet_base::Result;
use chalet_columns::keys::group_keys;
use chalet_columns::{Block, Column};
use chalet_memory::Reservation;
use chalet_plan::{FromEnd, RowParts};
use chalet_storage::Scan;
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The sink of LIMIT and OFFSET.
pub struct Limit {
    pub limit: Option<u64>,
    pub offset: u64,
    /// WITH TIES: rows that equal the last one under these keys follow it.
    pub ties: Option<Program>,
    pub from_end: FromEnd,
    pub parts: RowParts,
    /// Rows behind those that are needed are read too, to be counted.
    pub reads_all: bool,
    pub collected: Arc<AtomicU64>,
}

impl Limit {
    /// Rows that must be in before reading can stop.
    fn needed(&self) -> Option<u64> {
        match (self.limit, self.from_end.any() || self.ties.is_some() || !self.parts.is_empty()) {
            (Some(limit), false) => Some(limit.saturating_add(self.offset)),
            _ => None,
        }
    }
}

impl Sink for Limit {
    fn name(&self) -> &'static str {
        "Limit"
    }

    fn worker(&self, ctx: &ExecContext) -> Result<Box<dyn SinkWorker>> {
        Ok(Box::new(Worker {
            needed: self.needed(),
            reads_all: self.reads_all,
            collected: self.collected.clone(),
            in_task: ((0, 0), 0),
            blocks: Vec::new(),
            memory: Reservation::new(ctx.control.memory.clone()),
        }))
    }

    fn is_satisfied(&self) -> bool {
        !self.reads_all && self.needed().is_some_and(|needed| self.collected.load(Relaxed) >= needed)
    }

    fn finish(&self, workers: Vec<Box<dyn SinkWorker>>, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let mut blocks: Vec<(Position, Block)> =
            concrete::<Worker>(workers).into_iter().flat_map(|w| w.blocks).collect();
        // Stable: blocks of one position stay in the order in which they came.
        blocks.sort_by_key(|(position, _)| *position);
        let blocks: Vec<Block> = blocks.into_iter().map(|(_, block)| block).collect();
        let total: u64 = blocks.iter().map(|b| b.n_rows() as u64).sum();
        let Range { mut start, mut end } = self.range(total);
        if let Some(ties) = &self.ties
            && end > start
        {
            // The last rows are followed by nothing: those before them tie.
            match self.from_end.limit {
                true => start -= tied_rows_before(&blocks, start, ties)?,
                false => end += tied_rows(&blocks, end, ties)?,
            }
        }
        Ok(blocks_as_source(cut(blocks, start, end), ctx))
    }
}

impl Limit {
    fn range(&self, total: u64) -> Range<u64> {
        // A part of a row is a whole row.
        let rows = |part: f64| (part * total as f64).ceil() as u64;
        let offset = self.parts.offset.map_or(self.offset, rows);
        let limit = self.parts.limit.map(rows).or(self.limit);
        self.from_end.rows(limit, offset, total)
    }
}

/// How many rows from `end` on equal the row before.
fn tied_rows(blocks: &[Block], end: u64, program: &Program) -> Result<u64> {
    let mut last: Option<Vec<u8>> = None;
    let mut first_row = 0u64;
    let mut tied = 0;
    for block in blocks {
        let n_rows = block.n_rows() as u64;
        if first_row + n_rows >= end {
            let columns = program.evaluate(block)?;
            let keys = group_keys(&columns.iter().collect::<Vec<&Column>>(), block.n_rows());
            for row in (end - 1).max(first_row)..first_row + n_rows {
                let key = keys.get((row - first_row) as usize);
                match &last {
                    None => last = Some(key.to_vec()),
                    Some(last) if last == key => tied += 1,
                    Some(_) => return Ok(tied),
                }
            }
        }
        first_row += n_rows;
    }
    Ok(tied)
}

/// How many rows before `start` equal the row there.
fn tied_rows_before(blocks: &[Block], start: u64, program: &Program) -> Result<u64> {
    let mut first: Option<Vec<u8>> = None;
    let mut end_row: u64 = blocks.iter().map(|block| block.n_rows() as u64).sum();
    let mut tied = 0;
    for block in blocks.iter().rev() {
        let first_row = end_row - block.n_rows() as u64;
        if first_row <= start {
            let columns = program.evaluate(block)?;
            let keys = group_keys(&columns.iter().collect::<Vec<&Column>>(), block.n_rows());
            for row in (first_row..end_row.min(start + 1)).rev() {
                let key = keys.get((row - first_row) as usize);
                match &first {
                    None => first = Some(key.to_vec()),
                    Some(first) if first == key => tied += 1,
                    Some(_) => return Ok(tied),
                }
            }
        }
        end_row = first_row;
    }
    Ok(tied)
}

/// Rows `start..end` of blocks that follow each other.
fn cut(blocks: Vec<Block>, start: u64, end: u64) -> Vec<Block> {
    let mut first_row = 0u64;
    let mut kept = Vec::new();
    for block in blocks {
        let n_rows = block.n_rows() as u64;
        let from = start.clamp(first_row, first_row + n_rows) - first_row;
        let to = end.clamp(first_row, first_row + n_rows) - first_row;
        if to > from {
            let whole = from == 0 && to == n_rows;
            kept.push(if whole { block } else { block.slice(from as usize, (to - from) as usize) });
        }
        first_row += n_rows;
    }
    kept
}

struct Worker {
    needed: Option<u64>,
    reads_all: bool,
    collected: Arc<AtomicU64>,
    /// Task, and rows that came of it.
    in_task: ((u32, u32), u64),
    blocks: Vec<(Position, Block)>,
    memory: Reservation,
}

impl SinkWorker for Worker {
    fn push(&mut self, position: Position, block: Block) -> Result<Flow> {
        if self.in_task.0 != position.task() {
            self.in_task = (position.task(), 0);
        }
        let has_enough = |rows: u64| self.needed.is_some_and(|needed| rows >= needed);
        let is_needed = !has_enough(self.in_task.1);
        self.in_task.1 += block.n_rows() as u64;
        self.collected.fetch_add(block.n_rows() as u64, Relaxed);
        // Later tasks of this worker come after this one, so they are not needed either.
        let flow = if has_enough(self.in_task.1) && !self.reads_all { Flow::Stop } else { Flow::Continue };
        if is_needed {
            self.memory.grow(block.memory())?;
            self.blocks.push((position, block));
        }
        Ok(flow)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
