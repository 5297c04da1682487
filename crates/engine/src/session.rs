//! One session: its settings, current database and temporary tables. Statements run one after the other.

use crate::answer::{Answer, Rows};
use crate::database::Database;
use crate::fork_guard::ForkGuard;
use crate::replacement_scan::ReplacementScan;
use crate::scope::Scope;
use crate::settings::Settings;
use crate::stack::entered;
use crate::statements;
use crate::statements::insert::InsertData;
use crate::statements::readonly::gives_rows;
use chalet_base::{Result, bail, ensure};
use chalet_binder::{Environment, bind_query};
use chalet_columns::Block;
use chalet_exec::control::OnProgress;
use chalet_memory::Tracker;
use chalet_storage::Entry;
use chalet_syntax::ast::{self, StatementKind};
use chalet_types::DataType;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Usable from any thread; statements of one session do not overlap.
pub struct Session {
    database: Database,
    state: Mutex<State>,
    /// Held while statements run.
    running: Mutex<()>,
}

/// What statements change.
#[derive(Clone)]
pub(crate) struct State {
    pub settings: Settings,
    pub database: String,
    pub temporary: BTreeMap<String, Entry>,
    /// Query parameters, by `SET param_name`.
    pub params: BTreeMap<String, String>,
    /// What all queries of the session use together.
    pub memory: Arc<Tracker>,
}

impl State {
    pub fn new() -> State {
        State {
            settings: Settings::default(),
            database: "default".into(),
            temporary: BTreeMap::new(),
            params: BTreeMap::new(),
            memory: Arc::new(Tracker::of_user()),
        }
    }
}

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
    /// Settings of these statements only.
    pub settings: Vec<(String, String)>,
    pub on_progress: Option<OnProgress>,
}

/// A query about to run, whose rows are handed out as they come. It has the session as it was when it was made and holds
/// up no other statement.
pub struct Stream {
    session: Session,
    statement: ast::Statement,
    sql: String,
    options: RunOptions,
}

/// Names and types of the columns of a query.
pub type Outline = Vec<(String, DataType)>;

/// What a stream hands out.
pub enum StreamPart {
    /// First: the columns, without a row, and the format that the statement names.
    Header(Rows, Option<String>),
    Block(Block),
}

/// Takes what a stream hands out; one call at a time, in order. An error ends the query.
pub type StreamConsumer = Box<dyn FnMut(StreamPart) -> Result<()> + Send>;

static NEXT_QUERY: AtomicU64 = AtomicU64::new(1);

impl Session {
    pub(crate) fn new(database: Database) -> Session {
        Session { database, state: Mutex::new(State::new()), running: Mutex::new(()) }
    }

    /// Runs one or more statements. The first that fails ends the run; what those before it did stays done.
    pub fn run(&self, sql: &str, options: RunOptions) -> Result<Answer> {
        entered(|| self.run_statements(sql, options))
    }

    fn run_statements(&self, sql: &str, options: RunOptions) -> Result<Answer> {
        let _running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let started = Instant::now();
        let parsed = chalet_syntax::parse_statements(sql)?;
        let mut output = statements::Output::new(&options);
        for statement in parsed {
            let scope = Arc::new(self.scope(&options)?);
            let statement = named(statement, sql, &|name| scope.parameter(name))?;
            statements::run(&statement, sql, &scope, self, &mut output)?;
        }
        Ok(output.into_answer(started.elapsed()))
    }

    /// What one query gives, without running it; `None` for a text that is anything but one query with the caller's own
    /// choice of a format.
    pub fn outline(&self, sql: &str, options: &RunOptions) -> Result<Option<Outline>> {
        entered(|| self.outline_of(sql, options))
    }

    fn outline_of(&self, sql: &str, options: &RunOptions) -> Result<Option<Outline>> {
        let mut parsed = chalet_syntax::parse_statements(sql)?;
        let (Some(statement), true) = (parsed.pop(), parsed.is_empty()) else { return Ok(None) };
        let scope = Arc::new(self.scope(options)?);
        let statement = named(statement, sql, &|name| scope.parameter(name))?;
        let StatementKind::Query(query) = &statement.kind else { return Ok(None) };
        if statement.output != ast::Output::default() {
            return Ok(None);
        }
        let scope = statements::with_statement_settings(&statement, &scope)?;
        let bound = bind_query(query, &*scope, &scope.ids)?;
        Ok(Some(bound.fields.into_iter().map(|field| (field.name.to_string(), field.ty)).collect()))
    }

    /// Prepares one query; its syntax is checked here, the rest when it runs.
    pub fn stream(&self, sql: &str, options: RunOptions) -> Result<Stream> {
        let statement = entered(|| self.single(sql, &options))?;
        ensure!(
            gives_rows(&statement.kind) && statement.output.outfile.is_none(),
            BAD_ARGUMENTS,
            "Streaming query is not supported for query: {sql}"
        );
        Ok(Stream { session: self.fork(), statement, sql: sql.to_owned(), options })
    }

