//! One session: its settings, current database and temporary tables. Statements run one after the other.

use crate::answer::{Answer, Outline, StreamConsumer, Summary};
use crate::binding::bind;
use crate::database::Database;
use crate::fork_guard::ForkGuard;
use crate::insert_data::InsertData;
use crate::partial_query::{self, Part};
use crate::query_context::QueryContext;
use crate::run_options::RunOptions;
use crate::server::Server;
use crate::session_state::{Identity, SessionState};
use crate::stack::entered;
use crate::statements::on_server;
use crate::statements::output::Output;
use crate::statements::readonly::gives_rows;
use crate::{query_log, statements, written_settings};
use chalet_base::{Result, bail, ensure};
use chalet_binder::Environment;
use chalet_syntax::ast::{self, StatementKind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Usable from any thread; statements of one session do not overlap.
pub struct Session {
    database: Database,
    state: Mutex<SessionState>,
    /// Held while statements run.
    running: Mutex<()>,
}

/// A query about to run, whose rows are handed out as they come. It has the session as it was when it was made and holds
/// up no other statement.
pub struct Stream {
    session: Session,
    /// None where a server runs it.
    statement: Option<ast::Statement>,
    sql: String,
    options: RunOptions,
}

static NEXT_QUERY: AtomicU64 = AtomicU64::new(1);

impl Database {
    pub fn session(&self) -> Session {
        self.session_of(Identity::default())
    }

    /// A session of a user from the network.
    pub fn session_of(&self, identity: Identity) -> Session {
        Session::new(self.clone(), identity)
    }
}

impl Session {
    fn new(database: Database, identity: Identity) -> Session {
        Session { database, state: Mutex::new(SessionState::new(identity)), running: Mutex::new(()) }
    }

    /// What it is a session of.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Runs one or more statements. The first that fails ends the run; what those before it did stays done.
    pub fn run(&self, sql: &str, options: RunOptions) -> Result<Answer> {
        entered(|| self.run_statements(sql, options))
    }

    fn run_statements(&self, sql: &str, options: RunOptions) -> Result<Answer> {
        let _running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let started = Instant::now();
        let mut output = Output::new(&options);
        if let Some(server) = &self.database.shared.server {
            for piece in chalet_syntax::split::split_statements(sql) {
                on_server::run(sql, &piece, server, &self.context(&options)?, &mut output)?;
            }
            return Ok(output.into_answer(started.elapsed()));
        }
        let parsed = match chalet_syntax::parse_statements(sql) {
            Ok(parsed) => parsed,
            Err(error) => {
                query_log::Statement::unparsed(sql, &error, &self.context(&options)?);
                return Err(error);
            }
        };
        for statement in parsed {
            let ctx = self.context(&options)?;
            let statement = named(statement, sql, &|name| ctx.parameter(name))?;
            self.run_one(&statement, sql, &ctx, &mut output)?;
        }
        Ok(output.into_answer(started.elapsed()))
    }

    /// What the statement changes of the session is changed also where it fails in the end.
    fn run_one(
        &self,
        statement: &ast::Statement,
        sql: &str,
        ctx: &QueryContext,
        output: &mut Output,
    ) -> Result<()> {
        let own = self.state().clone();
        let result = statements::run(statement, sql, ctx, &own, output);
        for change in output.changes.drain(..) {
            self.state().apply(change);
        }
        result
    }

    /// What one query gives, without running it; `None` for a text that is anything but one query with the caller's own
    /// choice of a format.
    pub fn outline(&self, sql: &str, options: &RunOptions) -> Result<Option<Outline>> {
        entered(|| self.outline_of(sql, options))
    }

    fn outline_of(&self, sql: &str, options: &RunOptions) -> Result<Option<Outline>> {
        if let Some(server) = &self.database.shared.server {
            return on_server::outline(sql, server, &self.context(options)?);
        }
        let mut parsed = chalet_syntax::parse_statements(sql)?;
        let (Some(statement), true) = (parsed.pop(), parsed.is_empty()) else { return Ok(None) };
        let ctx = self.context(options)?;
        let statement = named(statement, sql, &|name| ctx.parameter(name))?;
        let StatementKind::Query(query) = &statement.kind else { return Ok(None) };
        if statement.output != ast::Output::default() {
            return Ok(None);
        }
        let ctx = &*written_settings::of_statement(&statement, &ctx)?;
        let bound = bind(query, ctx)?;
        Ok(Some(bound.fields.into_iter().map(|field| (field.name.to_string(), field.ty)).collect()))
    }

    /// Prepares one query; its syntax is checked here, the rest when it runs.
    pub fn stream(&self, sql: &str, options: RunOptions) -> Result<Stream> {
        if self.database.shared.server.is_some() {
            return Ok(Stream { session: self.fork(), statement: None, sql: sql.to_owned(), options });
        }
        let statement = entered(|| self.single(sql, &options))?;
        ensure!(
            gives_rows(&statement.kind) && statement.output.outfile.is_none(),
            BAD_ARGUMENTS,
            "Streaming query is not supported for query: {sql}"
        );
        Ok(Stream { session: self.fork(), statement: Some(statement), sql: sql.to_owned(), options })
    }

    /// Fails where [`insert`](Self::insert) would before it looks at data: not an INSERT, no such table.
    pub fn check_insert(&self, sql: &str) -> Result<()> {
        if self.database.shared.server.is_some() {
            // It says so itself.
            return Ok(());
        }
        entered(|| {
            let statement = self.single(sql, &RunOptions::default())?;
            let insert = insert_of(&statement, sql)?;
            let ctx = self.context(&RunOptions::default())?;
            statements::insert::check(insert, &ctx)
        })
    }

    /// Runs one INSERT over data that the caller gives. Other statements of the session do not wait for it.
    pub fn insert(&self, sql: &str, options: RunOptions, data: InsertData) -> Result<Answer> {
        entered(|| self.insert_data(sql, options, data))
    }

    fn insert_data(&self, sql: &str, options: RunOptions, data: InsertData) -> Result<Answer> {
        let started = Instant::now();
        if let Some(server) = &self.database.shared.server {
            let mut output = Output::new(&options);
            output.data = Some(data);
            let pieces = chalet_syntax::split::split_statements(sql);
            let [piece] = &pieces[..] else {
                bail!(BAD_ARGUMENTS, "An INSERT query was expected, not: {sql}")
            };
            on_server::run(sql, piece, server, &self.context(&options)?, &mut output)?;
            return Ok(output.into_answer(started.elapsed()));
        }
        let statement = self.single(sql, &options)?;
        insert_of(&statement, sql)?;
        let session = self.fork();
        let mut output = Output::new(&options);
        output.data = Some(data);
        session.run_one(&statement, sql, &session.context(&options)?, &mut output)?;
        Ok(output.into_answer(started.elapsed()))
    }

    /// Runs one statement of any kind as servers do: its rows go to the consumer as they come, `data` are those of an INSERT.
    /// What it changes of the session stays changed.
    pub fn serve(
        &self,
        sql: &str,
        options: RunOptions,
        data: Option<InsertData>,
        consumer: StreamConsumer,
    ) -> Result<Summary> {
        entered(|| {
            ensure!(
                self.database.shared.server.is_none(),
                NOT_IMPLEMENTED,
                "A connection to a server cannot be served"
            );
            let started = Instant::now();
            let ctx = self.context(&options)?;
            let statement = self.logged_single(sql, &options, &ctx)?;
            if statement.output.outfile.is_some() {
                ctx.state.identity.files.check_outfile()?;
            }
            let summary = if let StatementKind::Query(_) = statement.kind
                && statement.output.outfile.is_none()
            {
                statements::stream(&statement, sql, &ctx, &ctx.state, consumer)?
            } else {
                let mut output = Output::new(&RunOptions { keeps_rows: true, ..RunOptions::default() });
                output.data = data;
                self.run_one(&statement, sql, &ctx, &mut output)?;
                statements::hand_out(&statement, output, consumer)?
            };
            Ok(Summary { elapsed: started.elapsed(), ..summary })
        })
    }

    /// The statement whose rows are a part of a query, which another server goes on with.
    pub fn part_of(&self, sql: &str, part: Part) -> Result<String> {
        entered(|| partial_query::rewritten(sql, part, &self.context(&RunOptions::default())?))
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
    /// The same; what is no statement stands in the log.
    fn logged_single(&self, sql: &str, options: &RunOptions, ctx: &QueryContext) -> Result<ast::Statement> {
        self.single(sql, options).inspect_err(|error| query_log::Statement::unparsed(sql, error, ctx))
    }

    fn single(&self, sql: &str, options: &RunOptions) -> Result<ast::Statement> {
        let mut parsed = chalet_syntax::parse_statements(sql)?;
        ensure!(parsed.len() <= 1, SYNTAX_ERROR, "Syntax error (Multi-statements are not allowed): {sql}");
        let Some(statement) = parsed.pop() else { bail!(SYNTAX_ERROR, "Syntax error: the query is empty") };
        named(statement, sql, &|name| {
            let given = options.params.iter().find(|(known, _)| known == name).map(|(_, text)| text);
            given.or(self.state().params.get(name)).cloned()
        })
    }

    /// The server that runs the statements, if that is not done here.
    pub(crate) fn server(&self) -> Option<&Server> {
        self.database.shared.server.as_ref()
    }

    /// Queries that asyncio may run side by side; none where no server runs them.
    pub fn pool_size(&self) -> Option<usize> {
        self.server().map(Server::pool_size)
    }

    /// A session of its own with what this one has set.
    pub(crate) fn fork(&self) -> Session {
        let state = self.state().clone();
        Session { database: self.database.clone(), state: Mutex::new(state), running: Mutex::new(()) }
    }

    pub(crate) fn context(&self, options: &RunOptions) -> Result<QueryContext> {
        let mut state = self.state().clone();
        for (name, value) in &options.settings {
            state.settings.set(name, value)?;
        }
        self.database.refresh()?;
        let number = NEXT_QUERY.fetch_add(1, Relaxed);
        QueryContext::new(self.database.clone(), state, options, number)
    }

    fn state(&self) -> MutexGuard<'_, SessionState> {
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
            let ctx = self.session.context(&self.options)?;
            if let Some(server) = &self.session.database.shared.server {
                return statements::on_server::stream(&self.sql, server, &ctx, consumer);
            }
            let own = self.session.state().clone();
            let Some(statement) = &self.statement else {
                bail!(LOGICAL_ERROR, "A stream without a statement")
            };
            statements::stream(statement, &self.sql, &ctx, &own, consumer).map(drop)
        })
    }
}
