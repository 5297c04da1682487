//! `arraySum`, `arrayAvg`, `arrayProduct`: sums over elements, or over what a lambda makes of them.

use super::lambda::{Elements, HigherOrder, maybe_lambda};
use crate::lanes::{Operand, unary};
use crate::number::{Cast, Integer};
use crate::with_integer;
use chalet_base::{Result, bail};
use chalet_columns::{Column, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::{DataType, I256};

const SUMMED: Record = Record::DEFAULT;

pub static SUM: HigherOrder = HigherOrder {
    record: Record {
        name: "arraySum",
        summary: "The sum of the elements of an array, or of what a lambda makes of them.",
        syntax: "arraySum([x -> ...,] arr, ...)",
        examples: &[Example {
            sql: "SELECT arraySum([2, 3]), arraySum(x -> x * x, [2, 3])",
            result: "5\t13",
        }],
        ..SUMMED
    },
    bind: |name, args, _| Ok(bind_sum(name, args)?.into()),
    execute: sum,
    skipped: 0,
};

pub static AVERAGE: HigherOrder = HigherOrder {
    record: Record {
        name: "arrayAvg",
        summary: "The average of the elements of an array, or of what a lambda makes of them.",
        syntax: "arrayAvg([x -> ...,] arr, ...)",
        examples: &[Example { sql: "SELECT arrayAvg([1, 2, 6])", result: "3" }],
        ..SUMMED
    },
    bind: bind_float,
    execute: average,
    skipped: 0,
};

pub static PRODUCT: HigherOrder = HigherOrder {
    record: Record {
        name: "arrayProduct",
        summary: "The product of the elements of an array, or of what a lambda makes of them.",
        syntax: "arrayProduct([x -> ...,] arr, ...)",
        examples: &[Example { sql: "SELECT arrayProduct([2, 3, 4])", result: "24" }],
        ..SUMMED
    },
    bind: bind_float,
    execute: product,
    skipped: 0,
};

/// The type of sums of a type: 64 bits at least.
pub fn sum_type(ty: &DataType) -> Option<DataType> {
    use DataType::*;
    Some(match ty {
        UInt128 | UInt256 | Int128 | Int256 => ty.clone(),
        Decimal { precision: 39.., scale } => Decimal { precision: 76, scale: *scale },
        Decimal { scale, .. } => Decimal { precision: 38, scale: *scale },
        _ if ty.is_unsigned() => UInt64,
        _ if ty.is_signed() => Int64,
        _ if ty.is_float() => Float64,
        _ => return None,
    })
}

fn bind_sum(name: &'static str, args: &[Argument]) -> Result<DataType> {
    let shape = maybe_lambda(name, args, 0)?;
    match sum_type(&shape.mapped) {
        Some(ty) => Ok(ty),
        None => bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "array aggregation function cannot be performed on type {}",
            shape.mapped
        ),
    }
}

fn bind_float(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    bind_sum(name, args)?;
    let mapped = maybe_lambda(name, args, 0)?.mapped;
    let scale = match mapped {
        DataType::Decimal { scale, .. } => scale,
        _ => 0,
    };
    let integer = sum_type(&mapped).filter(DataType::is_integer);
    Ok(Bound::with_state(DataType::Float64, Terms { scale, integer }))
}

/// What is known of the numbers that are averaged or multiplied.
struct Terms {
    /// Digits behind the point of a Decimal.
    scale: u8,
    /// The type in which integers are calculated with.
    integer: Option<DataType>,
}

fn operand<'a>(call: &'a Call, elements: &'a Elements) -> Operand<'a> {
    Operand { ty: call.args[0].ty, vector: &elements.mapped, constant: false }
}

