//! A unit whose rows are all decoded at once, when the first of them is asked for, and handed out as slices.

use crate::input::BlockReader;
use chalet_base::Result;
use chalet_columns::{Block, BooleanBuffer};

/// Decodes the unit.
pub type Load = Box<dyn FnOnce() -> Result<Block> + Send>;

pub struct Sliced {
    load: Option<Load>,
    rest: Option<(Block, usize)>,
    /// The wanted columns that the file lacks.
    absent: Vec<bool>,
    omitted: Vec<Option<BooleanBuffer>>,
}

impl Sliced {
    pub fn new(load: Load, absent: Vec<bool>) -> Sliced {
        Sliced { load: Some(load), rest: None, absent, omitted: Vec::new() }
    }
}

impl BlockReader for Sliced {
    fn next_block(&mut self, max_rows: usize) -> Result<Option<Block>> {
        if let Some(load) = self.load.take() {
            self.rest = Some((load()?, 0));
        }
        let Some((block, at)) = &mut self.rest else { return Ok(None) };
        let n = (block.n_rows() - *at).min(max_rows.max(1));
        if n == 0 {
            self.rest = None;
            return Ok(None);
        }
        let part = if n == block.n_rows() { block.clone() } else { block.slice(*at, n) };
        *at += n;
        self.omitted = match self.absent.contains(&true) {
            true => self.absent.iter().map(|absent| absent.then(|| BooleanBuffer::new_set(n))).collect(),
            false => Vec::new(),
        };
        Ok(Some(part))
    }

    fn omitted(&self) -> &[Option<BooleanBuffer>] {
        &self.omitted
    }
}
