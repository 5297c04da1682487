//! What statements have run in this process, and which run now: the rows of `system.query_log` and of the logs beside it, and of
//! `system.processes`. In memory, of a bounded size; the rows are made when somebody reads them.

mod profiled;
mod ring;

pub(crate) use self::profiled::{Processor, ThreadTime, Trace};
pub(crate) use self::ring::Ring;

use self::profiled::Profiling;
use crate::caller::Caller;
use crate::query_context::QueryContext;
use crate::settings::Settings;
use chalet_base::events::{Counts, Event};
use chalet_base::forks::PerProcess;
use chalet_base::{Error, Result, forks};
use chalet_exec::QueryControl;
use chalet_function_api::Context;
use chalet_memory::profile::sampler;
use chalet_syntax::ast::{self, EntityAction, InsertSource, StatementKind};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The logs of the process.
pub(crate) struct Logs {
    running: Mutex<Vec<Running>>,
    pub queries: Ring<Finished>,
    pub threads: Ring<ThreadTime>,
    pub processors: Ring<Processor>,
    pub traces: Ring<Trace>,
    errors: Mutex<BTreeMap<i32, Failed>>,
}

pub(crate) static LOGS: PerProcess<Logs> = PerProcess::new(|_| Logs {
    running: Mutex::default(),
    queries: Ring::new(1000, 4 << 20),
    threads: Ring::new(4096, 1 << 20),
    processors: Ring::new(10_000, 4 << 20),
    traces: Ring::new(1 << 16, 8 << 20),
    errors: Mutex::default(),
});

impl Logs {
    /// How often statements failed, by the numbers of codes.
    pub fn errors(&self) -> MutexGuard<'_, BTreeMap<i32, Failed>> {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn running(&self) -> MutexGuard<'_, Vec<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Statements that failed with the same code.
#[derive(Clone)]
pub(crate) struct Failed {
    pub name: &'static str,
    pub times: u64,
    /// Of the last one: seconds since 1970-01-01 UTC, the text, the statement's id.
    pub last: (i64, String, Box<str>),
}

/// A statement that runs.
pub(crate) struct Running {
    number: u64,
    pub control: Arc<QueryControl>,
    pub functions: Arc<Context>,
    pub settings: Settings,
    pub sql: Arc<str>,
    pub kind: &'static str,
    pub thread: u64,
    pub caller: Option<Arc<Caller>>,
}

/// Who ran which statement, and when.
#[derive(Clone)]
pub(crate) struct Head {
    pub query_id: Box<str>,
    pub user: Arc<str>,
    pub caller: Option<Arc<Caller>>,
    /// None for the one that sessions begin with.
    database: Option<Box<str>>,
    pub sql: Arc<str>,
    /// Microseconds since 1970-01-01 UTC.
    pub started_us: i64,
    pub duration_us: u64,
    /// The operating system's number of the thread that ran it.
    pub thread: u64,
}

const DEFAULT_DATABASE: &str = "default";

impl Head {
    /// The current database of the session.
    pub fn database(&self) -> &str {
        self.database.as_deref().unwrap_or(DEFAULT_DATABASE)
    }
}

/// A statement that is over.
pub(crate) struct Finished {
    pub head: Head,
    pub kind: &'static str,
    pub read_rows: u64,
    pub read_bytes: u64,
    pub written: Written,
    pub peak_memory: u64,
    /// Code and message.
    pub error: Option<Box<(i32, String)>>,
    /// It failed before its rows were asked for.
    pub failed_early: bool,
    /// `log_queries_min_type`.
    pub least_type: u8,
    pub formatted: Option<String>,
    pub settings: Settings,
    pub events: Vec<(Event, u64)>,
}

/// What a statement has put out.
#[derive(Clone, Copy, Default)]
pub(crate) struct Written {
    pub rows: u64,
    pub bytes: u64,
    pub result_rows: u64,
    pub result_bytes: u64,
}

/// A statement that is to be logged when it ends.
pub(crate) struct Statement<'a> {
    number: u64,
    ctx: &'a QueryContext,
    sql: Arc<str>,
    kind: &'static str,
    /// None where its events are of no interest.
    counts: Option<Counts>,
    formatted: Option<String>,
    profiling: Option<Profiling>,
}

