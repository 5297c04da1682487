//! What all workers of a query share: is it cancelled, is it over its limits, how far is it.

use crate::speed::SpeedLimits;
use chalet_base::events::{self, Event};
use chalet_base::{Error, Result, bail, err};
use chalet_memory::{Tracker, thread};
use chalet_storage::scan::ScanProgress;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What happens when a limit is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Overflow {
    #[default]
    Throw,
    /// Stop reading and answer with what there is.
    Break,
}

/// 0 means no limit, as in the kernel.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    pub max_execution_time: Duration,
    pub timeout_overflow: Overflow,
    pub max_memory_usage: u64,
    pub max_rows_to_read: u64,
    pub max_bytes_to_read: u64,
    pub read_overflow: Overflow,
    /// Bytes of temporary files, after compression: `max_temporary_data_on_disk_size_for_query`.
    pub max_temporary_data_on_disk_size: u64,
    pub max_result_rows: u64,
    pub max_result_bytes: u64,
    pub result_overflow: Overflow,
    pub speed: SpeedLimits,
}

/// How far a query is. Totals are what its sources know of themselves, 0 when they know nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    pub read_rows: u64,
    /// Of files, where their sizes are the total; else of columns.
    pub read_bytes: u64,
    pub total_rows: u64,
    pub total_bytes: u64,
    pub written_rows: u64,
    pub written_bytes: u64,
    pub elapsed: Duration,
    /// The statement is over, well or not.
    pub is_over: bool,
}

/// Told now and then how far a query is, on the thread that runs it.
pub type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

/// Shared by all workers of one query.
pub struct QueryControl {
    pub limits: Limits,
    started: Instant,
    cancelled: AtomicBool,
    /// Another statement has killed it; its host may look at it, too.
    killed: Arc<AtomicBool>,
    /// Rows were asked for.
    begun: AtomicBool,
    /// Reading stopped early because a limit with `break` was reached.
    stopped: AtomicBool,
    /// What the query is charged to.
    pub memory: Arc<Tracker>,
    pub read_rows: AtomicU64,
    pub read_bytes: AtomicU64,
    pub total_rows: AtomicU64,
    /// Rows that came to aggregations; the highest number while there was none.
    pub aggregated_rows: AtomicU64,
    /// Bytes that are in temporary files now.
    pub temporary_bytes: AtomicU64,
    pub files: Arc<ScanProgress>,
    /// Asked on the thread that runs the query, at most every few milliseconds: should it stop?
    interrupt: Option<Box<dyn Fn() -> bool + Send + Sync>>,
    last_interrupt_check: AtomicU64,
    on_progress: Option<OnProgress>,
    /// Progress is told this often at most, in microseconds.
    progress_period_us: u64,
    last_progress: AtomicU64,
    failure: Mutex<Option<Error>>,
}

/// The host's signals are looked at this often at most, in microseconds.
const INTERRUPT_PERIOD_US: u64 = 10_000;

impl QueryControl {
    /// A control for one query. `interrupt`, asked on the calling thread alone, says whether the query is to stop. `user` is
    /// charged with it; `max_memory_usage` of the limits is that of the query itself.
    pub fn new(
        limits: Limits,
        interrupt: Option<Box<dyn Fn() -> bool + Send + Sync>>,
        user: Option<Arc<Tracker>>,
    ) -> Self {
        let memory = Arc::new(Tracker::of_query(user));
        memory.set_limit(limits.max_memory_usage);
        QueryControl {
            limits,
            started: Instant::now(),
            cancelled: AtomicBool::new(false),
            killed: Arc::default(),
            begun: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            memory,
            read_rows: AtomicU64::new(0),
            read_bytes: AtomicU64::new(0),
            total_rows: AtomicU64::new(0),
            aggregated_rows: AtomicU64::new(u64::MAX),
            temporary_bytes: AtomicU64::new(0),
            files: Arc::default(),
            interrupt,
            last_interrupt_check: AtomicU64::new(0),
            on_progress: None,
            progress_period_us: 0,
            last_progress: AtomicU64::new(0),
            failure: Mutex::new(None),
        }
    }

    /// Notes that rows, or none, come to an aggregation.
    pub fn add_aggregated_rows(&self, rows: u64) {
        let known = self.aggregated_rows.load(Relaxed);
        if known == u64::MAX {
            // Whoever is first makes it a count.
            let _ = self.aggregated_rows.compare_exchange(known, 0, Relaxed, Relaxed);
        }
        self.aggregated_rows.fetch_add(rows, Relaxed);
    }

    /// How many rows came to aggregations, if there were any.
    pub fn rows_before_aggregation(&self) -> Option<u64> {
        Some(self.aggregated_rows.load(Relaxed)).filter(|&rows| rows != u64::MAX)
    }

    /// The same, with a callback that progress is reported to, between blocks and not more often than after so many microseconds.
    pub fn with_progress(mut self, on_progress: Option<OnProgress>, period_us: u64) -> Self {
        self.on_progress = on_progress;
        self.progress_period_us = period_us;
        self
    }

    /// The same, with what is set when it is killed.
    pub fn with_killed(mut self, killed: Arc<AtomicBool>) -> Self {
        self.killed = killed;
        self
    }

    /// What is set when it is killed.
    pub fn killed(&self) -> &Arc<AtomicBool> {
        &self.killed
    }

    /// What has been read so far.
    pub fn progress(&self) -> Progress {
        let total_bytes = self.files.total_bytes.load(Relaxed);
        let of_files = if total_bytes > 0 { &self.files.file_bytes } else { &self.read_bytes };
        Progress {
            read_rows: self.read_rows.load(Relaxed),
            read_bytes: of_files.load(Relaxed),
            total_rows: self.total_rows.load(Relaxed) + self.files.expected_rows(),
            total_bytes,
            elapsed: self.elapsed(),
            ..Progress::default()
        }
    }

