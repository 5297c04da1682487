//! Rules that let some of the rows of a key stay as they are: what they have in common, which is that rows of the open key
//! that may yet stay are held back for the next block.

use super::Rule;
use chalet_base::{Result, bail};
use chalet_columns::interleave::BlockRow;
use chalet_columns::{Block, Vector};

/// Which rows of a key stay. A row is in block 0, where it is held back, or in block 1, which came last.
pub(super) trait Choice: Send {
    /// A block comes, after the rows that are held back: `blocks[0]`, which may be empty. Fails where a value is none
    /// that the rule knows.
    fn begin(&mut self, blocks: [&Block; 2]) -> Result<()>;

    /// The next row of the open key.
    fn add(&mut self, row: BlockRow);

    /// The key has ended: adds the rows that stay, in order.
    fn close(&mut self, out: &mut Vec<BlockRow>);

    /// The rows of the open key that may stay, to be renumbered, in order.
    fn held(&mut self) -> Vec<&mut BlockRow>;
}

/// A [`Choice`] as a rule.
pub(super) struct Choosing<C> {
    choice: C,
    /// Rows of the open key.
    held: Option<Block>,
}

impl<C: Choice + 'static> Choosing<C> {
    pub fn boxed(choice: C) -> Box<dyn Rule> {
        Box::new(Choosing { choice, held: None })
    }
}

impl<C: Choice> Rule for Choosing<C> {
    fn push(&mut self, block: Block, starts: &[bool]) -> Result<Option<Block>> {
        let held = self.held.take().unwrap_or_else(|| block.slice(0, 0));
        let blocks = [&held, &block];
        self.choice.begin(blocks)?;
        let mut out = Vec::with_capacity(block.n_rows());
        for (row, starts) in starts.iter().enumerate() {
            if *starts {
                self.choice.close(&mut out);
            }
            self.choice.add(BlockRow { block: 1, row: row as u32 });
        }
        let mut rows = self.choice.held();
        let positions: Vec<BlockRow> = rows.iter().map(|row| **row).collect();
        for (at, row) in rows.iter_mut().enumerate() {
            **row = BlockRow { block: 0, row: at as u32 };
        }
        self.held = Some(Block::interleave(&blocks, &positions));
        Ok(Some(Block::interleave(&blocks, &out)))
    }

    fn finish(&mut self) -> Result<Option<Block>> {
        let Some(held) = self.held.take() else { return Ok(None) };
        let none = held.slice(0, 0);
        let blocks = [&held, &none];
        self.choice.begin(blocks)?;
        let mut out = Vec::new();
        self.choice.close(&mut out);
        Ok(Some(Block::interleave(&blocks, &out)))
    }

    fn memory(&self) -> usize {
        self.held.as_ref().map_or(0, Block::memory)
    }
}

/// A column of both blocks.
pub(super) fn vectors(blocks: [&Block; 2], column: usize) -> [Vector; 2] {
    blocks.map(|block| block.column(column).flat().into_owned())
}

/// The signs of both blocks: 1 and -1.
#[derive(Default)]
pub(super) struct Signs([Vec<i8>; 2]);

impl Signs {
    pub fn of(blocks: [&Block; 2], column: usize) -> Result<Signs> {
        let signs = Signs::unchecked(blocks, column)?;
        for sign in &signs.0[1] {
            if !matches!(sign, 1 | -1) {
                bail!(INCORRECT_DATA, "Incorrect data: Sign = {sign} (must be 1 or -1)");
            }
        }
        Ok(signs)
    }

    /// Of an engine that takes any number for a sign.
    pub fn unchecked(blocks: [&Block; 2], column: usize) -> Result<Signs> {
        let [held, new] = vectors(blocks, column);
        Ok(Signs([held.values::<i8>()?.to_vec(), new.values::<i8>()?.to_vec()]))
    }

    pub fn is_positive(&self, row: BlockRow) -> bool {
        self.of_row(row) > 0
    }

    pub fn of_row(&self, row: BlockRow) -> i8 {
        self.0[row.block as usize].get(row.row as usize).copied().unwrap_or_default()
    }
}
