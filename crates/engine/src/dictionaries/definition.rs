//! What a dictionary is made of, as data.

use super::layout::{KeyKind, Layout};
use super::patterns;
use chalet_base::Error;
use chalet_columns::Vector;
use chalet_storage::{ColumnSchema, TableSchema};
use chalet_types::DataType;
use std::sync::Arc;

/// A column of a dictionary that is looked up.
#[derive(Debug)]
pub(crate) struct Attribute {
    pub name: Arc<str>,
    pub ty: DataType,
    /// One row: the value of keys that are not there.
    pub default: Vector,
    /// Its value is the key of a parent.
    pub is_hierarchical: bool,
}

/// Where rows come from.
#[derive(Debug)]
pub(crate) enum Source {
    /// Rows of a query; an error where the parts of the source do not make one.
    Query {
        sql: Result<String, Error>,
        /// As `system.dictionaries` shows it.
        shown: String,
    },
    /// No rows.
    Null,
    /// A source of the kernel that is not here.
    Other(String),
}

/// Which rows of a key count for a value, and how they are bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ranges {
    /// Of several ranges that hold a value the greatest counts, not the least.
    pub greatest: bool,
    /// A bound that is NULL is open.
    pub null_is_open: bool,
}

/// A dictionary.
#[derive(Debug)]
pub(crate) struct Definition {
    /// Keys, then the bounds of ranges, then attributes.
    pub schema: TableSchema,
    pub n_keys: usize,
    pub attributes: Vec<Attribute>,
    pub layout: &'static Layout,
    pub ranges: Ranges,
    /// What keys of a flat layout must be below.
    pub most_keys: u64,
    /// How many keys a cache has, at most.
    pub most_cells: usize,
    /// Are polygons there to be read, and not only to be looked up in?
    pub keeps_polygons: bool,
    pub source: Source,
    /// Seconds, least and most; 0 and 0 for ever.
    pub lifetime: (u64, u64),
}

impl Definition {
    pub fn keys(&self) -> &[ColumnSchema] {
        &self.schema.columns[..self.n_keys]
    }

    /// Where the columns that a reader sees are among those of the schema: of keys of several columns with ranges, the bounds
    /// come first.
    pub fn shown_order(&self) -> Vec<usize> {
        let bounds = self.n_keys..self.first_attribute();
        let keys = 0..self.n_keys;
        let attributes = self.first_attribute()..self.schema.columns.len();
        match self.layout.keys {
            KeyKind::Complex => bounds.chain(keys).chain(attributes).collect(),
            _ => keys.chain(bounds).chain(attributes).collect(),
        }
    }

    /// The columns that a reader sees.
    pub fn shown_schema(&self) -> TableSchema {
        let columns = self.shown_order().into_iter().map(|at| self.schema.columns[at].clone());
        TableSchema::new(columns.collect::<Vec<_>>())
    }

    /// What is read of the source.
    pub fn source_columns(&self) -> Arc<[ColumnSchema]> {
        match self.layout.keys {
            KeyKind::Pattern => patterns::source_columns().into(),
            _ if self.layout.has_ranges => {
                // A bound that is NULL is open, whether the dictionary can say so or not.
                let mut columns = self.schema.columns.to_vec();
                for bound in &mut columns[self.n_keys..self.n_keys + 2] {
                    bound.ty = bound.ty.clone().nullable();
                }
                columns.into()
            }
            _ => self.schema.columns.clone(),
        }
    }

    /// The type of the value that chooses among the ranges of a key.
    pub fn range_type(&self) -> Option<&DataType> {
        self.layout.has_ranges.then(|| self.schema.columns[self.n_keys].ty.without_nullable())
    }

    /// The position of the first attribute among the columns.
    pub fn first_attribute(&self) -> usize {
        self.n_keys + if self.layout.has_ranges { 2 } else { 0 }
    }

    /// Are rows of keys that were asked for kept for a time?
    pub fn is_cache(&self) -> bool {
        self.layout.reads_through && !self.layout.keeps_duplicates
    }

    pub fn attribute(&self, name: &str) -> Option<usize> {
        self.attributes.iter().position(|attribute| &*attribute.name == name)
    }

    /// The attribute whose values are keys of parents.
    pub fn hierarchical(&self) -> Option<usize> {
        self.attributes.iter().position(|attribute| attribute.is_hierarchical)
    }
}
