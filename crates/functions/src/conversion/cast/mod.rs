//! Conversion of columns between all types: what CAST and the `toType` functions run.
//!
//! - [`cast_check`]: which pairs of types have no conversion, and the error of each
//! - [`rules`]: what happens to values that do not fit
//! - [`accurate`]: numbers that must fit
//! - [`or_null`]: what becomes NULL, for the common types
//! - [`several`]: Variant, Dynamic and JSON
//! - [`large_floats`]: large floats as integers of 128 and 256 bits
//! - `vectors`: QBit
//! - [`numbers`], [`decimals`], [`timestamps`], [`text`], [`enums`], [`addresses`], [`containers`]: the kernels

mod accurate;
mod addresses;
mod cast_check;
mod containers;
mod decimals;
mod enums;
mod large_floats;
mod numbers;
mod or_null;
mod rules;
mod several;
mod text;
mod timestamps;
mod vectors;

use chalet_base::{Result, bail, discard_messages};
use chalet_columns::{Builder, Column, NullBuffer, Vector};
use chalet_function_api::Context;
use chalet_function_api::call::scatter;
use chalet_types::DataType;

pub use cast_check::check;
pub use rules::{Mode, Rules};
pub(crate) use text::text_of;

/// Converts a column as `CAST(x, 'to')` does; dictionaries stay dictionaries and constants constant.
pub fn cast_column(column: &Column, from: &DataType, to: &DataType, ctx: &Context) -> Result<Column> {
    if from == to {
        return Ok(column.clone());
    }
    check(from, to)?;
    let rules = Rules::new(Mode::Cast, ctx);
    match column {
        Column::Flat(vector) => Ok(convert(vector, from, to, &rules)?.into()),
        Column::Const { value, len } => {
            Ok(Column::Const { value: convert(value, from, to, &rules)?, len: *len })
        }
        Column::Dict { codes, values } => match convert(values, from, to, &rules) {
            Ok(values) => Ok(Column::Dict { codes: codes.clone(), values }),
            // A value that no row uses must not fail the query.
            Err(_) => Ok(convert(&column.flat(), from, to, &rules)?.into()),
        },
    }
}

/// Converts a vector. In mode [`Mode::OrNull`] the result may have validity whatever `to` says.
pub fn convert(vector: &Vector, from: &DataType, to: &DataType, rules: &Rules) -> Result<Vector> {
    // Coded text is no text to read another type of a Variant from, where it is one of them itself.
    if let (DataType::LowCardinality(_), DataType::Variant(types)) = (from, to)
        && types.number_of(&from.as_alternative()).is_some()
    {
        return chalet_columns::variant::wrap(vector, from, to);
    }
    let (from, to) = (from.without_low_cardinality(), to.without_low_cardinality());
    if from == to {
        return Ok(vector.clone());
    }
    if from.is_of_several_types() || to.is_of_several_types() {
        return several::convert(vector, from, to, rules);
    }
    let (inner_from, inner_to) = (from.without_nullable(), to.without_nullable());
    let nullable = matches!(to, DataType::Nullable(_)) || rules.mode == Mode::OrNull;
    if *inner_from == DataType::Nothing {
        if !nullable && !vector.is_empty() {
            bail!(CANNOT_CONVERT_TYPE, "Cannot convert NULL to a non-nullable type");
        }
        return Ok(Vector::defaults(to, vector.len()).with_nulls(None));
    }
    // Text that is no value of a Nullable type is NULL there.
    let as_null =
        matches!(to, DataType::Nullable(_)) && *inner_from == DataType::String && !inner_to.is_string();
    let or_null;
    let rules = if as_null && rules.mode != Mode::OrNull {
        or_null = rules.with_mode(Mode::OrNull);
        &or_null
    } else {
        rules
    };
    let is_address = *inner_from == DataType::String && matches!(inner_to, DataType::IPv4 | DataType::IPv6);
    if is_address && rules.zero_addresses && rules.mode == Mode::Cast && vector.validity.is_none() {
        let addresses = bare(vector, inner_from, inner_to, &rules.with_mode(Mode::OrNull))?;
        return Ok(addresses.without_nulls());
    }
    let Some(validity) = vector.validity.clone() else {
        return bare(vector, inner_from, inner_to, rules);
    };
    if !nullable {
        bail!(CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN, "Cannot convert NULL value to non-Nullable type");
    }
    let values = vector.without_nulls();
    let converted = match bare(&values, inner_from, inner_to, rules) {
        Ok(converted) => converted,
        // What stands beneath a NULL must not fail.
        Err(_) => {
            let rows = chalet_columns::bits::set_rows(validity.inner());
            let some = bare(&values.gather(&rows), inner_from, inner_to, rules)?;
            let scattered = scatter(&some.without_nulls(), validity.inner(), inner_to);
            match &some.validity {
                // Failures of the converted rows go to their places.
                Some(_) => {
                    let mut next = 0;
                    let bits = validity.inner().iter().map(|set| {
                        let valid = set && !some.is_null(next);
                        next += usize::from(set);
                        valid
                    });
                    scattered.with_nulls(Some(&NullBuffer::from(bits.collect::<Vec<bool>>())))
                }
                None => scattered,
            }
        }
    };
    Ok(converted.with_nulls(Some(&validity)))
}

