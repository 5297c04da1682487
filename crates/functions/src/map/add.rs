//! `mapAdd` and `mapSubtract`: sums of the values under each key.

use super::concat::map_column;
use crate::arithmetic::convert_numbers;
use crate::lists::{list_of, pairs};
use crate::plain::Plain;
use chalet_base::hash::HashMap;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Data, Struct, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;
use std::sync::Arc;

pub static ADD: Plain = Plain {
    record: Record {
        name: "mapAdd",
        summary: "The sums of the values of several maps under each key, in order of keys. Pairs of arrays may stand for maps.",
        syntax: "mapAdd(map1, map2, ...)",
        examples: &[Example {
            sql: "SELECT mapAdd(map('a', 1), map('a', 2, 'b', 3))",
            result: "{'a':3,'b':3}",
        }],
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, false),
};

pub static SUBTRACT: Plain = Plain {
    record: Record {
        name: "mapSubtract",
        summary: "The values of the first map less those of the others under each key, in order of keys. Pairs of arrays may stand for maps.",
        syntax: "mapSubtract(map1, map2, ...)",
        examples: &[Example { sql: "SELECT mapSubtract(map('a', 5), map('a', 2))", result: "{'a':3}" }],
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, true),
};

/// Key and value types of a map or a pair of arrays.
fn parts(name: &str, ty: &DataType) -> Result<(DataType, DataType)> {
    match ty {
        DataType::Map(key, value) => Ok((DataType::clone(key), DataType::clone(value))),
        DataType::Tuple(fields) if fields.len() == 2 => match (&fields[0].ty, &fields[1].ty) {
            (DataType::Array(key), DataType::Array(value)) => {
                Ok((DataType::clone(key), DataType::clone(value)))
            }
            _ => bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Arguments to {name} are expected to be tuples of arrays, got {ty}"
            ),
        },
        ty => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "{name} accepts at least two maps or map tuples, got {ty}"),
    }
}

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    ensure!(
        args.len() >= 2,
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "{name} accepts at least two maps or map tuples"
    );
    let is_map = |ty: &DataType| matches!(ty, DataType::Map(..));
    let (key, first) = parts(name, &args[0].ty)?;
    let (family, same): (_, fn(&DataType) -> bool) = match is_map(&args[0].ty) {
        true => ("maps", is_map),
        false => ("map tuples", |ty| matches!(ty, DataType::Tuple(_))),
    };
    ensure!(
        args.iter().all(|arg| same(&arg.ty)),
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "{name} accepts at least two {family}"
    );
    let mut values = Vec::new();
    for arg in args {
        let (own, value) = parts(name, &arg.ty)?;
        ensure!(
            own == key && is_map(&arg.ty) == is_map(&args[0].ty),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "All key types in {name} should be same"
        );
        ensure!(
            value.is_integer() || value.is_float() || value.is_decimal(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Values to be summed are expected to be Numeric, Float or Decimal"
        );
        values.push(value);
    }
    ensure!(
        key.is_integer()
            || key.is_string()
            || key.is_enum()
            || matches!(
                key.bare(),
                DataType::Date | DataType::Date32 | DataType::DateTime(_) | DataType::Uuid | DataType::String
            ),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal column type {key} for keys in arguments of function {name}"
    );
    let value = match () {
        _ if values.iter().all(DataType::is_float) => DataType::Float64,
        _ if values.iter().all(DataType::is_unsigned) => widest(&values, DataType::UInt64),
        _ if values.iter().all(DataType::is_integer) => widest(&values, DataType::Int64),
        _ if values.iter().all(|ty| *ty == first) => first,
        _ => {
            bail!(ILLEGAL_TYPE_OF_ARGUMENT, "All value types in {name} should be either or float or integer")
        }
    };
    Ok(match is_map(&args[0].ty) {
        true => DataType::map(key, value),
        false => DataType::tuple([key.array(), value.array()]),
    }
    .into())
}

fn widest(values: &[DataType], least: DataType) -> DataType {
    let width = |ty: &DataType| ty.physical().width().unwrap_or(0);
    values.iter().filter(|ty| width(ty) > 8).max_by_key(|ty| width(ty)).cloned().unwrap_or(least)
}

