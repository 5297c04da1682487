//! Statements, one file per kind. This one tells them apart and gathers what they print.

mod checked;
pub(crate) mod create;
mod describe;
mod drop;
pub(crate) mod explain;
pub(crate) mod insert;
mod limits;
mod optimize;
mod query;
pub(crate) mod readonly;
pub(crate) mod set;
mod show;
mod sorted;
mod statement_events;

use self::insert::InsertData;
use self::statement_events::StatementEvents;
use crate::answer::{Answer, DEFAULT_FORMAT, Rows};
use crate::functions::FORMATS;
use crate::scope::Scope;
use crate::session::{RunOptions, Session, StreamConsumer, StreamPart};
use chalet_base::{Result, bail};
use chalet_binder::Environment;
use chalet_columns::{Block, Builder, Column};
use chalet_formats::output::Memory;
use chalet_formats::{Schema, Statistics, WriteRequest};
use chalet_memory::thread;
use chalet_syntax::ast::{self, StatementKind};
use chalet_types::{DataType, Value};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// What the statements of one text have printed so far.
pub(crate) struct Output {
    bytes: Vec<u8>,
    rows: Option<Rows>,
    /// `None`: the caller wants columns.
    default_format: Option<String>,
    rows_format: String,
    keeps_rows: bool,
    format: String,
    rows_read: u64,
    bytes_read: u64,
    pub rows_written: u64,
    pub bytes_written: u64,
    result_rows: u64,
    result_bytes: u64,
    peak_memory: u64,
    /// Of an INSERT whose data does not stand in the statement.
    pub data: Option<InsertData>,
}

impl Output {
    pub fn new(options: &RunOptions) -> Output {
        Output {
            bytes: Vec::new(),
            rows: None,
            default_format: options.format.clone(),
            rows_format: options.rows_format.clone().unwrap_or_else(|| DEFAULT_FORMAT.into()),
            keeps_rows: options.keeps_rows,
            format: options.format.clone().unwrap_or_default(),
            rows_read: 0,
            bytes_read: 0,
            rows_written: 0,
            bytes_written: 0,
            result_rows: 0,
            result_bytes: 0,
            peak_memory: 0,
            data: None,
        }
    }

    pub fn into_answer(self, elapsed: Duration) -> Answer {
        Answer {
            bytes: self.bytes,
            rows: self.rows,
            rows_format: self.rows_format,
            format: self.format,
            rows_read: self.rows_read,
            bytes_read: self.bytes_read,
            rows_written: self.rows_written,
            bytes_written: self.bytes_written,
            result_rows: self.result_rows,
            result_bytes: self.result_bytes,
            peak_memory: self.peak_memory,
            elapsed,
        }
    }

    /// Adds what a statement printed.
    fn put_bytes(&mut self, bytes: Vec<u8>) -> Result<()> {
        self.flush_rows()?;
        self.bytes.extend(bytes);
        Ok(())
    }

    /// Keeps the rows of a statement; those of an earlier one become bytes, in the order of the statements.
    fn put_rows(&mut self, rows: Rows) -> Result<()> {
        self.flush_rows()?;
        rows.blocks.iter().for_each(|block| self.count_result(block));
        self.rows = Some(rows);
        Ok(())
    }

    fn flush_rows(&mut self) -> Result<()> {
        if let Some(rows) = self.rows.take() {
            self.bytes.extend(rows.to_format(&self.rows_format)?);
        }
        Ok(())
    }

    fn count_result(&mut self, block: &Block) {
        self.result_rows += block.n_rows() as u64;
        self.result_bytes += block.memory() as u64;
    }

    fn count(&mut self, scope: &Scope) {
        thread::sync();
        self.rows_read += scope.control.read_rows.load(Relaxed);
        let file_bytes = scope.exec().scan.progress.file_bytes.load(Relaxed);
        self.bytes_read += file_bytes.max(scope.control.read_bytes.load(Relaxed));
        self.peak_memory = self.peak_memory.max(scope.control.memory.peak());
    }
}

/// Runs one statement of a text.
pub(crate) fn run(
    statement: &ast::Statement,
    sql: &str,
    scope: &Arc<Scope>,
    session: &Session,
    output: &mut Output,
) -> Result<()> {
    let scope = &with_statement_settings(statement, scope)?;
    let _charged = thread::enter(&scope.control.memory);
    limits::check(sql, statement, &scope.state.settings)?;
    readonly::check(statement, scope)?;
    let (rows_before, bytes_before) = (output.rows_written, output.bytes_written);
    let counted = StatementEvents::begin(&statement.kind);
    let result = run_kind(statement, scope, session, output);
    let written = output.rows_written - rows_before;
    counted.end(result.is_ok(), written);
    scope.control.tell_end(written, output.bytes_written - bytes_before);
    result?;
    output.count(scope);
    Ok(())
}