/// What the types of rows are called in settings, by their numbers.
const TYPES: [&str; 4] =
    ["QUERY_START", "QUERY_FINISH", "EXCEPTION_BEFORE_START", "EXCEPTION_WHILE_PROCESSING"];

impl<'a> Statement<'a> {
    /// Keeps that a text is no statement.
    pub fn unparsed(sql: &str, error: &Error, ctx: &'a QueryContext) {
        let sql = cut(sql.trim(), &ctx.state.settings).into();
        let not_begun =
            Statement { number: 0, ctx, sql, kind: "", counts: None, formatted: None, profiling: None };
        not_begun.end(&Err::<(), _>(error.clone()), Written::default());
    }

    /// A statement of a text that begins now. Fails where it is to be profiled and cannot be.
    pub fn begin(statement: &ast::Statement, sql: &str, ctx: &'a QueryContext) -> Result<Statement<'a>> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Relaxed);
        let settings = &ctx.state.settings;
        let kind = kind(&statement.kind);
        let sql: Arc<str> = text(statement, sql, settings).into();
        LOGS.running().push(Running {
            number,
            control: ctx.control.clone(),
            functions: ctx.functions.clone(),
            settings: settings.clone(),
            sql: sql.clone(),
            kind,
            thread: thread_id(),
            caller: ctx.caller.clone(),
        });
        let mut begun = Statement { number, ctx, sql, kind, counts: None, formatted: None, profiling: None };
        if settings.flag("log_profile_events") != Some(false) {
            begun.counts = Some(Counts::of_this_thread());
        }
        if settings.flag("log_formatted_queries") == Some(true) {
            begun.formatted = Some(chalet_syntax::print::format(statement));
        }
        begun.profiling = Profiling::begin(settings)?;
        Ok(begun)
    }

    /// It has ended, in a way that is worth a line or not.
    pub fn end<T>(mut self, result: &Result<T>, written: Written) {
        let (settings, control) = (&self.ctx.state.settings, &self.ctx.control);
        let profiling = self.profiling.take();
        if let Err(error) = result {
            self.count_error(error);
        }
        let duration_us = u64::try_from(control.elapsed().as_micros()).unwrap_or(u64::MAX);
        if settings.flag("log_queries") == Some(false) || !is_chosen(self.number, settings) {
            return;
        }
        let least_ms = settings.number("log_queries_min_query_duration_ms").unwrap_or(0);
        if duration_us / 1000 < least_ms {
            return;
        }
        let least_type = settings.text("log_queries_min_type").map_or(0, |name| {
            let known = TYPES.iter().position(|known| *known == name);
            known.map(|at| at as u8 + 1).or(name.parse().ok()).unwrap_or(1)
        });
        let functions = &self.ctx.functions;
        let head = Head {
            query_id: functions.query_id.as_str().into(),
            user: self.ctx.state.identity.user.clone(),
            caller: self.ctx.caller.clone(),
            database: (functions.database != DEFAULT_DATABASE).then(|| functions.database.as_str().into()),
            sql: self.sql.clone(),
            started_us: functions.start_ns / 1000,
            duration_us,
            thread: thread_id(),
        };
        if let Some(profiling) = profiling {
            profiling.end(&head, settings, control);
        }
        let error = result.as_ref().err();
        let entry = Finished {
            kind: self.kind,
            read_rows: control.read_rows.load(Relaxed),
            read_bytes: control.read_bytes.load(Relaxed),
            written,
            peak_memory: control.memory.peak(),
            error: error.map(|error| Box::new((error.code().number, error.to_string()))),
            failed_early: error.is_some() && !control.has_begun(),
            // A start is told at once, and how long the statement takes is known in the end.
            least_type: if least_ms > 0 { least_type.max(2) } else { least_type },
            formatted: self.formatted.take(),
            settings: if settings.flag("log_query_settings") == Some(false) {
                Settings::default()
            } else {
                settings.clone()
            },
            events: self.counts.take().map(|counts| counts.since()).unwrap_or_default(),
            head,
        };
        let bytes = entry.bytes();
        LOGS.queries.push(entry, bytes);
    }
}

impl Statement<'_> {
    #[cold]
    fn count_error(&self, error: &Error) {
        let functions = &self.ctx.functions;
        let elapsed = i64::try_from(self.ctx.control.elapsed().as_secs()).unwrap_or_default();
        let last = (
            functions.start_ns / 1_000_000_000 + elapsed,
            error.message().to_owned(),
            functions.query_id.as_str().into(),
        );
        let code = error.code();
        let mut errors = LOGS.errors();
        let times = errors.get(&code.number).map_or(0, |known| known.times) + 1;
        errors.insert(code.number, Failed { name: code.name, times, last });
    }
}

