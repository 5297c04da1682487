//! Answers of other queries, and blocks in general, with their types as they are.

use chalet_base::Result;
use chalet_columns::{Block, Column};
use chalet_engine::Rows;
use chalet_engine::replacement_scan::{ColumnRange, HeldRows, Opened, Source};
use chalet_types::DataType;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// Blocks of columns in the order of their types.
pub struct Blocks {
    runs: Vec<usize>,
    blocks: Vec<Block>,
}

impl Blocks {
    pub fn new(blocks: Vec<Block>) -> Blocks {
        Blocks { runs: blocks.iter().map(Block::n_rows).collect(), blocks }
    }
}

impl HeldRows for Blocks {
    fn runs(&self) -> &[usize] {
        &self.runs
    }

    fn read(&self, run: usize, rows: Range<usize>, columns: &[usize]) -> Result<Vec<Column>> {
        let block = &self.blocks[run];
        Ok(columns.iter().map(|&c| block.column(c).slice(rows.start, rows.len())).collect())
    }
}

/// Names that are all different: a second `a` is `a_1`, unless another column is called so.
pub fn distinct<'a>(written: impl Iterator<Item = &'a String> + Clone) -> Vec<Arc<str>> {
    let mut taken: HashSet<Arc<str>> = written.clone().map(|name| name.as_str().into()).collect();
    let mut seen: HashSet<&str> = HashSet::new();
    let mut name = |written: &'a String| {
        if seen.insert(written) {
            return Arc::from(written.as_str());
        }
        let mut number = 1;
        loop {
            let name: Arc<str> = format!("{written}_{number}").into();
            if taken.insert(name.clone()) {
                return name;
            }
            number += 1;
        }
    };
    written.map(&mut name).collect()
}

/// The answer of a query as a source of another one.
pub struct Answered(pub Rows);

impl Source for Answered {
    fn columns(&self) -> Vec<(Arc<str>, DataType)> {
        distinct(self.0.names.iter()).into_iter().zip(self.0.types.iter().cloned()).collect()
    }

    fn n_rows(&self) -> Option<u64> {
        Some(self.0.n_rows() as u64)
    }

    fn open(&self, columns: &[usize], _: &[ColumnRange]) -> Result<Opened> {
        let chosen = self.0.blocks.iter().map(|block| {
            let columns = columns.iter().map(|&c| block.column(c).clone()).collect();
            Block::new(columns, block.n_rows())
        });
        Ok(Opened::Held(Arc::new(Blocks::new(chosen.collect()))))
    }
}
