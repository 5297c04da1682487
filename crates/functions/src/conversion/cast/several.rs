//! To and from Variant, Dynamic and JSON.

use super::rules::Rules;
use super::{check as check_types, convert as convert_types, text};
use chalet_base::{Result, bail};
use chalet_columns::{NullBuffer, StringBuilder, Vector, variant};
use chalet_text::{Style, Writer};
use chalet_types::DataType;

/// Is one of the two Variant, Dynamic or JSON?
pub fn concerns(from: &DataType, to: &DataType) -> bool {
    let several = |ty: &DataType| ty.is_of_several_types() || matches!(ty, DataType::Json(_));
    several(from) || several(to)
}

/// Fails unless values of one type can be converted to the other, of which one is Variant, Dynamic or JSON.
pub fn check(from: &DataType, to: &DataType) -> Result<()> {
    use DataType::*;
    match (from, to) {
        (_, Dynamic(_)) | (Dynamic(_), _) | (String, Variant(_)) => Ok(()),
        (Variant(old), Variant(new)) if old.iter().all(|ty| new.number_of(ty).is_some()) => Ok(()),
        (Variant(_), Variant(_)) => bail!(
            CANNOT_CONVERT_TYPE,
            "Cannot convert type {from} to {to}. Conversion between Variant types is allowed only when new Variant type is an \
             extension of an initial one"
        ),
        (_, Variant(types)) => match types.number_of(from).is_some() {
            true => Ok(()),
            false => bail!(
                CANNOT_CONVERT_TYPE,
                "Cannot convert type {from} to {to}. Conversion to Variant allowed only for types from this Variant"
            ),
        },
        (Variant(types), _) => types.iter().try_for_each(|ty| check_types(ty, to)),
        (String | Tuple(_) | Map(..) | Json(_), Json(_)) | (Json(_), String) => Ok(()),
        (_, Json(_)) => bail!(
            TYPE_MISMATCH,
            "Cast to JSON can be performed only from String/Map/Object/Tuple/JSON. Got: {from}"
        ),
        (_, Map(..)) => {
            bail!(TYPE_MISMATCH, "Unsupported types to CAST AS Map. Left type: {from}, right type: {to}")
        }
        (_, Tuple(_)) => bail!(
            TYPE_MISMATCH,
            "CAST AS Tuple can only be performed between tuple types or from String. Left type: {from}, right type: {to}"
        ),
        (_, Array(_)) => bail!(
            TYPE_MISMATCH,
            "CAST AS Array can only be performed between same-dimensional Array, Map or String types"
        ),
        _ => bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {from} of argument of function CAST, which converts to {to}"
        ),
    }
}

/// Converts where one type is Variant or Dynamic. NULL becomes NULL, or the default of a type that has none.
pub fn convert(vector: &Vector, from: &DataType, to: &DataType, rules: &Rules) -> Result<Vector> {
    let inner = from.without_nullable();
    if *inner == DataType::Nothing {
        return Ok(Vector::defaults(to, vector.len()));
    }
    match (inner, to) {
        (DataType::Variant(_) | DataType::Dynamic(_), DataType::Dynamic(_))
        | (DataType::Variant(_), DataType::Variant(_)) => variant::convert(vector, inner, to),
        (DataType::String, DataType::Variant(_)) => {
            let parsed = text::parse(&vector.without_nulls(), inner, to, rules)?;
            Ok(parsed.with_nulls(vector.validity.as_ref()))
        }
        _ if !inner.is_of_several_types() => variant::wrap(vector, from, to),
        _ => {
            let groups = variant::groups(vector, inner)?;
            let mut converted = Vec::with_capacity(groups.len());
            for group in groups {
                check_types(&group.ty, to)?;
                converted.push((group.rows, convert_types(&group.values, &group.ty, to, rules)?));
            }
            let made = variant::gather(&converted, vector.len(), to);
            // Where failures become NULL, so does NULL.
            if rules.mode == super::Mode::OrNull && !to.is_nullable() {
                let valid: NullBuffer = (0..vector.len()).map(|row| !vector.is_null(row)).collect();
                return Ok(made.with_nulls(Some(&valid)));
            }
            Ok(made)
        }
    }
}

/// Objects from strings, and from tuples and maps by way of their text.
pub fn to_json(vector: &Vector, from: &DataType, to: &DataType, rules: &Rules) -> Result<Vector> {
    if from.is_string() {
        return text::parse(vector, from, to, rules);
    }
    let writer = Writer::new(from, Style::Json, &rules.text);
    let mut out = StringBuilder::with_capacity(vector.len());
    for row in 0..vector.len() {
        out.push_with(|bytes| writer.write(bytes, vector, row));
    }
    text::parse(&out.finish().into(), &DataType::String, to, rules)
}
