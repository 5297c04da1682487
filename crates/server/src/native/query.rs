//! A query: its rows, and rows that it takes.

use super::profile_events::inserted;
use super::wire::{SharedWire, Wire, no_rows};
use crate::external::{ExternalTables, given};
use crate::quotas::Charge;
use crate::shared::{Shared, check_settings};
use crate::statement::{cannot_read, split};
use crate::users::User;
use chalet_base::{Result, bail, ensure, err};
use chalet_client::Method;
use chalet_client::packet::{Packet, Profile, Progress, Rows};
use chalet_client::query::{COMPLETE, ClientInfo, Query};
use chalet_client::revision;
use chalet_client::settings::{IMPORTANT, Setting};
use chalet_columns::Block;
use chalet_engine::settings::find;
use chalet_engine::{
    Caller, GivenRows, InsertData, Part, RunOptions, Session, Stage, StreamConsumer, StreamPart, Summary,
};
use chalet_formats::Schema;
use chalet_types::DataType;
use std::io::{Cursor, Read};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

/// What ClickHouse's own program calls itself. An old one waits to be asked for the rows of an INSERT, but with `--multiquery` it leaves them
/// in the text as well, where old servers do not look.
const COMMAND_LINE: &str = "ClickHouse client";

/// Runs a query and sends all but the end.
pub fn run(query: Query, wire: &SharedWire, user: &User, session: &Session, shared: &Shared) -> Result<()> {
    let method = query.settings.iter().find(|setting| setting.name == "network_compression_method");
    wire.lock().dialect.compression = query.is_compressed.then_some(match method {
        Some(setting) if setting.value.eq_ignore_ascii_case("zstd") => Method::Zstd,
        Some(setting) if setting.value.eq_ignore_ascii_case("none") => Method::None,
        _ => Method::Lz4,
    });
    // They follow also where the query will not run.
    let tables = receive_tables(wire, session)?;
    let charge = Charge::begin(user.quota.as_ref())?;
    charge.end(charged(query, tables, wire, user, session, shared, &charge))
}

/// Runs a query that was let in.
fn charged(
    query: Query,
    tables: ExternalTables<'_>,
    wire: &SharedWire,
    user: &User,
    session: &Session,
    shared: &Shared,
    charge: &Charge,
) -> Result<()> {
    let running = shared.queries.begin(Some(query.id))?;
    let caller = caller_of(&query.client, wire.lock().caller.clone());
    let query_stage = query.stage;
    let settings = settings(query.settings, user)?;
    let told = Arc::new(Mutex::new(Told::default()));
    let statement = split(Box::new(Cursor::new(query.text.into_bytes())))?;
    let sends_all =
        query.client.client_name == COMMAND_LINE && wire.lock().dialect.revision < revision::SETTINGS_AS_TEXT;
    let taking = Taking { wire: wire.clone(), host: shared.display_name.as_str().into(), sends_all };
    let (data, takes) = match statement.data {
        Some(data) => insert_data(data, &taking)?,
        None => (None, false),
    };
    let (is_cancelled, stopped, on_progress) =
        (running.is_cancelled.clone(), wire.clone(), (wire.clone(), told.clone()));
    let (spent, refused) = (charge.clone(), running.is_cancelled.clone());
    let options = RunOptions {
        params: query.parameters.into_iter().map(|param| (param.name, unquoted(&param.value))).collect(),
        settings,
        query_id: Some(running.id.clone()),
        interrupt: Some(Arc::new(move || is_cancelled.load(Relaxed) || stopped.has_stopped())),
        killed: Some(running.is_cancelled.clone()),
        on_progress: Some(Arc::new(move |progress| {
            if !spent.on_progress(&progress) {
                refused.store(true, Relaxed);
            }
            let (wire, told) = &on_progress;
            // As the kernel: of the rows that clients send they are told block by block.
            if takes {
                return;
            }
            // While rows are written, which may take long, nobody waits to tell of the progress: it is told with the next news.
            let Some(mut wire) = wire.try_lock() else { return };
            let news = told.lock().unwrap_or_else(PoisonError::into_inner).news(&progress);
            // Where the client is gone, the query ends by itself.
            let _ = wire.send(&Packet::Progress(news));
        })),
        caller: Some(Arc::new(caller)),
        ..RunOptions::default()
    };
    let counted = Arc::new(Mutex::new(Profile::default()));
    // A client that reads nothing keeps neither the server from its end nor KILL from the query.
    wire.lock().channel.set_watch(Some(running.watch()));
    let sql = match stage(query_stage)? {
        None => statement.sql,
        Some(stage) => session.part_of(&statement.sql, Part { stage, shard: wire.lock().shard })?,
    };
    let summary = session.serve(&sql, options, data, consumer(wire, &counted, charge));
    wire.lock().channel.set_watch(None);
    let summary = summary?;
    drop(tables);
    if takes {
        taking.tell(&mut wire.lock(), 0)?;
    }
    let profile = *counted.lock().unwrap_or_else(PoisonError::into_inner);
    finish(wire, &summary, profile)
}