    /// Fails where [`insert`](Self::insert) would before it looks at data: not an INSERT, no such table.
    pub fn check_insert(&self, sql: &str) -> Result<()> {
        entered(|| {
            let statement = self.single(sql, &RunOptions::default())?;
            let insert = insert_of(&statement, sql)?;
            let scope = Arc::new(self.scope(&RunOptions::default())?);
            statements::insert::check(insert, &scope)
        })
    }

    /// Runs one INSERT over data that the caller gives. Other statements of the session do not wait for it.
    pub fn insert(&self, sql: &str, options: RunOptions, data: InsertData) -> Result<Answer> {
        entered(|| self.insert_data(sql, options, data))
    }

    fn insert_data(&self, sql: &str, options: RunOptions, data: InsertData) -> Result<Answer> {
        let started = Instant::now();
        let statement = self.single(sql, &options)?;
        insert_of(&statement, sql)?;
        let session = self.fork();
        let mut output = statements::Output::new(&options);
        output.data = Some(data);
        let scope = Arc::new(session.scope(&options)?);
        statements::run(&statement, sql, &scope, &session, &mut output)?;
        Ok(output.into_answer(started.elapsed()))
    }

    /// Sets a setting for all statements that follow.
    pub fn set(&self, name: &str, value: &str) -> Result<()> {
        self.state().settings.set(name, value)
    }

    /// Who is inside of the database.
    pub fn fork_guard(&self) -> &ForkGuard {
        &self.database.shared.fork_guard
    }

    /// The only statement of a text.
    fn single(&self, sql: &str, options: &RunOptions) -> Result<ast::Statement> {
        let mut parsed = chalet_syntax::parse_statements(sql)?;
        ensure!(parsed.len() <= 1, SYNTAX_ERROR, "Syntax error (Multi-statements are not allowed): {sql}");
        let Some(statement) = parsed.pop() else { bail!(SYNTAX_ERROR, "Syntax error: the query is empty") };
        named(statement, sql, &|name| {
            let given = options.params.iter().find(|(known, _)| known == name).map(|(_, text)| text);
            given.or(self.state().params.get(name)).cloned()
        })
    }

    /// A session of its own with what this one has set.
    fn fork(&self) -> Session {
        let state = self.state().clone();
        Session { database: self.database.clone(), state: Mutex::new(state), running: Mutex::new(()) }
    }

    fn scope(&self, options: &RunOptions) -> Result<Scope> {
        let mut state = self.state().clone();
        for (name, value) in &options.settings {
            state.settings.set(name, value)?;
        }
        crate::on_disk::refresh(&self.database)?;
        let number = NEXT_QUERY.fetch_add(1, Relaxed);
        Scope::new(self.database.clone(), state, options, number)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A statement of a text with names for its parameters `{name:Identifier}`. They are known only when its turn has come: a
/// SET may come before.
fn named(
    statement: ast::Statement,
    sql: &str,
    parameter: &dyn Fn(&str) -> Option<String>,
) -> Result<ast::Statement> {
    let text = sql.get(statement.span.range()).unwrap_or_default();
    if !text.contains('{') || !text.to_ascii_lowercase().contains("identifier") {
        return Ok(statement);
    }
    let Some(mut named) = chalet_syntax::parse_statements_with(text, parameter)?.pop() else {
        return Ok(statement);
    };
    named.span = statement.span;
    // Its data may go on behind what is the statement's own text.
    if let (StatementKind::Insert(named), StatementKind::Insert(insert)) = (&mut named.kind, statement.kind)
        && matches!(insert.source, ast::InsertSource::Inline { .. })
    {
        named.source = insert.source;
    }
    Ok(named)
}

/// The statement as an INSERT to whose end data can be put.
fn insert_of<'a>(statement: &'a ast::Statement, sql: &str) -> Result<&'a ast::Insert> {
    let StatementKind::Insert(insert) = &statement.kind else {
        bail!(BAD_ARGUMENTS, "An INSERT query was expected, not: {sql}");
    };
    let ast::InsertSource::Inline { data, .. } = &insert.source else {
        bail!(BAD_ARGUMENTS, "The INSERT query has its own data: {sql}");
    };
    ensure!(data.content.trim_ascii().is_empty(), BAD_ARGUMENTS, "The INSERT query has its own data: {sql}");
    Ok(insert)
}

impl Stream {
    /// Runs the query on this thread.
    pub fn run(self, consumer: StreamConsumer) -> Result<()> {
        entered(|| {
            let scope = Arc::new(self.session.scope(&self.options)?);
            statements::stream(&self.statement, &self.sql, &scope, &self.session, consumer)
        })
    }
}
