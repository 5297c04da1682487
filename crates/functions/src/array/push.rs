//! `arrayPushBack`, `arrayPushFront`, `arrayPopBack`, `arrayPopFront`: arrays with one element more or less.

use crate::lists::{array_element, gathered, list, list_of, result_element};
use crate::plain::Plain;
use crate::widen::widen_element;
use chalet_base::Result;
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Nulls, Record};
use chalet_types::DataType;
use chalet_types::supertype::common_supertype;
use std::ops::Range;

pub static BACK: Plain = Plain {
    record: Record {
        name: "arrayPushBack",
        summary: "The array with a value appended.",
        syntax: "arrayPushBack(arr, x)",
        examples: &[Example { sql: "SELECT arrayPushBack(['a'], 'b')", result: "['a','b']" }],
        nulls: Nulls::Seen,
        total: true,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| push(call, true),
};

pub static FRONT: Plain = Plain {
    record: Record {
        name: "arrayPushFront",
        summary: "The array with a value before its elements.",
        syntax: "arrayPushFront(arr, x)",
        examples: &[Example { sql: "SELECT arrayPushFront(['b'], 'a')", result: "['a','b']" }],
        nulls: Nulls::Seen,
        total: true,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| push(call, false),
};

pub static POP_BACK: Plain = Plain {
    record: Record {
        name: "arrayPopBack",
        summary: "The array without its last element.",
        syntax: "arrayPopBack(arr)",
        examples: &[Example { sql: "SELECT arrayPopBack([1, 2, 3])", result: "[1,2]" }],
        total: true,
        ..Record::DEFAULT
    },
    bind: bind_pop,
    execute: |call| pop(call, |range| range.start..range.end - 1),
};

pub static POP_FRONT: Plain = Plain {
    record: Record {
        name: "arrayPopFront",
        summary: "The array without its first element.",
        syntax: "arrayPopFront(arr)",
        examples: &[Example { sql: "SELECT arrayPopFront([1, 2, 3])", result: "[2,3]" }],
        total: true,
        ..Record::DEFAULT
    },
    bind: bind_pop,
    execute: |call| pop(call, |range| range.start + 1..range.end),
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    if args[0].ty.is_only_null() {
        return Ok(args[0].ty.clone().into());
    }
    let element = array_element(name, args, 0)?;
    Ok(common_supertype(&[element.clone(), args[1].ty.clone()])?.array().into())
}

fn push(call: &Call, back: bool) -> Result<Column> {
    if call.result.is_only_null() {
        return Ok(Column::constant(Vector::defaults(call.result, 1), call.n_rows));
    }
    let element = result_element(call)?;
    let list = list_of(&call.args[0], call.n_rows)?;
    let own = call.args[0].ty.element().unwrap_or(DataType::Nothing);
    let values = widen_element(&list.values, &own, element, call.ctx)?;
    let items = widen_element(call.vector(1), call.args[1].ty, element, call.ctx)?;
    let joined = Vector::concat(&[&values, &items]);
    let mut elements = Vec::with_capacity(joined.len());
    let mut offsets = vec![0];
    for (row, range) in list.ranges().enumerate() {
        let item = (values.len() + row) as u32;
        if !back {
            elements.push(item);
        }
        elements.extend(range.map(|e| e as u32));
        if back {
            elements.push(item);
        }
        offsets.push(elements.len() as i64);
    }
    Ok(gathered(offsets, &joined, &elements))
}

fn bind_pop(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=1)?;
    array_element(name, args, 0)?;
    Ok(args[0].ty.clone().into())
}

fn pop(call: &Call, keep: fn(Range<usize>) -> Range<usize>) -> Result<Column> {
    let rows = list_of(&call.args[0], call.n_rows)?;
    let mut elements: Vec<u32> = Vec::with_capacity(rows.values.len());
    let mut offsets = vec![0];
    for range in rows.ranges() {
        if !range.is_empty() {
            elements.extend(keep(range).map(|e| e as u32));
        }
        offsets.push(elements.len() as i64);
    }
    Ok(list(offsets, rows.values.gather(&elements)).into())
}