/// Runs one statement that only reads and hands its rows out as they come.
pub(crate) fn stream(
    statement: &ast::Statement,
    sql: &str,
    scope: &Arc<Scope>,
    session: &Session,
    mut consumer: StreamConsumer,
) -> Result<()> {
    let StatementKind::Query(query) = &statement.kind else {
        let mut output = Output::new(&RunOptions::default());
        run(statement, sql, scope, session, &mut output)?;
        let Some(mut rows) = output.rows else { return Ok(()) };
        let blocks = std::mem::take(&mut rows.blocks);
        consumer(StreamPart::Header(rows, statement.output.format.as_ref().map(|f| f.name.clone())))?;
        return blocks.into_iter().try_for_each(|block| consumer(StreamPart::Block(block)));
    };
    let scope = &with_statement_settings(statement, scope)?;
    let _charged = thread::enter(&scope.control.memory);
    limits::check(sql, statement, &scope.state.settings)?;
    let counted = StatementEvents::begin(&statement.kind);
    let format = statement.output.format.as_ref().map(|f| f.name.clone());
    let result = query::stream(query, format, scope, consumer);
    counted.end(result.is_ok(), 0);
    scope.control.tell_end(0, 0);
    result
}

fn run_kind(
    statement: &ast::Statement,
    scope: &Arc<Scope>,
    session: &Session,
    output: &mut Output,
) -> Result<()> {
    match &statement.kind {
        StatementKind::Query(query) => query::run(query, &statement.output, scope, output)?,
        StatementKind::Explain(explain) => {
            let text = explain::run(explain, scope)?;
            print_lines(&text, "explain", statement, scope, output)?;
        }
        StatementKind::CreateTable(create) => create::table(create, scope, session, output)?,
        StatementKind::CreateView(create) => create::view(create, scope)?,
        StatementKind::CreateDatabase(create) => create::database(create, scope)?,
        StatementKind::CreateFunction(create) => create::function(create, scope)?,
        StatementKind::Drop(drop) => drop::drop(drop, scope, session)?,
        StatementKind::Rename { kind, exchange, if_exists, pairs } => {
            drop::rename(*kind, *exchange, *if_exists, pairs, scope)?;
        }
        StatementKind::Optimize(optimize) => optimize::run(optimize, scope)?,
        StatementKind::Insert(insert) => insert::run(insert, scope, output)?,
        StatementKind::Set(set) => set::run(set, scope, session)?,
        StatementKind::Use(name) => set::use_database(name, scope, session)?,
        StatementKind::Show(show) => show::run(show, statement, scope, output)?,
        StatementKind::Describe(target) => describe::run(target, statement, scope, output)?,
        StatementKind::Exists { kind, temporary, name } => {
            let found = show::exists(*kind, *temporary, name, scope);
            let row = vec![Value::from(found)];
            print_rows(&[("result", DataType::UInt8)], vec![row], statement, scope, output)?;
        }
        other => bail!(NOT_IMPLEMENTED, "{} is not supported", kind_name(other)),
    }
    Ok(())
}

/// The words that a statement which is not supported begins with.
fn kind_name(kind: &StatementKind) -> &'static str {
    match kind {
        StatementKind::CreateDictionary(_) => "CREATE DICTIONARY",
        StatementKind::AlterTable(_) => "ALTER TABLE",
        StatementKind::Attach { .. } => "ATTACH",
        StatementKind::Undrop(_) => "UNDROP",
        StatementKind::Delete { .. } => "DELETE",
        StatementKind::Update { .. } => "UPDATE",
        StatementKind::Check { .. } => "CHECK TABLE",
        StatementKind::System { .. } => "SYSTEM",
        StatementKind::Kill { .. } => "KILL",
        StatementKind::Transaction(_) => "A transaction",
        _ => "This statement",
    }
}

