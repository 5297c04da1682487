//! `mapPopulateSeries`: maps of integers without gaps between their keys.

use super::concat::map_column;
use crate::lanes::{Operand, unary};
use crate::lists::{NONE, gather_or_default, list, list_of, pairs};
use crate::number::{Cast, Integer};
use crate::plain::Plain;
use crate::with_integer;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Data, Struct, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;
use std::collections::BTreeMap;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "mapPopulateSeries",
        summary: "The map with all integer keys from its least to its greatest, or to the given one, and default values where it had none. Two arrays may stand for the map.",
        syntax: "mapPopulateSeries(map[, max]), mapPopulateSeries(keys, values[, max])",
        examples: &[Example {
            sql: "SELECT mapPopulateSeries(map(1, 10, 4, 40), 5)",
            result: "{1:10,2:0,3:0,4:40,5:0}",
        }],
        ..Record::DEFAULT
    },
    bind,
    execute,
};

/// The kernel's limit of keys in a result.
const MAX_KEYS: i128 = 1 << 30;

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=3)?;
    let (key, value, max) = match &args[0].ty {
        DataType::Map(key, value) if args.len() <= 2 => (&**key, &**value, args.get(1)),
        DataType::Array(key) if args.len() >= 2 => match &args[1].ty {
            DataType::Array(value) => (&**key, &**value, args.get(2)),
            ty => {
                bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Function {name} second argument must be an array, got {ty}")
            }
        },
        ty => bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Function {name} first argument must be a map or an array, got {ty}"
        ),
    };
    ensure!(
        key.is_integer() && value.is_integer(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Function {name} key and value types must be integers, got {key} and {value}"
    );
    if let Some(max) = max {
        ensure!(
            max.ty.is_integer(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Function {name} max key argument must be an integer, got {}",
            max.ty
        );
    }
    Ok(match &args[0].ty {
        DataType::Map(..) => args[0].ty.clone(),
        _ => DataType::tuple([args[0].ty.clone(), args[1].ty.clone()]),
    }
    .into())
}

fn execute(call: &Call) -> Result<Column> {
    let first = list_of(&call.args[0], call.n_rows)?;
    let is_map = matches!(call.result, DataType::Map(..));
    let (key_type, value_type, keys, values) = match (call.args[0].ty, call.result) {
        (DataType::Map(key, value), _) => {
            let (keys, values) = pairs(&first)?;
            (DataType::clone(key), DataType::clone(value), keys.clone(), values.clone())
        }
        (DataType::Array(key), _) => {
            let second = list_of(&call.args[1], call.n_rows)?;
            ensure!(
                first.offsets[..] == second.offsets[..],
                BAD_ARGUMENTS,
                "Function mapPopulateSeries keys and values must have the same size"
            );
            let value = call.args[1].ty.element().unwrap_or(DataType::Nothing);
            (DataType::clone(key), value, Vector::clone(&first.values), Vector::clone(&second.values))
        }
        (other, _) => bail!(LOGICAL_ERROR, "{other} is not a series"),
    };
    let numbers =
        unary::<i128, i128>(Operand { ty: &key_type, vector: &keys, constant: false }, keys.len(), |x| x)?;
    let max_index = if is_map { 1 } else { 2 };
    let maxima = match call.args.len() > max_index {
        true => Some(unary::<i128, i128>(Operand::of(call, max_index), call.n_rows, |x| x)?),
        false => None,
    };
    let (mut new_keys, mut places, mut offsets): (Vec<i128>, Vec<u32>, Vec<i64>) =
        (Vec::new(), Vec::new(), vec![0]);
    for (row, range) in first.ranges().enumerate() {
        let known: BTreeMap<i128, u32> = range.rev().map(|e| (numbers[e], e as u32)).collect();
        if let (Some((&least, _)), Some((&greatest, _))) = (known.first_key_value(), known.last_key_value()) {
            let last = maxima.as_ref().map_or(greatest, |maxima| maxima[row]);
            ensure!(
                last - least < MAX_KEYS,
                TOO_LARGE_ARRAY_SIZE,
                "Function mapPopulateSeries too large array size in the result"
            );
            for key in least..=last {
                new_keys.push(key);
                places.push(known.get(&key).copied().unwrap_or(NONE));
            }
        }
        offsets.push(new_keys.len() as i64);
    }
    fn column<C: Integer>(keys: &[i128]) -> Vector
    where
        i128: Cast<C>,
    {
        keys.iter().map(|&key| key.cast()).collect::<Vec<C>>().into()
    }
    let keys = with_integer!(key_type.physical(), C => column::<C>(&new_keys), _ => bail!(LOGICAL_ERROR, "Keys of {key_type}"));
    let values = gather_or_default(&values, &places, &value_type);
    if is_map {
        return Ok(map_column(offsets, keys, values));
    }
    let fields = vec![list(offsets.clone(), keys), list(offsets, values)];
    Ok(Vector::from(Data::Struct(Struct { fields, len: call.n_rows })).into())
}