/// Values without NULL between types without Nullable.
fn bare(vector: &Vector, from: &DataType, to: &DataType, rules: &Rules) -> Result<Vector> {
    use DataType::*;
    if from == to {
        return Ok(vector.clone());
    }
    if matches!(to, Json(_)) {
        return several::to_json(vector, from, to, rules);
    }
    let number = from.is_integer() || from.is_float();
    if rules.mode != Mode::Cast && number && number_like(to) {
        return accurate::convert(vector, from, to, rules);
    }
    if rules.mode == Mode::OrNull && !gives_null(from, to) {
        return bare(vector, from, to, &rules.with_mode(Mode::Accurate));
    }
    if rules.mode == Mode::OrNull && !from.is_string() {
        return each_or_null(vector, from, to, rules);
    }
    match (from, to) {
        (AggregateFunction(_), String | AggregateFunction(_)) => Ok(vector.clone()),
        (String, AggregateFunction(states)) => {
            vector.strings()?.iter().try_for_each(|bytes| states.check(bytes))?;
            Ok(vector.clone())
        }
        (Array(inner), QBit(vectors)) => vectors::of_arrays(vector, inner, *vectors, rules),
        (QBit(vectors), QBit(_) | Array(_)) => vectors::of_vectors(vector, *vectors, to, rules),
        (FixedString(16), Uuid | IPv6) => addresses::of_bytes(vector, to),
        (String | FixedString(_), _) => text::parse(vector, from, to, rules),
        (_, String) => text::format(vector, from, rules),
        (_, FixedString(_)) => {
            let text = text::format(vector, from, rules)?;
            text::parse(&text, &String, to, rules)
        }
        (Array(_) | Tuple(_) | Map(..), _) => containers::convert(vector, from, to, rules),
        (_, Enum8(_) | Enum16(_)) => enums::convert(vector, from, to),
        (Uuid | IPv4 | IPv6, _) | (_, Uuid | IPv4 | IPv6) => addresses::convert(vector, from, to),
        (Decimal { .. }, Decimal { .. }) => decimals::rescale(vector, from, to),
        (Decimal { .. }, DateTime64(..) | Time64(_)) => timestamps::of_decimal(vector, from, to),
        (_, Bool) => numbers::to_bool(vector),
        (Decimal { .. }, _) => decimals::to_number(vector, from, to),
        (DateTime64(..) | Time64(_), Decimal { .. }) => {
            decimals::rescale(vector, &decimals::as_decimal(from), to)
        }
        (DateTime64(..) | Time64(_), _) if to.is_integer() || to.is_float() => {
            decimals::to_number(vector, &decimals::as_decimal(from), to)
        }
        (_, Decimal { .. }) => decimals::of_number(vector, to),
        (_, Date | Date32 | DateTime(_) | DateTime64(..) | Time | Time64(_)) => {
            timestamps::convert(vector, from, to, rules)
        }
        (Interval(a), Interval(b)) => timestamps::interval(vector, *a, *b),
        _ => numbers::convert(vector, to),
    }
}

/// Row by row: what cannot be converted becomes NULL.
fn each_or_null(vector: &Vector, from: &DataType, to: &DataType, rules: &Rules) -> Result<Vector> {
    if let Some(decimals) = or_null::decimals(vector, from, to, rules)? {
        return Ok(decimals);
    }
    let accurate = rules.with_mode(Mode::Accurate);
    if let Ok(all) = bare(vector, from, to, &accurate) {
        return Ok(all);
    }
    let nullable = if to.can_be_nullable() { to.clone().nullable() } else { to.clone() };
    let mut out = Builder::new(&nullable);
    for row in 0..vector.len() {
        match discard_messages(|| bare(&vector.slice(row, 1), from, to, &accurate)) {
            Ok(one) => out.push_from(&one, 0),
            Err(_) => out.push_default(),
        }
    }
    Ok(out.finish())
}

/// Types that a number fits or does not fit.
fn number_like(ty: &DataType) -> bool {
    use DataType::*;
    ty.is_integer() || ty.is_float() || matches!(ty, Date | Date32 | DateTime(_) | Time)
}

/// Does [`Mode::OrNull`] turn failures of this conversion into NULL? Others stay errors, as in the kernel.
fn gives_null(from: &DataType, to: &DataType) -> bool {
    use DataType::*;
    match (from, to) {
        (String, Interval(_) | Enum8(_) | Enum16(_) | Tuple(_) | QBit(_)) => false,
        (String, _) => true,
        (FixedString(_), FixedString(_) | IPv6 | Bool) => true,
        (FixedString(_), _) => false,
        (_, Decimal { .. } | QBit(_)) => true,
        (IPv6, IPv4) => true,
        _ => false,
    }
}
