//! Pairs of types that have no conversion, and the error that the kernel gives for each.

use chalet_base::{Result, bail, err};
use chalet_types::{DataType, TupleField};

/// Fails unless values of one type can be converted to the other. Values may still fail.
pub fn check(from: &DataType, to: &DataType) -> Result<()> {
    use DataType::*;
    let (from, to) = (from.bare(), to.bare());
    if from == to || *from == Nothing {
        return Ok(());
    }
    if super::several::concerns(from, to) {
        return super::several::check(from, to);
    }
    if let Some(checked) = states(from, to) {
        return checked;
    }
    if matches!(from, QBit(_)) || matches!(to, QBit(_)) {
        return super::vectors::check(from, to);
    }
    let container = |ty: &DataType| matches!(ty, Array(_) | Tuple(_) | Map(..));
    match (from, to) {
        (_, Nothing) => refuse(from, to),
        (Array(_) | Tuple(_) | Map(..), _) if !container(to) => match to {
            String => Ok(()),
            FixedString(_) => only_strings(to),
            Decimal { .. } | DateTime64(..) | Time64(_) | Enum8(_) | Enum16(_) => refuse(from, to),
            _ => bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type {from} of argument of function CAST, which converts to {to}"
            ),
        },
        (String | FixedString(_), Map(..)) => mismatch(from, to, "Map"),
        (FixedString(_), Array(_)) => mismatch(from, to, "Array"),
        (FixedString(_), Tuple(_)) => mismatch(from, to, "Tuple"),
        (FixedString(_), IPv4) => bail!(
            ILLEGAL_COLUMN,
            "Illegal column {from} of first argument of function CAST, which converts to {to}"
        ),
        (FixedString(a), FixedString(b)) if a > b => {
            bail!(TOO_LARGE_STRING_SIZE, "String too long for type FixedString({b})")
        }
        (String | FixedString(_), _) => Ok(()),
        (Array(x), Array(y)) => {
            let several = super::several::concerns(x.bare(), y.bare());
            let same_depth = matches!(y.bare(), Array(_)) == matches!(x.bare(), Array(_));
            if !same_depth && !several && *x.bare() != Nothing {
                return mismatch(from, to, "Array");
            }
            check(x, y)
        }
        (Array(x), Map(key, value)) => match x.bare() {
            Nothing => Ok(()),
            Tuple(fields) if fields.len() == 2 => {
                check(&fields[0].ty, key)?;
                check(&fields[1].ty, value)
            }
            _ => mismatch(from, to, "Map"),
        },
        (Map(k1, v1), Map(k2, v2)) => {
            check(k1, k2)?;
            check(v1, v2)
        }
        (Map(..), Array(inner)) => match from.element() {
            Some(pair) if matches!(inner.bare(), Tuple(_)) => check(&pair, inner),
            _ => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {from} of argument of function CAST to {to}"),
        },
        (Tuple(halves), Map(key, value)) => match &halves[..] {
            [keys, values] => match (keys.ty.bare(), values.ty.bare()) {
                (Array(k), Array(v)) => {
                    check(k, key)?;
                    check(v, value)
                }
                _ => mismatch(from, to, "Map"),
            },
            _ => mismatch(from, to, "Map"),
        },
        (Tuple(x), Tuple(y)) => {
            if by_name(x, y) {
                return y.iter().try_for_each(|field| match x.iter().find(|f| f.name == field.name) {
                    Some(found) => check(&found.ty, &field.ty),
                    None => Ok(()),
                });
            }
            if x.len() != y.len() {
                bail!(
                    TYPE_MISMATCH,
                    "CAST AS Tuple can be performed only between tuple types or from String with the same number of \
                     elements. Left type: {from}, right type: {to}"
                );
            }
            x.iter().zip(y.iter()).try_for_each(|(f, g)| check(&f.ty, &g.ty))
        }
        (_, Array(_)) => mismatch(from, to, "Array"),
        (_, Tuple(_)) => mismatch(from, to, "Tuple"),
        (_, Map(..)) => mismatch(from, to, "Map"),
        (_, String) => Ok(()),
        (Bool | Enum8(_) | Enum16(_), FixedString(_)) => Ok(()),
        (_, FixedString(_)) => only_strings(to),
        _ => scalars(from, to),
    }
}

/// Conversions from and to states of aggregate functions; `None` where others decide.
fn states(from: &DataType, to: &DataType) -> Option<Result<()>> {
    use DataType::*;
    match (from, to) {
        (AggregateFunction(a), AggregateFunction(b)) if a.has_same_states(b) => Some(Ok(())),
        (AggregateFunction(_), String) | (String | FixedString(_), AggregateFunction(_)) => Some(Ok(())),
        (_, AggregateFunction(_)) => {
            Some(Err(err!(CANNOT_CONVERT_TYPE, "Conversion from {from} to {to} is not supported")))
        }
        (AggregateFunction(_), FixedString(_) | Array(_) | Tuple(_) | Map(..)) => None,
        (AggregateFunction(_), _) => Some(Err(err!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {from} of argument of function CAST to {to}"
        ))),
        _ => None,
    }
}

