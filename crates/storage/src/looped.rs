//! `loop`: the rows of another table again and again, without end.

use crate::{Morsel, Scan, ScanRequest, ScanWorker, Table, TableSchema};
use chalet_base::{Result, bail};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// How often a table is read in vain before that is an error.
const MAX_EMPTY: usize = 10_000;

/// The rows of a table without end.
pub struct Looped {
    pub table: Arc<dyn Table>,
}

impl Table for Looped {
    fn engine(&self) -> &str {
        "Loop"
    }

    fn schema(&self) -> TableSchema {
        self.table.schema()
    }

    fn takes_prewhere(&self) -> bool {
        false
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn Scan>> {
        Ok(Arc::new(LoopScan {
            table: self.table.clone(),
            // Rows that a filter leaves out would end a query only when it is stopped.
            request: ScanRequest {
                columns: request.columns.clone(),
                context: request.context.clone(),
                ..ScanRequest::default()
            },
            is_taken: AtomicBool::new(false),
        }))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

struct LoopScan {
    table: Arc<dyn Table>,
    request: ScanRequest,
    is_taken: AtomicBool,
}

impl Scan for LoopScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        let is_first = !self.is_taken.swap(true, Relaxed);
        Ok(Box::new(Worker {
            table: is_first.then(|| self.table.clone()),
            request: self.request.clone(),
            current: None,
            number: 0,
            has_rows: false,
            n_empty: 0,
        }))
    }
}

struct Worker {
    /// Absent in workers that came too late: rows come in the order of the table.
    table: Option<Arc<dyn Table>>,
    request: ScanRequest,
    current: Option<Box<dyn ScanWorker>>,
    number: u32,
    /// Has this round given rows?
    has_rows: bool,
    n_empty: usize,
}

impl ScanWorker for Worker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        let Some(table) = &self.table else { return Ok(None) };
        loop {
            let current = match &mut self.current {
                Some(current) => current,
                None => {
                    self.has_rows = false;
                    self.current.insert(table.scan(&self.request)?.worker()?)
                }
            };
            match current.next()? {
                Some(Morsel { block, .. }) => {
                    self.has_rows |= block.n_rows() > 0;
                    self.number = self.number.wrapping_add(1);
                    return Ok(Some(Morsel { block, task: 0, number: self.number - 1 }));
                }
                None => {
                    self.current = None;
                    self.n_empty = if self.has_rows { 0 } else { self.n_empty + 1 };
                    if self.n_empty == MAX_EMPTY {
                        bail!(TOO_MANY_RETRIES_TO_FETCH_PARTS, "Too many retries to pull from storage");
                    }
                }
            }
        }
    }
}
