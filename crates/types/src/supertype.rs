//! The least type that holds every value of several types: for `if`, arrays, UNION, CASE.

use crate::decimal::widest_of_same_width;
use crate::promotion::{float_of_bits, signed_of_bits, unsigned_of_bits};
use crate::{DataType, TupleField};
use chalet_base::{Result, bail, err};

/// The least common supertype; code 386 when there is none.
pub fn common_supertype(types: &[DataType]) -> Result<DataType> {
    if let Some(number) = float_of_several(types) {
        return Ok(number);
    }
    let mut types = types.iter();
    let Some(first) = types.next() else {
        return Ok(DataType::Nothing);
    };
    let mut result = first.clone();
    for ty in types {
        result = pair(&result, ty).ok_or_else(|| no_supertype(&result, ty))?;
    }
    Ok(result)
}

/// The supertype of floats and integers of both signs, whose mantissa holds all of these: two at a time, the integers would
/// become a wider one first.
fn float_of_several(types: &[DataType]) -> Option<DataType> {
    let numbers = types.iter().map(|ty| ty.without_low_cardinality().bare().clone());
    let numbers: Vec<DataType> = numbers.filter(|ty| *ty != DataType::Nothing).collect();
    let is_plain = |ty: &DataType| ty.is_float() || ty.is_integer();
    if numbers.len() < 3 || !numbers.iter().all(is_plain) || !numbers.iter().any(DataType::is_float) {
        return None;
    }
    let bits = |ty: &DataType| 8 * ty.physical().width().unwrap_or(1) as u32;
    let widest =
        |of: &dyn Fn(&DataType) -> bool| numbers.iter().filter(|ty| of(ty)).map(bits).max().unwrap_or(0);
    let floats = widest(&|ty| ty.is_float());
    let unsigned = widest(&|ty| ty.is_unsigned());
    let signed = widest(&|ty| ty.is_integer() && !ty.is_unsigned());
    if signed == 0 || unsigned < signed {
        return None;
    }
    // One bit more is the sign.
    let needed = match unsigned + 1 {
        ..=24 => 32,
        25..=53 => 64,
        _ => return None,
    };
    let number = float_of_bits(floats.max(needed))?;
    Some(if types.iter().any(DataType::is_nullable) { wrap_nullable(number) } else { number })
}

/// Why there is none.
#[cold]
pub fn no_supertype(a: &DataType, b: &DataType) -> chalet_base::Error {
    // What is neither of them cannot be NULL either.
    if let (state @ DataType::AggregateFunction(_), DataType::Nullable(_))
    | (DataType::Nullable(_), state @ DataType::AggregateFunction(_)) = (a, b)
    {
        return err!(ILLEGAL_TYPE_OF_ARGUMENT, "Nested type {state} cannot be inside Nullable type");
    }
    let why = if (a.bare().is_string()) != (b.bare().is_string()) {
        "because some of them are String/FixedString/Enum and some of them are not"
    } else {
        "because some of them have no lossless conversion to a common type"
    };
    err!(NO_COMMON_TYPE, "There is no supertype for types {a}, {b} {why}")
}

/// The type in which two types are compared for equality: their supertype, where no two values of either become one.
pub fn pair_of_keys(a: &DataType, b: &DataType) -> Option<DataType> {
    let common = pair(a, b)?;
    if *common.bare() != DataType::Bool || a.bare() == b.bare() {
        return Some(common);
    }
    Some(if common.is_nullable() { DataType::UInt8.nullable() } else { DataType::UInt8 })
}

