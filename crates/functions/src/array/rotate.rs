//! `arrayReverse`, `arrayRotateLeft`, `arrayRotateRight`, `arrayShiftLeft`, `arrayShiftRight`: elements moved.

use crate::lanes::{Operand, try_unary};
use crate::lists::{NONE, array_element, gather_or_default, list, list_of, result_element};
use crate::plain::Plain;
use crate::widen::widen;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::{check_arity, check_type};
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, ShownType};
use chalet_types::DataType;
use chalet_types::supertype::pair;

pub static REVERSE: Plain = Plain {
    record: Record {
        name: "arrayReverse",
        summary: "The elements of an array in reverse order.",
        syntax: "arrayReverse(arr)",
        examples: &[Example { sql: "SELECT arrayReverse([1, 2, 3])", result: "[3,2,1]" }],
        shown: ShownType::OfFirst,
        total: true,
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        check_arity(name, args.len(), 1..=1)?;
        ensure!(
            matches!(args[0].ty, DataType::Array(_)),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Argument for function {name} must be array"
        );
        Ok(args[0].ty.clone().into())
    },
    execute: |call| {
        let rows = list_of(&call.args[0], call.n_rows)?;
        let elements: Vec<u32> = rows.ranges().flat_map(|range| range.rev()).map(|e| e as u32).collect();
        Ok(list(rows.offsets.to_vec(), rows.values.gather(&elements)).into())
    },
};

pub static ROTATE_LEFT: Plain = Plain {
    record: Record {
        name: "arrayRotateLeft",
        summary: "The elements moved to the left by a number of places, those that fall off appended.",
        syntax: "arrayRotateLeft(arr, n)",
        examples: &[Example { sql: "SELECT arrayRotateLeft([1, 2, 3, 4], 1)", result: "[2,3,4,1]" }],
        ..Record::DEFAULT
    },
    bind: |name, args, ctx| bind(name, args, ctx, 2),
    execute: |call| rotate(call, 1),
};

pub static ROTATE_RIGHT: Plain = Plain {
    record: Record {
        name: "arrayRotateRight",
        summary: "The elements moved to the right by a number of places, those that fall off put in front.",
        syntax: "arrayRotateRight(arr, n)",
        examples: &[Example { sql: "SELECT arrayRotateRight([1, 2, 3, 4], 1)", result: "[4,1,2,3]" }],
        ..Record::DEFAULT
    },
    bind: |name, args, ctx| bind(name, args, ctx, 2),
    execute: |call| rotate(call, -1),
};

pub static SHIFT_LEFT: Plain = Plain {
    record: Record {
        name: "arrayShiftLeft",
        summary: "The elements moved to the left by a number of places, with a value (the default of the type when left out) in the places that become free.",
        syntax: "arrayShiftLeft(arr, n[, x])",
        examples: &[Example { sql: "SELECT arrayShiftLeft([1, 2, 3], 1, 9)", result: "[2,3,9]" }],
        ..Record::DEFAULT
    },
    bind: |name, args, ctx| bind(name, args, ctx, 3),
    execute: |call| shift(call, 1),
};

pub static SHIFT_RIGHT: Plain = Plain {
    record: Record {
        name: "arrayShiftRight",
        summary: "The elements moved to the right by a number of places, with a value (the default of the type when left out) in the places that become free.",
        syntax: "arrayShiftRight(arr, n[, x])",
        examples: &[Example { sql: "SELECT arrayShiftRight([1, 2, 3], 1, 9)", result: "[9,1,2]" }],
        ..Record::DEFAULT
    },
    bind: |name, args, ctx| bind(name, args, ctx, 3),
    execute: |call| shift(call, -1),
};

fn bind(name: &'static str, args: &[Argument], _: &Context, most: usize) -> Result<Bound> {
    check_arity(name, args.len(), 2..=most)?;
    let element = array_element(name, args, 0)?;
    let native = |ty: &DataType| ty.is_integer() && ty.physical().width().is_some_and(|width| width <= 8);
    check_type(name, args, 1, native, "Native Integer")?;
    if args.len() == 3 {
        let fits =
            |ty: &DataType| pair(element.without_nullable(), ty).as_ref() == Some(element.without_nullable());
        check_type(name, args, 2, fits, &element.to_string())?;
    }
    Ok(args[0].ty.clone().without_name().into())
}

/// The number of places to the left for each row; `direction` is 1 for left, -1 for right. UInt64 is read as Int64, as the kernel does.
fn places(call: &Call, direction: i64) -> Result<Vec<i64>> {
    try_unary::<i64, i64>(Operand::of(call, 1), call.n_rows, |count| {
        ensure!(
            count != i64::MIN,
            VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE,
            "Shift number {count} is out of range"
        );
        Ok(count * direction)
    })
}

fn rotate(call: &Call, direction: i64) -> Result<Column> {
    let rows = list_of(&call.args[0], call.n_rows)?;
    let counts = places(call, direction)?;
    let mut elements: Vec<u32> = Vec::with_capacity(rows.values.len());
    for (range, count) in rows.ranges().zip(counts) {
        let len = range.len() as i64;
        if len > 0 {
            let by = count.rem_euclid(len) as usize;
            elements.extend(range.clone().skip(by).chain(range.take(by)).map(|e| e as u32));
        }
    }
    Ok(list(rows.offsets.to_vec(), rows.values.gather(&elements)).into())
}

fn shift(call: &Call, direction: i64) -> Result<Column> {
    let element = result_element(call)?;
    let rows = list_of(&call.args[0], call.n_rows)?;
    let counts = places(call, direction)?;
    let n_values = rows.values.len() as u32;
    let mut values = Vector::clone(&rows.values);
    if call.args.len() == 3 {
        let fill = widen(call.vector(2), call.args[2].ty, element, call.ctx)?;
        values = Vector::concat(&[&values, &fill]);
    }
    let mut elements: Vec<u32> = Vec::with_capacity(rows.values.len());
    for (row, (range, count)) in rows.ranges().zip(counts).enumerate() {
        let fill = if call.args.len() == 3 { n_values + row as u32 } else { NONE };
        let (start, end) = (range.start as i64, range.end as i64);
        elements.extend(range.map(|e| {
            let from = (e as i64).saturating_add(count);
            if (start..end).contains(&from) { from as u32 } else { fill }
        }));
    }
    Ok(list(rows.offsets.to_vec(), gather_or_default(&values, &elements, element)).into())
}