/// SETTINGS of the statement, on top of the session's.
pub(crate) fn with_statement_settings(statement: &ast::Statement, scope: &Arc<Scope>) -> Result<Arc<Scope>> {
    let mut written: Vec<&ast::Setting> = Vec::new();
    match &statement.kind {
        StatementKind::Query(query) => query_settings(&query.body, &mut written),
        StatementKind::Insert(insert) => {
            written.extend(&insert.settings);
            if let ast::InsertSource::Query(query) = &insert.source {
                query_settings(&query.body, &mut written);
            }
        }
        StatementKind::Explain(explain) => {
            if let StatementKind::Query(query) = &explain.statement.kind {
                query_settings(&query.body, &mut written);
            }
            written.extend(&explain.statement.output.settings);
        }
        _ => {}
    }
    written.extend(&statement.output.settings);
    if written.is_empty() {
        return Ok(scope.clone());
    }
    let mut settings = scope.state.settings.clone();
    for setting in written {
        set::apply(setting, &mut settings, scope)?;
    }
    Ok(Arc::new(scope.with_settings(settings)?))
}

/// Of a UNION the settings of its last SELECT are the query's.
fn query_settings<'a>(body: &'a ast::SetExpr, found: &mut Vec<&'a ast::Setting>) {
    match body {
        ast::SetExpr::Select(select) => found.extend(&select.settings),
        ast::SetExpr::Query(query) => query_settings(&query.body, found),
        ast::SetExpr::SetOp { inputs, .. } => {
            if let Some(last) = inputs.last() {
                query_settings(last, found);
            }
        }
    }
}

/// The format of a statement's result: as written, else the caller's.
fn format_of(statement: &ast::Output, output: &Output) -> Option<String> {
    match &statement.format {
        Some(format) if !output.keeps_rows => Some(format.name.clone()),
        _ => output.default_format.clone(),
    }
}

/// Writes a small result that the engine itself made.
pub(crate) fn print_rows(
    header: &[(&str, DataType)],
    rows: Vec<Vec<Value>>,
    statement: &ast::Statement,
    scope: &Scope,
    output: &mut Output,
) -> Result<()> {
    let mut builders: Vec<Builder> = header.iter().map(|(_, ty)| Builder::new(ty)).collect();
    for row in &rows {
        for (builder, value) in builders.iter_mut().zip(row) {
            builder.push_value(value)?;
        }
    }
    let columns = builders.into_iter().map(|b| Column::Flat(b.finish())).collect();
    let block = Block::new(columns, rows.len());
    let schema: Schema = header.iter().map(|(name, ty)| (name.to_string(), ty.clone())).collect();
    match format_of(&statement.output, output) {
        Some(format) => {
            let memory = Memory::default();
            let request = write_request(schema, scope);
            let mut writer = FORMATS.get(&format)?.writer(request, Box::new(memory.clone()))?;
            if !block.is_empty() {
                writer.write(&block)?;
            }
            output.count_result(&block);
            writer.finish(&Statistics::default())?;
            output.put_bytes(memory.take())?;
            output.format = format;
        }
        None => {
            let (names, types) = schema.into_iter().unzip();
            let zone = scope.context().time_zone.clone();
            let formats = scope.formats.clone();
            output.put_rows(Rows {
                names,
                types,
                blocks: vec![block],
                totals: None,
                extremes: None,
                rows_before_limit: None,
                zone,
                formats,
            })?;
        }
    }
    Ok(())
}

fn print_lines(
    text: &str,
    name: &str,
    statement: &ast::Statement,
    scope: &Scope,
    output: &mut Output,
) -> Result<()> {
    let rows = text.lines().map(|line| vec![Value::from(line)]).collect();
    print_rows(&[(name, DataType::String)], rows, statement, scope, output)
}

pub(crate) fn write_request(schema: Schema, scope: &Scope) -> WriteRequest {
    WriteRequest {
        settings: scope.formats.clone(),
        time_zone: scope.context().time_zone.clone(),
        ..WriteRequest::new(schema)
    }
}

/// The text that a literal of SETTINGS or SET stands for.
pub(crate) fn setting_text(value: &Value, ty: &DataType) -> String {
    match value {
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::UInt(x) => x.to_string(),
        Value::Int(x) => x.to_string(),
        Value::Float(x) => x.to_string(),
        other => {
            let column = Column::of_value(other, ty, 1);
            let text = column.map(|c| {
                let mut out = Vec::new();
                chalet_text::write_value(
                    &mut out,
                    &c.into_flat(),
                    0,
                    ty,
                    chalet_text::Style::Plain,
                    &chalet_text::TextSettings::default(),
                );
                String::from_utf8_lossy(&out).into_owned()
            });
            text.unwrap_or_default()
        }
    }
}
