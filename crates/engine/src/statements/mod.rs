//! Statements, one file per kind. This one tells them apart.

mod alter;
mod attach;
mod backup;
mod cached;
mod check;
mod checked;
pub(crate) mod create;
mod dependents;
mod describe;
mod drop;
mod input_data;
pub(crate) mod insert;
mod kill;
mod limits;
mod on_cluster;
pub(crate) mod on_server;
mod optimize;
pub(crate) mod output;
mod parallel;
mod partitioned;
mod query;
pub(crate) mod readonly;
mod receiver;
pub(crate) mod refresh;
mod replicas;
mod set;
mod show;
mod statement_events;
mod structure_hint;
mod system;
mod written_out;

pub(crate) use self::alter::copied;
use self::output::{Output, print_lines, print_rows};
use self::statement_events::StatementEvents;
use crate::answer::{StreamConsumer, StreamPart, Summary};
use crate::query_context::QueryContext;
use crate::query_log::{self, Written};
use crate::refresh::scheduler;
use crate::run_options::RunOptions;
use crate::session_state::SessionState;
use crate::{explain, explain_indexes, written_settings};
use chalet_base::{Result, bail};
use chalet_memory::thread;
use chalet_syntax::ast::{self, StatementKind, TransactionCommand};
use chalet_types::{DataType, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Runs one statement of a text. `own` is what its session holds, without settings that are this statement's alone.
pub(crate) fn run(
    statement: &ast::Statement,
    sql: &str,
    ctx: &QueryContext,
    own: &SessionState,
    output: &mut Output,
) -> Result<()> {
    let ctx = &*written_settings::of_statement(statement, ctx)?;
    let before = written(output);
    let logged = query_log::Statement::begin(statement, sql, ctx)?;
    let result = run_charged(statement, sql, ctx, own, output);
    let after = written(output);
    logged.end(
        &result,
        Written {
            rows: after.rows - before.rows,
            bytes: after.bytes - before.bytes,
            result_rows: after.result_rows - before.result_rows,
            result_bytes: after.result_bytes - before.result_bytes,
        },
    );
    result
}

/// What was put out so far.
fn written(output: &Output) -> Written {
    Written {
        rows: output.rows_written,
        bytes: output.bytes_written,
        result_rows: output.result_rows,
        result_bytes: output.result_bytes,
    }
}

/// Runs it, with all that it allocates charged to it.
fn run_charged(
    statement: &ast::Statement,
    sql: &str,
    ctx: &QueryContext,
    own: &SessionState,
    output: &mut Output,
) -> Result<()> {
    let _charged = thread::enter(&ctx.control.memory);
    limits::check(sql, statement, &ctx.state.settings)?;
    readonly::check(statement, ctx)?;
    let (rows_before, bytes_before) = (output.rows_written, output.bytes_written);
    let counted = StatementEvents::begin(&statement.kind);
    let result = run_kind(statement, ctx, own, output);
    let written = output.rows_written - rows_before;
    counted.end(result.is_ok(), written);
    ctx.control.tell_end(written, output.bytes_written - bytes_before);
    result?;
    output.count(ctx);
    Ok(())
}

/// Runs one statement that only reads and hands its rows out as they come.
pub(crate) fn stream(
    statement: &ast::Statement,
    sql: &str,
    ctx: &QueryContext,
    own: &SessionState,
    consumer: StreamConsumer,
) -> Result<Summary> {
    let StatementKind::Query(query) = &statement.kind else {
        let mut output = Output::new(&RunOptions { keeps_rows: true, ..RunOptions::default() });
        run(statement, sql, ctx, own, &mut output)?;
        return hand_out(statement, output, consumer);
    };
    let ctx = &*written_settings::of_statement(statement, ctx)?;
    let logged = query_log::Statement::begin(statement, sql, ctx)?;
    let rows = Arc::new(AtomicU64::new(0));
    let result = stream_charged(statement, query, sql, ctx, counting(consumer, rows.clone()));
    logged.end(&result, Written { result_rows: rows.load(Relaxed), ..Written::default() });
    result
}

/// The consumer, with the rows counted that it gets.
fn counting(mut consumer: StreamConsumer, rows: Arc<AtomicU64>) -> StreamConsumer {
    Box::new(move |part| {
        if let StreamPart::Block(block) = &part {
            rows.fetch_add(block.n_rows() as u64, Relaxed);
        }
        consumer(part)
    })
}

/// Runs a query, with all that it allocates charged to it.
fn stream_charged(
    statement: &ast::Statement,
    query: &ast::Query,
    sql: &str,
    ctx: &QueryContext,
    consumer: StreamConsumer,
) -> Result<Summary> {
    let _charged = thread::enter(&ctx.control.memory);
    limits::check(sql, statement, &ctx.state.settings)?;
    readonly::check(statement, ctx)?;
    let counted = StatementEvents::begin(&statement.kind);
    let format = statement.output.format.as_ref().map(|f| f.name.clone());
    let result = replicas::check(query, ctx).and_then(|()| query::stream(query, format, ctx, consumer));
    counted.end(result.is_ok(), 0);
    ctx.control.tell_end(0, 0);
    let rows_before_limit = result?;
    let mut output = Output::new(&RunOptions::default());
    output.count(ctx);
    Ok(Summary { rows_before_limit, ..output.summary() })
}

/// Hands out the rows of a statement that kept them.
pub(crate) fn hand_out(
    statement: &ast::Statement,
    mut output: Output,
    mut consumer: StreamConsumer,
) -> Result<Summary> {
    let summary = output.summary();
    let Some(mut rows) = output.rows.take() else { return Ok(summary) };
    let blocks = std::mem::take(&mut rows.blocks);
    consumer(StreamPart::Header(rows, statement.output.format.as_ref().map(|f| f.name.clone())))?;
    blocks.into_iter().try_for_each(|block| consumer(StreamPart::Block(block)))?;
    Ok(summary)
}

fn run_kind(
    statement: &ast::Statement,
    ctx: &QueryContext,
    own: &SessionState,
    output: &mut Output,
) -> Result<()> {
    on_cluster::check(statement, ctx)?;
    if let Some(kind) = written_out::definition(&statement.kind, ctx)? {
        let statement = ast::Statement { kind, ..statement.clone() };
        return run_one(&statement, ctx, own, output);
    }
    run_one(statement, ctx, own, output)
}

/// Runs a statement whose definition stands for itself.
fn run_one(
    statement: &ast::Statement,
    ctx: &QueryContext,
    own: &SessionState,
    output: &mut Output,
) -> Result<()> {
    match &statement.kind {
        StatementKind::Query(query) => {
            replicas::check(query, ctx)?;
            cached::check(query, ctx)?;
            query::run(query, &statement.output, ctx, output)?
        }
        StatementKind::Explain(explain) => explained(explain, statement, ctx, output)?,
        StatementKind::CreateTable(create) => create::table(create, ctx, output)?,
        StatementKind::CreateView(create) => {
            create::view(create, ctx, output)?;
            refresh::attend(&ctx.database);
        }
        StatementKind::CreateDatabase(create) => {
            create::database(create, ctx)?;
            if create.attach {
                refresh::attend(&ctx.database);
            }
        }
        StatementKind::CreateDictionary(create) => create::dictionary(create, ctx)?,
        StatementKind::CreateFunction(create) => create::function(create, ctx)?,
        StatementKind::Entity(entity) => ctx.database.shared.entities.run(entity)?,
        StatementKind::Drop(drop) => {
            drop::drop(drop, ctx, output)?;
            scheduler::wake(&ctx.database);
        }
        StatementKind::Attach { kind, if_not_exists, name } => {
            attach::attach(*kind, *if_not_exists, name, ctx)?;
            refresh::attend(&ctx.database);
        }
        StatementKind::Backup(written) => {
            backup::run(written, statement, ctx, output)?;
            refresh::attend(&ctx.database);
        }
        StatementKind::Undrop(name) => attach::undrop(name, ctx)?,
        StatementKind::Rename { kind, exchange, if_exists, pairs } => {
            drop::rename(*kind, *exchange, *if_exists, pairs, ctx)?;
            scheduler::wake(&ctx.database);
        }
        StatementKind::AlterTable(alter) => {
            alter::run(alter, ctx)?;
            if let [ast::AlterCommand::ModifyRefresh(_), ..] = alter.commands[..] {
                scheduler::wake(&ctx.database);
            }
        }
        StatementKind::AlterDatabase { name, comment } => {
            let comment = String::from_utf8_lossy(comment);
            ctx.database.shared.catalog.comment_database(&name.name, &comment)?;
        }
        StatementKind::Delete { table, partition, where_ } => {
            alter::check_deletes(table, ctx)?;
            alter::delete(table, partition.as_ref(), where_, true, ctx)?;
        }
        StatementKind::Update { table, assignments, partition, where_ } => {
            alter::check_updates(table, ctx)?;
            alter::update(table, assignments, partition.as_ref(), where_, true, ctx)?;
        }
        StatementKind::Optimize(optimize) => optimize::run(optimize, ctx)?,
        StatementKind::Insert(insert) => insert::run(insert, ctx, output)?,
        StatementKind::Set(set) => output.changes.push(set::run(set, ctx, own)?),
        StatementKind::Use(name) => output.changes.push(set::use_database(name, ctx)?),
        StatementKind::Show(show) => show::run(show, statement, ctx, output)?,
        StatementKind::Describe(target) => describe::run(target, statement, ctx, output)?,
        StatementKind::Exists { kind, temporary, name } => {
            let found = show::exists(*kind, *temporary, name, ctx);
            let row = vec![Value::from(found)];
            print_rows(&[("result", DataType::UInt8)], vec![row], statement, ctx, output)?;
        }
        StatementKind::Check { table: Some(name), partition, part } => {
            check::run(name, partition.as_ref(), part.as_deref(), statement, ctx, output)?;
        }
        StatementKind::Check { table: None, .. } => check::all(statement, ctx, output)?,
        StatementKind::CheckDatabase(name) => check::database(name, ctx)?,
        StatementKind::Kill { mutation: true, where_, .. } => kill::mutation(where_, ctx)?,
        StatementKind::Kill { mutation: false, where_, mode } => {
            kill::query(where_, *mode, statement, ctx, output)?;
        }
        StatementKind::System { command, target, rest } => {
            system::run(command, target.as_ref(), rest, ctx)?;
        }
        StatementKind::Parallel(list) => parallel::run(list, ctx, own, output)?,
        StatementKind::Transaction(TransactionCommand::Explain) => {
            print_lines("<no current transaction>", "explain", statement, ctx, output)?;
        }
        StatementKind::Transaction(TransactionCommand::Commit | TransactionCommand::Rollback) => {
            bail!(INVALID_TRANSACTION, "There is no current transaction")
        }
        other => bail!(NOT_IMPLEMENTED, "{} is not supported", kind_name(other)),
    }
    Ok(())
}

fn explained(
    explain: &ast::Explain,
    statement: &ast::Statement,
    ctx: &QueryContext,
    output: &mut Output,
) -> Result<()> {
    let is_null = statement.output.format.as_ref().is_some_and(|format| format.name == "Null");
    if is_null && explain.kind != ast::ExplainKind::Ast {
        // It is the query that has no output.
        let mut shown = statement.clone();
        shown.output.format = None;
        return explained(explain, &shown, ctx, output);
    }
    if explain.kind == ast::ExplainKind::Estimate {
        explain::check_settings(explain, ctx)?;
        let rows = explain::estimate(&explain.statement, ctx)?;
        return print_rows(&explain_indexes::estimate_header(), rows, statement, ctx, output);
    }
    let text = explain::run(explain, ctx)?;
    if explain.kind == ast::ExplainKind::Syntax {
        let rows = vec![vec![Value::from(text.as_str())]];
        return print_rows(&[("explain", DataType::String)], rows, statement, ctx, output);
    }
    print_lines(&text, "explain", statement, ctx, output)
}

/// The words that a statement which is not supported begins with.
fn kind_name(kind: &StatementKind) -> &'static str {
    match kind {
        StatementKind::Transaction(_) => "A transaction",
        _ => "This statement",
    }
}