/// The supertype of two types, if there is one.
pub fn pair(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType::*;
    if a == b {
        return Some(a.clone());
    }
    match (a, b) {
        (Nothing, other) | (other, Nothing) => Some(other.clone()),
        _ if a.is_of_several_types() || b.is_of_several_types() => crate::variant::pair_of_several(a, b),
        (LowCardinality(x), LowCardinality(y)) => Some(pair(x, y)?.low_cardinality()),
        (LowCardinality(x), y) => pair(x, y),
        (x, LowCardinality(y)) => pair(x, y),
        // What is made anew shows no name of a geometry.
        (Nullable(x), Nullable(y)) => Some(wrap_nullable(pair(x, y)?.without_name())),
        (Nullable(x), y) => nullable_pair(x, y),
        (x, Nullable(y)) => nullable_pair(x, y),
        (Array(x), Array(y)) => Some(pair(x, y)?.array()),
        (Map(k1, v1), Map(k2, v2)) => Some(DataType::map(pair(k1, k2)?, pair(v1, v2)?)),
        (Tuple(x), Tuple(y)) if x.len() == y.len() => {
            let fields = x.iter().zip(y.iter()).map(|(f, g)| {
                let name = if f.name == g.name { f.name.clone() } else { None };
                Some(TupleField { name, ty: pair(&f.ty, &g.ty)? })
            });
            let mut fields = fields.collect::<Option<Vec<_>>>()?;
            if fields.iter().any(|f| f.name.is_none()) {
                fields.iter_mut().for_each(|f| f.name = None);
            }
            Some(Tuple(fields.into()))
        }
        (String | FixedString(_), String | FixedString(_)) => Some(String),
        (String | FixedString(_), Enum8(_) | Enum16(_)) | (Enum8(_) | Enum16(_), String | FixedString(_)) => {
            Some(String)
        }
        // Numbers meet the integers by which other types are held. To the kernel Bool is UInt8 with a name: the first one stays.
        (Bool, UInt8) | (UInt8, Bool) => Some(a.clone()),
        (Interval(x), Interval(y)) => {
            // Days and months have no common measure.
            use crate::IntervalUnit::Month;
            ((*x >= Month) == (*y >= Month)).then(|| Interval(*x.min(y)))
        }
        (Interval(unit), other) | (other, Interval(unit)) => {
            let counts = other.is_integer() || other.is_float() || other.is_enum();
            (counts || matches!(other, IPv4 | IPv6 | Uuid)).then_some(Interval(*unit))
        }
        (IPv4 | Enum8(_) | Enum16(_), _) | (_, IPv4 | Enum8(_) | Enum16(_)) => {
            let held = |ty: &DataType| match ty {
                IPv4 => Some(UInt32),
                Enum8(_) => Some(Int8),
                Enum16(_) => Some(Int16),
                number if number.is_integer() || number.is_float() => Some(number.clone()),
                _ => None,
            };
            pair(&held(a)?, &held(b)?)
        }
        (Time, Time64(s)) | (Time64(s), Time) => Some(Time64(*s)),
        (Time64(x), Time64(y)) => Some(Time64(*x.max(y))),
        (Time, DateTime(zone)) | (DateTime(zone), Time) => Some(DateTime64(0, zone.clone())),
        (Time, DateTime64(scale, zone)) | (DateTime64(scale, zone), Time) => {
            Some(DateTime64(*scale, zone.clone()))
        }
        (Time64(scale), DateTime(zone)) | (DateTime(zone), Time64(scale)) => {
            Some(DateTime64(*scale, zone.clone()))
        }
        (Time64(x), DateTime64(y, zone)) | (DateTime64(y, zone), Time64(x)) => {
            Some(DateTime64(*x.max(y), zone.clone()))
        }
        _ if a.is_date_or_time() && b.is_date_or_time() => Some(dates(a, b)),
        _ if a.is_number() && b.is_number() => numbers(a, b),
        _ => None,
    }
}

/// The supertype of two types of which one is Nullable, without that.
fn nullable_pair(a: &DataType, b: &DataType) -> Option<DataType> {
    let inner = pair(a, b)?.without_name();
    inner.can_be_nullable().then(|| wrap_nullable(inner))
}

fn wrap_nullable(ty: DataType) -> DataType {
    if ty.can_be_nullable() { ty.nullable() } else { ty }
}