fn sum(call: &Call) -> Result<Column> {
    let elements = Elements::of(call, 0)?;
    let n = elements.mapped.len();
    if *call.result == DataType::Float64 {
        let values = unary::<f64, f64>(operand(call, &elements), n, |x| x)?;
        return Ok(Vector::from(
            elements
                .ranges()
                .map(|r| values[r].iter().copied().reduce(|sum, value| sum + value).unwrap_or(0.0))
                .collect::<Vec<f64>>(),
        )
        .into());
    }
    fn sums<C: Integer>(operand: Operand, elements: &Elements) -> Result<Vector> {
        let values = unary::<C, C>(operand, elements.mapped.len(), |x| x)?;
        let sums = elements.ranges().map(|r| values[r].iter().fold(C::ZERO, |sum, &x| sum.add(x)));
        Ok(sums.collect::<Vec<C>>().into())
    }
    let sums = with_integer!(call.result.physical(),
        C => sums::<C>(operand(call, &elements), &elements)?,
        _ => bail!(LOGICAL_ERROR, "Sum of {}", call.result));
    Ok(sums.into())
}

fn average(call: &Call) -> Result<Column> {
    let scale = call.state::<Terms>()?.scale;
    if scale > 0 {
        return decimal_average(call, scale);
    }
    if let Some(averages) = of_integers(call, false)? {
        return Ok(averages);
    }
    floats(
        call,
        |values| if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 },
    )
}

fn product(call: &Call) -> Result<Column> {
    if let Some(products) = of_integers(call, true)? {
        return Ok(products);
    }
    floats(call, |values| if values.is_empty() { 0.0 } else { values.iter().product() })
}

/// Decimals are averaged as decimals: digits behind the scale are cut off.
fn decimal_average(call: &Call, scale: u8) -> Result<Column> {
    let elements = Elements::of(call, 0)?;
    let values = unary::<I256, I256>(operand(call, &elements), elements.mapped.len(), |x| x)?;
    let unit = 10f64.powi(scale.into());
    let average = |range: std::ops::Range<usize>| {
        let n = I256::from(range.len().max(1) as i64);
        let sum = values[range].iter().fold(I256::ZERO, |sum, &x| Integer::add(sum, x));
        Integer::div(sum, n).as_f64() / unit
    };
    Ok(Vector::from(elements.ranges().map(average).collect::<Vec<f64>>()).into())
}

/// Averages or products of integers, which are summed or multiplied in 64 bits at least, where they wrap around; none when the
/// elements are no integers.
fn of_integers(call: &Call, is_product: bool) -> Result<Option<Column>> {
    let Some(wide) = &call.state::<Terms>()?.integer else { return Ok(None) };
    fn results<C: Integer + Cast<f64>>(
        operand: Operand,
        elements: &Elements,
        is_product: bool,
    ) -> Result<Vector> {
        let values = unary::<C, C>(operand, elements.mapped.len(), |x| x)?;
        let of_array = |range: std::ops::Range<usize>| match (&values[range], is_product) {
            ([], _) => 0.0,
            (values, true) => values.iter().fold(C::ONE, |product, &x| product.mul(x)).cast(),
            (values, false) => {
                let sum: f64 = values.iter().fold(C::ZERO, |sum, &x| sum.add(x)).cast();
                sum / values.len() as f64
            }
        };
        Ok(elements.ranges().map(of_array).collect::<Vec<f64>>().into())
    }
    let elements = Elements::of(call, 0)?;
    let results = with_integer!(wide.physical(),
        C => results::<C>(operand(call, &elements), &elements, is_product)?,
        _ => bail!(LOGICAL_ERROR, "Product of {wide}"));
    Ok(Some(results.into()))
}

fn floats(call: &Call, sum_up: impl Fn(&[f64]) -> f64) -> Result<Column> {
    let unit = 10f64.powi(call.state::<Terms>()?.scale.into());
    let elements = Elements::of(call, 0)?;
    let values = unary::<f64, f64>(operand(call, &elements), elements.mapped.len(), |x| x / unit)?;
    Ok(Vector::from(elements.ranges().map(|r| sum_up(&values[r])).collect::<Vec<f64>>()).into())
}
