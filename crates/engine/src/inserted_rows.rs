//! The rows of one INSERT in the place of the table that they go to, for the queries of materialized views.

use chalet_storage::Table;
use chalet_storage::fixed::FixedTable;
use std::sync::Arc;

/// A database and the name of a table there.
pub(crate) type Key = (String, String);

/// Rows of one INSERT, and the table that they go to.
pub(crate) struct InsertedRows {
    pub key: Key,
    pub rows: Arc<FixedTable>,
}

impl InsertedRows {
    /// Are they what a query means by this name?
    pub fn is_of(&self, database: Option<&str>, name: &str) -> bool {
        database == Some(&self.key.0) && name == self.key.1
    }

    /// The rows as a table, and its full name.
    pub fn named(&self) -> (Arc<dyn Table>, Arc<str>) {
        (self.rows.clone(), format!("{}.{}", self.key.0, self.key.1).into())
    }
}
