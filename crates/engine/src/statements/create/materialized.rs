//! CREATE MATERIALIZED VIEW, and ALTER TABLE ... MODIFY QUERY.

use super::super::insert::from_bound;
use super::super::output::Output;
use super::clauses::{comment_sql, writable};
use super::columns::{Checked, columns_sql, stored_schema};
use super::engines;
use super::stored::check_table;
use super::view::qualify;
use crate::column_definitions::{columns, comment_of};
use crate::materialized::{Destination, of_query, parsed};
use crate::query_context::QueryContext;
use crate::refresh::schedule::Schedule;
use crate::refresh::state::now;
use crate::statements::on_cluster;
use crate::tables;
use chalet_base::{Result, bail, ensure};
use chalet_binder::{BoundQuery, bind_query};
use chalet_storage::catalog::{Replacement, quoted};
use chalet_storage::view::{MaterializedView, Refreshed, ViewTarget};
use chalet_storage::{Entry, Table, TableSchema};
use chalet_syntax::ast;
use std::sync::Arc;

/// What a definition says that it makes.
pub(crate) const MATERIALIZED_VIEW: &str = "MATERIALIZED VIEW";

pub(super) fn view(create: &ast::CreateView, ctx: &QueryContext, output: &mut Output) -> Result<()> {
    let database = create.name.database.as_ref().map_or(ctx.state.database.as_str(), |d| &d.name);
    let name = &create.name.name.name;
    let mut query = ast::Query::clone(&create.query);
    qualify(&mut query, &ctx.state.database, ctx);
    let bound = bind_query(&query, ctx, &ctx.ids)?;
    writable(database, ctx)?;
    let schema = match &create.columns {
        Some(definition) if !definition.columns.is_empty() => {
            TableSchema::new_checked(columns(&definition.columns, ctx)?)?
        }
        _ => TableSchema::new_checked(ctx.columns_of(&bound))?,
    };
    let refresh = create.refresh.as_ref().map(|written| refreshed(written, create.empty, ctx)).transpose()?;
    ensure!(
        refresh.is_none() || !create.populate,
        SYNTAX_ERROR,
        "When creating a refreshable materialized view you can't declare 'POPULATE': the first refresh fills the view \
         (declare 'EMPTY' to skip it)"
    );
    if create.to.is_none() {
        on_cluster::check_known(create.cluster.as_ref(), ctx)?;
    }
    let (table, target, tail) = match &create.to {
        Some(to) => {
            let to_database = to.database.as_ref().map_or(ctx.state.database.as_str(), |d| &d.name);
            let to_name = &to.name.name;
            let Some((table, _)) = tables::find(ctx, Some(to_database), to_name)? else {
                return Err(tables::missing(to, ctx));
            };
            on_cluster::check_known(create.cluster.as_ref(), ctx)?;
            if create.refresh.as_ref().is_some_and(|refresh| !refresh.append) {
                check_only(to_database, to_name, (database, name), ctx)?;
            }
            (table, ViewTarget::Named(to_database.to_owned(), to_name.clone()), String::new())
        }
        None => {
            let catalog = &ctx.database.shared.catalog;
            let is_there = !create.or_replace && catalog.find(database, name).is_some();
            if is_there && create.if_not_exists {
                return Ok(());
            }
            ensure!(!is_there, TABLE_ALREADY_EXISTS, "Table {database}.{name} already exists");
            let (table, engine) = engines::create(&inner_of(create, &schema)?, ctx)?;
            (table.clone(), ViewTarget::Inner(table), format!("\nENGINE = {engine}"))
        }
    };
    check_columns(&bound, &table.schema())?;
    let view = of_query(schema, &query, target, refresh);
    let definition = definition(&view, &tail, create.comment.as_deref(), &query);
    let comment = comment_of(create.comment.as_deref());
    let entry =
        Entry { table: Arc::new(view), kind: MATERIALIZED_VIEW, definition: definition.into(), comment };
    check_table(&entry, database, name, ctx)?;
    // Filled before it is seen: a failing query leaves no view behind.
    if create.populate {
        let to = Destination { table, name: name.as_str().into(), key: None, columns: None };
        let listed = bound.fields.iter().map(|field| field.name.to_string()).collect();
        let (rows, bytes) = from_bound(&to, Some(listed), bound, ctx)?;
        output.rows_written += rows;
        output.bytes_written += bytes;
    }
    ctx.database.shared.catalog.create_table(database, name, entry, create.if_not_exists, create.or_replace)
}