fn scalars(from: &DataType, to: &DataType) -> Result<()> {
    use DataType::*;
    let is_enum = |ty: &DataType| ty.is_enum();
    match (from, to) {
        (_, Bool) => Ok(()),
        (Enum8(a) | Enum16(a), Enum8(b) | Enum16(b)) => {
            for (name, number) in a.entries() {
                if b.number_of(name.as_bytes()).is_some_and(|other| other != *number) {
                    bail!(
                        CANNOT_CONVERT_TYPE,
                        "Enum conversion changes value for element '{name}' from {number}"
                    );
                }
            }
            Ok(())
        }
        (_, Enum8(_) | Enum16(_)) => {
            let narrow = from.physical().width().is_some_and(|width| width <= 8) && *from != BFloat16;
            if narrow && (from.is_integer() || from.is_float()) { Ok(()) } else { refuse(from, to) }
        }
        (Uuid, UInt128) | (IPv4, UInt32 | UInt64 | UInt128 | UInt256 | IPv6) | (IPv6, UInt128 | IPv4) => {
            Ok(())
        }
        (Bool | UInt8 | UInt16 | UInt32 | UInt64, IPv4) | (UInt128, IPv6 | Uuid) => {
            if *to == Uuid {
                unsupported(from, to)
            } else {
                Ok(())
            }
        }
        (_, Uuid | IPv4 | IPv6) if from.is_decimal() => illegal_column(from, to),
        (_, Uuid | IPv4 | IPv6) => unsupported(from, to),
        (Uuid | IPv4 | IPv6, Decimal { .. } | DateTime64(..) | Time64(_)) => refuse(from, to),
        (Uuid | IPv4 | IPv6, _) => unsupported(from, to),
        (Decimal { .. }, Date | Date32 | DateTime(_) | Time) => illegal_column(from, to),
        (Decimal { .. }, Interval(_)) => {
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type {from} of argument of function CAST, which converts to {to}"
            )
        }
        (Date | Date32 | DateTime(_) | Time, Decimal { .. }) => illegal_column(from, to),
        (BFloat16, Decimal { .. } | DateTime64(..) | Time64(_)) => unsupported(from, to),
        (Interval(_), Decimal { .. } | DateTime64(..) | Time64(_)) => refuse(from, to),
        (_, Decimal { .. } | DateTime64(..) | Time64(_)) if is_enum(from) => refuse(from, to),
        (_, Decimal { .. } | DateTime64(..) | Time64(_))
            if from.is_integer() && from.physical().width().is_some_and(|w| w > 8) =>
        {
            refuse(from, to)
        }
        (DateTime64(..) | Time64(_), Interval(_)) => refuse(from, to),
        (Time64(_), DateTime(_) | Time) => refuse(from, to),
        _ => Ok(()),
    }
}

#[cold]
fn refuse(from: &DataType, to: &DataType) -> Result<()> {
    bail!(CANNOT_CONVERT_TYPE, "Conversion from {from} to {to} is not supported")
}

#[cold]
fn unsupported(from: &DataType, to: &DataType) -> Result<()> {
    bail!(NOT_IMPLEMENTED, "Conversion from {from} to {to} is not supported")
}

#[cold]
fn only_strings(_: &DataType) -> Result<()> {
    bail!(NOT_IMPLEMENTED, "CAST AS FixedString is only implemented for types String and FixedString")
}

#[cold]
fn illegal_column(from: &DataType, to: &DataType) -> Result<()> {
    bail!(ILLEGAL_COLUMN, "Illegal column {from} of first argument of function CAST, which converts to {to}")
}

#[cold]
fn mismatch(from: &DataType, to: &DataType, family: &str) -> Result<()> {
    let what = match family {
        "Map" => "Unsupported types to CAST AS Map".to_string(),
        family => {
            format!("CAST AS {family} can only be performed between same-dimensional types or from String")
        }
    };
    bail!(TYPE_MISMATCH, "{what}. Left type: {from}, right type: {to}")
}

/// Are the elements of two tuples matched by name? So when both have names and share one.
pub fn by_name(from: &[TupleField], to: &[TupleField]) -> bool {
    let named = |fields: &[TupleField]| !fields.is_empty() && fields.iter().all(|f| f.name.is_some());
    named(from) && named(to) && to.iter().any(|field| from.iter().any(|f| f.name == field.name))
}
