//! `arrayResize`: arrays cut or extended to a length; `emptyArrayToSingle`: no array empty.

use super::repeat::MAX_ELEMENTS;
use crate::lanes::{Operand, unary};
use crate::lists::{NONE, array_element, gather_or_default, list, list_of, result_element};
use crate::plain::Plain;
use crate::widen::widen_element;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Dictionaries, Example, Nulls, Record, ShownType};
use chalet_types::supertype::common_supertype;
use chalet_types::{DataType, I256};
use std::ops::Range;
use std::sync::Arc;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "arrayResize",
        summary: "The array with exactly the given number of elements: cut, or extended by a value (the default of the type when left out). A negative size cuts or extends at the front.",
        syntax: "arrayResize(arr, size[, x])",
        examples: &[Example {
            sql: "SELECT arrayResize([1, 2], 3), arrayResize([1, 2], -3, 7)",
            result: "[1,2,0]\t[7,1,2]",
        }],
        nulls: Nulls::Seen,
        shown: ShownType::OfFirst,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

pub static TO_SINGLE: Plain = Plain {
    record: Record {
        name: "emptyArrayToSingle",
        summary: "The array, or if it is empty an array of one default value.",
        syntax: "emptyArrayToSingle(arr)",
        examples: &[Example { sql: "SELECT emptyArrayToSingle(emptyArrayInt32())", result: "[0]" }],
        dictionaries: Dictionaries::InTypes,
        total: true,
        shown: ShownType::OfFirst,
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        check_arity(name, args.len(), 1..=1)?;
        let element = array_element(name, args, 0)?;
        ensure!(*element != DataType::Nothing, NOT_IMPLEMENTED, "Cannot get value from Nothing");
        Ok(args[0].ty.clone().into())
    },
    execute: |call| {
        let rows = list_of(&call.args[0], call.n_rows)?;
        // The default stands behind the elements. Arrays that follow each other are copied together.
        let values = Vector::concat(&[&rows.values, &Vector::defaults(result_element(call)?, 1)]);
        let default = rows.values.len()..values.len();
        let (mut stretches, mut offsets): (Vec<Range<usize>>, _) = (Vec::new(), vec![0]);
        let mut end = 0;
        for range in rows.ranges() {
            let elements = if range.is_empty() { default.clone() } else { range };
            end += elements.len() as i64;
            offsets.push(end);
            match stretches.last_mut() {
                Some(last) if last.end == elements.start && elements != default => last.end = elements.end,
                _ => stretches.push(elements),
            }
        }
        if stretches.len() <= 1 && !stretches.contains(&default) && call.vector(0).len() == call.n_rows {
            return Ok(call.vector(0).clone().into());
        }
        let values = Arc::unwrap_or_clone(values.lists(&stretches).values);
        Ok(list(offsets, values).into())
    },
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=3)?;
    if args[0].ty.is_only_null() {
        return Ok(args[0].ty.clone().into());
    }
    let element = array_element(name, args, 0)?;
    ensure!(
        args[1].ty.is_number() && !args[1].ty.is_enum(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "A value of illegal type was provided as 2nd argument 'size' to function '{name}'. Expected: Number, got: {}",
        args[1].ty
    );
    let mut types = vec![element.clone()];
    types.extend(args.get(2).map(|arg| arg.ty.clone()));
    Ok(common_supertype(&types)?.array().into())
}

fn execute(call: &Call) -> Result<Column> {
    if call.result.is_only_null() {
        return Ok(Column::constant(Vector::defaults(call.result, 1), call.n_rows));
    }
    let element = result_element(call)?;
    let rows = list_of(&call.args[0], call.n_rows)?;
    let own = call.args[0].ty.element().unwrap_or(DataType::Nothing);
    let mut values = widen_element(&rows.values, &own, element, call.ctx)?;
    let n_values = values.len();
    if call.args.len() == 3 {
        let fill = widen_element(call.vector(2), call.args[2].ty, element, call.ctx)?;
        values = Vector::concat(&[&values, &fill]);
    }
    let by = match call.args[1].ty {
        DataType::Decimal { scale, .. } => chalet_types::decimal::pow10(u32::from(*scale)),
        _ => I256::ONE,
    };
    let sizes = unary::<I256, i128>(Operand::of(call, 1), call.n_rows, |x| (x / by).as_i128())?;
    let (mut elements, mut offsets) = (Vec::new(), vec![0]);
    for (row, range) in rows.ranges().enumerate() {
        let size = sizes[row];
        let length = size.unsigned_abs();
        ensure!(
            length + elements.len() as u128 <= MAX_ELEMENTS as u128,
            TOO_LARGE_ARRAY_SIZE,
            "Too large array size: {length}, maximum: {MAX_ELEMENTS}"
        );
        let length = length as usize;
        let fill = if call.args.len() == 3 { (n_values + row) as u32 } else { NONE };
        let missing = length.saturating_sub(range.len());
        let kept = range.len().min(length);
        if size < 0 {
            elements.resize(elements.len() + missing, fill);
            elements.extend(range.clone().skip(range.len() - kept).map(|e| e as u32));
        } else {
            elements.extend(range.take(kept).map(|e| e as u32));
            elements.resize(elements.len() + missing, fill);
        }
        offsets.push(elements.len() as i64);
    }
    Ok(list(offsets, gather_or_default(&values, &elements, element)).into())
}
