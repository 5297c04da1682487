//! Counts what a table scan reads, and stops it at the limits of the query.

use crate::QueryControl;
use chalet_base::Result;
use chalet_storage::{Morsel, Scan, ScanWorker};
use std::sync::Arc;

pub struct CountedScan {
    pub inner: Arc<dyn Scan>,
    pub control: Arc<QueryControl>,
}

impl Scan for CountedScan {
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
        let Some(morsel) = self.inner.next()? else { return Ok(None) };
        let block = &morsel.block;
        self.open = self.control.add_read(block.n_rows() as u64, block.memory() as u64)?;
        Ok(Some(morsel))
    }
}