/// What a view knows of the clause REFRESH. One that begins EMPTY has its first refresh behind it.
fn refreshed(written: &ast::Refresh, is_empty: bool, ctx: &QueryContext) -> Result<Refreshed> {
    let database = &ctx.state.database;
    Schedule::of(written, database)?;
    let mut written = written.clone();
    for name in written.depends_on.iter_mut().filter(|name| name.database.is_none()) {
        name.database = Some(ast::Ident::new(database));
    }
    Ok(Refreshed::new(written.to_string(), is_empty.then(now), definer(ctx)))
}

/// With whose rights a view is filled that a statement makes or changes.
fn definer(ctx: &QueryContext) -> Option<Arc<str>> {
    let identity = &ctx.state.identity;
    identity.is_of_client().then(|| identity.user.clone())
}

/// The clause that says so.
fn security_of(view: &MaterializedView) -> String {
    let definer = view.refresh.as_ref().and_then(|refresh| refresh.definer.as_ref());
    definer.map_or_else(String::new, |user| format!("\nDEFINER = {} SQL SECURITY DEFINER", quoted(user)))
}

/// Fails where the rows of a table are replaced by another view already.
fn check_only(database: &str, name: &str, view: (&str, &str), ctx: &QueryContext) -> Result<()> {
    let replaces = |entry: &Entry| {
        let other = entry.table.as_any().downcast_ref::<MaterializedView>();
        other.is_some_and(|other| {
            let appends = || other.refresh.as_ref().is_none_or(|refresh| refresh.clause.ends_with(" APPEND"));
            matches!(&other.target, ViewTarget::Named(of, table) if of == database && table == name)
                && !appends()
        })
    };
    for ((of, other), _) in ctx.database.shared.catalog.matching(replaces) {
        ensure!(
            (of.as_str(), other.as_str()) == view,
            BAD_ARGUMENTS,
            "Table {database}.{name} is already a target of another refreshable materialized view: {of}.{other}"
        );
    }
    Ok(())
}

/// The statement that makes the view's own table.
pub(crate) fn inner_of(create: &ast::CreateView, schema: &TableSchema) -> Result<ast::CreateTable> {
    let text = format!("CREATE TABLE inner\n(\n{}\n)", columns_sql(schema));
    let mut parsed = chalet_syntax::parse_printed(&text)?;
    let Some(ast::StatementKind::CreateTable(table)) = parsed.pop().map(|statement| statement.kind) else {
        bail!(LOGICAL_ERROR, "The columns of a view make no table")
    };
    let mut table = *table;
    if let Some(written) = &create.columns {
        let definition = ast::TableDefinition { columns: table.definition.columns, ..written.clone() };
        table.definition = definition;
    }
    table.name = create.name.clone();
    table.storage = create.storage.clone();
    Ok(table)
}

fn check_columns(bound: &BoundQuery, target: &TableSchema) -> Result<()> {
    for field in &bound.fields {
        ensure!(
            target.columns.iter().any(|column| *column.name == *field.name),
            THERE_IS_NO_COLUMN,
            "SELECT query outputs column with name '{}', which is not found in the target table. Use 'AS' to assign alias that \
             matches a column name.",
            field.name
        );
    }
    Ok(())
}

/// What stands before the columns of a view.
fn head_of(view: &MaterializedView) -> String {
    let mut head = String::new();
    if let Some(refresh) = &view.refresh {
        head.push_str("\nREFRESH ");
        head.push_str(&refresh.clause);
    }
    if let ViewTarget::Named(database, name) = &view.target {
        head.push_str(&format!(" TO {}.{}", quoted(database), quoted(name)));
    }
    head
}

