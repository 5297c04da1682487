//! `dictHas`: does a dictionary have a key?

use super::lookup::{BASE, Keys, all_null, dictionary, range_values};
use crate::dictionaries::loaded::Loaded;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Record};
use chalet_functions::plain::Plain;
use chalet_types::DataType;
use std::sync::Arc;

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
    loaded: Arc<Loaded>,
    keys: Keys,
    range: Option<DataType>,
}

fn bind(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=3)?;
    let loaded = dictionary(name, args, ctx)?;
    let has_ranges = loaded.definition.layout.has_ranges;
    ensure!(
        args.len() == if has_ranges { 3 } else { 2 },
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Wrong argument count for function {name}{}",
        if has_ranges { " when dictionary has key type range" } else { "" }
    );
    let keys = Keys::new(name, &args[1].ty, &loaded.definition)?;
    let result = keys.result(DataType::UInt8);
    let range = args.get(2).map(|arg| arg.ty.clone());
    Ok(Bound::with_state(result, Lookup { loaded, keys, range }))
}

fn execute(call: &Call) -> Result<Column> {
    let Lookup { loaded, keys, range } = call.state()?;
    if keys.is_null {
        return Ok(Column::Flat(all_null(call)));
    }
    let (vectors, validity) = keys.vectors(call.vector(1), call.ctx)?;
    let range = range_values(call, 2, range.as_ref(), &loaded.definition)?;
    let rows = loaded.find(&vectors, range.as_ref())?;
    let found: Vec<u8> = rows.iter().map(|row| u8::from(*row > 0)).collect();
    let found = Vector::from(found);
    Ok(Column::Flat(if keys.is_nullable { found.with_nulls(validity.as_ref()) } else { found }))
}
