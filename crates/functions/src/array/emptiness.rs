//! `empty` and `notEmpty`: of strings, arrays, maps and addresses.

use crate::plain::Plain;
use chalet_base::{Result, bail};
use chalet_columns::{Column, Data, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;

pub static EMPTY: Plain = Plain {
    record: Record {
        name: "empty",
        summary: "Whether a string, an array or a map has no elements, or an address or UUID is all zeros.",
        syntax: "empty(x)",
        examples: &[Example { sql: "SELECT empty(''), empty([1])", result: "1\t0" }],
        total: true,
        only_length: true,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, 1),
};

pub static NOT_EMPTY: Plain = Plain {
    record: Record {
        name: "notEmpty",
        summary: "Whether a string, an array or a map has elements, or an address or UUID is not all zeros.",
        syntax: "notEmpty(x)",
        examples: &[Example { sql: "SELECT notEmpty(''), notEmpty([1])", result: "0\t1" }],
        total: true,
        only_length: true,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, 0),
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    use DataType::*;
    check_arity(name, args.len(), 1..=1)?;
    match &args[0].ty {
        String | FixedString(_) | Array(_) | Map(..) | Uuid | IPv4 | IPv6 | Json(_) => Ok(UInt8.into()),
        ty => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {ty} of argument of function {name}"),
    }
}

/// `when_empty` is the answer for an empty value.
fn execute(call: &Call, when_empty: u8) -> Result<Column> {
    let answer = |empty: bool| u8::from(empty) ^ when_empty ^ 1;
    let answers: Vec<u8> = match &call.vector(0).data {
        // The low 32 bits of a view are the length.
        Data::Str(strings) => strings.views().iter().map(|view| answer(*view as u32 == 0)).collect(),
        Data::Fixed(fixed) => fixed.iter().map(|bytes| answer(bytes.iter().all(|&b| b == 0))).collect(),
        Data::U32(addresses) => addresses.iter().map(|&ip| answer(ip == 0)).collect(),
        _ => call.vector(0).list()?.offsets.windows(2).map(|w| answer(w[0] == w[1])).collect(),
    };
    Ok(Vector::from(answers).into())
}
