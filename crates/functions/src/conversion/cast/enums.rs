//! To enums: from numbers by number, from other enums by name.

use super::numbers::filled;
use chalet_base::{Result, bail};
use chalet_columns::{Data, Vector};
use chalet_text::read::scalar::enum_of_number;
use chalet_types::{DataType, EnumValues};

pub fn convert(vector: &Vector, from: &DataType, to: &DataType) -> Result<Vector> {
    let names = match to {
        DataType::Enum8(names) | DataType::Enum16(names) => names,
        other => bail!(LOGICAL_ERROR, "{other} is no Enum"),
    };
    let numbers: Vec<i16> = match from {
        DataType::Enum8(old) | DataType::Enum16(old) => {
            filled::<i16>(vector)?.into_iter().map(|n| by_name(old, names, n)).collect::<Result<_>>()?
        }
        _ => by_number(vector, names, matches!(to, DataType::Enum8(_)))?,
    };
    Ok(match to {
        DataType::Enum8(_) => numbers.into_iter().map(|n| n as i8).collect::<Vec<_>>().into(),
        _ => numbers.into(),
    })
}

fn by_name(old: &EnumValues, new: &EnumValues, number: i16) -> Result<i16> {
    match old.name_of(number) {
        Some(name) => chalet_text::read::scalar::enum_of_text(new, name.as_bytes()),
        None => enum_of_number(new, number.into()),
    }
}

fn by_number(vector: &Vector, names: &EnumValues, narrow: bool) -> Result<Vec<i16>> {
    let (least, most) = if narrow { (-128i64, 127i64) } else { (-32768, 32767) };
    let out_of_range = |shown: &dyn std::fmt::Display| -> Result<i16> {
        bail!(CANNOT_CONVERT_TYPE, "Value {shown} is out of the range of the numbers of Enum")
    };
    (0..vector.len())
        .map(|row| match &vector.data {
            Data::F64(_) | Data::F32(_) | Data::BF16(_) => {
                let x = vector.value(row).as_f64().unwrap_or(0.0);
                if x > most as f64 || x < least as f64 {
                    return out_of_range(&x);
                }
                enum_of_number(names, x as i64)
            }
            _ => match vector.value(row).as_i64().filter(|x| (least..=most).contains(x)) {
                Some(x) => enum_of_number(names, x),
                None => out_of_range(&"of the integer"),
            },
        })
        .collect()
}
