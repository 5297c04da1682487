//! `dictHas`: does a dictionary have a key?

use super::lookup::{BASE, Keys, all_null, check_has_keys, finder, range_values};
use crate::dictionaries::finder::Finder;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Record};
use chalet_functions::plain::Plain;
use chalet_types::DataType;

pub(super) static FUNCTION: Plain = Plain {
    record: Record {
        name: "dictHas",
        summary: "1 if a dictionary has a key, of a dictionary of ranges for the value behind it.",
        syntax: "dictHas('dictionary', key)",
        ..BASE
    },
    bind,
    execute,
};

struct Lookup {
    finder: Finder,
    keys: Keys,
    range: Option<DataType>,
}

fn bind(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=3)?;
    let finder = finder(name, args, ctx)?;
    check_has_keys(finder.definition())?;
    let has_ranges = finder.definition().layout.has_ranges;
    ensure!(
        args.len() == if has_ranges { 3 } else { 2 },
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Wrong argument count for function {name}{}",
        if has_ranges { " when dictionary has key type range" } else { "" }
    );
    let keys = Keys::new(name, &args[1].ty, finder.definition())?;
    let result = keys.result(DataType::UInt8);
    let range = args.get(2).map(|arg| arg.ty.clone());
    Ok(Bound::with_state(result, Lookup { finder, keys, range }))
}

fn execute(call: &Call) -> Result<Column> {
    let Lookup { finder, keys, range } = call.state()?;
    if keys.is_null {
        return Ok(Column::Flat(all_null(call)));
    }
    let (vectors, validity) = keys.vectors(call.vector(1), call.ctx)?;
    let range = range_values(call, 2, range.as_ref(), finder.definition())?;
    let rows = finder.find(&vectors, range.as_ref())?.rows;
    let found: Vec<u8> = rows.iter().map(|row| u8::from(*row > 0)).collect();
    let found = Vector::from(found);
    Ok(Column::Flat(if keys.is_nullable { found.with_nulls(validity.as_ref()) } else { found }))
}
