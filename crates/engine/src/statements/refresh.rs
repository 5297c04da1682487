//! Views that are filled by the clock: how one is filled, and SYSTEM ... VIEW.
//!
//! A refresh that replaces rows fills a table that nobody sees, which then takes the place of the one that is there, together with
//! the time that the next refresh is counted from: whoever opens the database finds both or neither.

use super::create::{create_stored, inner_of};
use super::insert::from_bound;
use crate::database::Database;
use crate::materialized::{self, Destination, parsed};
use crate::query_context::QueryContext;
use crate::refresh::schedule::{Millis, Schedule, moment};
use crate::refresh::scheduler::{self, Command, Job};
use crate::refresh::state::Counts;
use crate::run_options::RunOptions;
use crate::session_state::{Identity, SessionState};
use chalet_base::{Result, bail, ensure, err};
use chalet_binder::bind_query;
use chalet_storage::catalog::Replacement;
use chalet_storage::view::{MaterializedView, Refreshed, ViewTarget};
use chalet_storage::{Entry, Table};
use chalet_syntax::ast::{self, StatementKind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// How often a refresh tries to put its rows in their place while the view is altered.
const ATTEMPTS: usize = 100;

/// Sees to the views of a database that was opened, or got others.
pub(crate) fn attend(database: &Database) {
    scheduler::attend(database, fill);
}

/// The view as the catalog has it now.
struct Found {
    database: String,
    name: String,
    entry: Entry,
}

impl Found {
    fn find(id: u64, database: &Database) -> Option<Found> {
        let is_it = |entry: &Entry| view_of(entry).is_some_and(|(_, known)| known.id == id);
        let ((database, name), entry) = database.shared.catalog.matching(is_it).pop()?;
        Some(Found { database, name, entry })
    }

    /// It with another table of its own, and as one that was filled.
    fn filled(&self, target: Option<&Arc<dyn Table>>, last: Millis) -> Option<Replacement> {
        let (view, known) = view_of(&self.entry)?;
        let refresh = Some(Refreshed { last: Some(last), ..known.clone() });
        let target = target.map_or_else(|| view.target.clone(), |table| ViewTarget::Inner(table.clone()));
        let table = Arc::new(MaterializedView { refresh, target, ..view.clone() });
        Some(Replacement {
            database: self.database.clone(),
            name: self.name.clone(),
            old: self.entry.table.clone(),
            new: Entry { table, ..self.entry.clone() },
        })
    }
}

fn view_of(entry: &Entry) -> Option<(&MaterializedView, &Refreshed)> {
    let view = entry.table.as_any().downcast_ref::<MaterializedView>()?;
    Some((view, view.refresh.as_ref()?))
}

/// What a refresh has made.
enum Made {
    /// Rows that were added.
    Rows,
    /// A table for the view itself.
    Inner(Arc<dyn Table>),
    /// A table in the place of another.
    Named(Replacement),
}

fn fill(job: &Job) -> Result<Counts> {
    let cancel = job.cancel.clone();
    let options =
        RunOptions { interrupt: Some(Arc::new(move || cancel.load(Relaxed))), ..RunOptions::default() };
    let Some(found) = Found::find(job.id, &job.database) else { return Ok(Counts::default()) };
    let Some((view, known)) = view_of(&found.entry) else { return Ok(Counts::default()) };
    let state = SessionState::new(match &known.definer {
        Some(user) => Identity::of_user(user.clone()),
        None => Identity::default(),
    });
    let ctx = &QueryContext::new(job.database.clone(), state, &options, 0)?;
    let _ = job.control.set(ctx.control.clone());
    let _charged = chalet_memory::thread::enter(&ctx.control.memory);
    let schedule = Schedule::parse(&known.clause, &found.database)?;
    let (made, (written_rows, written_bytes)) = match (&view.target, schedule.append) {
        (ViewTarget::Inner(table), true) => {
            let to = Destination {
                table: table.clone(),
                name: found.name.as_str().into(),
                key: None,
                columns: None,
            };
            (Made::Rows, insert(view, &to, ctx)?)
        }
        (ViewTarget::Named(database, name), true) => {
            let to = materialized::destination(&object_name(database, name), ctx)?;
            (Made::Rows, insert(view, &to, ctx)?)
        }
        (ViewTarget::Inner(_), false) => {
            let table = empty(&found.entry, &found.name, ctx)?;
            let to = Destination {
                table: table.clone(),
                name: found.name.as_str().into(),
                key: None,
                columns: None,
            };
            (Made::Inner(table), insert(view, &to, ctx)?)
        }
        (ViewTarget::Named(database, name), false) => {
            let catalog = &ctx.database.shared.catalog;
            let missing = || err!(CANNOT_GET_CREATE_TABLE_QUERY, "Table `{name}` doesn't exist");
            let old = catalog.find(database, name).ok_or_else(missing)?;
            let table = empty(&old, name, ctx)?;
            let to =
                Destination { table: table.clone(), name: name.as_str().into(), key: None, columns: None };
            let written = insert(view, &to, ctx)?;
            let new = Entry { table: with_rows(&old.table, table)?, ..old.clone() };
            (
                Made::Named(Replacement {
                    database: database.clone(),
                    name: name.clone(),
                    old: old.table,
                    new,
                }),
                written,
            )
        }
    };
    // What was cancelled is not to be seen, however far it was.
    ctx.control.check_with_interrupt()?;
    publish(job.id, made, schedule.counted_from(job.begin, job.now()), ctx)?;
    let read = ctx.control.progress();
    Ok(Counts {
        read_rows: read.read_rows,
        read_bytes: read.read_bytes,
        total_rows: read.total_rows.max(read.read_rows),
        written_rows,
        written_bytes,
    })
}

/// The table of a name with the rows of another: that one, or the view whose own table it is to be.
fn with_rows(old: &Arc<dyn Table>, table: Arc<dyn Table>) -> Result<Arc<dyn Table>> {
    let Some(view) = old.as_any().downcast_ref::<MaterializedView>() else { return Ok(table) };
    Ok(Arc::new(MaterializedView { target: ViewTarget::Inner(table), ..view.clone() }))
}

fn object_name(database: &str, name: &str) -> ast::ObjectName {
    ast::ObjectName { database: Some(ast::Ident::new(database)), name: ast::Ident::new(name) }
}

/// Runs the query of a view into a table.
fn insert(view: &MaterializedView, to: &Destination, ctx: &QueryContext) -> Result<(u64, u64)> {
    let bound = bind_query(&parsed(view)?, ctx, &ctx.ids)?;
    let listed = bound.fields.iter().map(|field| field.name.to_string()).collect();
    from_bound(to, Some(listed), bound, ctx)
}

/// A table as that of an entry, or as the own one of a view, without rows.
fn empty(entry: &Entry, name: &str, ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let mut parsed = chalet_syntax::parse_printed(&entry.create_sql(None, name))?;
    match parsed.pop().map(|statement| statement.kind) {
        Some(StatementKind::CreateTable(create)) => create_stored(&create, ctx),
        Some(StatementKind::CreateView(create)) if create.materialized && create.to.is_none() => {
            let Some(view) = entry.table.as_any().downcast_ref::<MaterializedView>() else {
                bail!(INCORRECT_QUERY, "The definition of {name} is of another table")
            };
            create_stored(&inner_of(&create, &view.schema)?, ctx)
        }
        _ => bail!(INCORRECT_QUERY, "Rows of {name} cannot be replaced: it is no table"),
    }
}

/// Puts what a refresh has made in its place.
fn publish(id: u64, made: Made, last: Millis, ctx: &QueryContext) -> Result<()> {
    let catalog = &ctx.database.shared.catalog;
    let mut replaced = Vec::new();
    let mut inner = None;
    match made {
        Made::Rows => {}
        Made::Inner(table) => inner = Some(table),
        Made::Named(replacement) => replaced.push(replacement),
    }
    for _ in 0..ATTEMPTS {
        // A view that is gone needs no rows.
        let Some(view) = Found::find(id, &ctx.database).and_then(|found| found.filled(inner.as_ref(), last))
        else {
            return Ok(());
        };
        replaced.push(view);
        if catalog.replace(&replaced)? {
            return Ok(());
        }
        replaced.pop();
        let is_there = |one: &Replacement| {
            let found = catalog.find(&one.database, &one.name);
            found.is_some_and(|found| Arc::ptr_eq(&found.table, &one.old))
        };
        ensure!(
            replaced.iter().all(is_there),
            ABORTED,
            "The table that the refresh was to replace has been altered or dropped meanwhile"
        );
    }
    bail!(ABORTED, "The view is altered all the time")
}

/// SYSTEM REFRESH, STOP, START, PAUSE, CANCEL, WAIT and TEST VIEW.
pub(super) fn system(command: &str, name: &ast::ObjectName, rest: &str, ctx: &QueryContext) -> Result<()> {
    let database = name.database.as_ref().map_or(ctx.state.database.as_str(), |database| &database.name);
    let of = (database, name.name.name.as_str());
    let told = match command {
        "REFRESH VIEW" => Command::Refresh,
        "CANCEL VIEW" => Command::Cancel,
        "TEST VIEW" => Command::FakeTime(fake_time(rest)?),
        "WAIT VIEW" => return scheduler::wait(&ctx.database, of, &|| ctx.control.check_with_interrupt()),
        // About views that are none there is nothing to say.
        _ => {
            if let Some(told) = of_all(command) {
                scheduler::command(&ctx.database, of, &told);
            }
            return Ok(());
        }
    };
    ensure!(
        scheduler::command(&ctx.database, of, &told),
        BAD_ARGUMENTS,
        "Refreshable view {}.{} doesn't exist",
        of.0,
        of.1
    );
    Ok(())
}

/// Is there a view of this name that is filled by the clock?
pub(super) fn is_refreshed(name: &ast::ObjectName, ctx: &QueryContext) -> Result<bool> {
    let database = name.database.as_ref().map_or(ctx.state.database.as_str(), |database| &database.name);
    let name = name.name.name.as_str();
    let is_it = |entry: &Entry| view_of(entry).is_some();
    let found = ctx.database.shared.catalog.matching(is_it);
    Ok(found.iter().any(|((of, known), _)| of == database && known == name))
}

/// SYSTEM STOP, START and PAUSE VIEWS.
pub(super) fn system_all(command: &str, ctx: &QueryContext) {
    if let Some(told) = of_all(command) {
        scheduler::command_all(&ctx.database, &told);
    }
}

fn of_all(command: &str) -> Option<Command> {
    match command.strip_suffix('S').unwrap_or(command) {
        "STOP VIEW" => Some(Command::Stop),
        "START VIEW" => Some(Command::Start),
        "PAUSE VIEW" => Some(Command::Pause),
        _ => None,
    }
}

/// `SET FAKE TIME 'time'`, `UNSET FAKE TIME`: what a view takes for now, so that who tests one need not wait.
fn fake_time(rest: &str) -> Result<Option<Millis>> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let is =
        |wanted: &[&str]| words.iter().zip(wanted).all(|(word, wanted)| word.eq_ignore_ascii_case(wanted));
    match words[..] {
        [_, _, _] if is(&["UNSET", "FAKE", "TIME"]) => Ok(None),
        [_, _, _, _, ..] if is(&["SET", "FAKE", "TIME"]) => {
            let time = words[3..].join(" ");
            let time = time.trim_matches('\'');
            let parsed =
                moment(time).ok_or_else(|| err!(CANNOT_PARSE_DATETIME, "Cannot parse datetime {time}"));
            parsed.map(Some)
        }
        _ => bail!(SYNTAX_ERROR, "Syntax error: Expected one of: UNSET FAKE TIME, SET FAKE TIME"),
    }
}
