//! `formatRow`, `formatRowNoNewline`: a row as text of a format.

use super::session_view::OwnHost;
use crate::formats::FORMATS;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Block, Column, StringBuilder, Vector};
use chalet_formats::output::Memory;
use chalet_formats::{Format, FormatSettings, Schema, Statistics, WriteRequest};
use chalet_function_api::{
    Argument, Bound, Call, Context, Dictionaries, Example, Nulls, Record, SeveralTypes,
};
use chalet_functions::plain::Plain;
use chalet_types::{DataType, Value};
use std::sync::Arc;

const BASE: Record = Record {
    name: "formatRow",
    several_types: SeveralTypes::Seen,
    summary: "The arguments behind the first as one row of the format that the first names.",
    syntax: "formatRow(format, x, ...)",
    examples: &[Example { sql: "SELECT formatRow('CSV', 1, 'a')", result: "1,\"a\"\\n" }],
    nulls: Nulls::Seen,
    dictionaries: Dictionaries::InTypes,
    ..Record::DEFAULT
};

pub static FORMAT_ROW: Plain = Plain { record: BASE, bind, execute: |call| execute(call, false) };

pub static FORMAT_ROW_NO_NEWLINE: Plain = Plain {
    record: Record {
        name: "formatRowNoNewline",
        several_types: SeveralTypes::Seen,
        summary: "As formatRow, without the line feed at the end.",
        syntax: "formatRowNoNewline(format, x, ...)",
        examples: &[Example { sql: "SELECT formatRowNoNewline('CSV', 1, 'a')", result: "1,\"a\"" }],
        ..BASE
    },
    bind,
    execute: |call| execute(call, true),
};

struct Target {
    format: &'static Format,
    request: WriteRequest,
}

fn bind(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    ensure!(
        args.len() >= 2,
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Function {name} requires at least two arguments: the format name and its output expression(s)"
    );
    let Some(format) = args[0].constant.as_ref().and_then(Value::as_str) else {
        bail!(ILLEGAL_TYPE_OF_ARGUMENT, "First argument to {name} must be a format name");
    };
    let format = FORMATS.get(format)?;
    let header: Schema = args[1..].iter().map(|arg| (arg.name.to_string(), arg.ty.clone())).collect();
    let settings: Arc<FormatSettings> = OwnHost::of(ctx)?.format_settings()?;
    let request = WriteRequest { settings, time_zone: ctx.time_zone.clone(), ..WriteRequest::new(header) };
    let writer = format.writer(request.clone(), Box::new(Memory::default()))?;
    ensure!(
        writer.writes_rows(),
        BAD_ARGUMENTS,
        "Cannot turn rows into a {} format strings. {name} function supports only row output formats",
        format.name
    );
    Ok(Bound::with_state(DataType::String, Target { format, request }))
}

fn execute(call: &Call, cut: bool) -> Result<Column> {
    let Target { format, request } = call.state()?;
    let columns = (1..call.args.len()).map(|index| Column::Flat(call.vector(index).clone()));
    let block = Block::new(columns.collect(), call.n_rows);
    let mut out = StringBuilder::with_capacity(call.n_rows);
    for row in 0..call.n_rows {
        let memory = Memory::default();
        let mut writer = format.writer(request.clone(), Box::new(memory.clone()))?;
        writer.write(&block.slice(row, 1))?;
        writer.finish(&Statistics::default())?;
        let text = memory.take();
        out.push(if cut { text.strip_suffix(b"\n").unwrap_or(&text) } else { &text });
    }
    Ok(Vector::from(out.finish()).into())
}
