//! VersionedCollapsing: a row cancels the last row of its key, which has the version in it, that is of the opposite sign
//! and still there. What is left is of one sign.

use super::choosing::{Choice, Signs};
use chalet_base::Result;
use chalet_columns::Block;
use chalet_columns::interleave::BlockRow;

pub(super) struct VersionedCollapsing {
    sign: usize,
    signs: Signs,
    /// Rows of the open key that nothing has cancelled, all of one sign.
    rows: Vec<BlockRow>,
    is_positive: bool,
}

impl VersionedCollapsing {
    pub fn new(sign: usize) -> VersionedCollapsing {
        VersionedCollapsing { sign, signs: Signs::default(), rows: Vec::new(), is_positive: false }
    }
}

impl Choice for VersionedCollapsing {
    fn begin(&mut self, blocks: [&Block; 2]) -> Result<()> {
        self.signs = Signs::of(blocks, self.sign)?;
        Ok(())
    }

    fn add(&mut self, row: BlockRow) {
        let is_positive = self.signs.is_positive(row);
        if self.rows.is_empty() || self.is_positive == is_positive {
            self.is_positive = is_positive;
            self.rows.push(row);
        } else {
            self.rows.pop();
        }
    }

    fn close(&mut self, out: &mut Vec<BlockRow>) {
        out.append(&mut self.rows);
    }

    fn held(&mut self) -> Vec<&mut BlockRow> {
        self.rows.iter_mut().collect()
    }
}
