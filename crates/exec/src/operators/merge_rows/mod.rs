//! MergeRows: rows in the order of some keys, where a rule says what becomes of those whose keys are equal: FINAL, merges
//! of the parts of a table, and the rows of an INSERT. Streams: what a rule holds is the open key, whose rows may go on in
//! the next block. As the operator of FINAL it sorts the rows first, and its output is in the order of the keys.

mod choosing;
mod collapsing;
mod folding;
mod replacing;
mod versioned_collapsing;

use super::serial_scan::serial_scan;
use super::sort::Sort;
use crate::ExecContext;
use crate::control::QueryControl;
use crate::expression::{Layout, Program};
use crate::pipeline::{Sink, SinkWorker};
use chalet_base::{Result, err};
use chalet_columns::{Block, Column, Vector};
use chalet_memory::Reservation;
use chalet_plan::{ColumnId, RowRule};
use chalet_storage::Scan;
use choosing::Choosing;
use std::cmp::Ordering;
use std::sync::Arc;

/// What becomes of rows whose keys are equal.
trait Rule: Send {
    /// Takes rows in order; `starts` says of each whether its key is another than that of the row before. Gives the rows
    /// of keys that have ended.
    fn push(&mut self, block: Block, starts: &[bool]) -> Result<Option<Block>>;

    /// The last key has ended.
    fn finish(&mut self) -> Result<Option<Block>>;

    /// Bytes held for the open key.
    fn memory(&self) -> usize;
}

/// Applies a rule to sorted blocks.
pub struct RowMerger {
    rule: Box<dyn Rule>,
    /// The keys of the row that came last.
    last: Option<Vec<Vector>>,
    /// Without keys each row is on its own.
    keyless_alone: bool,
    memory: Reservation,
}

impl RowMerger {
    /// A merger of blocks whose columns stand as the layout says.
    pub fn new(rule: &RowRule, layout: &Layout, memory: Reservation) -> Result<RowMerger> {
        let at = |id: &ColumnId| {
            layout
                .get(id)
                .copied()
                .ok_or_else(|| err!(LOGICAL_ERROR, "Column {} to merge by is not there", id.0))
        };
        let keyless_alone = matches!(rule, RowRule::Folding { .. });
        let rule: Box<dyn Rule> = match rule {
            RowRule::Replacing { version, is_deleted, drops_deleted } => {
                let (version, is_deleted) =
                    (version.as_ref().map(at).transpose()?, is_deleted.as_ref().map(at).transpose()?);
                Choosing::boxed(replacing::Replacing::new(version, is_deleted, *drops_deleted))
            }
            RowRule::Collapsing { sign, only_positive } => {
                Choosing::boxed(collapsing::Collapsing::new(at(sign)?, *only_positive))
            }
            RowRule::VersionedCollapsing { sign } => {
                Choosing::boxed(versioned_collapsing::VersionedCollapsing::new(at(sign)?))
            }
            RowRule::Folding { folds, drops_zeros } => {
                let mut placed = Vec::with_capacity(folds.len());
                for fold in folds {
                    let columns = fold.columns.iter().map(|(id, ty)| Ok((at(id)?, ty.clone())));
                    placed.push(folding::Folded::new(columns.collect::<Result<_>>()?, fold));
                }
                Box::new(folding::Folding::new(placed, *drops_zeros))
            }
        };
        Ok(RowMerger { rule, last: None, keyless_alone, memory })
    }

    /// Takes the next rows with their keys. Gives those of keys that have ended.
    pub fn push(&mut self, block: Block, keys: &[Column]) -> Result<Option<Block>> {
        if block.is_empty() {
            return Ok(None);
        }
        let starts = self.starts(keys, block.n_rows());
        let out = self.rule.push(block, &starts)?;
        self.memory.resize(self.rule.memory())?;
        Ok(out.filter(|block| !block.is_empty()))
    }

    /// No more rows come.
    pub fn finish(&mut self) -> Result<Option<Block>> {
        let out = self.rule.finish()?;
        self.memory.resize(0)?;
        Ok(out.filter(|block| !block.is_empty()))
    }

    /// Which rows have another key than the one before.
    fn starts(&mut self, keys: &[Column], n_rows: usize) -> Vec<bool> {
        let mut starts = vec![keys.is_empty() && self.keyless_alone; n_rows];
        let keys: Vec<Vector> = keys.iter().map(|key| key.flat().into_owned()).collect();
        for key in &keys {
            differing_neighbours(key, &mut starts);
        }
        let goes_on = self.last.as_ref().is_some_and(|last| {
            last.iter().zip(&keys).all(|(last, key)| last.compare(0, key, 0) == Ordering::Equal)
        });
        starts[0] |= !goes_on;
        self.last = Some(keys.iter().map(|key| key.gather(&[n_rows as u32 - 1]).compact()).collect());
        starts
    }
}

/// Marks the rows that differ from the one before.
fn differing_neighbours(key: &Vector, starts: &mut [bool]) {
    macro_rules! natives {
        ($($ty:ty),*) => {$(
            if key.validity.is_none() && let Ok(values) = key.values::<$ty>() {
                for (start, pair) in starts[1..].iter_mut().zip(values.windows(2)) {
                    *start |= pair[0] != pair[1];
                }
                return;
            }
        )*};
    }
    natives!(u8, u16, u32, u64, i8, i16, i32, i64, i128);
    for (row, start) in starts.iter_mut().enumerate().skip(1) {
        *start = *start || key.compare(row, key, row - 1) != Ordering::Equal;
    }
}

/// The operator of FINAL: a sort, whose result goes through the rule.
pub struct MergeRows {
    /// By the keys.
    pub sort: Sort,
    pub keys: Program,
    pub rule: RowRule,
    pub layout: Layout,
}

impl Sink for MergeRows {
    fn name(&self) -> &'static str {
        "MergeRows"
    }

    fn worker(&self, ctx: &ExecContext) -> Result<Box<dyn SinkWorker>> {
        self.sort.worker(ctx)
    }

    fn finish(&self, workers: Vec<Box<dyn SinkWorker>>, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let mut sorted = self.sort.finish(workers, ctx)?.worker()?;
        let memory = Reservation::new(ctx.control.memory.clone());
        let mut merger = Some(RowMerger::new(&self.rule, &self.layout, memory)?);
        let keys = self.keys.clone();
        let control: Arc<QueryControl> = ctx.control.clone();
        Ok(serial_scan(move || {
            while let Some(rows) = &mut merger {
                control.check_with_interrupt()?;
                let out = match sorted.next()? {
                    Some(morsel) => rows.push(morsel.block.clone(), &keys.evaluate(&morsel.block)?)?,
                    None => merger.take().map(|mut rows| rows.finish()).transpose()?.flatten(),
                };
                if out.is_some() {
                    return Ok(out);
                }
            }
            Ok(None)
        }))
    }
}
