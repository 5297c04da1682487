//! What statements print: bytes of a format, or rows that are kept.

use crate::answer::{Answer, DEFAULT_FORMAT, Rows, Summary};
use crate::formats::FORMATS;
use crate::insert_data::InsertData;
use crate::query_context::QueryContext;
use crate::run_options::RunOptions;
use crate::session_state::SessionChange;
use chalet_base::Result;
use chalet_columns::{Block, Builder, Column};
use chalet_formats::output::Memory;
use chalet_formats::{Schema, Statistics, WriteRequest};
use chalet_memory::thread;
use chalet_syntax::ast;
use chalet_types::{DataType, Value};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// What the statements of one text have printed so far.
pub(crate) struct Output {
    bytes: Vec<u8>,
    pub rows: Option<Rows>,
    /// `None`: the caller wants columns.
    default_format: Option<String>,
    rows_format: String,
    keeps_rows: bool,
    pub format: String,
    rows_read: u64,
    bytes_read: u64,
    pub rows_written: u64,
    pub bytes_written: u64,
    pub result_rows: u64,
    pub result_bytes: u64,
    peak_memory: u64,
    /// Of an INSERT whose data does not stand in the statement.
    pub data: Option<InsertData>,
    /// What the session is to change.
    pub changes: Vec<SessionChange>,
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
            changes: Vec::new(),
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

    /// What was counted so far; who knows it adds the rest.
    pub fn summary(&self) -> Summary {
        Summary {
            rows_read: self.rows_read,
            bytes_read: self.bytes_read,
            rows_written: self.rows_written,
            bytes_written: self.bytes_written,
            peak_memory: self.peak_memory,
            ..Summary::default()
        }
    }

    /// Adds what a statement printed.
    pub fn put_bytes(&mut self, bytes: Vec<u8>) -> Result<()> {
        self.flush_rows()?;
        self.bytes.extend(bytes);
        Ok(())
    }

    /// Keeps the rows of a statement; those of an earlier one become bytes, in the order of the statements.
    pub fn put_rows(&mut self, rows: Rows) -> Result<()> {
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

    pub fn count_result(&mut self, block: &Block) {
        self.result_rows += block.n_rows() as u64;
        self.result_bytes += block.memory() as u64;
    }

    pub fn count(&mut self, ctx: &QueryContext) {
        thread::sync();
        self.rows_read += ctx.control.read_rows.load(Relaxed);
        let file_bytes = ctx.exec.scan.progress.file_bytes.load(Relaxed);
        self.bytes_read += file_bytes.max(ctx.control.read_bytes.load(Relaxed));
        self.peak_memory = self.peak_memory.max(ctx.control.memory.peak());
    }
}

/// The format of a statement's result: as written, else the caller's.
pub(crate) fn format_of(statement: &ast::Output, output: &Output) -> Option<String> {
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
    ctx: &QueryContext,
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
            let request = write_request(schema, ctx);
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
            let zone = ctx.functions.time_zone.clone();
            let formats = ctx.formats.clone();
            output.put_rows(Rows {
                names,
                types,
                shown: std::sync::Arc::default(),
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

pub(crate) fn print_lines(
    text: &str,
    name: &str,
    statement: &ast::Statement,
    ctx: &QueryContext,
    output: &mut Output,
) -> Result<()> {
    let rows = text.lines().map(|line| vec![Value::from(line)]).collect();
    print_rows(&[(name, DataType::String)], rows, statement, ctx, output)
}

pub(crate) fn write_request(schema: Schema, ctx: &QueryContext) -> WriteRequest {
    WriteRequest {
        settings: ctx.formats.clone(),
        time_zone: ctx.functions.time_zone.clone(),
        ..WriteRequest::new(schema)
    }
}
