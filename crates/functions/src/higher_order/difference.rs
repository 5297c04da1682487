//! `arrayDifference`: what each element is more than the one before.

use super::lambda::{Elements, HigherOrder, maybe_lambda};
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
        name: "arrayDifference",
        summary: "The differences of the elements to the ones before them, 0 for the first; or of what a lambda makes of them.",
        syntax: "arrayDifference([x -> ...,] arr, ...)",
        examples: &[Example { sql: "SELECT arrayDifference([1, 2, 5])", result: "[0,1,3]" }],
        ..Record::DEFAULT
    },
    bind,
    execute,
    skipped: 0,
};

fn difference_type(ty: &DataType) -> Option<DataType> {
    use DataType::*;
    Some(match ty {
        Bool | UInt8 | Int8 => Int16,
        UInt16 | Int16 | Date => Int32,
        UInt32 | Int32 | UInt64 | Int64 | DateTime(_) => Int64,
        Date32 => Int32,
        DateTime64(scale, _) => Decimal { precision: 18, scale: *scale },
        UInt128 | Int128 => Int128,
        UInt256 | Int256 => Int256,
        Float32 | Float64 => Float64,
        Decimal { .. } => ty.clone(),
        _ => return None,
    })
}

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    let mapped = maybe_lambda(name, args, 0)?.mapped;
    match difference_type(&mapped) {
        Some(ty) => Ok(ty.array().into()),
        None => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "{name} cannot process values of type {mapped}"),
    }
}

fn execute(call: &Call) -> Result<Column> {
    let elements = Elements::of(call, 0)?;
    let operand = Operand { ty: call.args[0].ty, vector: &elements.mapped, constant: false };
    let result = result_element(call)?;
    if *result == DataType::Float64 {
        let mut values = unary::<f64, f64>(operand, elements.mapped.len(), |x| x)?;
        for range in elements.ranges() {
            let values = &mut values[range];
            for i in (1..values.len()).rev() {
                values[i] -= values[i - 1];
            }
            values.iter_mut().take(1).for_each(|first| *first = 0.0);
        }
        return Ok(list(elements.offsets.to_vec(), values.into()).into());
    }
    fn differences<C: Integer>(operand: Operand, elements: &Elements) -> Result<Vector> {
        let mut values = unary::<C, C>(operand, elements.mapped.len(), |x| x)?;
        for range in elements.ranges() {
            let values = &mut values[range];
            for i in (1..values.len()).rev() {
                values[i] = values[i].sub(values[i - 1]);
            }
            values.iter_mut().take(1).for_each(|first| *first = C::ZERO);
        }
        Ok(values.into())
    }
    let values = with_integer!(result.physical(),
        C => differences::<C>(operand, &elements)?,
        _ => bail!(LOGICAL_ERROR, "Differences of {result}"));
    Ok(list(elements.offsets.to_vec(), values).into())
}
