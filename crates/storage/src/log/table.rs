//! A table of the Log family on disk.

use super::file::LogFile;
use super::inserter::LogInserter;
use super::scan::LogScan;
use crate::disk::TableFolder;
use crate::{Held, Inserter, Scan, ScanRequest, Table, TableSchema};
use chalet_base::Result;
use std::any::Any;
use std::sync::Arc;

/// A table of the Log family over its file.
pub struct LogTable {
    engine: &'static str,
    schema: TableSchema,
    log: Arc<LogFile>,
}

impl LogTable {
    /// A new table, whose rows are kept in a folder.
    pub fn create(engine: &'static str, schema: TableSchema, folder: TableFolder) -> Result<LogTable> {
        let log = Arc::new(LogFile::create(Arc::new(folder), types(&schema))?);
        Ok(LogTable { engine, schema, log })
    }

    /// The table of a folder, and how many bytes of an INSERT were dropped that was killed.
    pub fn open(
        engine: &'static str,
        schema: TableSchema,
        folder: Arc<TableFolder>,
    ) -> Result<(LogTable, u64)> {
        let (log, dropped) = LogFile::open(folder, types(&schema))?;
        Ok((LogTable { engine, schema, log: Arc::new(log) }, dropped))
    }
}

/// Of the columns that are stored.
fn types(schema: &TableSchema) -> Vec<chalet_types::DataType> {
    schema.columns.iter().filter(|c| c.is_stored()).map(|c| c.ty.clone()).collect()
}

impl Table for LogTable {
    fn engine(&self) -> &str {
        self.engine
    }

    fn schema(&self) -> TableSchema {
        self.schema.clone()
    }

    fn takes_prewhere(&self) -> bool {
        self.engine == "Log"
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn Scan>> {
        // Of the stored columns: positions differ from the schema's when others stand between.
        let stored = |column: &usize| self.schema.columns[..*column].iter().filter(|c| c.is_stored()).count();
        let columns: Vec<usize> = request.columns.iter().map(stored).collect();
        Ok(Arc::new(LogScan::new(self.log.snapshot()?, self.log.types().to_vec(), columns, &request.context)))
    }

    fn insert(&self) -> Result<Box<dyn Inserter>> {
        self.log.folder().check_writable()?;
        Ok(Box::new(LogInserter::new(self.log.clone(), None)))
    }

    fn rewrite(&self) -> Result<Box<dyn Inserter>> {
        self.log.folder().check_writable()?;
        Ok(Box::new(LogInserter::new(self.log.clone(), Some(self.log.content()?))))
    }

    fn truncate(&self) -> Result<()> {
        self.log.truncate()
    }

    fn total_rows(&self) -> Option<u64> {
        self.log.size().map(|(rows, _)| rows)
    }

    fn total_bytes(&self) -> Option<u64> {
        self.log.size().map(|(_, bytes)| bytes)
    }

    fn folder(&self) -> Option<&Arc<TableFolder>> {
        Some(self.log.folder())
    }

    fn hold(&self) -> Result<Option<Held>> {
        Ok(self.log.hold()?.map(|held| held as Held))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