fn dates(a: &DataType, b: &DataType) -> DataType {
    use DataType::*;
    match (a, b) {
        // The zone is that of the finer type, of the first among equals.
        (DateTime64(x, zone), DateTime64(y, _)) if x >= y => return DateTime64(*x, zone.clone()),
        (_, DateTime64(scale, zone)) | (DateTime64(scale, zone), _) => {
            return DateTime64(*scale, zone.clone());
        }
        (DateTime(zone), DateTime(_)) => return DateTime(zone.clone()),
        _ => {}
    }
    let wide = matches!(a, Date32) || matches!(b, Date32);
    let timed = matches!(a, DateTime(_)) || matches!(b, DateTime(_));
    match (wide, timed) {
        (true, true) => DateTime64(0, None),
        (true, false) => Date32,
        (false, true) => DateTime(a.time_zone().or(b.time_zone()).cloned()),
        (false, false) => Date,
    }
}

/// Integers take a signed type wide enough for both; floats need a mantissa that holds the integer exactly.
fn numbers(a: &DataType, b: &DataType) -> Option<DataType> {
    if a.is_decimal() || b.is_decimal() {
        return decimals(a, b);
    }
    let bits = |ty: &DataType| 8 * ty.physical().width().unwrap_or(1) as u32;
    if a.is_float() || b.is_float() {
        // BFloat16 keeps 8 bits exactly, Float32 24 (16-bit integers), Float64 53 (32-bit integers).
        let needed = |ty: &DataType| match (ty.is_float(), bits(ty)) {
            (true, width) => Some(width),
            (false, 8) => Some(16),
            (false, 16) => Some(32),
            (false, 32) => Some(64),
            _ => None,
        };
        return float_of_bits(needed(a)?.max(needed(b)?));
    }
    match (a.is_unsigned(), b.is_unsigned()) {
        (true, true) => unsigned_of_bits(bits(a).max(bits(b))),
        (false, false) => signed_of_bits(bits(a).max(bits(b))),
        (a_unsigned, _) => {
            let (unsigned, signed) = if a_unsigned { (bits(a), bits(b)) } else { (bits(b), bits(a)) };
            // There is no lossless common type of 64-bit unsigned and narrower signed integers in the kernel.
            if unsigned == 64 && signed <= 64 {
                return None;
            }
            signed_of_bits(if unsigned >= signed { unsigned * 2 } else { signed })
        }
    }
}

/// Digits of the widest Decimal.
const MAX_PRECISION: u8 = 76;

fn decimals(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType::*;
    // Decimals of one width and scale are the same type: the first of them is taken.
    if let (Decimal { precision: p, scale: s }, Decimal { precision: q, scale: t }) = (a, b)
        && s == t
        && widest_of_same_width(*p) == widest_of_same_width(*q)
    {
        return Some(a.clone());
    }
    let parts = |ty: &DataType| match ty {
        Decimal { precision, scale } => Some((widest_of_same_width(*precision), *scale)),
        _ => Some((0, 0)),
    };
    let ((p1, s1), (p2, s2)) = (parts(a)?, parts(b)?);
    let scale = s1.max(s2);
    // The digits that an integer needs before the point. Of signed ones the kernel drops the last when there is no point.
    let digits = |ty: &DataType| match ty {
        Decimal { .. } => Some(0),
        Bool | UInt8 | Int8 => Some(3),
        UInt16 | Int16 => Some(5),
        Int32 if scale == 0 => Some(9),
        Int64 if scale == 0 => Some(18),
        UInt32 | Int32 => Some(10),
        Int64 => Some(19),
        UInt64 => Some(20),
        _ => None,
    };
    let whole = digits(a)?.max(digits(b)?);
    let precision = p1.max(p2).max(if whole > 0 { whole + scale } else { 0 });
    (precision <= MAX_PRECISION).then(|| Decimal { precision: widest_of_same_width(precision), scale })
}

/// The supertype of the types, or an error that names `what` needed it.
pub fn common_supertype_for(types: &[DataType], what: &str) -> Result<DataType> {
    match common_supertype(types) {
        Ok(ty) => Ok(ty),
        Err(e) => bail!(NO_COMMON_TYPE, "{} ({what})", e.message()),
    }
}