fn definition(view: &MaterializedView, tail: &str, comment: Option<&[u8]>, query: &ast::Query) -> String {
    let shown = chalet_syntax::print::format_query(query);
    let (head, schema) = (head_of(view), &view.schema);
    let (security, comment) = (security_of(view), comment_sql(comment));
    format!("{head}\n(\n{}\n){tail}{security}{comment}\nAS {shown}", columns_sql(schema))
}

/// The view of a statement that was found on disk; `open` makes the table of its own.
pub(super) fn stored(
    create: &ast::CreateView,
    ctx: &QueryContext,
    open: impl FnOnce(&ast::CreateTable) -> Result<Arc<dyn Table>>,
) -> Result<MaterializedView> {
    let schema = create.columns.as_ref().map(stored_schema).transpose()?.unwrap_or_default();
    let target = match &create.to {
        Some(ast::ObjectName { database: Some(database), name }) => {
            ViewTarget::Named(database.name.clone(), name.name.clone())
        }
        Some(_) => bail!(CORRUPTED_DATA, "The target of a view on disk has no database"),
        None => ViewTarget::Inner(open(&inner_of(create, &schema)?)?),
    };
    let definer = create.security.as_ref().and_then(|security| security.definer.as_ref());
    let definer = definer.map(|definer| Arc::from(definer.name.as_str()));
    // Else whoever can write a backup could have the program read for them.
    ensure!(
        definer.is_some() || create.refresh.is_none() || !ctx.state.identity.is_of_client(),
        ACCESS_DENIED,
        "{}: Not enough privileges. To execute this query, it's necessary to have the grant SET DEFINER ON *",
        ctx.state.identity.user
    );
    let refresh = create.refresh.as_ref().map(|refresh| Refreshed::new(refresh.to_string(), None, definer));
    Ok(of_query(schema, &create.query, target, refresh))
}

/// Gives a view another query. Its columns become those of the query, where its rows are in a table that is not its own.
pub(crate) fn modify_query(name: &ast::ObjectName, query: &ast::Query, ctx: &QueryContext) -> Result<()> {
    let database = name.database.as_ref().map_or(ctx.state.database.as_str(), |d| &d.name);
    let catalog = &ctx.database.shared.catalog;
    let entry = catalog.table(database, &name.name.name)?;
    let Some(known) = entry.table.as_any().downcast_ref::<MaterializedView>() else {
        bail!(LOGICAL_ERROR, "{database}.{} is no materialized view", name.name.name)
    };
    let mut query = query.clone();
    qualify(&mut query, &ctx.state.database, ctx);
    let bound = bind_query(&query, ctx, &ctx.ids)?;
    let (schema, tail) = match &known.target {
        ViewTarget::Inner(table) => {
            let inner = table.schema();
            for field in &bound.fields {
                ensure!(
                    inner.index_of(&field.name).is_some(),
                    NO_SUCH_COLUMN_IN_TABLE,
                    "Column {} does not exist in the materialized view's inner table",
                    field.name
                );
            }
            (known.schema.clone(), tail_of(&entry, known)?)
        }
        ViewTarget::Named(..) => (TableSchema::new_checked(ctx.columns_of(&bound))?, String::new()),
    };
    // Whoever changes the query of a view does not get the rights of who has made it.
    let definer = definer(ctx);
    let refresh = known.refresh.clone().map(|refresh| match definer {
        Some(_) => Refreshed { definer, ..refresh },
        None => refresh,
    });
    let view = of_query(schema, &query, known.target.clone(), refresh);
    replace(&entry, view, &tail, &query, (database, &name.name.name), ctx)
}

