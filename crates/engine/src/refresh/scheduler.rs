//! Who fills views when they are due: one thread of the process, which begins with the first such view of a database that is open
//! for writing, and ends with the last. Each refresh has a thread of its own.
//!
//! They hold no database: when the last session of one is gone its refreshes are cancelled, and its lock is free at once.

use super::schedule::{Millis, Schedule};
use super::state::{Counts, Status, View, now};
use crate::database::{Database, Shared};
use crate::sql_functions::SqlFunctions;
use crate::stack::entered;
use chalet_base::forks::PerProcess;
use chalet_base::{Result, cores, ensure, err};
use chalet_exec::QueryControl;
use chalet_storage::Catalog;
use chalet_storage::view::{MaterializedView, Refreshed};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

/// A view that is to be filled now.
pub(crate) struct Job {
    pub database: Database,
    /// Which it is, whatever its name becomes.
    pub id: u64,
    pub begin: Millis,
    started: Instant,
    pub cancel: Arc<AtomicBool>,
    pub control: Arc<OnceLock<Arc<QueryControl>>>,
}

impl Job {
    /// Now, by the clock by which it began.
    pub fn now(&self) -> Millis {
        self.begin.saturating_add(i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX))
    }
}

/// How a view is filled.
pub(crate) type Fill = fn(&Job) -> Result<Counts>;

/// A database with such views.
struct Known {
    shared: Weak<Shared>,
    catalog: Weak<Catalog>,
    functions: Weak<SqlFunctions>,
    fill: Fill,
    views: BTreeMap<u64, View>,
    /// Threads that fill views of it.
    n_running: usize,
    is_closing: bool,
}

#[derive(Default)]
struct State {
    databases: Vec<Known>,
    has_thread: bool,
    n_running: usize,
}

#[derive(Default)]
struct Scheduler {
    state: Mutex<State>,
    changed: Condvar,
}

static SCHEDULER: PerProcess<Scheduler> = PerProcess::new(|_| Scheduler::default());

/// Clocks may be set, and waits are no longer than this.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Refreshes that run at once where there are fewer cores than this: enough that a few slow ones do not keep the others from running.
/// Those that run together share the workers of the process, as queries do.
const MIN_CONCURRENT: usize = 16;
/// How often who waits for a view looks whether it should stop.
const LOOK: Duration = Duration::from_millis(20);

fn lock() -> MutexGuard<'static, State> {
    SCHEDULER.state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a view of the catalog says of itself.
fn clause_of(table: &dyn chalet_storage::Table) -> Option<&Refreshed> {
    table.as_any().downcast_ref::<MaterializedView>()?.refresh.as_ref()
}

/// Sees to the views of a database from now on, if it has any that are filled by the clock.
pub(crate) fn attend(database: &Database, fill: Fill) {
    let mut state = lock();
    let shared = Arc::downgrade(&database.shared);
    if !state.databases.iter().any(|known| known.shared.ptr_eq(&shared)) {
        let catalog = &database.shared.catalog;
        let is_writable = catalog.store().is_none_or(|store| !store.is_read_only());
        if !is_writable || catalog.matching(|entry| clause_of(&*entry.table).is_some()).is_empty() {
            return;
        }
        state.databases.push(Known {
            shared,
            catalog: Arc::downgrade(catalog),
            functions: Arc::downgrade(&database.shared.functions),
            fill,
            views: BTreeMap::new(),
            n_running: 0,
            is_closing: false,
        });
        database.call_at_end(settle);
    }
    look(&mut state);
}

