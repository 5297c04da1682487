//! Statements of a session whose database is a server: they are sent there as they are written; rows, progress and errors come
//! back. Formats are read and written here.

use super::insert::read_texts;
use super::output::{Output, format_of, write_request};
use crate::answer::{Rows, StreamConsumer, StreamPart};
use crate::formats::FORMATS;
use crate::insert_data::InsertData;
use crate::query_context::QueryContext;
use crate::reading::{caster, read_request};
use crate::server::{Known, Server};
use chalet_base::{Result, bail, ensure};
use chalet_client::{Connection, Packet, Request};
use chalet_columns::{Block, Column};
use chalet_formats::output::Memory;
use chalet_formats::{Input, Schema, Statistics};
use chalet_memory::thread;
use chalet_syntax::ast;
use chalet_syntax::split::Piece;
use std::sync::atomic::Ordering::Relaxed;

/// Runs one statement of a text.
pub(crate) fn run(
    sql: &str,
    piece: &Piece,
    server: &Server,
    ctx: &QueryContext,
    output: &mut Output,
) -> Result<()> {
    let _charged = thread::enter(&ctx.control.memory);
    let text = &sql[piece.range.clone()];
    let (rows_before, bytes_before) = (output.rows_written, output.bytes_written);
    let result = match &piece.data {
        Some(data) => {
            let given = output.data.take();
            let head = &sql[piece.range.start..data.start];
            let given = given.unwrap_or_else(|| {
                InsertData::Bytes(Box::new(std::io::Cursor::new(sql[data.clone()].as_bytes().to_vec())))
            });
            insert(head, given, server, ctx, output)
        }
        None if output.data.is_some() => bail!(BAD_ARGUMENTS, "The INSERT query has its own data: {text}"),
        None => query(text, server, ctx, output),
    };
    ctx.control.tell_end(output.rows_written - rows_before, output.bytes_written - bytes_before);
    result?;
    output.count(ctx);
    if ["SET", "USE"].iter().any(|word| first_word(text).eq_ignore_ascii_case(word)) {
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
    let format = written_output(sql)?.format.map(|format| format.name);
    let mut known = send(sql, server, ctx)?;
    let mut is_told = false;
    let received = receive(&mut known.connection, server, ctx, |_, packet| {
        let Packet::Data(rows) = packet else { return Ok(()) };
        if !is_told {
            is_told = true;
            consumer(StreamPart::Header(header(&rows.schema, server, ctx), format.clone()))?;
        }
        if rows.block.is_empty() { Ok(()) } else { consumer(StreamPart::Block(rows.block)) }
    });
    ctx.control.tell_end(0, 0);
    received?;
    server.put_back(known);
    Ok(())
}

fn first_word(text: &str) -> &str {
    text.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default()
}

/// What stands at the end of the statement, as far as it is understood here.
fn written_output(text: &str) -> Result<ast::Output> {
    let parsed = chalet_syntax::parse_statements(text).ok().and_then(|mut parsed| parsed.pop());
    let output = parsed.map(|statement| statement.output).unwrap_or_default();
    ensure!(
        output.outfile.is_none(),
        NOT_IMPLEMENTED,
        "INTO OUTFILE is not supported for statements that a server runs"
    );
    Ok(output)
}

fn request(text: &str, ctx: &QueryContext) -> Request {
    Request { settings: settings(ctx), parameters: ctx.params.clone(), ..Request::new(text) }
}

/// All that the session and the caller have set here.
fn settings(ctx: &QueryContext) -> Vec<(String, String)> {
    ctx.state.settings.changed().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// A query on its way.
fn send(text: &str, server: &Server, ctx: &QueryContext) -> Result<Known> {
    let mut known = server.connection(&settings(ctx), ctx.functions.interrupt.0.as_ref())?;
    known.connection.send(&request(text, ctx))?;
    Ok(known)
}

/// Everything that a query gives. A connection over which the server has said what is wrong can be used again.
fn receive(
    connection: &mut Connection,
    server: &Server,
    ctx: &QueryContext,
    mut take: impl FnMut(&Server, Packet) -> Result<()>,
) -> Result<()> {
    loop {
        ctx.control.check_with_interrupt()?;
        match connection.receive()? {
            Packet::EndOfStream => return Ok(()),
            Packet::Progress(progress) => {
                ctx.control.read_rows.fetch_add(progress.rows, Relaxed);
                ctx.control.read_bytes.fetch_add(progress.bytes, Relaxed);
                ctx.control.total_rows.fetch_add(progress.total_rows, Relaxed);
            }
            packet => take(server, packet)?,
        }
    }
}

/// A result without rows yet.
fn header(schema: &Schema, server: &Server, ctx: &QueryContext) -> Rows {
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

fn query(text: &str, server: &Server, ctx: &QueryContext, output: &mut Output) -> Result<()> {
    let written = written_output(text)?;
    let mut known = send(text, server, ctx)?;
    let mut result: Option<Rows> = None;
    let received = receive(&mut known.connection, server, ctx, |server, packet| {
        match packet {
            Packet::Data(rows) => {
                let result = result.get_or_insert_with(|| header(&rows.schema, server, ctx));
                let same = rows.schema.iter().map(|column| &column.1).eq(&result.types);
                ensure!(
                    rows.block.is_empty() || same,
                    UNEXPECTED_PACKET_FROM_SERVER,
                    "The server sent a block with other columns than the one before"
                );
                result.blocks.extend(Some(rows.block).filter(|block| !block.is_empty()));
            }
            Packet::Totals(rows) => {
                result.iter_mut().for_each(|result| result.totals = Some(rows.block.clone()))
            }
            Packet::Extremes(rows) => {
                result.iter_mut().for_each(|result| result.extremes = Some(rows.block.clone()))
            }
            Packet::Profile(profile) => {
                result.iter_mut().for_each(|result| result.rows_before_limit = profile.rows_before_limit);
            }
            _ => {}
        }
        Ok(())
    });
    if received.is_ok() || known.connection.is_idle() {
        server.put_back(known);
    }
    received?;
    match result.filter(|rows| !rows.names.is_empty()) {
        Some(rows) => print(rows, format_of(&written, output), ctx, output),
        None => Ok(()),
    }
}

fn print(rows: Rows, format: Option<String>, ctx: &QueryContext, output: &mut Output) -> Result<()> {
    let Some(format) = format else { return output.put_rows(rows) };
    rows.blocks.iter().for_each(|block| output.count_result(block));
    let schema = rows.names.iter().cloned().zip(rows.types.iter().cloned()).collect();
    let mut request = write_request(schema, ctx);
    request.time_zone = rows.zone.clone();
    let memory = Memory::default();
    let mut writer = FORMATS.get(&format)?.writer(request, Box::new(memory.clone()))?;
    rows.blocks.iter().try_for_each(|block| writer.write(block))?;
    rows.totals.iter().try_for_each(|totals| writer.totals(totals))?;
    rows.extremes.iter().try_for_each(|extremes| writer.extremes(extremes))?;
    writer.finish(&Statistics {
        elapsed_seconds: ctx.control.elapsed().as_secs_f64(),
        rows_read: ctx.control.read_rows.load(Relaxed),
        bytes_read: ctx.control.read_bytes.load(Relaxed),
        rows_before_limit: rows.rows_before_limit,
        rows_before_aggregation: None,
    })?;
    output.put_bytes(memory.take())?;
    output.format = format;
    Ok(())
}

/// `head` is the statement up to its data: `INSERT INTO t VALUES`, `INSERT INTO t FORMAT CSV`.
fn insert(
    head: &str,
    data: InsertData,
    server: &Server,
    ctx: &QueryContext,
    output: &mut Output,
) -> Result<()> {
    let mut known = server.connection(&settings(ctx), ctx.functions.interrupt.0.as_ref())?;
    let connection = &mut known.connection;
    let schema = match connection.begin_insert(&request(head, ctx)) {
        Ok(schema) => schema,
        Err(error) => {
            server.put_back(known);
            return Err(error);
        }
    };
    let mut write = |block: Block| {
        ctx.control.check_with_interrupt()?;
        output.rows_written += block.n_rows() as u64;
        output.bytes_written += block.memory() as u64;
        connection.send_rows(&chalet_client::Rows { schema: schema.clone(), block })
    };
    match data {
        InsertData::Rows(make) => {
            let (types, block) = read_texts(make(&schema, server.zone())?, &schema, ctx)?;
            let cast = caster(ctx);
            let n_rows = block.n_rows();
            let columns = block.columns().iter().zip(&types).zip(&schema);
            let columns = columns.map(|((column, given), (name, ty))| {
                if given == ty {
                    Ok(column.clone())
                } else {
                    cast(column, given, ty).map_err(|e| e.context(format!("column {name}")))
                }
            });
            write(Block::new(columns.collect::<Result<Vec<Column>>>()?, n_rows))?;
        }
        InsertData::Bytes(bytes) => {
            let mut request = read_request(schema.clone(), ctx);
            request.time_zone = server.zone().clone();
            let format =
                head.trim_end().rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
            let mut scan = FORMATS.get(format)?.open(Input::stream(bytes), request)?;
            while let Some(mut unit) = scan.next_unit()? {
                while let Some(block) = unit.next_block(ctx.exec.settings.max_block_size)? {
                    let omitted = unit
                        .omitted()
                        .iter()
                        .position(|rows| rows.as_ref().is_some_and(|rows| rows.count_set_bits() > 0));
                    if let Some(column) = omitted {
                        bail!(
                            NOT_IMPLEMENTED,
                            "The data leave out values of column {}, whose defaults only the server knows",
                            schema[column].0
                        );
                    }
                    write(block)?;
                }
            }
        }
    }
    connection.finish_insert()?;
    server.put_back(known);
    Ok(())
}
