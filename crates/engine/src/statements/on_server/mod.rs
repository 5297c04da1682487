//! Statements of a session whose database is a server: they are sent there as they are written; rows, progress and errors come
//! back. Formats are read and written here.
//!
//! - [`resolved`]: what a statement names of its caller
//! - [`collected`]: what a query gives
//! - [`given_blocks`]: data of an INSERT
//! - [`over_http`]: what HTTP wants otherwise

pub(crate) mod collected;
pub(crate) mod given_blocks;
mod over_http;
pub(crate) mod resolved;

use self::collected::{Collected, count, count_anew};
use self::resolved::{Resolved, resolve, resolve_with_variables};
use super::output::Output;
use crate::answer::{Outline, Rows, StreamConsumer, StreamPart};
use crate::insert_data::InsertData;
use crate::query_context::QueryContext;
use crate::server::{Known, Server};
use chalet_base::{Result, codes, ensure};
use chalet_client::hosts::is_gone;
use chalet_client::{Packet, Request};
use chalet_formats::Schema;
use chalet_memory::thread;
use chalet_syntax::ast::{self, StatementKind};
use chalet_syntax::split::Piece;

/// Runs one statement of a text.
pub(crate) fn run(
    sql: &str,
    piece: &Piece,
    server: &Server,
    ctx: &QueryContext,
    output: &mut Output,
) -> Result<()> {
    let _charged = thread::enter(&ctx.control.memory);
    let (rows_before, bytes_before) = (output.rows_written, output.bytes_written);
    let (text, data) = parts(sql, piece, output.data.take())?;
    let result = match data {
        Some(data) => insert(text, data, server, ctx, output),
        None => query(text, server, ctx, output),
    };
    ctx.control.tell_end(output.rows_written - rows_before, output.bytes_written - bytes_before);
    result?;
    output.count(ctx);
    keep(text, server, ctx)
}

/// A statement up to its data, and these: what the caller gives, or what stands in the statement.
pub(crate) fn parts<'a>(
    sql: &'a str,
    piece: &Piece,
    given: Option<InsertData>,
) -> Result<(&'a str, Option<InsertData>)> {
    let text = &sql[piece.range.clone()];
    let Some(data) = &piece.data else {
        ensure!(given.is_none(), BAD_ARGUMENTS, "The INSERT query has its own data: {text}");
        return Ok((text, None));
    };
    let head = &sql[piece.range.start..data.start];
    let written = || sql[data.clone()].as_bytes().to_vec();
    let data = given.unwrap_or_else(|| InsertData::Bytes(Box::new(std::io::Cursor::new(written()))));
    Ok((head, Some(data)))
}

/// What a statement that has run means for those that follow.
pub(crate) fn keep(text: &str, server: &Server, ctx: &QueryContext) -> Result<()> {
    let word = text.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    if ["SET", "USE"].iter().any(|known| word.eq_ignore_ascii_case(known)) {
        if server.is_http() {
            return over_http::keep(text, server, ctx);
        }
        server.keep(text);
    }
    Ok(())
}

/// Runs one statement whose rows are handed out as they come.
pub(crate) fn stream(
    sql: &str,
    server: &Server,
    ctx: &QueryContext,
    mut consumer: StreamConsumer,
) -> Result<()> {
    let _charged = thread::enter(&ctx.control.memory);
    let written = Written::of(sql)?;
    let format = written.output.format.map(|format| format.name);
    let mut is_told = false;
    let mut take = |packet| {
        let rows = match packet {
            Packet::Data(rows) => rows,
            Packet::Totals(rows) => return consumer(StreamPart::Totals(rows.block)),
            Packet::Extremes(rows) => return consumer(StreamPart::Extremes(rows.block)),
            _ => return Ok(()),
        };
        if !is_told {
            is_told = true;
            consumer(StreamPart::Header(rows_header(&rows.schema, server, ctx), format.clone()))?;
        }
        if rows.block.is_empty() { Ok(()) } else { consumer(StreamPart::Block(rows.block)) }
    };
    let received =
        with_tables(sql, written.is_query, ctx, &mut |resolved| converse(resolved, server, ctx, &mut take));
    ctx.control.tell_end(0, 0);
    received
}

/// What is understood here of a statement.
pub(crate) struct Written {
    /// What stands at its end.
    pub output: ast::Output,
    /// It only reads: it may be run again.
    pub is_query: bool,
}

impl Written {
    /// Of a statement with data behind it.
    pub fn none() -> Written {
        Written { output: ast::Output::default(), is_query: false }
    }

    pub fn of(text: &str) -> Result<Written> {
        let parsed = chalet_syntax::parse_statements(text).ok().and_then(|mut parsed| parsed.pop());
        let is_query = parsed.as_ref().is_some_and(|parsed| matches!(parsed.kind, StatementKind::Query(_)));
        let output = parsed.map(|statement| statement.output).unwrap_or_default();
        ensure!(
            output.outfile.is_none(),
            NOT_IMPLEMENTED,
            "INTO OUTFILE is not supported for statements that a server runs"
        );
        Ok(Written { output, is_query })
    }
}

