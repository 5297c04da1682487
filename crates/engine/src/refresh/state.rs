//! What is known of one view that is filled by the clock, as long as its database is open.

use super::schedule::{Millis, Schedule};
use chalet_exec::QueryControl;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

/// A refresh that runs.
pub(crate) struct Running {
    pub begin: Millis,
    pub cancel: Arc<AtomicBool>,
    /// How far it is, once it has begun to read.
    pub control: Arc<OnceLock<Arc<QueryControl>>>,
}

/// Rows and bytes of a refresh.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub read_rows: u64,
    pub read_bytes: u64,
    pub total_rows: u64,
    pub written_rows: u64,
    pub written_bytes: u64,
}

/// One view.
pub(crate) struct View {
    pub database: String,
    pub name: String,
    clause: String,
    pub schedule: Schedule,
    /// As the catalog has it.
    pub last: Option<Millis>,
    pub running: Option<Running>,
    /// By STOP or PAUSE.
    pub is_stopped: bool,
    /// By REFRESH VIEW.
    pub is_wanted: bool,
    /// Attempts that have failed since one succeeded or was given up.
    failed: u32,
    retry_at: Option<Millis>,
    /// When attempts were given up.
    given_up: Option<Millis>,
    pub retry: u64,
    pub exception: String,
    pub last_begin: Option<Millis>,
    pub last_success: Option<Millis>,
    pub last_duration: Option<u64>,
    pub counts: Counts,
    fake_time: Option<Millis>,
    /// From 0 to 1: where in the span of RANDOMIZE the next one is.
    random: f64,
}

/// Why a view is not filled now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Disabled,
    Scheduled,
    WaitingForDependencies,
    MissingDependencies,
    /// It should be: as soon as there is room for another one.
    Due,
    Running,
}

impl Status {
    pub fn name(self) -> &'static str {
        match self {
            Status::Disabled => "Disabled",
            Status::Scheduled => "Scheduled",
            Status::WaitingForDependencies => "WaitingForDependencies",
            Status::MissingDependencies => "MissingDependencies",
            Status::Due => "Scheduling",
            Status::Running => "Running",
        }
    }
}

pub(crate) fn now() -> Millis {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

impl View {
    pub fn new(database: String, name: String, clause: &str, schedule: Schedule) -> View {
        let mut view = View {
            database,
            name,
            clause: clause.to_owned(),
            schedule,
            last: None,
            running: None,
            is_stopped: false,
            is_wanted: false,
            failed: 0,
            retry_at: None,
            given_up: None,
            retry: 0,
            exception: String::new(),
            last_begin: None,
            last_success: None,
            last_duration: None,
            counts: Counts::default(),
            fake_time: None,
            random: 0.5,
        };
        view.draw();
        view
    }

    /// Has it another clause, so that its schedule is to be made anew?
    pub fn has_clause(&self, clause: &str) -> bool {
        self.clause == clause
    }

    pub fn with_clause(self, clause: &str, schedule: Schedule) -> View {
        View { clause: clause.to_owned(), schedule, ..self }
    }

    /// Is it that of a database and a name?
    pub fn is_of(&self, of: (&str, &str)) -> bool {
        (self.database.as_str(), self.name.as_str()) == of
    }

    /// A random place for the next refresh: nobody needs more of it than that views are not filled all at once.
    fn draw(&mut self) {
        let seed = (now() as u64) ^ chalet_base::hash::hash_bytes(self.name.as_bytes());
        self.random = (chalet_base::hash::hash_bytes(&seed.to_le_bytes()) >> 11) as f64 / (1u64 << 53) as f64;
    }

    pub fn now(&self) -> Millis {
        self.fake_time.unwrap_or_else(now)
    }

    pub fn has_fake_time(&self) -> bool {
        self.fake_time.is_some()
    }

    pub fn set_fake_time(&mut self, time: Option<Millis>) {
        self.fake_time = time;
    }

    /// What the next refresh is counted from.
    pub fn base(&self) -> Option<Millis> {
        self.last.max(self.given_up)
    }

    /// When it is due; `None` where others decide.
    pub fn next(&self) -> Option<Millis> {
        if self.is_wanted {
            return Some(self.now());
        }
        if self.retry_at.is_some() {
            return self.retry_at;
        }
        let Some(base) = self.base() else {
            // At once, or with the first of those that it depends on.
            let waits = !self.schedule.is_calendar() && !self.schedule.depends_on.is_empty();
            return (!waits).then_some(0);
        };
        let next = self.schedule.next(base)?;
        let moved = (self.random - 0.5) * (self.schedule.randomize * 1000) as f64;
        Some(next.saturating_add(moved as Millis))
    }

    /// May it be filled, as far as another is concerned on which it depends? Which has rows of `last`.
    pub fn may_follow(&self, other: &Schedule, last: Option<Millis>) -> bool {
        let Some(last) = last else { return false };
        if self.schedule.is_calendar() && other.is_calendar() {
            // The span that is to begin must be one that the other has rows for.
            let wanted = self.base().and_then(|base| self.schedule.next(base)).unwrap_or_else(|| self.now());
            return other.next(last).is_none_or(|next| next > wanted);
        }
        self.base().is_none_or(|base| last > base && self.now() >= self.schedule.pause_after(base))
    }

    pub fn begin(&mut self) -> (Arc<AtomicBool>, Arc<OnceLock<Arc<QueryControl>>>) {
        let running = Running { begin: self.now(), cancel: Arc::default(), control: Arc::default() };
        let handles = (running.cancel.clone(), running.control.clone());
        self.last_begin = Some(running.begin);
        self.is_wanted = false;
        self.retry_at = None;
        self.running = Some(running);
        handles
    }

    pub fn cancel(&self) {
        if let Some(running) = &self.running {
            running.cancel.store(true, Relaxed);
        }
    }

    /// A refresh has ended that took so many milliseconds.
    pub fn end(&mut self, result: Result<Counts, String>, took: u64) {
        self.running = None;
        self.draw();
        match result {
            Ok(counts) => {
                self.counts = counts;
                self.exception.clear();
                self.last_success = self.last_begin;
                self.last_duration = Some(took);
                (self.failed, self.retry, self.given_up) = (0, 0, None);
            }
            Err(exception) => {
                self.exception = exception;
                self.failed += 1;
                if self.schedule.retries >= 0 && i64::from(self.failed) > self.schedule.retries {
                    self.given_up = Some(self.now());
                    self.failed = 0;
                } else {
                    self.retry = self.failed.into();
                    self.retry_at = Some(self.now() + self.schedule.pause_before_retry(self.failed));
                }
            }
        }
    }

    /// Is it being filled, or about to be without anybody's doing?
    pub fn is_awaited(&self, status: Status) -> bool {
        matches!(status, Status::Running | Status::Due)
            || (!self.is_stopped && self.retry_at.is_some() && status == Status::Scheduled)
    }
}