/// The other end of the connection with what the query says of it.
fn caller_of(client: &ClientInfo, connection: Caller) -> Caller {
    Caller {
        os_user: client.os_user.clone(),
        hostname: client.host.clone(),
        name: client.client_name.clone(),
        version: client.version,
        revision: client.revision,
        quota_key: client.quota_key.clone(),
        ..connection
    }
}

/// How far another server wants a query to be run; `None` to its end.
fn stage(number: u64) -> Result<Option<Stage>> {
    Ok(match number {
        COMPLETE => None,
        1 => Some(Stage::MergeableState),
        3 | 4 => Some(Stage::AfterAggregation),
        other => bail!(NOT_IMPLEMENTED, "Queries up to the stage {other} are not supported"),
    })
}

fn finish(wire: &SharedWire, summary: &Summary, profile: Profile) -> Result<()> {
    let mut wire = wire.lock();
    if profile.blocks > 0 {
        let rows_before_limit = summary.rows_before_limit;
        wire.send(&Packet::Profile(Profile { rows_before_limit, ..profile }))?;
    }
    Ok(())
}

/// Settings that are known; of the others those that a client marks as important are an error.
fn settings(given: Vec<Setting>, user: &User) -> Result<Vec<(String, String)>> {
    let known =
        given.into_iter().filter(|setting| setting.flags & IMPORTANT != 0 || find(&setting.name).is_some());
    let known: Vec<_> = known.map(|setting| (setting.name, setting.value)).collect();
    check_settings(&known, user)?;
    Ok(known)
}

/// Data that stand in the statement, or that the client is to send, as `true` says.
fn insert_data(mut inline: Box<dyn Read + Send>, taking: &Taking) -> Result<(Option<InsertData>, bool)> {
    let mut bytes = Vec::new();
    inline.read_to_end(&mut bytes).map_err(cannot_read)?;
    if !bytes.trim_ascii().is_empty() && !taking.sends_all {
        return Ok((Some(InsertData::Bytes(Box::new(Cursor::new(bytes)))), false));
    }
    let taking = taking.clone();
    Ok((Some(InsertData::Rows(Box::new(move |columns, _| receive(columns, &taking)))), true))
}

/// Taking the rows of an INSERT from the client.
#[derive(Clone)]
struct Taking {
    wire: SharedWire,
    host: Arc<str>,
    /// The client sends the rows of every INSERT, also those that stand in its text.
    sends_all: bool,
}

impl Taking {
    /// Tells a client that wants to know it that a block was received.
    fn tell(&self, wire: &mut Wire, n_rows: usize) -> Result<()> {
        if wire.dialect.revision < revision::PROFILE_EVENTS_IN_INSERT {
            return Ok(());
        }
        wire.send(&inserted(&self.host, n_rows as u64)?)
    }
}

/// Receives the tables of a query, up to the block without columns that ends them. Whatever is wrong with one, all are received.
fn receive_tables<'a>(wire: &SharedWire, session: &'a Session) -> Result<ExternalTables<'a>> {
    let mut tables = ExternalTables::new(session);
    let mut failure = None;
    loop {
        let (name, rows) = wire.lock().receive_rows()?;
        if rows.schema.is_empty() {
            return failure.map_or(Ok(tables), Err);
        }
        if failure.is_none() {
            failure = tables.add(name, rows).err();
        }
    }
}

/// Tells the client which columns are wanted, and receives its blocks up to the one without columns that ends them.
fn receive(columns: &[(String, DataType)], taking: &Taking) -> Result<GivenRows> {
    let mut wire = taking.wire.lock();
    let block = no_rows(columns.iter().map(|(_, ty)| ty));
    wire.send(&Packet::Data(Rows { schema: columns.to_vec(), block }))?;
    let mut schema: Option<Schema> = None;
    let (mut blocks, mut failure) = (Vec::new(), None);
    loop {
        let (_, rows) = wire.receive_rows()?;
        if rows.schema.is_empty() {
            break;
        }
        taking.tell(&mut wire, rows.block.n_rows())?;
        match in_order(rows, columns) {
            Ok(rows) if schema.as_ref().is_none_or(|schema| *schema == rows.schema) => {
                schema = Some(rows.schema);
                blocks.push(rows.block);
            }
            Ok(_) => {
                failure = Some(err!(TYPE_MISMATCH, "The blocks of an INSERT have columns of different types"))
            }
            Err(error) => failure = Some(error),
        }
    }
    match (failure, schema) {
        (Some(error), _) => Err(error),
        (None, Some(schema)) => Ok(given(Rows { schema, block: Block::concat(&blocks) })),
        (None, None) => {
            let none = no_rows(columns.iter().map(|(_, ty)| ty));
            Ok((columns.iter().map(|(_, ty)| ty.clone()).collect(), none))
        }
    }
}

