//! `arrayShingles` and `arrayTranspose`: arrays of runs of elements, and rows made columns.

use crate::lanes::{Operand, unary};
use crate::lists::{array_element, list, list_of};
use crate::plain::Plain;
use chalet_base::{Result, ensure};
use chalet_columns::Column;
use chalet_function_api::scalar::{check_arity, check_type};
use chalet_function_api::{Call, Example, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "arrayShingles",
        summary: "All runs of the given number of elements that follow each other.",
        syntax: "arrayShingles(arr, length)",
        examples: &[Example { sql: "SELECT arrayShingles([1, 2, 3], 2)", result: "[[1,2],[2,3]]" }],
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        check_arity(name, args.len(), 2..=2)?;
        array_element(name, args, 0)?;
        check_type(name, args, 1, DataType::is_integer, "Integer")?;
        Ok(args[0].ty.clone().array().into())
    },
    execute: shingles,
};

pub static TRANSPOSE: Plain = Plain {
    record: Record {
        name: "arrayTranspose",
        summary: "Turns the rows of an array of arrays of one length into columns.",
        syntax: "arrayTranspose(arr)",
        examples: &[Example { sql: "SELECT arrayTranspose([[1, 2], [3, 4]])", result: "[[1,3],[2,4]]" }],
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        check_arity(name, args.len(), 1..=1)?;
        let element = array_element(name, args, 0)?;
        ensure!(
            matches!(element, DataType::Array(_)),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Argument of function {name} must be an array of arrays, got {}",
            args[0].ty
        );
        Ok(args[0].ty.clone().into())
    },
    execute: transpose,
};

fn shingles(call: &Call) -> Result<Column> {
    let rows = list_of(&call.args[0], call.n_rows)?;
    let lengths = unary::<i128, i128>(Operand::of(call, 1), call.n_rows, |x| x)?;
    let (mut elements, mut inner, mut outer) = (Vec::new(), vec![0], vec![0]);
    for (range, length) in rows.ranges().zip(lengths) {
        ensure!(
            (1..=range.len() as i128).contains(&length),
            BAD_ARGUMENTS,
            "Shingle argument length {length} should be in the range 1 to the length of the array, {}",
            range.len()
        );
        let length = length as usize;
        for start in range.start..=range.end - length {
            elements.extend((start..start + length).map(|e| e as u32));
            inner.push(elements.len() as i64);
        }
        outer.push(inner.len() as i64 - 1);
    }
    Ok(list(outer, list(inner, rows.values.gather(&elements))).into())
}

fn transpose(call: &Call) -> Result<Column> {
    let outer = list_of(&call.args[0], call.n_rows)?;
    let inner = outer.values.list()?.normalised();
    let (mut elements, mut inner_offsets, mut outer_offsets) = (Vec::new(), vec![0], vec![0]);
    for range in outer.ranges() {
        let width = if range.is_empty() { 0 } else { inner.range(range.start).len() };
        ensure!(
            range.clone().all(|e| inner.range(e).len() == width),
            SIZES_OF_ARRAYS_DONT_MATCH,
            "All inner arrays of function arrayTranspose must have the same size"
        );
        for column in 0..width {
            elements.extend(range.clone().map(|e| (inner.range(e).start + column) as u32));
            inner_offsets.push(elements.len() as i64);
        }
        outer_offsets.push(inner_offsets.len() as i64 - 1);
    }
    Ok(list(outer_offsets, list(inner_offsets, inner.values.gather(&elements))).into())
}
