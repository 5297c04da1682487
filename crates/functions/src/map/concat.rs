//! `mapConcat`: the pairs of several maps.

use crate::lists::{list, list_of, map_types, pairs};
use crate::plain::Plain;
use crate::widen::widen_element;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Data, List, Struct, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Dictionaries, Example, Record};
use chalet_types::DataType;
use chalet_types::supertype::common_supertype;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "mapConcat",
        summary: "The pairs of all maps, in order, as one map. Keys may occur more than once.",
        syntax: "mapConcat(map1, map2, ...)",
        examples: &[Example {
            sql: "SELECT mapConcat(map('k1', 1), map('k2', 2))",
            result: "{'k1':1,'k2':2}",
        }],
        dictionaries: Dictionaries::InTypes,
        total: true,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    ensure!(
        !args.is_empty(),
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Function {name} requires at least one argument, passed 0"
    );
    (0..args.len()).try_for_each(|index| map_types(name, args, index).map(drop))?;
    Ok(common_supertype(&args.iter().map(|arg| arg.ty.clone()).collect::<Vec<_>>())?.into())
}

/// A map column of keys and values.
pub fn map_column(offsets: Vec<i64>, keys: Vector, values: Vector) -> Column {
    let len = keys.len();
    list(offsets, Data::Struct(Struct { fields: vec![keys, values], len }).into()).into()
}

/// The pairs of all arguments under the types of the result: lists, the start of each, keys and values.
pub fn joined(call: &Call) -> Result<(Vec<(List, usize)>, Vector, Vector)> {
    let DataType::Map(key, value) = call.result else {
        bail!(LOGICAL_ERROR, "{} is not a map", call.result);
    };
    let (mut lists, mut keys, mut values, mut start) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for arg in call.args {
        let DataType::Map(own_key, own_value) = arg.ty else {
            bail!(LOGICAL_ERROR, "{} is not a map", arg.ty)
        };
        let list = list_of(arg, call.n_rows)?;
        let (k, v) = pairs(&list)?;
        keys.push(widen_element(k, own_key, key, call.ctx)?);
        values.push(widen_element(v, own_value, value, call.ctx)?);
        let len = k.len();
        lists.push((list, start));
        start += len;
    }
    let join = |parts: &[Vector]| Vector::concat(&parts.iter().collect::<Vec<_>>());
    Ok((lists, join(&keys), join(&values)))
}

fn execute(call: &Call) -> Result<Column> {
    let (lists, keys, values) = joined(call)?;
    let (mut places, mut offsets) = (Vec::new(), vec![0]);
    for row in 0..call.n_rows {
        for (list, start) in &lists {
            places.extend(list.range(row).map(|pair| (start + pair) as u32));
        }
        offsets.push(places.len() as i64);
    }
    Ok(map_column(offsets, keys.gather(&places), values.gather(&places)))
}
