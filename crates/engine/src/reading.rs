//! What readers of formats and files get of the statement that reads: settings, casts, and a way to evaluate expressions.

use crate::query_context::QueryContext;
use crate::run_options::RunOptions;
use chalet_base::{Result, err};
use chalet_binder::table_columns::bind_value;
use chalet_columns::Column;
use chalet_formats::input::{Cast, Evaluate};
use chalet_formats::{ReadRequest, Schema};
use chalet_function_api::{Context, Host, Interrupt};
use chalet_storage::file::FileContext;
use chalet_types::{DataType, Value};
use std::sync::{Arc, Mutex, PoisonError};

/// For tables that are files.
pub(crate) fn file_context(ctx: &QueryContext) -> FileContext {
    let settings = &ctx.state.settings;
    FileContext {
        settings: ctx.formats.clone(),
        time_zone: ctx.functions.time_zone.clone(),
        evaluate: Some(evaluator(ctx)),
        cast: Some(caster(ctx)),
        truncate_on_insert: settings.flag("engine_file_truncate_on_insert").unwrap_or(false),
        create_multiple_files: settings.flag("engine_file_allow_create_multiple_files").unwrap_or(false),
        threads: ctx.exec.settings.max_threads,
    }
}

/// CAST for readers.
pub(crate) fn caster(ctx: &QueryContext) -> Cast {
    caster_in(ctx.functions.clone())
}

pub(crate) fn caster_in(ctx: Arc<Context>) -> Cast {
    Arc::new(move |column, from, to| chalet_functions::conversion::cast_column(column, from, to, &ctx))
}

/// CAST for tables, which outlive the statement and hold no database.
pub(crate) fn detached_caster(ctx: &QueryContext) -> Cast {
    let functions = Context::clone(&ctx.functions);
    caster_in(Arc::new(Context { host: Host(None), interrupt: Interrupt(None), ..functions }))
}

/// For data in a format.
pub(crate) fn read_request(structure: Schema, ctx: &QueryContext) -> ReadRequest {
    ReadRequest {
        row_numbers: false,
        time_zone: ctx.functions.time_zone.clone(),
        evaluate: Some(evaluator(ctx)),
        cast: Some(caster(ctx)),
        ..ReadRequest::all(structure).with_settings(ctx.formats.clone())
    }
}

/// Expressions inside data (`VALUES (1 + 1)`), as constants of a type.
fn evaluator(ctx: &QueryContext) -> Evaluate {
    // Data are read by any thread, after the statement's own context may be gone: this one is of its own.
    let made: Mutex<Option<Arc<QueryContext>>> = Mutex::new(None);
    let (database, state) = (ctx.database.clone(), ctx.state.clone());
    let params = ctx.params.clone();
    Arc::new(move |text, ty| {
        let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
        let ctx = match &*made {
            Some(ctx) => ctx.clone(),
            None => {
                let options = RunOptions { params: params.clone(), ..RunOptions::default() };
                let ctx = Arc::new(QueryContext::new(database.clone(), state.clone(), &options, 0)?);
                *made = Some(ctx.clone());
                ctx
            }
        };
        let written = chalet_syntax::parse_expression(text)?;
        let literal = bind_value(&written, &*ctx, &ctx.ids)?;
        // The reader knows what NULL means for a column that has none.
        if literal.value().is_null() {
            return Ok(Value::Null);
        }
        let column = Column::of_value(&literal.value(), &literal.ty, 1)?;
        let cast = caster(&ctx);
        if ty.alternatives().is_some_and(|types| types.reads_text_of(&literal.ty)) {
            let text = cast(&column, &literal.ty, &DataType::String)?;
            let parsed = cast(&text, &DataType::String, ty).map_err(|_| {
                err!(
                    TYPE_MISMATCH,
                    "Type mismatch in IN or VALUES section. Expected: {ty}. Got: {}",
                    literal.ty
                )
            })?;
            return Ok(parsed.value(0));
        }
        written_as(&cast, &column, &literal.ty, ty)
    })
}

/// The value of an expression among data as a column takes it: numbers become FixedString by their text, and what is of another
/// shape is a mismatch of types.
fn written_as(cast: &Cast, column: &Column, from: &DataType, to: &DataType) -> Result<Value> {
    if let Some(text) = text_in_place_of_fixed(from, to) {
        let texts = cast(column, from, &text)?;
        return Ok(cast(&texts, &text, to)?.value(0));
    }
    let converted = cast(column, from, to).map_err(|error| match error.code().name {
        "CANNOT_CONVERT_TYPE" => {
            err!(TYPE_MISMATCH, "Type mismatch in IN or VALUES section. Expected: {to}. Got: {from}")
        }
        "CANNOT_PARSE_TEXT" if !from.bare().is_string() => {
            err!(TYPE_MISMATCH, "Cannot convert string to type {to}: {}", error.message())
        }
        _ => error,
    })?;
    Ok(converted.value(0))
}

/// The type with String where a FixedString is to be made of a number; none where that is not so.
fn text_in_place_of_fixed(from: &DataType, to: &DataType) -> Option<DataType> {
    match (from.bare(), to.bare()) {
        (DataType::Array(from), DataType::Array(to)) => Some(text_in_place_of_fixed(from, to)?.array()),
        (from, DataType::FixedString(_)) if from.is_number() => Some(DataType::String),
        _ => None,
    }
}
