//! Identities of columns: every column that any node makes has an id of its own in the query.

use chalet_types::DataType;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

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
pub struct IdSource {
    next: AtomicU32,
    /// What columns show in place of their types, of those that show something else.
    shown: Mutex<HashMap<ColumnId, DataType>>,
}

impl IdSource {
    /// An id that no other column of the query has.
    pub fn next(&self) -> ColumnId {
        ColumnId(self.next.fetch_add(1, Relaxed))
    }

    /// A field of this name and type under a new id.
    pub fn field(&self, name: impl Into<Arc<str>>, ty: DataType) -> Field {
        Field { id: self.next(), name: name.into(), ty }
    }

    /// From now on the column shows this in place of its type, if that is something else.
    pub fn show(&self, field: &Field, shown: Option<DataType>) {
        if let Some(shown) = shown.filter(|shown| *shown != field.ty) {
            self.shown.lock().unwrap_or_else(PoisonError::into_inner).insert(field.id, shown);
        }
    }

    /// What the column shows in place of its type, if that is something else.
    pub fn shown(&self, id: ColumnId) -> Option<DataType> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    /// What the column shows as its type.
    pub fn shown_type(&self, field: &Field) -> DataType {
        self.shown(field.id).unwrap_or_else(|| field.ty.clone())
    }
}
