//! Collapsing: rows of sign 1 and -1 cancel out. Of a key the first row of sign -1 stays where there are at least as many
//! of them as of the others, and the last of sign 1 the other way round; nothing stays where there are as many of both and
//! the last row is of sign -1.

use super::choosing::{Choice, Signs};
use chalet_base::Result;
use chalet_columns::Block;
use chalet_columns::interleave::BlockRow;

pub(super) struct Collapsing {
    sign: usize,
    only_positive: bool,
    signs: Signs,
    /// Rows of the open key.
    n_positive: u64,
    n_negative: u64,
    ends_positive: bool,
    first_negative: Option<BlockRow>,
    last_positive: Option<BlockRow>,
}

impl Collapsing {
    pub fn new(sign: usize, only_positive: bool) -> Collapsing {
        Collapsing {
            sign,
            only_positive,
            signs: Signs::default(),
            n_positive: 0,
            n_negative: 0,
            ends_positive: false,
            first_negative: None,
            last_positive: None,
        }
    }
}

impl Choice for Collapsing {
    fn begin(&mut self, blocks: [&Block; 2]) -> Result<()> {
        self.signs = Signs::of(blocks, self.sign)?;
        Ok(())
    }

    fn add(&mut self, row: BlockRow) {
        self.ends_positive = self.signs.is_positive(row);
        if self.ends_positive {
            self.n_positive += 1;
            self.last_positive = Some(row);
        } else {
            self.n_negative += 1;
            self.first_negative.get_or_insert(row);
        }
    }

    fn close(&mut self, out: &mut Vec<BlockRow>) {
        let (positive, negative) =
            (std::mem::take(&mut self.n_positive), std::mem::take(&mut self.n_negative));
        let (first, last) = (self.first_negative.take(), self.last_positive.take());
        if positive == negative && !self.ends_positive {
            return;
        }
        if positive <= negative && !self.only_positive {
            out.extend(first);
        }
        if positive >= negative {
            out.extend(last);
        }
    }

    fn held(&mut self) -> Vec<&mut BlockRow> {
        self.first_negative.iter_mut().chain(&mut self.last_positive).collect()
    }
}
