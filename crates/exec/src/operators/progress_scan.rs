//! A table scan that counts the rows and bytes it reads, for progress and for the limits of the query, which end it.

use crate::QueryControl;
use chalet_base::Result;
use chalet_storage::{Morsel, RowsById, Scan, ScanWorker, Summary};
use std::sync::Arc;

/// A scan that reports what it reads to the query's control.
pub struct ProgressScan {
    pub inner: Arc<dyn Scan>,
    pub control: Arc<QueryControl>,
}

impl Scan for ProgressScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        Ok(Box::new(Worker { inner: self.inner.worker()?, control: self.control.clone(), open: true }))
    }

    fn parallelism(&self) -> usize {
        self.inner.parallelism()
    }

    fn total_rows(&self) -> Option<u64> {
        self.inner.total_rows()
    }

    fn exact_rows(&self) -> Option<u64> {
        self.inner.exact_rows()
    }

    fn summary(&self, columns: &[usize]) -> Option<Summary> {
        self.inner.summary(columns)
    }

    fn applies_filter(&self) -> bool {
        self.inner.applies_filter()
    }

    fn rows_by_id(&self) -> Option<Arc<dyn RowsById>> {
        self.inner.rows_by_id()
    }

    fn describe(&self) -> Vec<(String, String)> {
        self.inner.describe()
    }
}

struct Worker {
    inner: Box<dyn ScanWorker>,
    control: Arc<QueryControl>,
    open: bool,
}

impl ScanWorker for Worker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        if !self.open {
            return Ok(None);
        }
        let morsel = self.inner.next()?;
        let passed_by = self.inner.take_passed_by();
        let (rows, bytes) = match &morsel {
            Some(morsel) => (morsel.block.n_rows() as u64, morsel.block.memory() as u64),
            None => (0, 0),
        };
        if rows + passed_by > 0 {
            self.open = self.control.add_read(rows + passed_by, bytes)?;
        }
        Ok(morsel)
    }
}
