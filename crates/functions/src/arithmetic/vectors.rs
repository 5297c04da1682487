//! Arithmetic by element: tuples with tuples and numbers, arrays with arrays and numbers.

use super::operation::{Kind, Operation};
use crate::lanes::Operand;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Buf, Data, List, NullBuffer, Struct, Vector};
use chalet_function_api::Context;
use chalet_types::{DataType, TupleField};
use std::sync::Arc;

/// Does either side have elements?
pub fn concerns(a: &DataType, b: &DataType) -> bool {
    [a, b].iter().any(|ty| matches!(ty, DataType::Tuple(_) | DataType::Array(_)))
}

/// The type of the result; none unless a side has elements.
pub fn result(op: &Operation, a: &DataType, b: &DataType, ctx: &Context) -> Result<Option<DataType>> {
    Ok(match (a, b) {
        (DataType::Tuple(x), DataType::Tuple(y)) => match op.kind {
            Kind::Plus | Kind::Minus => Some(tuples(op, x, y, ctx)?),
            Kind::Multiply => Some(dot_product_type(op, x, y, ctx)?),
            _ => None,
        },
        (DataType::Tuple(x), _) if scales(op.kind) && is_scalar(b) => {
            Some(tuple_of(x.iter().map(|f| element(op, &f.ty, b, ctx)))?)
        }
        (_, DataType::Tuple(y)) if op.kind == Kind::Multiply && is_scalar(a) => {
            Some(tuple_of(y.iter().map(|f| element(op, a, &f.ty, ctx)))?)
        }
        (DataType::Array(x), DataType::Array(y)) if matches!(op.kind, Kind::Plus | Kind::Minus) => {
            Some(op.result(x, y, ctx)?.array())
        }
        (DataType::Array(x), _) if scales(op.kind) && is_scalar(b) => Some(op.result(x, b, ctx)?.array()),
        (_, DataType::Array(y)) if op.kind == Kind::Multiply && is_scalar(a) => {
            Some(op.result(a, y, ctx)?.array())
        }
        _ => None,
    })
}

fn is_scalar(ty: &DataType) -> bool {
    ty.is_number()
}

/// Operations between a vector and a number.
fn scales(kind: Kind) -> bool {
    matches!(kind, Kind::Multiply | Kind::Divide | Kind::IntDiv | Kind::Modulo | Kind::PositiveModulo)
}

pub fn tuple_of(types: impl Iterator<Item = Result<DataType>>) -> Result<DataType> {
    Ok(DataType::tuple(types.collect::<Result<Vec<_>>>()?))
}

/// The result for two elements; NULL in, NULL out.
pub fn element(op: &Operation, a: &DataType, b: &DataType, ctx: &Context) -> Result<DataType> {
    if a.is_only_null() || b.is_only_null() {
        return Ok(DataType::Nothing.nullable());
    }
    let result = op.result(a.without_nullable(), b.without_nullable(), ctx)?;
    Ok(if a.is_nullable() || b.is_nullable() { result.nullable() } else { result })
}

/// Tuples of equal size, element by element.
pub fn tuples(op: &Operation, x: &[TupleField], y: &[TupleField], ctx: &Context) -> Result<DataType> {
    ensure!(
        x.len() == y.len(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Expected tuples of the same size as arguments of function {}, got {} and {} elements",
        op.name,
        x.len(),
        y.len()
    );
    tuple_of(x.iter().zip(y).map(|(f, g)| element(op, &f.ty, &g.ty, ctx)))
}

const SUM: Operation = Operation::new("plus", Kind::Plus);

pub fn dot_product_type(
    op: &Operation,
    x: &[TupleField],
    y: &[TupleField],
    ctx: &Context,
) -> Result<DataType> {
    let DataType::Tuple(products) = tuples(op, x, y, ctx)? else {
        bail!(LOGICAL_ERROR, "Products of tuples are a tuple");
    };
    let Some((first, rest)) = products.split_first() else {
        return Ok(DataType::UInt8);
    };
    rest.iter().try_fold(first.ty.clone(), |sum, f| element(&SUM, &sum, &f.ty, ctx))
}

pub fn run(
    op: &Operation,
    a: Operand,
    b: Operand,
    result: &DataType,
    n: usize,
    ctx: &Context,
) -> Result<Vector> {
    match (a.ty, b.ty) {
        (DataType::Array(_), DataType::Array(_)) => arrays(op, a, b, result, n, ctx),
        (DataType::Array(_), _) => array_and_number(op, a, b, result, n, ctx, false),
        (_, DataType::Array(_)) => array_and_number(op, b, a, result, n, ctx, true),
        (DataType::Tuple(x), DataType::Tuple(y)) if op.kind == Kind::Multiply => {
            dot_product(op, a, b, x, y, n, ctx)
        }
        _ => by_field(op, a, b, result, n, ctx),
    }
}

/// The element of a tuple, or the whole of anything else.
fn field<'a>(operand: Operand<'a>, index: usize) -> Result<Operand<'a>> {
    match operand.ty {
        DataType::Tuple(fields) => Ok(Operand {
            ty: &fields[index].ty,
            vector: &operand.vector.structure()?.fields[index],
            constant: operand.constant,
        }),
        _ => Ok(operand),
    }
}

