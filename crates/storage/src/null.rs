//! The Null engine: swallows what is written, reads as empty.

use crate::fixed::BlockScan;
use crate::{Inserter, Scan, ScanRequest, Table, TableSchema};
use chalet_base::Result;
use chalet_columns::Block;
use std::any::Any;
use std::sync::Arc;

/// ENGINE = Null: takes rows and has none.
pub struct NullTable {
    pub schema: TableSchema,
}

impl Table for NullTable {
    fn engine(&self) -> &str {
        "Null"
    }

    fn schema(&self) -> TableSchema {
        self.schema.clone()
    }

    fn takes_prewhere(&self) -> bool {
        false
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn Scan>> {
        Ok(Arc::new(BlockScan::new(Arc::new([]), request)))
    }

    fn insert(&self) -> Result<Box<dyn Inserter>> {
        Ok(Box::new(Swallow))
    }

    fn truncate(&self) -> Result<()> {
        Ok(())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

struct Swallow;

impl Inserter for Swallow {
    fn write(&mut self, _: Block) -> Result<()> {
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
