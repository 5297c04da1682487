//! `arrayCumSum` and `arrayCumSumNonNegative`: running sums.

use super::lambda::{Elements, HigherOrder, maybe_lambda};
use super::sum::sum_type;
use crate::lanes::{Operand, unary};
use crate::lists::{list, result_element};
use crate::number::Integer;
use crate::with_integer;
use chalet_base::{Result, bail};
use chalet_columns::{Column, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;

pub static FUNCTION: HigherOrder = HigherOrder {
    record: Record {
        name: "arrayCumSum",
        summary: "The sums of the elements up to each place, or of what a lambda makes of them.",
        syntax: "arrayCumSum([x -> ...,] arr, ...)",
        examples: &[Example { sql: "SELECT arrayCumSum([1, 2, 3])", result: "[1,3,6]" }],
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, false),
    skipped: 0,
};

pub static NON_NEGATIVE: HigherOrder = HigherOrder {
    record: Record {
        name: "arrayCumSumNonNegative",
        summary: "As arrayCumSum, where a sum that would become negative begins anew at 0.",
        syntax: "arrayCumSumNonNegative([x -> ...,] arr, ...)",
        examples: &[Example { sql: "SELECT arrayCumSumNonNegative([1, -3, 4])", result: "[1,0,4]" }],
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, true),
    skipped: 0,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    let mapped = maybe_lambda(name, args, 0)?.mapped;
    match sum_type(&mapped) {
        Some(ty) => Ok(ty.array().into()),
        None => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "{name} cannot add values of type {mapped}"),
    }
}

fn execute(call: &Call, non_negative: bool) -> Result<Column> {
    let elements = Elements::of(call, 0)?;
    let operand = Operand { ty: call.args[0].ty, vector: &elements.mapped, constant: false };
    let result = result_element(call)?;
    if *result == DataType::Float64 {
        let mut values = unary::<f64, f64>(operand, elements.mapped.len(), |x| x)?;
        for range in elements.ranges() {
            let mut sum = 0.0;
            for x in &mut values[range] {
                sum += *x;
                if non_negative && sum < 0.0 {
                    sum = 0.0;
                }
                *x = sum;
            }
        }
        return Ok(list(elements.offsets.to_vec(), values.into()).into());
    }
    fn sums<C: Integer>(operand: Operand, elements: &Elements, non_negative: bool) -> Result<Vector> {
        let mut values = unary::<C, C>(operand, elements.mapped.len(), |x| x)?;
        for range in elements.ranges() {
            let mut sum = C::ZERO;
            for x in &mut values[range] {
                sum = sum.add(*x);
                if non_negative && sum < C::ZERO {
                    sum = C::ZERO;
                }
                *x = sum;
            }
        }
        Ok(values.into())
    }
    let sums = with_integer!(result.physical(),
        C => sums::<C>(operand, &elements, non_negative)?,
        _ => bail!(LOGICAL_ERROR, "Sums of {result}"));
    Ok(list(elements.offsets.to_vec(), sums).into())
}
