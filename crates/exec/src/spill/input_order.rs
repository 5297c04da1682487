//! Numbers of rows by their place in the input, so that rows that were on disk in another order can come out in the input's.

use super::runs::{RunKeys, RunSizes, RunWriter, merged};
use super::{Purpose, Threshold};
use crate::ExecContext;
use crate::control::QueryControl;
use crate::pipeline::Position;
use chalet_base::Result;
use chalet_columns::keys::Order;
use chalet_columns::{Block, Column, Vector};
use chalet_storage::Scan;
use std::sync::Arc;

/// Numbers the rows of one worker: no two rows of a query have the same number, and later rows have larger ones.
#[derive(Default)]
pub struct RowNumbers {
    position: Position,
    next_row: u32,
}

impl RowNumbers {
    /// The rows that come next are of the morsel at this position.
    pub fn begin(&mut self, position: Position) {
        *self = RowNumbers { position, next_row: 0 };
    }

    /// As [`begin`](Self::begin), where several blocks may be of one morsel.
    pub fn at(&mut self, position: Position) -> &mut Self {
        if self.position != position {
            self.begin(position);
        }
        self
    }

    /// The number of the next row; those behind it have the numbers behind it.
    pub fn take(&mut self, n_rows: usize) -> u128 {
        let Position { round, task, number } = self.position;
        let first = u128::from(round) << 96 | u128::from(task) << 64 | u128::from(number) << 32;
        let row = self.next_row;
        self.next_row += n_rows as u32;
        first | u128::from(row)
    }

    /// The block with one more column, the last: the numbers of its rows.
    pub fn append_to(&mut self, block: Block) -> Block {
        let n_rows = block.n_rows();
        let first = self.take(n_rows);
        let numbers: Vec<u128> = (0..n_rows as u128).map(|row| first + row).collect();
        let mut columns = block.into_columns();
        columns.push(Column::Flat(Vector::from(numbers)));
        Block::new(columns, n_rows)
    }
}

/// The rows of a block in the order of their numbers, which are its last column and are taken off.
pub fn in_input_order(block: Block) -> Result<(Block, Vec<u128>)> {
    let n_rows = block.n_rows();
    let mut columns = block.into_columns();
    let numbers = columns.pop().map(Column::into_flat);
    let block = Block::new(columns, n_rows);
    let Some(numbers) = numbers else { return Ok((block, Vec::new())) };
    let numbers = numbers.values::<u128>()?;
    if numbers.is_sorted() {
        return Ok((block, numbers.to_vec()));
    }
    let mut order: Vec<u32> = (0..n_rows as u32).collect();
    order.sort_unstable_by_key(|&row| numbers[row as usize]);
    let sorted = order.iter().map(|&row| numbers[row as usize]).collect();
    Ok((block.gather(&order), sorted))
}

/// Brings rows back into the order of the input: those that are added at once are in it already.
pub struct InputOrder {
    threshold: Threshold,
    purpose: Purpose,
    control: Arc<QueryControl>,
    /// With the first rows, which tell how many columns there are.
    writer: Option<RunWriter>,
}

impl InputOrder {
    /// Without rows.
    pub fn new(purpose: Purpose, threshold: &Threshold, ctx: &ExecContext) -> InputOrder {
        InputOrder { threshold: *threshold, purpose, control: ctx.control.clone(), writer: None }
    }

    /// Adds rows with ascending numbers. Fails where no temporary file can be made or written.
    pub fn add(&mut self, block: Block, numbers: Vec<u128>) -> Result<()> {
        let n_rows = block.n_rows();
        if n_rows == 0 {
            return Ok(());
        }
        let mut columns = block.into_columns();
        columns.push(Column::Flat(Vector::from(numbers)));
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => {
                let order = Order { nullable: false, ..Order::ASCENDING };
                let columns = vec![(columns.len() - 1, order)];
                let keys = RunKeys { columns, n_own: 1, n_group: None, is_ranked: false };
                let sizes = RunSizes::new(&self.threshold);
                self.writer.insert(RunWriter::new(self.purpose, sizes, Arc::new(keys), &self.control)?)
            }
        };
        let block = Block::new(columns, n_rows);
        writer.begin(None);
        let at_once = writer.sizes().rows(block.memory(), n_rows);
        for start in (0..n_rows).step_by(at_once) {
            writer.write(&block.slice(start, at_once.min(n_rows - start)))?;
        }
        Ok(())
    }

    /// All rows in order.
    pub fn finish(self, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let runs = self.writer.map(RunWriter::into_runs).unwrap_or_default();
        Ok(merged(runs, self.purpose, RunSizes::new(&self.threshold), 0..usize::MAX, ctx)?)
    }
}
