//! VersionedCollapsing: a row cancels the last row of its key, which has the version in it, that is of another sign
//! and still there. What is left is of one sign. Signs may be any numbers.

use super::choosing::{Choice, Signs};
use chalet_base::Result;
use chalet_columns::Block;
use chalet_columns::interleave::BlockRow;

pub(super) struct VersionedCollapsing {
    sign: usize,
    signs: Signs,
    /// Rows of the open key that nothing has cancelled, all of one sign.
    rows: Vec<BlockRow>,
    sign_of_rows: i8,
}

impl VersionedCollapsing {
    pub fn new(sign: usize) -> VersionedCollapsing {
        VersionedCollapsing { sign, signs: Signs::default(), rows: Vec::new(), sign_of_rows: 0 }
    }
}

impl Choice for VersionedCollapsing {
    fn begin(&mut self, blocks: [&Block; 2]) -> Result<()> {
        self.signs = Signs::unchecked(blocks, self.sign)?;
        Ok(())
    }

    fn add(&mut self, row: BlockRow) {
        let sign = self.signs.of_row(row);
        if self.rows.is_empty() || self.sign_of_rows == sign {
            self.sign_of_rows = sign;
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
