//! A query: bind, optimize, execute, write.

use super::output::{Output, format_of, write_request};
use crate::answer::Rows;
use crate::answer::{StreamConsumer, StreamPart};
use crate::binding::bind;
use crate::extremes::Extremes;
use crate::formats::FORMATS;
use crate::plan_optimizer;
use crate::query_context::QueryContext;
use crate::replacement_scan::detached;
use chalet_base::{Result, bail, err};
use chalet_binder::BoundQuery;
use chalet_columns::Block;
use chalet_exec::pool;
use chalet_formats::output::{Memory, Sink};
use chalet_formats::{Compression, Statistics, WriteRequest};
use chalet_plan::{FromEnd, Limit, Plan, RowParts};
use chalet_syntax::ast;
use chalet_types::DataType;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) fn run(
    query: &ast::Query,
    tail: &ast::Output,
    ctx: &QueryContext,
    output: &mut Output,
) -> Result<()> {
    let mut bound = bind(query, ctx)?;
    bound.plan = limited(bound.plan, ctx);
    let mut format = format_of(tail, output);
    if let Some(outfile) = &tail.outfile {
        ctx.state.identity.files.check_outfile()?;
        let path = String::from_utf8_lossy(&outfile.path).into_owned();
        let by_suffix = FORMATS.of_path(&path).map(|f| f.name.to_string());
        format = tail.format.as_ref().map(|f| f.name.clone()).or(by_suffix).or(format);
        let sink = open_outfile(outfile, &path)?;
        return write(bound, &format.unwrap_or_else(|| "TabSeparated".into()), sink, ctx, output);
    }
    match format {
        Some(format) => {
            let memory = Memory::default();
            write(bound, &format, Box::new(memory.clone()), ctx, output)?;
            output.put_bytes(memory.take())?;
            output.format = format;
        }
        None => output.put_rows(collect(bound, ctx)?)?,
    }
    Ok(())
}

/// The settings `limit` and `offset`, on top of the query's own.
fn limited(plan: Plan, ctx: &QueryContext) -> Plan {
    let settings = &ctx.state.settings;
    let limit = settings.number("limit").filter(|&n| n > 0);
    let offset = settings.number("offset").unwrap_or(0);
    if limit.is_none() && offset == 0 {
        return plan;
    }
    Plan::Limit(Limit {
        input: Box::new(plan),
        limit,
        offset,
        ties: None,
        from_end: FromEnd::default(),
        parts: RowParts::default(),
    })
}

/// Runs a bound query and writes its rows as they come.
fn write(
    bound: BoundQuery,
    format: &str,
    sink: Box<dyn Sink>,
    ctx: &QueryContext,
    output: &mut Output,
) -> Result<()> {
    let schema = bound.fields.iter().map(|f| (f.name.to_string(), f.ty.clone())).collect();
    let request = WriteRequest { shown: shown(&bound, ctx), ..write_request(schema, ctx) };
    let writer = FORMATS.get(format)?.writer(request, sink)?;
    let plan = plan_optimizer::optimized(bound.plan, ctx)?;
    let state = Arc::new(Mutex::new((writer, extremes(ctx), (0, 0))));
    let target = state.clone();
    let consumer = Box::new(move |block: Block| {
        let (writer, extremes, counted) = &mut *target.lock().unwrap_or_else(PoisonError::into_inner);
        counted.0 += block.n_rows() as u64;
        counted.1 += block.memory() as u64;
        if let Some(extremes) = extremes {
            extremes.add(&block);
        }
        writer.write(&block)
    });
    let result = chalet_exec::execute(&plan, consumer, &ctx.exec)?;
    let (writer, extremes, counted) = &mut *state.lock().unwrap_or_else(PoisonError::into_inner);
    output.result_rows += counted.0;
    output.result_bytes += counted.1;
    if let Some(totals) = &result.totals {
        writer.totals(totals)?;
    }
    if let Some(extremes) = extremes.take().and_then(Extremes::finish) {
        writer.extremes(&extremes)?;
    }
    writer.finish(&Statistics {
        elapsed_seconds: ctx.control.elapsed().as_secs_f64(),
        rows_read: ctx.control.read_rows.load(Relaxed),
        bytes_read: ctx.control.read_bytes.load(Relaxed),
        rows_before_limit: result.rows_before_limit,
        rows_before_aggregation: match ctx.state.settings.flag("rows_before_aggregation") {
            Some(true) => ctx.control.rows_before_aggregation(),
            _ => None,
        },
    })
}

