//! Numbers of rows by their place in the input, so that rows that were on disk in another order can come out in the input's.

use super::runs::{RunSizes, RunWriter, merged};
use super::{Purpose, Threshold};
use crate::ExecContext;
use crate::pipeline::Position;
use chalet_base::Result;
use chalet_columns::keys::RowKeys;
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

    /// The block with one more column, the last: the numbers of its rows.
    pub fn append_to(&mut self, block: Block) -> Block {
        let Position { round, task, number } = self.position;
        let first = u128::from(round) << 96 | u128::from(task) << 64 | u128::from(number) << 32;
        let rows = self.next_row..self.next_row + block.n_rows() as u32;
        self.next_row = rows.end;
        let numbers: Vec<u128> = rows.map(|row| first | u128::from(row)).collect();
        let n_rows = block.n_rows();
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
    writer: RunWriter,
    purpose: Purpose,
}

impl InputOrder {
    /// Without rows. Fails where no temporary file can be made.
    pub fn new(purpose: Purpose, threshold: &Threshold, ctx: &ExecContext) -> Result<InputOrder> {
        let writer = RunWriter::new(purpose, RunSizes::new(threshold), None, &ctx.control)?;
        Ok(InputOrder { writer, purpose })
    }

    /// Adds rows with ascending numbers.
    pub fn add(&mut self, block: &Block, numbers: &[u128]) -> Result<()> {
        if block.is_empty() {
            return Ok(());
        }
        self.writer.begin();
        let at_once = self.writer.sizes().rows(block.memory(), block.n_rows());
        for start in (0..block.n_rows()).step_by(at_once) {
            let n = at_once.min(block.n_rows() - start);
            let keys: RowKeys = numbers[start..start + n].iter().map(|number| number.to_be_bytes()).collect();
            self.writer.write(&block.slice(start, n), &keys)?;
        }
        Ok(())
    }

    /// All rows in order.
    pub fn finish(self, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let sizes = self.writer.sizes();
        merged(self.writer.into_runs(), self.purpose, sizes, None, 0..usize::MAX, ctx)
    }
}
