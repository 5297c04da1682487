//! `lowCardinalityIndices` and `lowCardinalityKeys`: how a block's LowCardinality column could be kept.

use crate::plain::Plain;
use chalet_base::{Result, ensure};
use chalet_columns::{Buf, Column, Data, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Call, Dictionaries, Example, Nulls, Record, Volatility};
use chalet_types::DataType;
use std::collections::HashMap;

const BASE: Record = Record {
    nulls: Nulls::Seen,
    dictionaries: Dictionaries::InTypes,
    volatility: Volatility::PerRow,
    ..Record::DEFAULT
};

pub static INDICES: Plain = Plain {
    record: Record {
        name: "lowCardinalityIndices",
        summary: "The positions of the values of a LowCardinality column in the dictionary of its block, which begins with the default.",
        syntax: "lowCardinalityIndices(col)",
        examples: &[Example { sql: "SELECT lowCardinalityIndices(toLowCardinality('a'))", result: "1" }],
        ..BASE
    },
    bind: |name, args, _| {
        inner(name, args)?;
        Ok(DataType::UInt64.into())
    },
    execute: |call: &Call| -> Result<Column> {
        let (codes, _) = dictionary(call)?;
        Ok(Vector::from(Data::U64(Buf::from_vec(codes))).into())
    },
};

pub static KEYS: Plain = Plain {
    record: Record {
        name: "lowCardinalityKeys",
        summary: "The dictionary of the block of a LowCardinality column, a value per row from the default on; behind it the default again.",
        syntax: "lowCardinalityKeys(col)",
        examples: &[Example { sql: "SELECT lowCardinalityKeys(toLowCardinality('a'))", result: "" }],
        ..BASE
    },
    bind: |name, args, _| Ok(inner(name, args)?.into()),
    execute: |call: &Call| -> Result<Column> {
        let (_, first_rows) = dictionary(call)?;
        let vector = call.vector(0);
        let default = Vector::defaults(call.result, 1);
        // Row 0 is the default, the values of the rows follow.
        let joined = Vector::concat(&[&default, vector]);
        let special = if call.result.is_nullable() { 2 } else { 1 };
        let rows: Vec<u32> = (0..call.n_rows)
            .map(|row| {
                row.checked_sub(special).and_then(|key| first_rows.get(key)).map_or(0, |row| *row as u32 + 1)
            })
            .collect();
        Ok(joined.gather(&rows).into())
    },
};

fn inner(name: &'static str, args: &[Argument]) -> Result<DataType> {
    check_arity(name, args.len(), 1..=1)?;
    let ty = &args[0].ty;
    ensure!(
        matches!(ty, DataType::LowCardinality(_)),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "A value of illegal type was provided as 1st argument 'col' to function '{name}'. Expected: LowCardinality, got: {ty}"
    );
    Ok(ty.without_low_cardinality().clone())
}

/// The code of each row, and the first row of each value that is not the default, in order.
fn dictionary(call: &Call) -> Result<(Vec<u64>, Vec<usize>)> {
    let vector = call.vector(0);
    let ty = call.args[0].ty.without_low_cardinality();
    let special = if ty.is_nullable() { 2 } else { 1 };
    let default = Vector::defaults(ty.without_nullable(), 1).value(0);
    let mut known: HashMap<Vec<u8>, u64> = HashMap::new();
    let (mut codes, mut first_rows) = (Vec::with_capacity(vector.len()), Vec::new());
    let codec = chalet_columns::rows::RowCodec::new(ty);
    for row in 0..vector.len() {
        if vector.is_null(row) {
            codes.push(0);
            continue;
        }
        if vector.value(row) == default {
            codes.push(special - 1);
            continue;
        }
        let mut key = Vec::new();
        codec.put(vector, row, &mut key);
        codes.push(*known.entry(key).or_insert_with(|| {
            first_rows.push(row);
            first_rows.len() as u64 - 1 + special
        }));
    }
    Ok((codes, first_rows))
}
