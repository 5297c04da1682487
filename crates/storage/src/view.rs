//! Views: a schema and the text of a query. The binder reads the text where the view is named.

use crate::disk::TableFolder;
use crate::{Held, Scan, ScanRequest, Table, TableSchema};
use chalet_base::{Result, bail};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A view: a query that is bound where the view is named.
pub struct View {
    pub schema: TableSchema,
    pub query: String,
}

impl Table for View {
    fn engine(&self) -> &str {
        "View"
    }

    fn schema(&self) -> TableSchema {
        self.schema.clone()
    }

    fn takes_prewhere(&self) -> bool {
        false
    }

    fn scan(&self, _: &ScanRequest) -> Result<Arc<dyn Scan>> {
        bail!(LOGICAL_ERROR, "A view is read through its query")
    }

    fn view_query(&self) -> Option<&str> {
        Some(&self.query)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Where the rows of a materialized view are.
#[derive(Clone)]
pub enum ViewTarget {
    /// In a table of its own, which goes with it.
    Inner(Arc<dyn Table>),
    /// In the table of a database and a name.
    Named(String, String),
}

/// What is known of a view that is filled by the clock.
#[derive(Clone)]
pub struct Refreshed {
    /// What follows the word REFRESH, as it is printed.
    pub clause: String,
    /// The same as long as the view is open, whatever becomes of its name and its query.
    pub id: u64,
    /// What the next refresh is counted from, in seconds since 1970-01-01 UTC: when the last began or ended whose rows it has.
    /// `None`: it has not been filled yet.
    pub last: Option<i64>,
    /// The user of a server who has made it, or its query, and with whose rights it is filled; none for the program's own.
    pub definer: Option<Arc<str>>,
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl Refreshed {
    /// A view that was not there before.
    pub fn new(clause: String, last: Option<i64>, definer: Option<Arc<str>>) -> Refreshed {
        Refreshed { clause, id: NEXT_ID.fetch_add(1, Relaxed), last, definer }
    }
}

/// A query that is run over what is inserted into the table that it reads, and a table for its results.
#[derive(Clone)]
pub struct MaterializedView {
    pub schema: TableSchema,
    pub query: String,
    /// Database and name of the table that the view follows, if it follows one.
    pub source: Option<(String, String)>,
    pub target: ViewTarget,
    /// Of one that follows no table, but the clock.
    pub refresh: Option<Refreshed>,
}

impl MaterializedView {
    /// The table of its own, if it has one.
    pub fn inner(&self) -> Option<&Arc<dyn Table>> {
        match &self.target {
            ViewTarget::Inner(table) => Some(table),
            ViewTarget::Named(..) => None,
        }
    }
}

impl Table for MaterializedView {
    fn engine(&self) -> &str {
        "MaterializedView"
    }

    fn schema(&self) -> TableSchema {
        self.schema.clone()
    }

    fn scan(&self, _: &ScanRequest) -> Result<Arc<dyn Scan>> {
        bail!(LOGICAL_ERROR, "A materialized view is read through its target")
    }

    fn truncate(&self) -> Result<()> {
        self.inner().map_or(Ok(()), |inner| inner.truncate())
    }

    fn total_rows(&self) -> Option<u64> {
        self.inner()?.total_rows()
    }

    fn total_bytes(&self) -> Option<u64> {
        self.inner()?.total_bytes()
    }

    fn view_query(&self) -> Option<&str> {
        Some(&self.query)
    }

    fn folder(&self) -> Option<&Arc<TableFolder>> {
        self.inner()?.folder()
    }

    fn hold(&self) -> Result<Option<Held>> {
        self.inner().map_or(Ok(None), |inner| inner.hold())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
