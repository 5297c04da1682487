//! The trait of tables: a schema, a scan, an insert.

use crate::disk::TableFolder;
use crate::keyed::JoinEngine;
use crate::merge_tree::TableKeys;
use crate::samples::{Sample, SampleSize};
use crate::{Inserter, Scan, ScanRequest};
use chalet_base::{Result, bail};
use chalet_formats::TableStatistics;
use chalet_types::DataType;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a column is computed from when an INSERT leaves it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultKind {
    Default,
    /// Always computed, never inserted, not in `*`.
    Materialized,
    /// Computed when read, never stored, not in `*`.
    Alias,
    /// Only there to compute others from; not stored.
    Ephemeral,
}

impl DefaultKind {
    /// The keyword.
    pub fn name(self) -> &'static str {
        match self {
            DefaultKind::Default => "DEFAULT",
            DefaultKind::Materialized => "MATERIALIZED",
            DefaultKind::Alias => "ALIAS",
            DefaultKind::Ephemeral => "EPHEMERAL",
        }
    }
}

/// A column of a table as it was declared.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnSchema {
    pub name: Arc<str>,
    pub ty: DataType,
    /// The expression as SQL text; the binder reads it.
    pub default: Option<(DefaultKind, Arc<str>)>,
    pub comment: Arc<str>,
    /// `_path`, `_file`: found by name, not by `*`.
    pub is_virtual: bool,
    /// `max` of `SimpleAggregateFunction(max, T)`, as SQL text: how merges combine values of the column.
    pub simple_aggregate: Option<Arc<str>>,
    /// When merges put defaults in the place of its values, as SQL text.
    pub ttl: Option<Arc<str>>,
    /// The list inside of `CODEC(...)`, in full, as it was declared. Empty where there is none.
    pub codec: Arc<str>,
    /// The kinds inside of `STATISTICS(...)`. Empty where there are none: files have statistics of their own.
    pub statistics: Arc<str>,
    /// What stands inside of `SETTINGS (...)`, kept as it was declared.
    pub settings: Arc<str>,
}

impl ColumnSchema {
    /// A column without a default and a comment.
    pub fn new(name: impl Into<Arc<str>>, ty: DataType) -> Self {
        ColumnSchema {
            name: name.into(),
            ty,
            default: None,
            comment: "".into(),
            is_virtual: false,
            simple_aggregate: None,
            ttl: None,
            codec: "".into(),
            statistics: "".into(),
            settings: "".into(),
        }
    }

    /// A column that `SELECT *` leaves out and INSERT does not take.
    pub fn virtual_column(name: impl Into<Arc<str>>, ty: DataType) -> Self {
        ColumnSchema { is_virtual: true, ..ColumnSchema::new(name, ty) }
    }

    /// A column of this type, or of the one that this shows.
    pub fn showing(name: impl Into<Arc<str>>, shown: DataType) -> Self {
        let ty = shown.without_simple_aggregates();
        let simple_aggregate = match shown {
            DataType::SimpleAggregate(named) => Some(named.function.clone()),
            _ => None,
        };
        ColumnSchema { simple_aggregate, ..ColumnSchema::new(name, ty) }
    }

    /// What the column shows in place of its type, if that is something else.
    pub fn shown_type(&self) -> Option<DataType> {
        self.simple_aggregate.as_ref().map(|function| self.ty.clone().simple_aggregate(function.clone()))
    }

    /// The type as it was declared.
    pub fn declared_type(&self) -> String {
        match &self.simple_aggregate {
            None => self.ty.to_string(),
            Some(function) => format!("SimpleAggregateFunction({function}, {})", self.ty),
        }
    }

    /// Which kind of default the column has, if any.
    pub fn default_kind(&self) -> Option<DefaultKind> {
        self.default.as_ref().map(|d| d.0)
    }

    /// Does `*` contain it?
    pub fn in_star(&self) -> bool {
        !self.is_virtual && matches!(self.default_kind(), None | Some(DefaultKind::Default))
    }

    /// Does the table hold values of it? (Virtual columns are made up by the scan.)
    pub fn is_stored(&self) -> bool {
        !matches!(self.default_kind(), Some(DefaultKind::Alias | DefaultKind::Ephemeral))
    }
}

/// `CONSTRAINT name CHECK expr`.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    pub name: Arc<str>,
    /// The expression as SQL text.
    pub expr: Arc<str>,
    /// `ASSUME`: taken to be true, never checked.
    pub is_assumed: bool,
}

/// `INDEX name expr TYPE kind GRANULARITY n`, as SQL text.
#[derive(Clone, Debug, PartialEq)]
pub struct SkipIndex {
    pub name: Arc<str>,
    pub expr: Arc<str>,
    /// `minmax`, `bloom_filter(0.01)`.
    pub kind: Arc<str>,
    pub granularity: u64,
    /// Nobody declared it: a setting of the table asks for it.
    pub is_implicit: bool,
}

impl SkipIndex {
    /// The kind without its arguments: `minmax`, `bloom_filter`.
    pub fn kind_name(&self) -> String {
        self.kind.split('(').next().unwrap_or_default().trim().to_ascii_lowercase()
    }
}

/// `PROJECTION name (query)`, as SQL text.
#[derive(Clone, Debug, PartialEq)]
pub struct Projection {
    pub name: Arc<str>,
    /// In one line, without parentheses.
    pub query: Arc<str>,
    /// All of it, as SHOW CREATE prints it.
    pub shown: Arc<str>,
}

