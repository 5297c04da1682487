//! MergeTree: a table that has the rows of each INSERT sorted before they are kept. What keeps them is a table of another
//! engine, in memory or on disk. Parts of different INSERTs stay apart until
//! OPTIMIZE sorts all rows anew.

use crate::disk::TableFolder;
use crate::{Held, Inserter, Scan, ScanRequest, Table, TableSchema};
use chalet_base::Result;
use std::any::Any;
use std::sync::Arc;

/// The name of the engine.
pub const MERGE_TREE: &str = "MergeTree";

/// By what the rows of a table are sorted, as SQL text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableKeys {
    /// Empty where there is none.
    pub partition: Arc<str>,
    pub sorting: Vec<SortingKey>,
    /// So many of the first sorting keys are the primary one.
    pub n_primary: usize,
}

/// One expression of ORDER BY in the definition of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct SortingKey {
    pub expr: Arc<str>,
    pub descending: bool,
}

impl TableKeys {
    /// The sorting key as `system.tables` shows it.
    pub fn sorting_key(&self) -> String {
        listed(&self.sorting)
    }

    /// The primary key as SQL text: the first sorting keys, separated by commas.
    pub fn primary_key(&self) -> String {
        listed(&self.sorting[..self.n_primary])
    }

    /// What rows are sorted by: the partition first, since partitions are kept apart.
    pub fn all(&self) -> impl Iterator<Item = (&str, bool)> {
        let partition = (!self.partition.is_empty()).then_some((&*self.partition, false));
        partition.into_iter().chain(self.sorting.iter().map(|key| (&*key.expr, key.descending)))
    }
}

fn listed(keys: &[SortingKey]) -> String {
    keys.iter().map(|key| &*key.expr).collect::<Vec<_>>().join(", ")
}

/// A table whose INSERTs are sorted by its keys; the rows are kept by another table.
pub struct MergeTree {
    pub keys: TableKeys,
    /// Keeps the rows in the order in which they are inserted.
    pub rows: Arc<dyn Table>,
}

impl Table for MergeTree {
    fn engine(&self) -> &str {
        MERGE_TREE
    }

    fn schema(&self) -> TableSchema {
        self.rows.schema()
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn Scan>> {
        self.rows.scan(request)
    }

    fn has_row_ids(&self) -> bool {
        self.rows.has_row_ids()
    }

    fn keys(&self) -> Option<&TableKeys> {
        Some(&self.keys)
    }

    fn insert(&self) -> Result<Box<dyn Inserter>> {
        self.rows.insert()
    }

    fn rewrite(&self) -> Result<Box<dyn Inserter>> {
        self.rows.rewrite()
    }

    fn truncate(&self) -> Result<()> {
        self.rows.truncate()
    }

    fn total_rows(&self) -> Option<u64> {
        self.rows.total_rows()
    }

    fn total_bytes(&self) -> Option<u64> {
        self.rows.total_bytes()
    }

    fn folder(&self) -> Option<&Arc<TableFolder>> {
        self.rows.folder()
    }

    fn hold(&self) -> Result<Option<Held>> {
        self.rows.hold()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