    /// Tells the host how far the query is now.
    fn tell_progress(&self) {
        if let Some(tell) = &self.on_progress {
            tell(self.progress());
        }
    }

    /// Tells the host that the statement is over, and what it has written.
    pub fn tell_end(&self, written_rows: u64, written_bytes: u64) {
        if let Some(tell) = &self.on_progress {
            tell(Progress { written_rows, written_bytes, is_over: true, ..self.progress() });
        }
    }

    /// The time since the query began.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// The plan of the query is known, and its rows are asked for.
    pub(crate) fn begin(&self) {
        self.begun.store(true, Relaxed);
    }

    /// Has it come to that?
    pub fn has_begun(&self) -> bool {
        self.begun.load(Relaxed)
    }

    /// Stops the query at the next block boundary.
    pub fn cancel(&self) {
        self.cancelled.store(true, Relaxed);
    }

    /// Stops the query for another one that says so.
    pub fn kill(&self) {
        self.killed.store(true, Relaxed);
        self.cancel();
    }

    /// Has somebody cancelled the query?
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Relaxed)
    }

    /// The first failure of any worker stops the others and is what the query reports.
    pub fn fail(&self, error: Error) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.cancel();
    }

    /// The first error of a worker, once.
    pub fn take_failure(&self) -> Option<Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Called between blocks by every worker: fails when the query was cancelled or is over a limit of time or memory.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.cancelled.load(Relaxed) {
            bail!(QUERY_WAS_CANCELLED, "Query was cancelled");
        }
        thread::check(&self.memory)?;
        self.check_time()
    }

    fn check_time(&self) -> Result<()> {
        let limit = self.limits.max_execution_time;
        if limit.is_zero() {
            return Ok(());
        }
        let elapsed = self.elapsed();
        if elapsed > limit {
            if self.limits.timeout_overflow == Overflow::Break {
                self.stopped.store(true, Relaxed);
                return Ok(());
            }
            bail!(
                TIMEOUT_EXCEEDED,
                "Timeout exceeded: elapsed {} ms, maximum: {} ms",
                elapsed.as_millis(),
                limit.as_millis()
            );
        }
        Ok(())
    }

    /// Called between blocks by the thread that started the query: also asks the host.
    pub fn check_with_interrupt(&self) -> Result<()> {
        if let Some(interrupt) = &self.interrupt {
            let now = self.elapsed().as_micros() as u64;
            if now.saturating_sub(self.last_interrupt_check.load(Relaxed)) >= INTERRUPT_PERIOD_US {
                self.last_interrupt_check.store(now, Relaxed);
                if interrupt() {
                    self.cancel();
                }
            }
        }
        if self.on_progress.is_some() {
            let now = self.elapsed().as_micros() as u64;
            if now.saturating_sub(self.last_progress.load(Relaxed)) >= self.progress_period_us {
                self.last_progress.store(now, Relaxed);
                self.tell_progress();
            }
        }
        self.check()
    }

    /// Has reading stopped early on purpose?
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// Adds to what was read; `false` when reading should stop there.
    pub fn add_read(&self, rows: u64, bytes: u64) -> Result<bool> {
        let (rows, bytes) = self.count_read(rows, bytes)?;
        let Limits { max_rows_to_read, max_bytes_to_read, read_overflow, .. } = self.limits;
        if let Some(error) = read_limit_error(rows, bytes, max_rows_to_read, max_bytes_to_read) {
            if read_overflow == Overflow::Break {
                self.stopped.store(true, Relaxed);
                return Ok(false);
            }
            return Err(error);
        }
        Ok(!self.is_stopped())
    }

    /// Adds to what was read, whatever the limits of it are, and gives rows and bytes so far. Fails where the query is too
    /// slow.
    pub fn count_read(&self, rows: u64, bytes: u64) -> Result<(u64, u64)> {
        events::add(Event::SelectedRows, rows);
        events::add(Event::SelectedBytes, bytes);
        let rows = self.read_rows.fetch_add(rows, Relaxed) + rows;
        let bytes = self.read_bytes.fetch_add(bytes, Relaxed) + bytes;
        if self.limits.speed.is_limited() {
            self.check_speed(rows, bytes)?;
        }
        Ok((rows, bytes))
    }

    /// Refuses to go on where the query is too slow, and waits where it is too fast.
    fn check_speed(&self, rows: u64, bytes: u64) -> Result<()> {
        let total_rows = self.total_rows.load(Relaxed) + self.files.expected_rows();
        let wait_until = self.limits.speed.check(self.elapsed(), rows, bytes, total_rows)?;
        // In pieces, to be stoppable.
        while let Some(rest) = wait_until.checked_sub(self.elapsed()).filter(|rest| !rest.is_zero()) {
            self.check()?;
            std::thread::sleep(rest.min(Duration::from_millis(20)));
        }
        Ok(())
    }
}

/// The refusal to read more than so many rows or bytes, where 0 is no limit.
pub(crate) fn read_limit_error(rows: u64, bytes: u64, max_rows: u64, max_bytes: u64) -> Option<Error> {
    if max_rows > 0 && rows > max_rows {
        return Some(err!(
            TOO_MANY_ROWS,
            "Limit for rows (controlled by 'max_rows_to_read' setting) exceeded, max rows: {max_rows}, current rows: \
             {rows}"
        ));
    }
    (max_bytes > 0 && bytes > max_bytes).then(|| {
        err!(
            TOO_MANY_BYTES,
            "Limit for (uncompressed) bytes to read (controlled by 'max_bytes_to_read' setting) exceeded, max bytes: \
             {max_bytes}, current bytes: {bytes}"
        )
    })
}
