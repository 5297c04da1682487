//! Folding: columns are aggregated over the rows of a key, of the others the first value stays. Summing, Aggregating and
//! Coalescing differ in which aggregate a column has, and in what becomes of rows that add up to nothing.

use super::Rule;
use chalet_base::Result;
use chalet_columns::interleave::BlockRow;
use chalet_columns::{Block, Column, Data, Vector};
use chalet_function_api::{Aggregate, States};
use chalet_plan::Fold;
use chalet_types::DataType;
use std::cmp::Ordering;
use std::sync::Arc;

/// An aggregate over columns at these positions.
pub(super) struct Folded {
    columns: Vec<(usize, DataType)>,
    aggregate: Arc<dyn Aggregate>,
    can_be_zero: bool,
    /// State 0 is that of the open key.
    states: Box<dyn States>,
}

impl Folded {
    pub fn new(columns: Vec<(usize, DataType)>, fold: &Fold) -> Folded {
        let aggregate = fold.aggregate.clone();
        Folded { columns, states: aggregate.states(), aggregate, can_be_zero: fold.can_be_zero }
    }

    /// Adds the rows of a block, whose groups are numbered from the open one, and takes the results of all but the last.
    fn add(&mut self, block: &Block, groups: &[u32], n_closed: usize) -> Result<Vec<Vector>> {
        let args: Vec<Vector> =
            self.columns.iter().map(|(at, _)| block.column(*at).flat().into_owned()).collect();
        self.states.grow(n_closed + 1);
        self.states.add_groups(groups, &args)?;
        if n_closed == 0 {
            return Ok(Vec::new());
        }
        let results = self.results(n_closed)?;
        let mut open = self.aggregate.states();
        open.grow(1);
        open.merge(&mut *self.states, &[n_closed as u32], &[0])?;
        self.states = open;
        Ok(results)
    }

    /// The first `n` results, as many columns as went in.
    fn results(&mut self, n: usize) -> Result<Vec<Vector>> {
        let result = self.states.finish(n)?;
        if let ([_, _, ..], Data::Struct(fields)) = (&self.columns[..], &result.data) {
            return Ok(fields.fields.to_vec());
        }
        Ok(vec![result])
    }

    /// Which results are not zero; `None` where all count as such.
    fn mark_not_zero(&self, results: &[Vector], kept: &mut [bool]) {
        let ([(_, ty)], [result], true) = (&self.columns[..], results, self.can_be_zero) else {
            kept.fill(true);
            return;
        };
        let zero = Vector::defaults(ty.without_low_cardinality(), 1);
        for (row, kept) in kept.iter_mut().enumerate() {
            *kept = *kept || result.compare(row, &zero, 0) != Ordering::Equal;
        }
    }
}

pub(super) struct Folding {
    folds: Vec<Folded>,
    drops_zeros: bool,
    /// The first row of the open key.
    first: Option<Block>,
}

impl Folding {
    pub fn new(folds: Vec<Folded>, drops_zeros: bool) -> Folding {
        // Where nothing is added up, nothing adds up to zero.
        let drops_zeros = drops_zeros && !folds.is_empty();
        Folding { folds, drops_zeros, first: None }
    }

    /// The rows of closed keys: their first rows, with the results of the aggregates in place of the folded columns.
    fn closed(&self, firsts: Block, results: Vec<Vec<Vector>>) -> Block {
        let n_rows = firsts.n_rows();
        let mut kept = vec![!self.drops_zeros; n_rows];
        let mut columns = firsts.into_columns();
        for (fold, results) in self.folds.iter().zip(results) {
            if self.drops_zeros {
                fold.mark_not_zero(&results, &mut kept);
            }
            for ((at, _), result) in fold.columns.iter().zip(results) {
                columns[*at] = Column::Flat(result);
            }
        }
        let block = Block::new(columns, n_rows);
        if kept.iter().all(|kept| *kept) {
            return block;
        }
        let rows: Vec<u32> = (0..n_rows as u32).filter(|&row| kept[row as usize]).collect();
        block.gather(&rows)
    }
}

impl Rule for Folding {
    fn push(&mut self, block: Block, starts: &[bool]) -> Result<Option<Block>> {
        let open = self.first.take();
        let held = open.clone().unwrap_or_else(|| block.slice(0, 0));
        // The first rows of all groups. The first group is the open one, where there is one.
        let mut firsts: Vec<BlockRow> = open.iter().map(|_| BlockRow { block: 0, row: 0 }).collect();
        let mut groups = Vec::with_capacity(block.n_rows());
        for (row, starts) in starts.iter().enumerate() {
            if *starts || firsts.is_empty() {
                firsts.push(BlockRow { block: 1, row: row as u32 });
            }
            groups.push(firsts.len() as u32 - 1);
        }
        let n_closed = firsts.len() - 1;
        let results = self.folds.iter_mut().map(|fold| fold.add(&block, &groups, n_closed));
        let results = results.collect::<Result<Vec<_>>>()?;
        let blocks = [&held, &block];
        self.first = Some(Block::interleave(&blocks, &firsts[n_closed..]));
        if n_closed == 0 {
            return Ok(None);
        }
        Ok(Some(self.closed(Block::interleave(&blocks, &firsts[..n_closed]), results)))
    }

    fn finish(&mut self) -> Result<Option<Block>> {
        let Some(first) = self.first.take() else { return Ok(None) };
        let results = self.folds.iter_mut().map(|fold| fold.results(1)).collect::<Result<Vec<_>>>()?;
        Ok(Some(self.closed(first, results)))
    }

    fn memory(&self) -> usize {
        let states: usize = self.folds.iter().map(|fold| fold.states.memory()).sum();
        self.first.as_ref().map_or(0, Block::memory) + states
    }
}
