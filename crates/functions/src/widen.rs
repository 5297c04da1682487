//! Values of one type as values of a supertype: what `if`, `coalesce`, `least` and comparisons do before they mix them.

use crate::arithmetic::convert_numbers;
use crate::lanes::{Operand, unary};
use crate::number::{Cast, Integer};
use crate::with_integer;
use chalet_base::{Result, bail, err};
use chalet_columns::{Column, Data, List, NullBuffer, StringBuilder, Struct, Vector};
use chalet_function_api::Context;
use chalet_types::calendar::{LocalTime, SECONDS_PER_DAY};
use chalet_types::decimal::pow10;
use chalet_types::{DataType, I256};
use std::sync::Arc;

/// 2106-02-06, the last whole day of DateTime.
pub const LAST_DATE_TIME_DAY: i64 = 49_709;

/// The column as one of the type `to`, a supertype of `from`.
pub fn widen_column(column: Column, from: &DataType, to: &DataType, ctx: &Context) -> Result<Column> {
    if same_representation(from, to) {
        return Ok(column);
    }
    Ok(match column {
        Column::Flat(vector) => Column::Flat(widen(&vector, from, to, ctx)?),
        Column::Const { value, len } => Column::Const { value: widen(&value, from, to, ctx)?, len },
        Column::Dict { codes, values } => Column::Dict { codes, values: widen(&values, from, to, ctx)? },
    })
}

/// Do vectors of one type serve as vectors of the other?
fn same_representation(from: &DataType, to: &DataType) -> bool {
    use DataType::*;
    let (from, to) = (from.without_low_cardinality(), to.without_low_cardinality());
    match (from, to) {
        _ if from == to => true,
        (_, Nullable(inner)) => same_representation(from.without_nullable(), inner),
        (Dynamic(_), Dynamic(_)) => true,
        (Tuple(x), Tuple(y)) => x.iter().zip(y.iter()).all(|(f, g)| same_representation(&f.ty, &g.ty)),
        (Array(x), Array(y)) => same_representation(x, y),
        (Map(k, v), Map(l, w)) => same_representation(k, l) && same_representation(v, w),
        (DateTime(_), DateTime(_)) => true,
        (DateTime64(x, _), DateTime64(y, _)) => x == y,
        (Bool, UInt8) => true,
        (Decimal { scale: x, .. }, Decimal { scale: y, .. }) => x == y && from.physical() == to.physical(),
        _ => false,
    }
}

/// The vector as one of the type `to`.
pub fn widen(vector: &Vector, from: &DataType, to: &DataType, ctx: &Context) -> Result<Vector> {
    widen_or_cut(vector, from, to, ctx, false)
}

/// The same for what becomes an element of a container: as CAST does, a FixedString loses its trailing zero bytes.
pub fn widen_element(vector: &Vector, from: &DataType, to: &DataType, ctx: &Context) -> Result<Vector> {
    widen_or_cut(vector, from, to, ctx, true)
}

fn widen_or_cut(vector: &Vector, from: &DataType, to: &DataType, ctx: &Context, cut: bool) -> Result<Vector> {
    if same_representation(from, to) {
        return Ok(vector.clone());
    }
    let n = vector.len();
    let (inner, outer) = (from.bare(), to.bare());
    if *inner != DataType::Nothing && outer.is_of_several_types() {
        return if inner.is_of_several_types() {
            chalet_columns::variant::convert(vector, inner, outer)
        } else {
            let is_dynamic = matches!(outer, DataType::Dynamic(_));
            let from = if is_dynamic { from.without_low_cardinality() } else { from };
            chalet_columns::variant::wrap(vector, from, outer)
        };
    }
    if *inner == DataType::Nothing {
        return Ok(Vector::defaults(to, n));
    }
    let data = match (inner, outer) {
        _ if same_representation(inner, outer) => vector.data.clone(),
        (DataType::Array(_) | DataType::Map(..), DataType::Array(_) | DataType::Map(..)) => {
            let list = vector.list()?;
            let missing = || err!(LOGICAL_ERROR, "{inner} has no elements");
            let (x, y) = (inner.element().ok_or_else(missing)?, outer.element().ok_or_else(missing)?);
            let values = widen_or_cut(&list.values, &x, &y, ctx, cut)?;
            Data::List(List { offsets: list.offsets.clone(), values: Arc::new(values) })
        }
        (DataType::Tuple(x), DataType::Tuple(y)) if x.len() == y.len() => {
            let tuple = vector.structure()?;
            let fields = tuple.fields.iter().zip(x.iter().zip(y.iter()));
            let fields = fields.map(|(v, (f, g))| widen_or_cut(v, &f.ty, &g.ty, ctx, cut));
            Data::Struct(Struct { fields: fields.collect::<Result<_>>()?, len: n })
        }
        (DataType::FixedString(_), DataType::String) if cut => {
            let texts = vector.fixed()?.iter().map(without_padding);
            Data::Str(texts.collect::<chalet_columns::Strings>())
        }
        _ => scalar(vector, inner, outer, n, ctx)?.data,
    };
    Ok(Vector::new(data, vector.validity.clone()))
}

/// The bytes of a FixedString without the zero bytes at its end.
pub fn without_padding(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)]
}

