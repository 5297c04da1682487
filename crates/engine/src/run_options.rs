//! How the caller wants statements to be run.

use crate::caller::Caller;
use crate::replacement_scan::ReplacementScan;
use chalet_exec::control::OnProgress;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Asked between blocks whether the statement should stop; on the thread that runs it.
pub type Interrupt = Box<dyn Fn() -> bool + Send + Sync>;

/// How to run statements.
#[derive(Default)]
pub struct RunOptions {
    /// The format of results that name none; without it rows are kept as columns.
    pub format: Option<String>,
    /// What rows that were kept are printed as when they are; CSV without it.
    pub rows_format: Option<String>,
    /// Rows are kept as columns also where a statement names a format.
    pub keeps_rows: bool,
    /// Values of `{name:Type}`, as text.
    pub params: Vec<(String, String)>,
    pub interrupt: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
    /// Tables that the caller lends.
    pub replacement_scan: Option<Arc<dyn ReplacementScan>>,
    /// What `query_id()` answers; made up where there is none.
    pub query_id: Option<String>,
    /// Settings of these statements only.
    pub settings: Vec<(String, String)>,
    pub on_progress: Option<OnProgress>,
    /// Set when another statement kills these: for who waits for something else than the engine.
    pub killed: Option<Arc<AtomicBool>>,
    /// The client of a server that asks.
    pub caller: Option<Arc<Caller>>,
}