/// Columns in order, and what their rows must meet; cheap to clone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableSchema {
    pub columns: Arc<[ColumnSchema]>,
    /// The constraints that inserted rows must meet.
    pub constraints: Arc<[Constraint]>,
    /// Those of a MergeTree.
    pub indexes: Arc<[SkipIndex]>,
    pub projections: Arc<[Projection]>,
}

impl TableSchema {
    /// A schema of these columns, without constraints.
    pub fn new(columns: Vec<ColumnSchema>) -> Self {
        TableSchema { columns: columns.into(), ..TableSchema::default() }
    }

    /// A schema of plain columns, by name and type.
    pub fn of(columns: impl IntoIterator<Item = (impl Into<Arc<str>>, DataType)>) -> Self {
        TableSchema::new(
            columns.into_iter().map(|(name, shown)| ColumnSchema::showing(name, shown)).collect(),
        )
    }

    /// The columns that INSERT gives the table and scans find there, in order.
    pub fn stored(&self) -> impl Iterator<Item = &ColumnSchema> + Clone {
        self.columns.iter().filter(|column| column.is_stored() && !column.is_virtual)
    }

    /// The positions of the columns that are stored.
    pub fn stored_positions(&self) -> Vec<usize> {
        let columns = self.columns.iter().enumerate();
        columns.filter(|(_, column)| column.is_stored() && !column.is_virtual).map(|(at, _)| at).collect()
    }

    /// The position of the column of this name.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| &*c.name == name)
    }
}

/// What a statement keeps of the tables that it reads.
pub type Held = Arc<dyn Any + Send + Sync>;

/// A table, a view or the result of a table function.
pub trait Table: Send + Sync {
    /// `Memory`, `View`, `SystemNumbers`.
    fn engine(&self) -> &str;

    /// The columns and constraints.
    fn schema(&self) -> TableSchema;

    /// Prepares reading. What the request offers (filter, limit) may be used or ignored: the engine filters again.
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn Scan>>;

    /// Do its scans give row ids, and read further columns of rows by them?
    fn has_row_ids(&self) -> bool {
        false
    }

    /// Are its rows made when they are asked for, and no others?
    fn makes_rows(&self) -> bool {
        false
    }

    /// Do its rows stay the same while a statement runs, so that reading them twice gives them twice?
    fn is_constant(&self) -> bool {
        false
    }

    /// What tells its rows from those of others: two tables that say the same give the same rows, as long as nobody writes. `None` where
    /// that is not known, or where each reading gives others.
    fn identity(&self) -> Option<String> {
        None
    }

    /// For each column a mark that whoever resolves a name to it sets. None where nobody wants to know. Who asks for the
    /// schema without them counts as one who names all columns.
    fn name_marks(&self) -> Option<Vec<Arc<AtomicBool>>> {
        None
    }

    /// May a query say which conditions are tested first? Those that ask for it of other tables are refused. Memory and Log, whose
    /// rows are all at hand, take it too: a table without an engine is one of them, and a MergeTree to who knows ClickHouse.
    fn takes_prewhere(&self) -> bool {
        true
    }

    /// By what the rows of an INSERT are to be sorted before they are written.
    fn keys(&self) -> Option<&TableKeys> {
        None
    }

    /// What it can be joined as, and the positions of its key among the stored columns, of a table of the engine Join.
    fn join_engine(&self) -> Option<(&JoinEngine, &[usize])> {
        None
    }

    /// Prepares writing.
    fn insert(&self) -> Result<Box<dyn Inserter>> {
        bail!(NOT_IMPLEMENTED, "Method write is not supported by storage {}", self.engine())
    }

    /// Prepares writing all rows anew: when that is finished they take the place of those that are there. Fails then with
    /// CANNOT_ASSIGN_OPTIMIZE, and changes nothing, where the table is no longer as it is now.
    fn rewrite(&self) -> Result<Box<dyn Inserter>> {
        bail!(NOT_IMPLEMENTED, "Method optimize is not supported by storage {}", self.engine())
    }

    /// Removes all rows. Fails for tables that cannot.
    fn truncate(&self) -> Result<()> {
        bail!(NOT_IMPLEMENTED, "Truncate is not supported by storage {}", self.engine())
    }

    /// Rows, when known without reading.
    fn total_rows(&self) -> Option<u64> {
        None
    }

    /// What is known, or guessed at little cost, of the rows and of these columns (indexes into the schema).
    fn statistics(&self, columns: &[usize]) -> Option<TableStatistics> {
        let rows = self.total_rows()?;
        Some(TableStatistics::of_rows(rows as f64, columns.len()))
    }

    /// Some rows from all over the table, of these columns (indexes into the schema), read at little cost; `None` where that cannot be.
    fn sample(&self, columns: &[usize], size: SampleSize) -> Result<Option<Sample>> {
        let _ = (columns, size);
        Ok(None)
    }

    /// Bytes held, when known without reading.
    fn total_bytes(&self) -> Option<u64> {
        None
    }

    /// The query of a view, as SQL text.
    fn view_query(&self) -> Option<&str> {
        None
    }

    /// Where its rows are kept, of a table on disk. Goes with the table.
    fn folder(&self) -> Option<&Arc<TableFolder>> {
        None
    }

    /// Keeps what it has now readable until what this gives is dropped, where another process may take it away; `None`
    /// where none can.
    fn hold(&self) -> Result<Option<Held>> {
        Ok(None)
    }

    /// For what only one engine has.
    fn as_any(&self) -> &dyn Any;
}
