//! Arithmetic with dates, times and intervals on a side.

use super::operation::{Kind, Operation, as_number};
use crate::interval;
use crate::lanes::{Operand, binary, unary};
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Data, Struct, Vector};
use chalet_function_api::Context;
use chalet_types::{DataType, IntervalUnit};
use std::borrow::Cow;

fn is_timestamp(ty: &DataType) -> bool {
    ty.is_date_or_time() || matches!(ty, DataType::Time | DataType::Time64(_))
}

/// An interval, or a tuple of intervals.
fn is_interval(ty: &DataType) -> bool {
    match ty {
        DataType::Interval(_) => true,
        DataType::Tuple(fields) => {
            !fields.is_empty() && fields.iter().all(|f| matches!(f.ty, DataType::Interval(_)))
        }
        _ => false,
    }
}

/// Does this room serve these arguments?
pub fn concerns(a: &DataType, b: &DataType) -> bool {
    [a, b].iter().any(|ty| is_timestamp(ty) || is_interval(ty))
}

/// The type of the result; none when the arguments are neither timestamps nor intervals.
pub fn result(op: &Operation, a: &DataType, b: &DataType, _: &Context) -> Result<Option<DataType>> {
    if !concerns(a, b) {
        return Ok(None);
    }
    let additive = matches!(op.kind, Kind::Plus | Kind::Minus);
    ensure!(additive, ILLEGAL_TYPE_OF_ARGUMENT, "{}", op.illegal(a, b).message());
    let plus = op.kind == Kind::Plus;
    Ok(Some(match (a, b) {
        (DataType::Interval(_), DataType::Tuple(_)) if is_interval(b) => return Err(op.illegal(a, b)),
        _ if is_interval(a) && is_interval(b) => sum_of_intervals(a, b),
        _ if is_interval(b) && (is_timestamp(a) || a.is_string()) => shifted(a, b)?,
        _ if is_interval(a) && (is_timestamp(b) || b.is_string()) => {
            ensure!(
                plus,
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Wrong order of arguments for function {}: argument of type Interval cannot be first",
                op.name
            );
            shifted(b, a)?
        }
        _ if is_timestamp(a) && is_timestamp(b) => match difference(a, b) {
            Some(ty) if !plus => ty,
            _ => return Err(op.illegal(a, b)),
        },
        _ if is_timestamp(a) && as_number(b).is_number() => {
            number_only(a, b)?;
            a.clone()
        }
        _ if is_timestamp(b) && as_number(a).is_number() => {
            ensure!(
                plus,
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Wrong order of arguments for function {}: argument of type Interval cannot be first",
                op.name
            );
            number_only(b, a)?;
            b.clone()
        }
        _ => return Err(op.illegal(a, b)),
    }))
}

fn number_only(timestamp: &DataType, number: &DataType) -> Result<()> {
    let by_days = matches!(timestamp, DataType::Date | DataType::Date32);
    ensure!(
        !number.is_decimal()
            && number.is_number()
            && number.physical().width().is_some_and(|width| width <= 8),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Second argument for function add{} must be a number",
        if by_days { "Days" } else { "Seconds" }
    );
    Ok(())
}

/// `b - a` of timestamps, when there is one.
fn difference(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType::*;
    Some(match (a, b) {
        (Date, Date) | (DateTime(_), DateTime(_)) | (Time, Time) => Int32,
        (DateTime64(x, _), DateTime64(y, _)) | (Time64(x), Time64(y)) => decimal((*x).max(*y)),
        (DateTime64(x, _), DateTime(_)) | (DateTime(_), DateTime64(x, _)) => decimal(*x),
        (Time64(x), Time) | (Time, Time64(x)) => decimal(*x),
        _ => return None,
    })
}

fn decimal(scale: u8) -> DataType {
    DataType::Decimal { precision: 18, scale }
}

/// The units of an interval or of a tuple of intervals.
fn units(ty: &DataType) -> Vec<IntervalUnit> {
    match ty {
        DataType::Interval(unit) => vec![*unit],
        DataType::Tuple(fields) => fields.iter().flat_map(|f| units(&f.ty)).collect(),
        _ => Vec::new(),
    }
}

/// Equal units add up; another one joins the tuple.
fn sum_of_intervals(a: &DataType, b: &DataType) -> DataType {
    let mut sum = units(a);
    for unit in units(b) {
        if !sum.contains(&unit) {
            sum.push(unit);
        }
    }
    match (&sum[..], a) {
        ([one], DataType::Interval(_)) => DataType::Interval(*one),
        _ => DataType::tuple(sum.into_iter().map(DataType::Interval)),
    }
}

fn shifted(timestamp: &DataType, by: &DataType) -> Result<DataType> {
    units(by).into_iter().try_fold(timestamp.clone(), |ty, unit| interval::result(&ty, unit))
}

