//! `toInterval`: a number as an interval of a unit that is named.

use super::cast::{Mode, Rules, check, convert};
use crate::plain::Plain;
use chalet_base::{Result, bail, err};
use chalet_columns::Column;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::{DataType, IntervalUnit, Value};

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "toInterval",
        summary: "Converts a value to an interval of the unit of the given name.",
        syntax: "toInterval(n, unit)",
        examples: &[Example { sql: "SELECT toInterval(5, 'day') = toIntervalDay(5)", result: "1" }],
        null_before_arity: true,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    let Some(unit) = args[1].constant.as_ref().and_then(Value::as_str) else {
        bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Second argument for function {name} must be constant string: unit of interval"
        );
    };
    let found = IntervalUnit::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(unit));
    let lower = unit.to_ascii_lowercase();
    let unit =
        found.ok_or_else(|| err!(BAD_ARGUMENTS, "{lower} doesn't look like an interval unit in {name}"))?;
    let to = DataType::Interval(unit);
    check(&args[0].ty, &to)?;
    Ok(to.into())
}

fn execute(call: &Call) -> Result<Column> {
    let rules = Rules::new(Mode::Cast, call.ctx);
    Ok(convert(call.vector(0), call.args[0].ty, call.result, &rules)?.into())
}