/// ALTER TABLE ... MODIFY REFRESH, of a view that is filled by the clock.
pub(crate) fn modify_refresh(
    name: &ast::ObjectName,
    written: &ast::Refresh,
    ctx: &QueryContext,
) -> Result<()> {
    let database = name.database.as_ref().map_or(ctx.state.database.as_str(), |d| &d.name);
    let entry = ctx.database.shared.catalog.table(database, &name.name.name)?;
    let view = entry.table.as_any().downcast_ref::<MaterializedView>();
    let Some((view, known)) = view.and_then(|view| Some((view, view.refresh.as_ref()?))) else {
        bail!(
            NOT_IMPLEMENTED,
            "Alter of type 'MODIFY_REFRESH' is not supported by storage {}",
            entry.table.engine()
        )
    };
    let schedule = Schedule::parse(&known.clause, database)?;
    ensure!(
        schedule.append == written.append,
        NOT_IMPLEMENTED,
        "Changing APPEND or INCREMENTAL is not supported"
    );
    let replicas = |refresh: &ast::Refresh| {
        let setting = refresh.settings.iter().find(|setting| setting.name.name == "all_replicas");
        setting.map(|setting| setting.value.clone())
    };
    ensure!(
        replicas(written) == replicas(&chalet_syntax::parse_refresh(&known.clause)?),
        NOT_IMPLEMENTED,
        "Altering setting 'all_replicas' is not supported"
    );
    let changed = refreshed(written, false, ctx)?;
    let refresh = Some(Refreshed { clause: changed.clause, ..known.clone() });
    let tail = tail_of(&entry, view)?;
    let query = parsed(view)?;
    let view = MaterializedView { refresh, ..view.clone() };
    replace(&entry, view, &tail, &query, (database, &name.name.name), ctx)
}

/// ALTER TABLE ... MODIFY COMMENT.
pub(crate) fn modify_comment(name: &ast::ObjectName, comment: &[u8], ctx: &QueryContext) -> Result<()> {
    let database = name.database.as_ref().map_or(ctx.state.database.as_str(), |d| &d.name);
    let entry = ctx.database.shared.catalog.table(database, &name.name.name)?;
    let Some(view) = entry.table.as_any().downcast_ref::<MaterializedView>() else {
        bail!(LOGICAL_ERROR, "{database}.{} is no materialized view", name.name.name)
    };
    let (tail, query) = (tail_of(&entry, view)?, parsed(view)?);
    let commented = Entry { comment: comment_of(Some(comment)), ..entry.clone() };
    replace(&commented, view.clone(), &tail, &query, (database, &name.name.name), ctx)
}

/// Puts a view in the place of one that was found, with the comment of `entry`.
fn replace(
    entry: &Entry,
    view: MaterializedView,
    tail: &str,
    query: &ast::Query,
    (database, name): (&str, &str),
    ctx: &QueryContext,
) -> Result<()> {
    let comment = Some(entry.comment.as_bytes()).filter(|comment| !comment.is_empty());
    let definition = definition(&view, tail, comment, query);
    let new = Entry { table: Arc::new(view), definition: definition.into(), ..entry.clone() };
    check_table(&new, database, name, ctx)?;
    let (database, name) = (database.to_owned(), name.to_owned());
    let replaced = [Replacement { database, name, old: entry.table.clone(), new }];
    // A refresh that ends now has put another in its place.
    ensure!(
        ctx.database.shared.catalog.replace(&replaced)?,
        TABLE_WAS_NOT_DROPPED,
        "The view was refreshed, altered or dropped at the same time"
    );
    Ok(())
}

/// ENGINE with its clauses, of a view's own table.
fn tail_of(entry: &Entry, view: &MaterializedView) -> Result<String> {
    let head = format!("{}\n(\n{}\n)", head_of(view), columns_sql(&view.schema));
    let comment = Some(entry.comment.as_bytes()).filter(|comment| !comment.is_empty());
    let query = parsed(view)?;
    let end = format!(
        "{}{}\nAS {}",
        security_of(view),
        comment_sql(comment),
        chalet_syntax::print::format_query(&query)
    );
    match entry.definition.strip_prefix(&head).and_then(|rest| rest.strip_suffix(&end)) {
        Some(tail) => Ok(tail.to_owned()),
        None => bail!(LOGICAL_ERROR, "The definition of a view is not as it was written"),
    }
}