/// Tuple results, field by field.
pub fn by_field(
    op: &Operation,
    a: Operand,
    b: Operand,
    result: &DataType,
    n: usize,
    ctx: &Context,
) -> Result<Vector> {
    let DataType::Tuple(types) = result else {
        bail!(LOGICAL_ERROR, "{result} is not a tuple");
    };
    let fields =
        types.iter().enumerate().map(|(i, f)| around_nulls(op, field(a, i)?, field(b, i)?, &f.ty, n, ctx));
    Ok(Data::Struct(Struct { fields: fields.collect::<Result<_>>()?, len: n }).into())
}

/// Each field of `a` with the whole of `b`, which may be a tuple itself.
pub fn with_whole(
    op: &Operation,
    a: Operand,
    b: Operand,
    result: &DataType,
    n: usize,
    ctx: &Context,
) -> Result<Vector> {
    let DataType::Tuple(types) = result else {
        bail!(LOGICAL_ERROR, "{result} is not a tuple");
    };
    let fields = types.iter().enumerate().map(|(i, f)| around_nulls(op, field(a, i)?, b, &f.ty, n, ctx));
    Ok(Data::Struct(Struct { fields: fields.collect::<Result<_>>()?, len: n }).into())
}

/// One element of both sides, either of which may be Nullable.
fn around_nulls(
    op: &Operation,
    a: Operand,
    b: Operand,
    result: &DataType,
    n: usize,
    ctx: &Context,
) -> Result<Vector> {
    if result.is_only_null() {
        return Ok(Vector::defaults(result, n));
    }
    let bare = |x: Operand| x.vector.without_nulls();
    let nulls = |x: Operand| match (&x.vector.validity, x.constant) {
        (Some(_), true) => Some(NullBuffer::new_null(n)),
        (own, _) => own.clone(),
    };
    let (x, y) = (bare(a), bare(b));
    let validity = NullBuffer::union(nulls(a).as_ref(), nulls(b).as_ref());
    let a = Operand { ty: a.ty.without_nullable(), vector: &x, ..a };
    let b = Operand { ty: b.ty.without_nullable(), vector: &y, ..b };
    Ok(op.run(a, b, result.without_nullable(), n, ctx)?.with_nulls(validity.as_ref()))
}

/// The sum of the products of the elements.
pub fn dot_product(
    op: &Operation,
    a: Operand,
    b: Operand,
    x: &[TupleField],
    y: &[TupleField],
    n: usize,
    ctx: &Context,
) -> Result<Vector> {
    let mut sum: Option<(DataType, Vector)> = None;
    for i in 0..x.len() {
        let ty = element(op, &x[i].ty, &y[i].ty, ctx)?;
        let product = around_nulls(op, field(a, i)?, field(b, i)?, &ty, n, ctx)?;
        sum = Some(match sum {
            None => (ty, product),
            Some((sum_type, so_far)) => {
                let next = element(&SUM, &sum_type, &ty, ctx)?;
                let left = Operand { ty: &sum_type, vector: &so_far, constant: false };
                let right = Operand { ty: &ty, vector: &product, constant: false };
                let vector = around_nulls(&SUM, left, right, &next, n, ctx)?;
                (next, vector)
            }
        });
    }
    Ok(sum.map_or_else(|| Vector::from(vec![0u8; n]), |s| s.1))
}

fn lists(a: Operand, n: usize) -> Result<List> {
    let list = a.vector.list()?;
    if a.constant {
        return Ok(a.vector.repeat(n).list()?.normalised());
    }
    Ok(list.normalised())
}

fn element_type(ty: &DataType) -> Result<&DataType> {
    match ty {
        DataType::Array(inner) => Ok(inner),
        _ => Err(err!(LOGICAL_ERROR, "{ty} is not an array")),
    }
}

fn arrays(
    op: &Operation,
    a: Operand,
    b: Operand,
    result: &DataType,
    n: usize,
    ctx: &Context,
) -> Result<Vector> {
    let (x, y) = (lists(a, n)?, lists(b, n)?);
    ensure!(
        x.offsets[..] == y.offsets[..],
        SIZES_OF_ARRAYS_DONT_MATCH,
        "Two arguments for function {} must have equal sizes",
        op.name
    );
    let left = Operand { ty: element_type(a.ty)?, vector: &x.values, constant: false };
    let right = Operand { ty: element_type(b.ty)?, vector: &y.values, constant: false };
    let values = op.run(left, right, element_type(result)?, x.values.len(), ctx)?;
    Ok(Data::List(List { offsets: x.offsets, values: Arc::new(values) }).into())
}

fn array_and_number(
    op: &Operation,
    array: Operand,
    number: Operand,
    result: &DataType,
    n: usize,
    ctx: &Context,
    swapped: bool,
) -> Result<Vector> {
    let list = lists(array, n)?;
    let elements = Operand { ty: element_type(array.ty)?, vector: &list.values, constant: false };
    // A nested array takes the number as it is, once per inner array.
    let repeated;
    let scalar = if number.constant {
        number
    } else {
        let rows: Buf<u32> = (0..n).flat_map(|row| list.range(row).map(move |_| row as u32)).collect();
        repeated = number.vector.gather(&rows);
        Operand { vector: &repeated, ..number }
    };
    let (left, right) = if swapped { (scalar, elements) } else { (elements, scalar) };
    let values = op.run(left, right, element_type(result)?, list.values.len(), ctx)?;
    Ok(Data::List(List { offsets: list.offsets, values: Arc::new(values) }).into())
}
