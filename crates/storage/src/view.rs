//! Views: a schema and the text of a query. The binder reads the text where the view is named.

use crate::{Scan, ScanRequest, Table, TableSchema};
use chalet_base::{Result, bail};
use std::any::Any;
use std::sync::Arc;

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
