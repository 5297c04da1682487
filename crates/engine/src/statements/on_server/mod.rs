//! Statements of a session whose database is a server: they are sent there as they are written; rows, progress and errors come
//! back. Formats are read and written here.
//!
//! - [`collected`]: what a query gives
//! - [`given_blocks`]: data of an INSERT
//! - [`over_http`]: what HTTP wants otherwise

pub(crate) mod collected;
pub(crate) mod given_blocks;
mod over_http;

use self::collected::{Collected, count, count_anew};
use super::output::Output;
use crate::answer::{Rows, StreamConsumer, StreamPart};
use crate::insert_data::InsertData;
use crate::query_context::QueryContext;
use crate::server::{Known, Server};
use chalet_base::{Result, ensure};
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
        let Packet::Data(rows) = packet else { return Ok(()) };
        if !is_told {
            is_told = true;
            consumer(StreamPart::Header(rows_header(&rows.schema, server, ctx), format.clone()))?;
        }
        if rows.block.is_empty() { Ok(()) } else { consumer(StreamPart::Block(rows.block)) }
    };
    let received = converse(sql, server, ctx, &mut take);
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

pub(crate) fn request(text: &str, server: &Server, ctx: &QueryContext) -> Result<Request> {
    let id = ctx.chosen_id.clone().unwrap_or_default();
    let request =
        Request { id, settings: settings(ctx), parameters: ctx.params.clone(), ..Request::new(text) };
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
    text: &str,
    server: &Server,
    ctx: &QueryContext,
    take: &mut dyn FnMut(Packet) -> Result<()>,
) -> Result<()> {
    let mut known = connection(server, ctx)?;
    let mut receive = || -> Result<()> {
        known.connection.send(&request(text, server, ctx)?)?;
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
    let collect = || -> Result<Collected> {
        let mut collected = Collected::default();
        converse(text, server, ctx, &mut |packet| collected.take(packet, server, ctx))?;
        Ok(collected)
    };
    let collected = match collect() {
        Err(error) if written.is_query && is_gone(&error) => {
            count_anew(ctx);
            collect()?
        }
        collected => collected?,
    };
    collected.finish(&written.output, ctx, output)
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
    let request = request(head, server, ctx)?;
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
