//! `dotProduct` and `arrayDotProduct`: the sum of the products of the elements of two tuples or two arrays.

use super::operation::{Kind, Operation};
use super::vectors::{dot_product, dot_product_type};
use crate::lanes::{Operand, unary};
use crate::lists::list_of;
use crate::math::vector_sums::{self, Real};
use crate::number::{Integer, Number};
use crate::plain::Plain;
use chalet_base::simd_dispatch::dispatch_fma;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Buf, Column, List, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record};
use chalet_types::{DataType, promotion};

const PRODUCT: Operation = Operation::new("multiply", Kind::Multiply);

pub static ANY: Plain = Plain {
    record: Record {
        name: "dotProduct",
        any_case_aliases: &["scalarProduct"],
        summary: "The sum of the products of the elements of two tuples or two arrays of numbers.",
        syntax: "dotProduct(x, y)",
        examples: &[Example {
            sql: "SELECT dotProduct((1, 2), (2, 3)), dotProduct([1, 2], [2, 3])",
            result: "8\t8",
        }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

pub static ARRAYS: Plain = Plain {
    record: Record {
        name: "arrayDotProduct",
        summary: "The sum of the products of the elements of two arrays of numbers.",
        syntax: "arrayDotProduct(x, y)",
        examples: &[Example { sql: "SELECT arrayDotProduct([1, 2], [2, 3])", result: "8" }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        check_arity(name, args.len(), 2..=2)?;
        bind_arrays(args)
    },
    execute,
};

fn bind(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    if matches!(args[0].ty, DataType::Array(_)) {
        return bind_arrays(args);
    }
    let tuple = |index: usize| match &args[index].ty {
        DataType::Tuple(fields) => Ok(fields),
        other => bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "A value of illegal type was provided as argument {} to function '{name}'. Expected: Tuple, got: {other}",
            index + 1
        ),
    };
    let (x, y) = (tuple(0)?, tuple(1)?);
    ensure!(
        x.len() == y.len(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Expected tuples of the same size as arguments of function {name}. Got {} and {}",
        args[0].ty,
        args[1].ty
    );
    Ok(dot_product_type(&PRODUCT, x, y, ctx)?.into())
}

fn bind_arrays(args: &[Argument]) -> Result<Bound> {
    let element = |arg: &Argument| match &arg.ty {
        DataType::Array(element) => {
            let number = element.is_integer() && element.physical().width().unwrap_or(16) <= 8;
            ensure!(
                number || element.is_float(),
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Function arrayDotProduct cannot process values of type {element}"
            );
            Ok(DataType::clone(element))
        }
        _ => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Arguments for function arrayDotProduct must be of type Array"),
    };
    let (x, y) = (element(&args[0])?, element(&args[1])?);
    // Narrow floats stay narrow among themselves.
    let result = match (&x, &y) {
        (DataType::Float32, DataType::Float32) | (DataType::BFloat16, DataType::BFloat16) => {
            DataType::Float32
        }
        _ => promotion::sum(&x, &y).unwrap_or(DataType::Float64),
    };
    Ok(result.into())
}

fn execute(call: &Call) -> Result<Column> {
    let n = call.n_rows;
    let (a, b) = (Operand::of(call, 0), Operand::of(call, 1));
    let (DataType::Array(x), DataType::Array(y)) = (a.ty, b.ty) else {
        let (DataType::Tuple(x), DataType::Tuple(y)) = (a.ty, b.ty) else {
            bail!(LOGICAL_ERROR, "{} and {} are not tuples", a.ty, b.ty);
        };
        return Ok(dot_product(&PRODUCT, a, b, x, y, n, call.ctx)?.into());
    };
    let lists = (list_of(&call.args[0], n)?, list_of(&call.args[1], n)?);
    ensure!(
        lists.0.offsets[..] == lists.1.offsets[..],
        SIZES_OF_ARRAYS_DONT_MATCH,
        "Array arguments for function arrayDotProduct must have equal sizes"
    );
    let (left, right) = ((x.as_ref(), &lists.0), (y.as_ref(), &lists.1));
    Ok(match call.result {
        DataType::Float32 => floats::<f32>(left, right)?,
        DataType::Float64 => floats::<f64>(left, right)?,
        DataType::UInt16 => integers::<u16>(left, right)?,
        DataType::UInt32 => integers::<u32>(left, right)?,
        DataType::UInt64 => integers::<u64>(left, right)?,
        DataType::Int16 => integers::<i16>(left, right)?,
        DataType::Int32 => integers::<i32>(left, right)?,
        _ => integers::<i64>(left, right)?,
    }
    .into())
}

type Side<'a> = (&'a DataType, &'a List);

/// The elements as numbers of the result's type.
fn elements<C: Number>((ty, list): Side) -> Result<Buf<C>> {
    Ok(match C::unwrap(&list.values.data) {
        Some(values) if !ty.is_decimal() => values.clone(),
        _ => {
            let operand = Operand { ty, vector: &list.values, constant: false };
            unary::<C, C>(operand, list.values.len(), |x| x)?.into()
        }
    })
}

fn integers<C: Integer>(a: Side, b: Side) -> Result<Vector> {
    let (x, y) = (elements::<C>(a)?, elements::<C>(b)?);
    let sum = |range: std::ops::Range<usize>| {
        x[range.clone()].iter().zip(&y[range]).fold(C::ZERO, |sum, (&x, &y)| sum.add(x.mul(y)))
    };
    Ok(a.1.ranges().map(sum).collect::<Vec<C>>().into())
}

/// Products are added in the kernel's order.
fn floats<C: Real>(a: Side, b: Side) -> Result<Vector>
where
    Vector: From<Vec<C>>,
{
    let (x, y) = (elements::<C>(a)?, elements::<C>(b)?);
    let one_type = a.0 == b.0;
    let sums = dispatch_fma(
        a.1,
        |lists| sums::<C, true>(lists, &x, &y, one_type),
        |lists| sums::<C, false>(lists, &x, &y, one_type),
    );
    Ok(sums.into())
}

#[inline(always)]
fn sums<C: Real, const FUSED: bool>(lists: &List, x: &[C], y: &[C], one_type: bool) -> Vec<C> {
    let mut out = Vec::with_capacity(lists.len());
    for range in lists.ranges() {
        out.push(vector_sums::dot_product::<C, FUSED>(&x[range.clone()], &y[range], one_type));
    }
    out
}
