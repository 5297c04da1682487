//! A table or view that is not open: its definition on disk cannot be read, or it is detached. Others stay usable, and this one can be dropped.

use super::TableFolder;
use crate::{Inserter, Scan, ScanRequest, Table, TableSchema};
use chalet_base::{Error, Result};
use std::any::Any;
use std::sync::Arc;

/// A table that is in the catalog on disk but could not be opened, or was not yet: every use of it is its error.
pub struct BrokenTable {
    /// As its definition names it, as far as that can be told.
    pub engine: String,
    pub is_view: bool,
    /// What is said of each attempt to use it.
    pub error: Error,
    /// Its rows, which are there until it is dropped.
    pub folder: Option<Arc<TableFolder>>,
}

impl Table for BrokenTable {
    fn engine(&self) -> &str {
        &self.engine
    }

    fn schema(&self) -> TableSchema {
        TableSchema::default()
    }

    fn scan(&self, _: &ScanRequest) -> Result<Arc<dyn Scan>> {
        Err(self.error.clone())
    }

    fn insert(&self) -> Result<Box<dyn Inserter>> {
        Err(self.error.clone())
    }

    fn rewrite(&self) -> Result<Box<dyn Inserter>> {
        Err(self.error.clone())
    }

    fn truncate(&self) -> Result<()> {
        Err(self.error.clone())
    }

    fn view_query(&self) -> Option<&str> {
        self.is_view.then_some("")
    }

    fn folder(&self) -> Option<&Arc<TableFolder>> {
        self.folder.as_ref()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