/// Called when the last session of a database is gone: its views are not filled any more when this returns.
fn settle(shared: *const Shared) {
    let is_it = |known: &Known| std::ptr::eq(known.shared.as_ptr(), shared);
    let mut state = lock();
    if let Some(known) = state.databases.iter_mut().find(|known| is_it(known)) {
        known.is_closing = true;
        known.views.values().for_each(View::cancel);
    }
    while state.databases.iter().any(|known| is_it(known) && known.n_running > 0) {
        state = SCHEDULER.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    state.databases.retain(|known| !is_it(known));
    SCHEDULER.changed.notify_all();
}

/// Looks at all views: begins what is due, and sees to it that somebody looks again in time.
fn look(state: &mut State) {
    begin_what_is_due(state);
    if !state.has_thread && !state.databases.is_empty() {
        state.has_thread = std::thread::Builder::new().name("chalet-refresh".into()).spawn(run).is_ok();
    }
    SCHEDULER.changed.notify_all();
}

fn run() {
    let mut state = lock();
    while !state.databases.is_empty() {
        begin_what_is_due(&mut state);
        let next = state.databases.iter().filter_map(Known::next).min();
        let wait = next.map_or(LONGEST_WAIT, |next| Duration::from_millis((next - now()).max(1) as u64));
        let waited = SCHEDULER.changed.wait_timeout(state, wait.min(LONGEST_WAIT));
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
    state.has_thread = false;
}

/// Begins refreshes that are due, as many as may run at once, over all databases: those first whose last one began longest ago, so
/// that a view that is always due does not keep another one waiting.
fn begin_what_is_due(state: &mut State) {
    let mut due: Vec<(Option<Millis>, usize, u64)> = Vec::new();
    for (at, known) in state.databases.iter_mut().enumerate() {
        due.extend(known.due().into_iter().map(|(last_begin, id)| (last_begin, at, id)));
    }
    due.sort_unstable();
    for (_, at, id) in due {
        if state.n_running >= cores::cores().max(MIN_CONCURRENT) {
            return;
        }
        state.n_running += usize::from(state.databases[at].begin(id));
    }
}

impl Known {
    /// Knows the views that the catalog has, and no others.
    fn read_catalog(&mut self, catalog: &Catalog) {
        let found = catalog.matching(|entry| clause_of(&*entry.table).is_some());
        let mut gone = std::mem::take(&mut self.views);
        for ((database, name), entry) in found {
            let Some(refreshed) = clause_of(&*entry.table) else { continue };
            let known = gone.remove(&refreshed.id);
            let mut view = match known {
                Some(view) if view.has_clause(&refreshed.clause) => view,
                // It was checked when it was written.
                known => match (Schedule::parse(&refreshed.clause, &database), known) {
                    (Ok(schedule), Some(view)) => view.with_clause(&refreshed.clause, schedule),
                    (Ok(schedule), None) => {
                        View::new(database.clone(), name.clone(), &refreshed.clause, schedule)
                    }
                    (Err(_), _) => continue,
                },
            };
            (view.database, view.name, view.last) = (database, name, refreshed.last);
            self.views.insert(refreshed.id, view);
        }
        gone.values().for_each(View::cancel);
    }

    /// The views that are to be filled now, each with the time at which its last refresh began.
    fn due(&mut self) -> Vec<(Option<Millis>, u64)> {
        let Some(catalog) = self.catalog.upgrade() else { return Vec::new() };
        if self.is_closing {
            return Vec::new();
        }
        self.read_catalog(&catalog);
        let due = self.views.iter().filter(|(_, view)| self.status(view) == Status::Due);
        due.map(|(id, view)| (view.last_begin, *id)).collect()
    }

    /// Begins to fill a view; false where that cannot be.
    fn begin(&mut self, id: u64) -> bool {
        let (Some(catalog), Some(functions)) = (self.catalog.upgrade(), self.functions.upgrade()) else {
            return false;
        };
        let Some(view) = self.views.get_mut(&id) else { return false };
        let (cancel, control) = view.begin();
        let begin = view.last_begin.unwrap_or_default();
        let database = Database::of_tables(catalog, functions, self.shared.clone());
        let job = Job { database, id, begin, started: Instant::now(), cancel, control };
        let (fill, shared) = (self.fill, self.shared.clone());
        let thread = std::thread::Builder::new().name("chalet-refresh-view".into());
        match thread.spawn(move || work(job, fill, &shared)) {
            Ok(_) => self.n_running += 1,
            Err(error) => {
                view.end(Err(error.to_string()), 0);
                return false;
            }
        }
        true
    }

    fn status(&self, view: &View) -> Status {
        if view.running.is_some() {
            return Status::Running;
        }
        if view.is_stopped {
            return Status::Disabled;
        }
        if view.is_wanted {
            return Status::Due;
        }
        let others = || {
            view.schedule.depends_on.iter().map(|(database, name)| {
                self.views.values().find(|other| other.database == *database && other.name == *name)
            })
        };
        if others().any(|other| other.is_none()) {
            return Status::MissingDependencies;
        }
        let next = view.next();
        if next.is_some_and(|next| next > view.now()) {
            return Status::Scheduled;
        }
        match others().flatten().all(|other| view.may_follow(&other.schedule, other.last)) {
            true => Status::Due,
            false => Status::WaitingForDependencies,
        }
    }

    /// When somebody has to look again, as far as the clock decides.
    fn next(&self) -> Option<Millis> {
        // Who sets the time of a view has it looked at.
        let waits = |view: &&View| !view.has_fake_time() && self.status(view) == Status::Scheduled;
        let next = self.views.values().filter(waits).filter_map(View::next).min();
        // Those that follow others, and not too soon.
        let followers =
            self.views.values().filter(|view| self.status(view) == Status::WaitingForDependencies);
        let pauses = followers.filter_map(|view| Some(view.schedule.pause_after(view.base()?)));
        next.into_iter().chain(pauses.filter(|at| *at > now())).min()
    }
}

/// Fills a view, and tells what became of it.
fn work(job: Job, fill: Fill, shared: &Weak<Shared>) {
    let started = job.started;
    let (id, cancel) = (job.id, job.cancel.clone());
    let result = entered(|| fill(&job)).map_err(|error| match cancel.load(Relaxed) {
        true => "cancelled".to_owned(),
        false => error.to_string(),
    });
    // What it holds of the database goes before anybody hears that it is done.
    drop(job);
    let took = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let mut state = lock();
    state.n_running -= 1;
    if let Some(known) = state.databases.iter_mut().find(|known| known.shared.ptr_eq(shared)) {
        known.n_running -= 1;
        if let Some(view) = known.views.get_mut(&id) {
            view.end(result, took);
        }
    }
    look(&mut state);
}

/// What a statement does to one view.
pub(crate) enum Command {
    Refresh,
    Stop,
    Start,
    /// As STOP, but a refresh that runs goes on.
    Pause,
    Cancel,
    FakeTime(Option<Millis>),
}

impl Command {
    fn apply(&self, view: &mut View) {
        match self {
            Command::Refresh => view.is_wanted = !view.is_stopped,
            Command::Stop => {
                view.is_stopped = true;
                view.is_wanted = false;
                view.cancel();
            }
            Command::Start => view.is_stopped = false,
            Command::Pause => {
                view.is_stopped = true;
                view.is_wanted = false;
            }
            Command::Cancel => view.cancel(),
            Command::FakeTime(time) => view.set_fake_time(*time),
        }
    }
}

/// Does something to a view. False where there is none of the name.
pub(crate) fn command(database: &Database, of: (&str, &str), command: &Command) -> bool {
    let mut state = lock();
    let Some(view) = view_of(&mut state, database, of) else { return false };
    command.apply(view);
    look(&mut state);
    true
}

/// Does something to all views of a database.
pub(crate) fn command_all(database: &Database, command: &Command) {
    let mut state = lock();
    if let Some(known) = known_of(&mut state, database) {
        known.views.values_mut().for_each(|view| command.apply(view));
        look(&mut state);
    }
}

fn known_of<'a>(state: &'a mut State, database: &Database) -> Option<&'a mut Known> {
    let shared = Arc::downgrade(&database.shared);
    state.databases.iter_mut().find(|known| known.shared.ptr_eq(&shared))
}

