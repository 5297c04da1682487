//! A table scan that counts the rows and bytes it reads, for progress and for the limits of the query, which end it.

use crate::QueryControl;
use crate::control::read_limit_error;
use chalet_base::Result;
use chalet_plan::ScanLimits;
use chalet_storage::scan::Wake;
use chalet_storage::{Morsel, RowsById, Scan, ScanWorker, Summary};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::task::Poll;

/// A scan that reports what it reads to the query's control.
pub struct ProgressScan {
    pub inner: Arc<dyn Scan>,
    pub control: Arc<QueryControl>,
    pub own_limits: Option<Arc<OwnLimits>>,
}

/// The limits of the sub-query that the scan is of, and what counts against them.
pub struct OwnLimits {
    limits: Arc<ScanLimits>,
    rows: AtomicU64,
    bytes: AtomicU64,
    /// The limit is reached, and reading ends there.
    ended: AtomicBool,
}

impl OwnLimits {
    pub fn new(limits: Arc<ScanLimits>) -> OwnLimits {
        OwnLimits { limits, rows: AtomicU64::new(0), bytes: AtomicU64::new(0), ended: AtomicBool::new(false) }
    }

    /// Adds to what was read; fails, or ends the scan, at the limit.
    fn add(&self, rows: u64, bytes: u64) -> Result<()> {
        let rows = self.rows.fetch_add(rows, Relaxed) + rows;
        let bytes = self.bytes.fetch_add(bytes, Relaxed) + bytes;
        match read_limit_error(rows, bytes, self.limits.max_rows_to_read, self.limits.max_bytes_to_read) {
            Some(_) if self.limits.breaks => self.ended.store(true, Relaxed),
            Some(error) => return Err(error),
            None => {}
        }
        Ok(())
    }
}

impl Scan for ProgressScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        Ok(Box::new(Worker {
            inner: self.inner.worker()?,
            control: self.control.clone(),
            own_limits: self.own_limits.clone(),
            open: true,
        }))
    }

    fn parallelism(&self) -> usize {
        self.inner.parallelism()
    }

    fn set_wake(&self, wake: Wake) {
        self.inner.set_wake(wake);
    }

    fn total_rows(&self) -> Option<u64> {
        self.inner.total_rows()
    }

    fn summary(&self, columns: &[usize]) -> Option<Summary> {
        self.inner.summary(columns)
    }

    fn null_counts(&self, columns: &[usize]) -> Option<Vec<u64>> {
        self.inner.null_counts(columns)
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
    own_limits: Option<Arc<OwnLimits>>,
    open: bool,
}

impl ScanWorker for Worker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        if self.is_over() {
            return Ok(None);
        }
        let morsel = self.inner.next()?;
        self.count(morsel)
    }

    fn poll_next(&mut self) -> Result<Poll<Option<Morsel>>> {
        if self.is_over() {
            return Ok(Poll::Ready(None));
        }
        match self.inner.poll_next()? {
            Poll::Ready(morsel) => self.count(morsel).map(Poll::Ready),
            Poll::Pending => Ok(Poll::Pending),
        }
    }
}

impl Worker {
    /// Has a limit ended the reading?
    fn is_over(&self) -> bool {
        !self.open || self.own_limits.as_ref().is_some_and(|limits| limits.ended.load(Relaxed))
    }

    /// Counts what was read.
    fn count(&mut self, morsel: Option<Morsel>) -> Result<Option<Morsel>> {
        let passed_by = self.inner.take_passed_by();
        let (rows, bytes) = match &morsel {
            Some(morsel) => (morsel.block.n_rows() as u64, morsel.block.memory() as u64),
            None => (0, 0),
        };
        if rows + passed_by > 0 {
            // The limits of a sub-query stand in place of the statement's.
            self.open = match &self.own_limits {
                Some(limits) => {
                    limits.add(rows + passed_by, bytes)?;
                    self.control.count_read(rows + passed_by, bytes)?;
                    !self.control.is_stopped()
                }
                None => self.control.add_read(rows + passed_by, bytes)?,
            };
        }
        Ok(morsel)
    }
}