/// Runs a query whose rows are handed out as they come: none is kept. Gives how many there were before LIMIT.
pub(crate) fn stream(
    query: &ast::Query,
    format: Option<String>,
    ctx: &QueryContext,
    mut consumer: StreamConsumer,
) -> Result<Option<u64>> {
    let mut bound = bind(query, ctx)?;
    bound.plan = limited(bound.plan, ctx);
    let header = Rows {
        names: bound.fields.iter().map(|f| f.name.to_string()).collect(),
        types: bound.fields.iter().map(|f| f.ty.clone()).collect(),
        shown: shown(&bound, ctx),
        blocks: Vec::new(),
        totals: None,
        extremes: None,
        rows_before_limit: None,
        zone: ctx.functions.time_zone.clone(),
        formats: ctx.formats.clone(),
    };
    let plan = plan_optimizer::optimized(bound.plan, ctx)?;
    consumer(StreamPart::Header(header, format))?;
    let replacement_scan = ctx.replacement_scan.clone();
    let state = Arc::new(Mutex::new((consumer, extremes(ctx))));
    let target = state.clone();
    let on_block = Box::new(move |block: Block| {
        if block.is_empty() {
            return Ok(());
        }
        let (consumer, extremes) = &mut *target.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(extremes) = extremes {
            extremes.add(&block);
        }
        let part = StreamPart::Block(detached(block, replacement_scan.as_deref()));
        // Who wants the rows may be slow.
        pool::waiting_outside(|| consumer(part))
    });
    let result = chalet_exec::execute(&plan, on_block, &ctx.exec)?;
    let (consumer, extremes) = &mut *state.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(totals) = result.totals {
        consumer(StreamPart::Totals(totals))?;
    }
    if let Some(extremes) = extremes.take().and_then(Extremes::finish) {
        consumer(StreamPart::Extremes(extremes))?;
    }
    Ok(result.rows_before_limit)
}

/// All rows of a query.
pub(super) fn collect(bound: BoundQuery, ctx: &QueryContext) -> Result<Rows> {
    let names = bound.fields.iter().map(|f| f.name.to_string()).collect();
    let types = bound.fields.iter().map(|f| f.ty.clone()).collect();
    let shown = shown(&bound, ctx);
    let plan = plan_optimizer::optimized(bound.plan, ctx)?;
    let blocks = Arc::new(Mutex::new(Vec::new()));
    let target = blocks.clone();
    let consumer = Box::new(move |block: Block| {
        target.lock().unwrap_or_else(PoisonError::into_inner).push(block);
        Ok(())
    });
    let result = chalet_exec::execute(&plan, consumer, &ctx.exec)?;
    let blocks = std::mem::take(&mut *blocks.lock().unwrap_or_else(PoisonError::into_inner));
    let blocks: Vec<Block> =
        blocks.into_iter().map(|block| detached(block, ctx.replacement_scan.as_deref())).collect();
    let extremes = extremes(ctx).and_then(|mut extremes| {
        blocks.iter().for_each(|block| extremes.add(block));
        extremes.finish()
    });
    Ok(Rows {
        names,
        types,
        shown,
        blocks,
        totals: result.totals,
        extremes,
        rows_before_limit: result.rows_before_limit,
        zone: ctx.functions.time_zone.clone(),
        formats: ctx.formats.clone(),
    })
}

/// What the columns show in place of their types; nothing where none shows something else.
fn shown(bound: &BoundQuery, ctx: &QueryContext) -> Arc<[DataType]> {
    match bound.fields.iter().any(|field| ctx.ids.shown(field.id).is_some()) {
        true => bound.fields.iter().map(|field| ctx.ids.shown_type(field)).collect(),
        false => Arc::default(),
    }
}

/// What the setting `extremes` asks for.
fn extremes(ctx: &QueryContext) -> Option<Extremes> {
    (ctx.state.settings.flag("extremes") == Some(true)).then(Extremes::default)
}

fn open_outfile(outfile: &ast::Outfile, path: &str) -> Result<Box<dyn Sink>> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true);
    if outfile.append {
        options.append(true).create(true);
    } else if outfile.truncate {
        options.truncate(true).create(true);
    } else {
        options.create_new(true);
    }
    let file = options.open(path).map_err(|e| {
        if e.kind() == std::io::ErrorKind::AlreadyExists {
            return err!(FILE_ALREADY_EXISTS, "File {path} exists, consider using APPEND or TRUNCATE");
        }
        if e.kind() == std::io::ErrorKind::NotFound {
            return err!(FILE_DOESNT_EXIST, "Cannot open file {path}: {e}");
        }
        err!(CANNOT_OPEN_FILE, "Cannot open file {path}: {e}")
    })?;
    if outfile.and_stdout {
        bail!(NOT_IMPLEMENTED, "INTO OUTFILE ... AND STDOUT is not supported");
    }
    let method = outfile.compression.as_ref().map(|c| String::from_utf8_lossy(c).into_owned());
    let compression = Compression::named(method.as_deref().unwrap_or("auto"), path)?;
    let level = outfile.level.unwrap_or(3) as u32;
    compression.writer(Box::new(std::io::BufWriter::new(file)), level)
}