fn scalar(vector: &Vector, from: &DataType, to: &DataType, n: usize, ctx: &Context) -> Result<Vector> {
    use DataType::*;
    let operand = Operand { ty: from, vector, constant: false };
    let scale = |ty: &DataType| match ty {
        Decimal { scale, .. } | DateTime64(scale, _) | Time64(scale) => *scale,
        _ => 0,
    };
    Ok(match (from, to) {
        (FixedString(_), String) => vector.fixed()?.iter().collect::<chalet_columns::Strings>().into(),
        (Enum8(_) | Enum16(_), String) => enum_names(operand, n)?,
        (IPv4, IPv6) => {
            let addresses = vector.values::<u32>()?.iter().flat_map(|ip| {
                let mut bytes = [0u8; 16];
                bytes[10..12].fill(0xff);
                bytes[12..].copy_from_slice(&ip.to_be_bytes());
                bytes
            });
            Data::Fixed(chalet_columns::Fixed { width: 16, bytes: addresses.collect() }).into()
        }
        (Date | Date32, DateTime(zone)) => {
            let clock = LocalTime::new(zone.as_ref().unwrap_or(&ctx.time_zone));
            // East of Greenwich 1970 begins before the first DateTime: the kernel takes the next midnight.
            let next = |timestamp: i64| {
                timestamp + if (-SECONDS_PER_DAY..0).contains(&timestamp) { SECONDS_PER_DAY } else { 0 }
            };
            // Unlike a cast this keeps to the range of the type.
            let timestamp =
                |day: i64| clock.first_timestamp(day.clamp(0, LAST_DATE_TIME_DAY) * SECONDS_PER_DAY);
            unary::<i64, u32>(operand, n, |day| next(timestamp(day)) as u32)?.into()
        }
        (Date | Date32, DateTime64(scale, zone)) => {
            let clock = LocalTime::new(zone.as_ref().unwrap_or(&ctx.time_zone));
            let ticks = 10i64.pow((*scale).into());
            unary::<i64, i64>(operand, n, |day| {
                clock.first_timestamp(day * SECONDS_PER_DAY).wrapping_mul(ticks)
            })?
            .into()
        }
        (DateTime(_) | DateTime64(..) | Time | Time64(_), DateTime64(..) | Time64(_)) => {
            let up = 10i64.pow(u32::from(scale(to).saturating_sub(scale(from))));
            unary::<i64, i64>(operand, n, |x| x.wrapping_mul(up))?.into()
        }
        (Interval(x), Interval(y)) => {
            let (Some(x), Some(y)) = (interval_length(*x), interval_length(*y)) else {
                bail!(LOGICAL_ERROR, "Intervals without a length");
            };
            unary::<i64, i64>(operand, n, |v| v.wrapping_mul((x / y) as i64))?.into()
        }
        (_, Decimal { .. }) => rescale(operand, scale(to) - scale(from), to, n)?,
        _ if to.is_comparable_by_number() && from.is_comparable_by_number() => {
            convert_numbers(vector.clone(), to.physical(), n)?
        }
        _ => bail!(NOT_IMPLEMENTED, "Conversion from {from} to its supertype {to} is not supported"),
    })
}

fn rescale(operand: Operand, digits: u8, to: &DataType, n: usize) -> Result<Vector> {
    fn up<C: Integer>(operand: Operand, digits: u8, n: usize) -> Result<Vector>
    where
        I256: Cast<C>,
    {
        let factor: C = pow10(digits.into()).cast();
        Ok(unary::<C, C>(operand, n, |x| x.mul(factor))?.into())
    }
    with_integer!(to.physical(), C => up::<C>(operand, digits, n), _ => bail!(LOGICAL_ERROR, "{to} is no Decimal"))
}

fn enum_names(operand: Operand, n: usize) -> Result<Vector> {
    let (DataType::Enum8(names) | DataType::Enum16(names)) = operand.ty else {
        bail!(LOGICAL_ERROR, "{} is no Enum", operand.ty);
    };
    let mut out = StringBuilder::with_capacity(n);
    for number in unary::<i16, i16>(operand, n, |x| x)? {
        out.push(names.name_of(number).unwrap_or_default().as_bytes());
    }
    Ok(out.finish().into())
}

/// Nanoseconds of a unit of fixed length, months (as negative numbers) of the others.
fn interval_length(unit: chalet_types::IntervalUnit) -> Option<i128> {
    use chalet_types::IntervalUnit::*;
    Some(match unit {
        Nanosecond => 1,
        Microsecond => 1_000,
        Millisecond => 1_000_000,
        Second => 1_000_000_000,
        Minute => 60_000_000_000,
        Hour => 3_600_000_000_000,
        Day => 86_400_000_000_000,
        Week => 604_800_000_000_000,
        Month => -1,
        Quarter => -3,
        Year => -12,
    })
}

/// Do both units have a length in the same terms?
pub fn intervals_compare(x: chalet_types::IntervalUnit, y: chalet_types::IntervalUnit) -> bool {
    matches!((interval_length(x), interval_length(y)), (Some(x), Some(y)) if (x < 0) == (y < 0))
}

/// Validity of a column at its rows; none when all are valid.
pub fn validity_of(column: &Column) -> Option<NullBuffer> {
    match column {
        Column::Flat(vector) => vector.validity.clone(),
        Column::Const { value, len } => value.is_null(0).then(|| NullBuffer::new_null(*len)),
        Column::Dict { codes, values } => {
            let validity = values.validity.as_ref()?;
            Some(codes.iter().map(|&code| validity.is_valid(code as usize)).collect())
        }
    }
}
