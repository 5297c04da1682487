//! One INSERT: parts of its rows, which the table has all at once when it is finished.

use super::change::Change;
use super::part::Part;
use super::rewrite::Lineage;
use super::skip_index::SkipIndexProgram;
use super::{MergeTree, Partition, tokens};
use chalet_base::Result;
use chalet_columns::Block;
use std::sync::Arc;

/// Takes sorted rows, partition by partition. Dropped without `finish`, it leaves the table as it was.
pub struct PartsInserter {
    table: MergeTree,
    made: Vec<Arc<Part>>,
    indexes: Arc<[SkipIndexProgram]>,
    level: u32,
}

impl PartsInserter {
    pub(super) fn new(table: MergeTree, indexes: Arc<[SkipIndexProgram]>) -> PartsInserter {
        PartsInserter { table, made: Vec::new(), indexes, level: 0 }
    }

    /// The same for rows that were merged with each other: their parts have a merge behind them.
    pub fn of_merged_rows(mut self) -> PartsInserter {
        self.level = 1;
        self
    }

    /// Makes a part of rows of one partition, which are in the order of the sorting key.
    /// `complete` may give it projections.
    pub fn write_part(
        &mut self,
        partition: Partition,
        rows: Block,
        threads: usize,
        complete: &dyn Fn(&Arc<Part>) -> Result<()>,
    ) -> Result<()> {
        let mut part = self.table.rewrite_part(partition, self.indexes.clone()).with_threads(threads);
        part.write(rows)?;
        let Some(part) = part.finish(Lineage { level: self.level, ..Lineage::default() })? else {
            return Ok(());
        };
        complete(&part)?;
        self.made.push(part);
        Ok(())
    }

    /// Makes the rows visible, all at once. Parts of an INSERT that has a token are made once.
    pub fn finish(self, token: Option<u64>) -> Result<()> {
        if self.made.is_empty() {
            return Ok(());
        }
        let token_window = self.table.definition().dedup_window;
        self.table.parts().commit(Change {
            tokens: token.map_or_else(Vec::new, |insert| tokens::of_insert(insert, &self.made)),
            added: self.made,
            token_window,
            ..Change::default()
        })
    }
}