fn execute(call: &Call, subtract: bool) -> Result<Column> {
    let (_, value_type) = parts("", call.result)?;
    let (mut offsets_of, mut keys, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for arg in call.args {
        let (offsets, own_keys, own_values) = match &arg.vector.data {
            Data::Struct(pair) => {
                let (k, v) = (pair.fields[0].list()?.normalised(), pair.fields[1].list()?.normalised());
                ensure!(
                    k.offsets[..] == v.offsets[..],
                    NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Key and value array should have same amount of elements"
                );
                (k.offsets, Vector::clone(&k.values), Vector::clone(&v.values))
            }
            _ => {
                let list = list_of(arg, call.n_rows)?;
                let (k, v) = pairs(&list)?;
                (list.offsets.clone(), k.clone(), v.clone())
            }
        };
        let n = own_values.len();
        values.push(convert_numbers(own_values, value_type.physical(), n)?);
        offsets_of.push((offsets, keys.iter().map(Vector::len).sum::<usize>()));
        keys.push(own_keys);
    }
    let keys = Vector::concat(&keys.iter().collect::<Vec<_>>());
    let values = Vector::concat(&values.iter().collect::<Vec<_>>());
    let numbers = crate::ids::ids(&keys);
    // Per result pair: the place of its key, and the places of the values that it sums.
    let (mut key_places, mut summed, mut sums, mut offsets) =
        (Vec::new(), Vec::new(), vec![0i64], vec![0i64]);
    for row in 0..call.n_rows {
        let mut found: HashMap<u64, usize> = HashMap::default();
        let mut groups: Vec<(u32, Vec<(u32, bool)>)> = Vec::new();
        for (argument, (own, start)) in offsets_of.iter().enumerate() {
            let places = start + own[row] as usize..start + own[row + 1] as usize;
            for (place, number) in places.clone().zip(&numbers[places]) {
                let group = *found.entry(*number).or_insert_with(|| {
                    groups.push((place as u32, Vec::new()));
                    groups.len() - 1
                });
                groups[group].1.push((place as u32, subtract && argument > 0));
            }
        }
        groups.sort_by(|a, b| keys.compare(a.0 as usize, &keys, b.0 as usize));
        for (key, places) in groups {
            key_places.push(key);
            summed.extend(places);
            sums.push(summed.len() as i64);
        }
        offsets.push(key_places.len() as i64);
    }
    let totals = totals(&values, &summed, &sums)?;
    let keys = keys.gather(&key_places);
    if let DataType::Map(..) = call.result {
        return Ok(map_column(offsets, keys, totals));
    }
    let arrays = [keys, totals].map(|values| {
        Vector::from(Data::List(chalet_columns::List {
            offsets: offsets.clone().into(),
            values: Arc::new(values),
        }))
    });
    Ok(Vector::from(Data::Struct(Struct { fields: arrays.into(), len: call.n_rows })).into())
}

/// The sums of runs of values, some with the other sign.
fn totals(values: &Vector, places: &[(u32, bool)], runs: &[i64]) -> Result<Vector> {
    fn sum<T: Copy>(
        values: &[T],
        places: &[(u32, bool)],
        runs: &[i64],
        zero: T,
        add: fn(T, T) -> T,
        sub: fn(T, T) -> T,
    ) -> Vec<T> {
        runs.windows(2)
            .map(|run| {
                places[run[0] as usize..run[1] as usize].iter().fold(zero, |sum, &(place, negative)| {
                    let value = values[place as usize];
                    if negative { sub(sum, value) } else { add(sum, value) }
                })
            })
            .collect()
    }
    fn integers<C: crate::number::Integer>(values: &[C], places: &[(u32, bool)], runs: &[i64]) -> Vector {
        sum(values, places, runs, C::ZERO, C::add, C::sub).into()
    }
    Ok(match &values.data {
        Data::F64(v) => sum(v, places, runs, 0.0, |a, b| a + b, |a, b| a - b).into(),
        Data::F32(v) => sum(v, places, runs, 0.0, |a, b| a + b, |a, b| a - b).into(),
        Data::U64(v) => integers(v, places, runs),
        Data::I64(v) => integers(v, places, runs),
        Data::U128(v) => integers(v, places, runs),
        Data::I128(v) => integers(v, places, runs),
        Data::U256(v) => integers(v, places, runs),
        Data::I256(v) => integers(v, places, runs),
        Data::I32(v) => integers(v, places, runs),
        _ => bail!(LOGICAL_ERROR, "Sums of {:?}", values.data.physical()),
    })
}
