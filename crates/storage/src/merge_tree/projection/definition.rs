//! A projection as it is stored.

use super::super::definition::Definition;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// The first number of columns that are none of the table's.
pub const OWN_COLUMNS: u32 = 1 << 31;

/// A projection of a table whose rows can be computed.
#[derive(Clone)]
pub struct ProjectionDefinition {
    pub name: Arc<str>,
    /// All that its rows depend on beside those of the part: equal only for projections of equal rows.
    pub identity: Arc<str>,
    /// Of its rows as a table. Columns that are the table's own have their numbers.
    pub definition: Arc<Definition>,
    /// The number of the column that rows are sorted by first, ascending.
    pub sorted_by: Option<u32>,
}

impl ProjectionDefinition {
    /// What its files go by.
    pub fn key(&self) -> u64 {
        xxh3_64(self.identity.as_bytes())
    }
}
