//! Identities of columns: every column that any node makes has an id of its own in the query.

use chalet_types::DataType;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Unique within one query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnId(pub u32);

/// A column that a node puts out.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub id: ColumnId,
    pub name: Arc<str>,
    pub ty: DataType,
}

/// Gives out ids for one query.
#[derive(Debug, Default)]
pub struct IdSource(AtomicU32);

impl IdSource {
    /// An id that no other column of the query has.
    pub fn next(&self) -> ColumnId {
        ColumnId(self.0.fetch_add(1, Relaxed))
    }

    /// A field of this name and type under a new id.
    pub fn field(&self, name: impl Into<Arc<str>>, ty: DataType) -> Field {
        Field { id: self.next(), name: name.into(), ty }
    }
}
