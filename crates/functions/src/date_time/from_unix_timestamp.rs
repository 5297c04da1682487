//! `fromUnixTimestamp`, `fromUnixTimestampInJodaSyntax`: unix seconds as timestamps, or as text by a pattern.

use super::format_date_time::{State, shown, state};
use crate::conversion::cast::{Mode, Rules, convert};
use crate::plain::Plain;
use chalet_base::{Result, ensure};
use chalet_columns::Column;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::DataType;

fn bind(name: &'static str, args: &[Argument], ctx: &Context, is_joda: bool) -> Result<Bound> {
    check_arity(name, args.len(), 1..=3)?;
    let ty = &args[0].ty;
    let is_timestamp =
        matches!(ty, DataType::Date | DataType::Date32 | DataType::DateTime(_) | DataType::DateTime64(..));
    if args.len() == 1 {
        ensure!(
            ty.is_integer() || is_timestamp,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {ty} of first argument of function {name} when arguments size is 1. Should be integer"
        );
        return Ok(DataType::DateTime(None).into());
    }
    ensure!(
        ty.is_integer() || is_timestamp,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {ty} of first argument of function {name} when arguments size is 2 or 3. Should be a integer or a date with \
         time"
    );
    Ok(Bound::with_state(DataType::String, state(name, args, ctx, is_joda)?))
}

fn execute(call: &Call) -> Result<Column> {
    let rules = Rules::new(Mode::Cast, call.ctx);
    let (vector, from) = (call.vector(0), call.args[0].ty);
    if call.args.len() == 1 {
        return Ok(convert(vector, from, call.result, &rules)?.into());
    }
    let state: &State = call.state()?;
    if !from.is_integer() {
        return Ok(shown(state, vector, from)?.into());
    }
    // What does not fit 32 bits may be after 2106.
    let is_wide = from.physical().width().is_some_and(|width| width > 4);
    if is_wide {
        let seconds = convert(vector, from, &DataType::Int64, &rules)?;
        return Ok(shown(state, &seconds, &DataType::DateTime64(0, None))?.into());
    }
    let seconds = convert(vector, from, &DataType::UInt32, &rules)?;
    Ok(shown(state, &seconds, &DataType::DateTime(None))?.into())
}

static FUNCTIONS: [Plain; 2] = [
    Plain {
        record: Record {
            name: "fromUnixTimestamp",
            any_case_aliases: &["FROM_UNIXTIME"],
            summary: "The moment that lies so many seconds after 1970-01-01 00:00:00 UTC; with a pattern of MySQL's % letters as text.",
            syntax: "fromUnixTimestamp(n[, pattern[, zone]])",
            examples: &[Example {
                sql: "SELECT fromUnixTimestamp(1577836800), fromUnixTimestamp(1577836800, '%d.%m.%Y', 'UTC')",
                result: "2020-01-01 00:00:00\t01.01.2020",
            }],
            ..Record::DEFAULT
        },
        bind: |name, args, ctx| bind(name, args, ctx, false),
        execute,
    },
    Plain {
        record: Record {
            name: "fromUnixTimestampInJodaSyntax",
            summary: "As fromUnixTimestamp, with a pattern of repeated letters as Joda-Time has them.",
            syntax: "fromUnixTimestampInJodaSyntax(n[, pattern[, zone]])",
            examples: &[Example {
                sql: "SELECT fromUnixTimestampInJodaSyntax(1577836800, 'dd.MM.yyyy', 'UTC')",
                result: "01.01.2020",
            }],
            ..Record::DEFAULT
        },
        bind: |name, args, ctx| bind(name, args, ctx, true),
        execute,
    },
];

pub fn register(registry: &mut Registry) {
    for function in &FUNCTIONS {
        registry.add_scalar(function);
    }
}