fn view_of<'a>(state: &'a mut State, database: &Database, of: (&str, &str)) -> Option<&'a mut View> {
    let views = &mut known_of(state, database)?.views;
    views.values_mut().find(|view| view.is_of(of))
}

/// Waits until a view is not being filled any more; fails where that failed. `check` fails where nobody wants to wait any longer.
pub(crate) fn wait(database: &Database, of: (&str, &str), check: &dyn Fn() -> Result<()>) -> Result<()> {
    loop {
        let mut state = lock();
        let known = known_of(&mut state, database);
        let missing = || err!(BAD_ARGUMENTS, "Refreshable view {}.{} doesn't exist", of.0, of.1);
        let known = known.ok_or_else(missing)?;
        let mut views = known.views.values();
        let view = views.find(|view| view.is_of(of)).ok_or_else(missing)?;
        let status = known.status(view);
        if !view.is_awaited(status) {
            let has_failed = !view.exception.is_empty() && status != Status::Disabled;
            ensure!(!has_failed, REFRESH_FAILED, "Refresh failed: {}", view.exception);
            return Ok(());
        }
        drop(SCHEDULER.changed.wait_timeout(state, LOOK));
        check()?;
    }
}

/// What `system.view_refreshes` tells of a view.
pub(crate) struct Told {
    pub database: String,
    pub view: String,
    pub status: &'static str,
    pub last_success: Option<Millis>,
    pub last_duration: Option<u64>,
    pub last_begin: Option<Millis>,
    pub next: Option<Millis>,
    pub exception: String,
    pub retry: u64,
    pub counts: Counts,
    pub progress: f64,
}

/// All views of a database that are filled by the clock.
pub(crate) fn views(database: &Database) -> Vec<Told> {
    let mut state = lock();
    let Some(known) = known_of(&mut state, database) else { return Vec::new() };
    let mut all: Vec<Told> = known.views.values().map(|view| told(view, known.status(view))).collect();
    all.sort_by(|a, b| (&a.database, &a.view).cmp(&(&b.database, &b.view)));
    all
}

fn told(view: &View, status: Status) -> Told {
    let running =
        view.running.as_ref().and_then(|running| running.control.get()).map(|control| control.progress());
    let counts = match (&view.running, running) {
        (None, _) => view.counts,
        (Some(_), None) => Counts::default(),
        (Some(_), Some(progress)) => Counts {
            read_rows: progress.read_rows,
            read_bytes: progress.read_bytes,
            total_rows: progress.total_rows,
            ..Counts::default()
        },
    };
    let progress =
        if counts.total_rows == 0 { 0.0 } else { counts.read_rows as f64 / counts.total_rows as f64 };
    Told {
        database: view.database.clone(),
        view: view.name.clone(),
        status: status.name(),
        last_success: view.last_success,
        last_duration: view.last_duration,
        last_begin: view.last_begin,
        next: view.running.as_ref().map(|running| running.begin).or_else(|| view.next()),
        exception: view.exception.clone(),
        retry: view.retry,
        counts,
        progress: progress.min(1.0),
    }
}

/// Has the scheduler look at the views of a database again: some may have come, gone, or another name.
pub(crate) fn wake(database: &Database) {
    let mut state = lock();
    if known_of(&mut state, database).is_some() {
        look(&mut state);
    }
}