/// The columns of a client in the order in which they are wanted.
fn in_order(rows: Rows, wanted: &[(String, DataType)]) -> Result<Rows> {
    ensure!(
        rows.schema.len() == wanted.len(),
        NUMBER_OF_COLUMNS_DOESNT_MATCH,
        "The client has sent {} columns where there are {}",
        rows.schema.len(),
        wanted.len()
    );
    let place = |name: &String| rows.schema.iter().position(|(given, _)| given == name);
    let places: Option<Vec<usize>> = wanted.iter().map(|(name, _)| place(name)).collect();
    // Under names of its own they are in the order that the client was told.
    let Some(places) = places else { return Ok(rows) };
    let n_rows = rows.block.n_rows();
    let columns = places.iter().map(|&place| rows.block.columns()[place].clone()).collect();
    let schema =
        wanted.iter().zip(&places).map(|((name, _), &place)| (name.clone(), rows.schema[place].1.clone()));
    Ok(Rows { schema: schema.collect(), block: Block::new(columns, n_rows) })
}

/// What sends the rows of the query.
fn consumer(wire: &SharedWire, counted: &Arc<Mutex<Profile>>, charge: &Charge) -> StreamConsumer {
    let (wire, counted, charge) = (wire.clone(), counted.clone(), charge.clone());
    let mut schema = Schema::new();
    Box::new(move |part| {
        let packet = match part {
            StreamPart::Header(rows, _) => {
                let block = no_rows(rows.types.iter());
                // The oldest clients do not know SimpleAggregateFunction.
                let is_plain = rows.shown.is_empty() || wire.lock().dialect.revision <= revision::OLDEST;
                let shown = if is_plain { rows.types } else { rows.shown.to_vec() };
                schema = rows.names.into_iter().zip(shown).collect();
                counted.lock().unwrap_or_else(PoisonError::into_inner).blocks += 1;
                Packet::Data(Rows { schema: schema.clone(), block })
            }
            StreamPart::Block(block) => {
                charge.add_result(block.n_rows() as u64, block.memory() as u64)?;
                let mut counted = counted.lock().unwrap_or_else(PoisonError::into_inner);
                counted.rows += block.n_rows() as u64;
                counted.bytes += block.memory() as u64;
                counted.blocks += 1;
                Packet::Data(Rows { schema: schema.clone(), block })
            }
            StreamPart::Totals(block) => Packet::Totals(Rows { schema: schema.clone(), block }),
            StreamPart::Extremes(block) => Packet::Extremes(Rows { schema: schema.clone(), block }),
        };
        wire.lock().send(&packet)
    })
}

/// What the client was told of the progress: it adds up what it hears.
#[derive(Default)]
struct Told(Progress);

impl Told {
    fn news(&mut self, now: &chalet_engine::Progress) -> Progress {
        let now = Progress {
            rows: now.read_rows,
            bytes: now.read_bytes,
            total_rows: now.total_rows,
            total_bytes: now.total_bytes,
            written_rows: now.written_rows,
            written_bytes: now.written_bytes,
            elapsed_ns: now.elapsed.as_nanos() as u64,
        };
        let before = std::mem::replace(&mut self.0, now);
        Progress {
            rows: now.rows.saturating_sub(before.rows),
            bytes: now.bytes.saturating_sub(before.bytes),
            total_rows: now.total_rows.saturating_sub(before.total_rows),
            total_bytes: now.total_bytes.saturating_sub(before.total_bytes),
            written_rows: now.written_rows.saturating_sub(before.written_rows),
            written_bytes: now.written_bytes.saturating_sub(before.written_bytes),
            elapsed_ns: now.elapsed_ns.saturating_sub(before.elapsed_ns),
        }
    }
}

/// The text of a literal; a text that is none is what it is.
fn unquoted(literal: &str) -> String {
    let Some(inner) = literal.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) else {
        return literal.to_owned();
    };
    let mut text = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => text.extend(chars.next().map(|c| match c {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                '0' => '\0',
                'b' => '\u{8}',
                'f' => '\u{c}',
                other => other,
            })),
            // Twice, it stands for one.
            '\'' => {
                text.push('\'');
                chars.next();
            }
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use chalet_client::settings::quoted;

    #[test]
    fn literals() {
        for text in ["", "5", "it's", r"a\tb", r"\\", "€"] {
            assert_eq!(unquoted(&quoted(text)), text);
        }
        assert_eq!(unquoted(r"'a\tb''c'"), "a\tb'c");
        assert_eq!(unquoted("5"), "5");
    }
}