/// The amounts of one unit.
fn amounts<'a>(operand: Operand<'a>) -> Result<Vec<(IntervalUnit, Operand<'a>)>> {
    Ok(match operand.ty {
        DataType::Interval(unit) => vec![(*unit, operand)],
        DataType::Tuple(fields) => {
            let vectors = &operand.vector.structure()?.fields;
            let parts = fields.iter().zip(vectors).filter_map(|(f, vector)| match f.ty {
                DataType::Interval(unit) => Some((unit, Operand { ty: &f.ty, vector, ..operand })),
                _ => None,
            });
            parts.collect()
        }
        _ => bail!(LOGICAL_ERROR, "{} is no interval", operand.ty),
    })
}

pub fn run(
    op: &Operation,
    a: Operand,
    b: Operand,
    result: &DataType,
    n: usize,
    ctx: &Context,
) -> Result<Vector> {
    let sign = if op.kind == Kind::Plus { 1 } else { -1 };
    match () {
        _ if is_interval(a.ty) && is_interval(b.ty) => add_intervals(a, b, sign, result, n),
        _ if is_interval(b.ty) => shift(a, b, sign, n, ctx),
        _ if is_interval(a.ty) => shift(b, a, sign, n, ctx),
        _ if is_timestamp(a.ty) && is_timestamp(b.ty) => subtract(a, b, result, n),
        _ if is_timestamp(a.ty) => add_number(a, b, sign, n),
        _ => add_number(b, a, sign, n),
    }
}

fn add_intervals(a: Operand, b: Operand, sign: i64, result: &DataType, n: usize) -> Result<Vector> {
    let (left, right) = (amounts(a)?, amounts(b)?);
    let mut fields = Vec::new();
    for unit in units(result) {
        let mut sum = vec![0i64; n];
        let all = left.iter().map(|x| (x, 1)).chain(right.iter().map(|x| (x, sign)));
        for (&(_, amount), sign) in all.filter(|((own, _), _)| *own == unit) {
            let amounts = unary::<i64, i64>(amount, n, |x| x.wrapping_mul(sign))?;
            sum.iter_mut().zip(&amounts).for_each(|(sum, x)| *sum = sum.wrapping_add(*x));
        }
        fields.push(Vector::from(sum));
    }
    Ok(match (result, fields.pop()) {
        (DataType::Interval(_), Some(only)) => only,
        (_, last) => {
            fields.extend(last);
            Data::Struct(Struct { fields, len: n }).into()
        }
    })
}

fn shift(timestamp: Operand, by: Operand, sign: i64, n: usize, ctx: &Context) -> Result<Vector> {
    let mut ty = timestamp.ty.clone();
    let mut vector = Cow::Borrowed(timestamp.vector);
    let mut constant = timestamp.constant;
    if timestamp.ty.is_string() {
        (ty, vector) = interval::read_text(timestamp, &units(by.ty), ctx)?;
    }
    for (unit, amount) in amounts(by)? {
        let next = interval::result(&ty, unit)?;
        let operand = Operand { ty: &ty, vector: &vector, constant };
        let shifted = interval::add(operand, amount, unit, sign, &next, n, ctx)?;
        (ty, vector, constant) = (next, Cow::Owned(shifted), false);
    }
    Ok(vector.into_owned())
}

fn subtract(a: Operand, b: Operand, result: &DataType, n: usize) -> Result<Vector> {
    let scale = |ty: &DataType| match ty {
        DataType::DateTime64(scale, _) | DataType::Time64(scale) => *scale,
        _ => 0,
    };
    Ok(match result {
        DataType::Int32 => binary::<i64, i32>(a, b, n, |x, y| x.wrapping_sub(y) as i32)?.into(),
        DataType::Decimal { scale: wanted, .. } => {
            let up = |ty: &DataType| 10i64.pow(u32::from(wanted - scale(ty)));
            let (up_a, up_b) = (up(a.ty), up(b.ty));
            binary::<i64, i64>(a, b, n, |x, y| x.wrapping_mul(up_a).wrapping_sub(y.wrapping_mul(up_b)))?
                .into()
        }
        other => bail!(LOGICAL_ERROR, "The difference of two moments is no {other}"),
    })
}

/// Days to dates, seconds to times; wraps.
fn add_number(timestamp: Operand, number: Operand, sign: i64, n: usize) -> Result<Vector> {
    use DataType::*;
    let sum = |x: i64, y: i64| x.wrapping_add(y.wrapping_mul(sign));
    Ok(match timestamp.ty {
        Date => binary::<i64, u16>(timestamp, number, n, |x, y| sum(x, y) as u16)?.into(),
        Date32 | Time => binary::<i64, i32>(timestamp, number, n, |x, y| sum(x, y) as i32)?.into(),
        DateTime(_) => binary::<i64, u32>(timestamp, number, n, |x, y| sum(x, y) as u32)?.into(),
        DateTime64(scale, _) | Time64(scale) => {
            let ticks = 10i64.pow((*scale).into());
            binary::<i64, i64>(timestamp, number, n, |x, y| sum(x, y.wrapping_mul(ticks)))?.into()
        }
        other => bail!(LOGICAL_ERROR, "{other} is neither date nor time"),
    })
}
