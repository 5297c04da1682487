//! Some parts of a table, or of a projection of it, as a table that is only read.

use super::MergeTree;
use super::part::Part;
use crate::samples::{Sample, SampleSize};
use crate::{Inserter, Scan, ScanRequest, Table, TableSchema};
use chalet_base::{Result, bail};
use chalet_formats::TableStatistics;
use std::any::Any;
use std::sync::Arc;

/// Parts under a definition that all of them can be read by.
pub struct PartSet {
    pub table: MergeTree,
    pub parts: Vec<Arc<Part>>,
}

impl Table for PartSet {
    fn engine(&self) -> &str {
        self.table.engine()
    }

    fn schema(&self) -> TableSchema {
        self.table.schema()
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn Scan>> {
        self.table.scan_parts(self.parts.clone(), request)
    }

    fn has_row_ids(&self) -> bool {
        true
    }

    fn insert(&self) -> Result<Box<dyn Inserter>> {
        bail!(LOGICAL_ERROR, "A part is never written")
    }

    fn total_rows(&self) -> Option<u64> {
        Some(self.parts.iter().map(|part| part.info.rows).sum())
    }

    fn statistics(&self, columns: &[usize]) -> Option<TableStatistics> {
        self.table.statistics_of(self.parts.clone(), columns)
    }

    fn sample(&self, columns: &[usize], size: SampleSize) -> Result<Option<Sample>> {
        self.table.sample_of(self.parts.clone(), columns, size)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
