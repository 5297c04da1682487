//! `arraySlice`: a run of elements.

use super::slice_of_vector;
use crate::lanes::{Operand, unary};
use crate::lists::{gathered, list_of};
use crate::plain::Plain;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Nulls, Record, ShownType};
use chalet_types::DataType;
use std::ops::Range;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "arraySlice",
        summary: "The elements from a position on, which counts from 1, or from -1 at the end; as many as the length says, up to the end when it is left out, or without as many at the end when it is negative.",
        syntax: "arraySlice(arr, offset[, length])",
        examples: &[Example {
            sql: "SELECT arraySlice([1, 2, 3, 4, 5], 2, 3), arraySlice([1, 2, 3, 4, 5], -2), arraySlice([1, 2, 3, 4, 5], 2, -1)",
            result: "[2,3,4]\t[4,5]\t[2,3,4]",
        }],
        nulls: Nulls::Seen,
        constants: Constants::Seen,
        total: true,
        shown: ShownType::OfFirst,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=3)?;
    if let DataType::QBit(vectors) = args[0].ty.without_nullable() {
        return slice_of_vector::bind(name, args, *vectors);
    }
    match &args[0].ty {
        DataType::Array(_) => {}
        ty if ty.is_only_null() => return Ok(ty.clone().into()),
        ty => bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "First argument for function {name} must be an array but it has type {ty}"
        ),
    }
    for (index, arg) in args.iter().enumerate().skip(1) {
        let ty = arg.ty.without_nullable();
        ensure!(
            ty.is_integer() || *ty == DataType::Nothing,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Argument {index} for function {name} must be integer but it has type {}",
            arg.ty
        );
    }
    Ok(args[0].ty.clone().into())
}

/// One argument's numbers, none where it is NULL.
fn numbers(call: &Call, index: usize) -> Result<Vec<Option<i128>>> {
    let operand = Operand::of(call, index);
    if *operand.ty.bare() == DataType::Nothing {
        return Ok(vec![None; call.n_rows]);
    }
    let values = unary::<i128, i128>(operand, call.n_rows, |x| x)?;
    let numbered = values.into_iter().enumerate();
    Ok(numbered.map(|(row, x)| (!operand.vector.is_null(operand.row(row))).then_some(x)).collect())
}

fn execute(call: &Call) -> Result<Column> {
    if call.result.is_only_null() {
        return Ok(Column::constant(Vector::defaults(call.result, 1), call.n_rows));
    }
    if let DataType::QBit(vectors) = call.args[0].ty.without_nullable() {
        let taken = slice_of_vector::execute(call.vector(0), *vectors, call.state()?)?;
        return Ok(if call.args[0].constant { Column::constant(taken, call.n_rows) } else { taken.into() });
    }
    let rows = list_of(&call.args[0], call.n_rows)?;
    let starts = numbers(call, 1)?;
    let lengths = if call.args.len() == 3 { numbers(call, 2)? } else { vec![None; call.n_rows] };
    let (mut elements, mut offsets) = (Vec::new(), vec![0]);
    for (row, range) in rows.ranges().enumerate() {
        let window = window(range.len(), starts[row], lengths[row]);
        elements.extend(window.map(|e| (range.start + e) as u32));
        offsets.push(elements.len() as i64);
    }
    Ok(gathered(offsets, &rows.values, &elements))
}

/// The part of `0..len` that a position and a length ask for. It may begin before the first element.
pub(super) fn window(len: usize, start: Option<i128>, length: Option<i128>) -> Range<usize> {
    let len = len as i128;
    let start = match start {
        Some(0) => return 0..0,
        Some(position) if position > 0 => position - 1,
        Some(position) => len + position,
        None => 0,
    };
    let end = match length {
        None => len,
        Some(length) if length >= 0 => start.saturating_add(length),
        Some(length) => len + length,
    };
    let (start, end) = (start.clamp(0, len), end.clamp(0, len));
    start as usize..end.max(start) as usize
}
