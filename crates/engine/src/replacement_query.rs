//! A query of the host program that is a table of its other queries. It is bound where it is named, and sees what it saw when
//! it was made: its own parameters and its own caller's replacement scans, not what the statement that names it sees.

use crate::answer::Outline;
use crate::replacement_scan::ReplacementScan;
use chalet_base::{Result, bail};
use chalet_storage::{Scan, ScanRequest, Table, TableSchema};
use std::any::Any;
use std::sync::Arc;

pub struct ReplacementQuery {
    schema: TableSchema,
    query: String,
    pub(crate) params: Vec<(String, String)>,
    pub(crate) replacement_scan: Arc<dyn ReplacementScan>,
}

impl ReplacementQuery {
    /// `columns` are those that [`crate::Session::outline`] told, `params` values of `{name:Type}` as text.
    pub fn new(
        query: String,
        columns: Outline,
        params: Vec<(String, String)>,
        replacement_scan: Arc<dyn ReplacementScan>,
    ) -> ReplacementQuery {
        ReplacementQuery { schema: TableSchema::of(columns), query, params, replacement_scan }
    }
}

impl Table for ReplacementQuery {
    fn engine(&self) -> &str {
        "View"
    }

    fn schema(&self) -> TableSchema {
        self.schema.clone()
    }

    fn scan(&self, _: &ScanRequest) -> Result<Arc<dyn Scan>> {
        bail!(LOGICAL_ERROR, "A query is read as a sub-query")
    }

    fn view_query(&self) -> Option<&str> {
        Some(&self.query)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