impl Drop for Statement<'_> {
    fn drop(&mut self) {
        let mut running = LOGS.running();
        if let Some(at) = running.iter().position(|one| one.number == self.number) {
            let gone = running.swap_remove(at);
            drop(running);
            drop(gone);
        }
    }
}

impl Finished {
    /// About what it takes in memory.
    fn bytes(&self) -> usize {
        let head = &self.head;
        size_of::<Finished>()
            + head.sql.len()
            + head.query_id.len()
            + head.database().len()
            + self.error.as_ref().map_or(0, |error| error.1.len())
            + self.formatted.as_ref().map_or(0, String::len)
            + self.events.capacity() * size_of::<(Event, u64)>()
    }
}

/// The text that is logged: the statement's own, without data, as long as it may be.
fn text<'a>(statement: &ast::Statement, sql: &'a str, settings: &Settings) -> &'a str {
    let mut range = statement.span.range();
    if let StatementKind::Insert(insert) = &statement.kind
        && let InsertSource::Inline { data, .. } = &insert.source
    {
        range.end = range.end.min(data.span.range().start).max(range.start);
    }
    cut(sql.get(range).unwrap_or(sql).trim_ascii_end(), settings)
}

/// As much of a text as `log_queries_cut_to_length` lets stand.
fn cut<'a>(text: &'a str, settings: &Settings) -> &'a str {
    /// Bytes, as in the kernel.
    const MOST: u64 = 100_000;
    let most = settings.number("log_queries_cut_to_length").unwrap_or(MOST);
    let mut end = text.len().min(usize::try_from(most).unwrap_or(usize::MAX));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// `log_queries_probability`.
fn is_chosen(number: u64, settings: &Settings) -> bool {
    let Some(probability) = settings.ratio("log_queries_probability") else { return true };
    // The high bits of a product with an odd number are as good as random.
    let random = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11;
    (random as f64 / (1u64 << 53) as f64) < probability
}

/// The operating system's number of this thread, asked for once.
fn thread_id() -> u64 {
    thread_local! {
        /// By the fork that it was asked in.
        static KNOWN: Cell<(u32, u64)> = const { Cell::new((u32::MAX, 0)) };
    }
    let generation = forks::generation();
    KNOWN.with(|known| match known.get() {
        (asked, thread) if asked == generation => thread,
        _ => {
            let thread = sampler::thread_id();
            known.set((generation, thread));
            thread
        }
    })
}

/// What the kernel calls the kind of a statement.
fn kind(statement: &StatementKind) -> &'static str {
    match statement {
        StatementKind::Query(_) => "Select",
        StatementKind::Insert(_) => "Insert",
        StatementKind::Explain(_) => "Explain",
        StatementKind::CreateTable(_)
        | StatementKind::CreateView(_)
        | StatementKind::CreateDatabase(_)
        | StatementKind::CreateDictionary(_)
        | StatementKind::CreateFunction(_)
        | StatementKind::Attach { .. } => "Create",
        StatementKind::Entity(entity) => match entity.action {
            EntityAction::Create { .. } => "Create",
            EntityAction::Alter { .. } => "Alter",
            EntityAction::Drop { .. } => "Drop",
        },
        StatementKind::Drop(_) => "Drop",
        StatementKind::Undrop(_) => "Undrop",
        StatementKind::Rename { .. } => "Rename",
        StatementKind::AlterTable(_) | StatementKind::AlterDatabase { .. } => "Alter",
        StatementKind::Delete { .. } => "Delete",
        StatementKind::Update { .. } => "Update",
        StatementKind::Optimize(_) => "Optimize",
        StatementKind::Backup(_) => "Backup",
        StatementKind::Set(_) => "Set",
        StatementKind::Use(_) => "Use",
        StatementKind::Show(_) => "Show",
        StatementKind::Describe(_) => "Describe",
        StatementKind::Exists { .. } => "Exists",
        StatementKind::Check { .. } | StatementKind::CheckDatabase(_) => "Check",
        StatementKind::Kill { .. } => "KillQuery",
        StatementKind::System { .. } => "System",
        _ => "",
    }
}