/// What one query gives, without running it; `None` for a text that is anything but one query with the caller's own choice of a
/// format.
pub(crate) fn outline(sql: &str, server: &Server, ctx: &QueryContext) -> Result<Option<Outline>> {
    let Ok(mut parsed) = chalet_syntax::parse_statements(sql) else { return Ok(None) };
    let (Some(statement), true) = (parsed.pop(), parsed.is_empty()) else { return Ok(None) };
    let (StatementKind::Query(_), true) = (&statement.kind, statement.output == ast::Output::default())
    else {
        return Ok(None);
    };
    let text = sql.get(statement.span.range()).unwrap_or(sql);
    let header = format!("SELECT * FROM (\n{text}\n) LIMIT 0");
    let collected = with_tables(&header, true, ctx, &mut |resolved| collected(resolved, server, ctx))?;
    Ok(Some(collected.columns()))
}

/// Runs a statement with what its caller lends. Variables of the caller are tables where the server has none of the name, which
/// it says itself.
fn with_tables<T>(
    text: &str,
    is_query: bool,
    ctx: &QueryContext,
    run: &mut dyn FnMut(&Resolved) -> Result<T>,
) -> Result<T> {
    let given = resolve(text, ctx)?;
    match run(&given) {
        Err(error) if is_query && error.code() == codes::UNKNOWN_TABLE => {
            match resolve_with_variables(text, ctx)? {
                found if found.is_more_than(&given) => run(&found),
                _ => Err(error),
            }
        }
        done => done,
    }
}

pub(crate) fn request(resolved: &Resolved, server: &Server, ctx: &QueryContext) -> Result<Request> {
    let request = Request {
        id: ctx.chosen_id.clone().unwrap_or_default(),
        settings: settings(ctx),
        parameters: resolved.params.clone(),
        tables: resolved.tables.clone(),
        ..Request::new(resolved.text.clone())
    };
    if server.is_http() { over_http::complete(request, server, ctx) } else { Ok(request) }
}

/// All that the session and the caller have set here.
pub(crate) fn settings(ctx: &QueryContext) -> Vec<(String, String)> {
    ctx.state.settings.changed().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn connection(server: &Server, ctx: &QueryContext) -> Result<Known> {
    server.connection(&settings(ctx), ctx.functions.interrupt.0.as_ref())
}

/// Sends a query and takes everything that it gives. A connection over which the server has said what is wrong can be used
/// again.
fn converse(
    resolved: &Resolved,
    server: &Server,
    ctx: &QueryContext,
    take: &mut dyn FnMut(Packet) -> Result<()>,
) -> Result<()> {
    let mut known = connection(server, ctx)?;
    let mut receive = || -> Result<()> {
        known.connection.send(&request(resolved, server, ctx)?)?;
        loop {
            ctx.control.check_with_interrupt()?;
            match known.connection.receive()? {
                Packet::EndOfStream => return Ok(()),
                Packet::Progress(progress) => count(&progress, ctx),
                packet => take(packet)?,
            }
        }
    };
    let received = receive();
    if received.as_ref().is_err_and(is_gone) {
        server.avoid(&known.connection);
    } else if received.is_ok() || known.connection.is_idle() {
        server.put_back(known);
    }
    received
}

/// A result without rows yet.
pub(crate) fn rows_header(schema: &Schema, server: &Server, ctx: &QueryContext) -> Rows {
    let (names, types) = schema.iter().cloned().unzip();
    Rows {
        names,
        types,
        shown: std::sync::Arc::default(),
        blocks: Vec::new(),
        totals: None,
        extremes: None,
        rows_before_limit: None,
        zone: server.zone().clone(),
        formats: ctx.formats.clone(),
    }
}

/// A query whose server goes away is run once more, where another host of the URL may answer: nobody has seen a row of it.
fn query(text: &str, server: &Server, ctx: &QueryContext, output: &mut Output) -> Result<()> {
    let written = Written::of(text)?;
    let collected =
        with_tables(text, written.is_query, ctx, &mut |resolved| match collected(resolved, server, ctx) {
            Err(error) if written.is_query && is_gone(&error) => {
                count_anew(ctx);
                collected(resolved, server, ctx)
            }
            collected => collected,
        })?;
    collected.finish(&written.output, ctx, output)
}

fn collected(resolved: &Resolved, server: &Server, ctx: &QueryContext) -> Result<Collected> {
    let mut collected = Collected::default();
    converse(resolved, server, ctx, &mut |packet| collected.take(packet, server, ctx))?;
    Ok(collected)
}

fn insert(
    head: &str,
    data: InsertData,
    server: &Server,
    ctx: &QueryContext,
    output: &mut Output,
) -> Result<()> {
    let mut known = connection(server, ctx)?;
    let connection = &mut known.connection;
    let request = request(&Resolved::nothing(head, ctx), server, ctx)?;
    let schema = match connection.begin_insert(&request) {
        Ok(schema) => schema,
        Err(error) => {
            server.put_back(known);
            return Err(error);
        }
    };
    let mut next = given_blocks::blocks(head, data, &schema, server, ctx)?;
    while let Some(block) = next()? {
        ctx.control.check_with_interrupt()?;
        output.rows_written += block.n_rows() as u64;
        output.bytes_written += block.memory() as u64;
        connection.send_rows(&chalet_client::Rows { schema: schema.clone(), block })?;
    }
    connection.finish_insert()?;
    server.put_back(known);
    Ok(())
}
