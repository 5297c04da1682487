//! Partitions: what their values are called in the names of parts.

use chalet_base::sip_hash::Sip;
use chalet_types::{DataType, Value};
use std::fmt::Write;
use std::sync::Arc;

/// Rows of one value of the partition key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Partition {
    /// As names of parts begin, and as `PARTITION ID` has it.
    pub id: Arc<str>,
    /// The value as text.
    pub shown: Arc<str>,
}

impl Partition {
    /// The only one of a table without a partition key.
    pub fn all() -> Partition {
        Partition { id: "all".into(), shown: "tuple()".into() }
    }

    /// The partition of a value of the partition key; `shown` is the value as text.
    pub fn of(value: &Value, ty: &DataType, shown: &str) -> Partition {
        Partition { id: id(value, ty).into(), shown: shown.into() }
    }

    /// Were partitions of such a value named in another way before? Hashes were other ones, and days of Date32 were dates.
    pub fn may_have_earlier_name(&self) -> bool {
        self.id.len() == HASH_DIGITS
            || (self.shown.contains('-') && self.id.parse::<i32>().is_ok_and(|n| n < 1_000_000))
    }
}

const HASH_DIGITS: usize = 32;

/// Integers and days are themselves, joined by hyphens where they are several; anything else is its hash.
fn id(value: &Value, ty: &DataType) -> String {
    let parts: Vec<(&Value, &DataType)> = match (value, ty) {
        (Value::Tuple(values), DataType::Tuple(fields)) if !fields.is_empty() => {
            values.iter().zip(fields.iter().map(|field| &field.ty)).collect()
        }
        (Value::Tuple(_), _) => return "all".into(),
        _ => vec![(value, ty)],
    };
    let readable: Option<Vec<String>> = parts.iter().map(|(value, ty)| readable(value, ty)).collect();
    readable.map(|parts| parts.join("-")).unwrap_or_else(|| {
        let mut hash = Sip::new((0, 0));
        parts.iter().for_each(|(value, ty)| add(&mut hash, value, ty));
        let v = hash.finish();
        // The bytes of both halves from the lowest on.
        format!("{:016x}{:016x}", (v[0] ^ v[1]).swap_bytes(), (v[2] ^ v[3]).swap_bytes())
    })
}

/// Adds a value to the hash that names a partition: a byte for its kind, and its bytes behind their number where that varies.
fn add(hash: &mut Sip, value: &Value, ty: &DataType) {
    let mut put = |kind: u8, bytes: &[u8]| {
        hash.update(&[kind]);
        hash.update(bytes);
    };
    match (value, ty.bare()) {
        (Value::Null, _) => put(0, &[]),
        (Value::Int(n), DataType::Decimal { precision: ..=9, .. }) => put(19, &(*n as i32).to_le_bytes()),
        (Value::Int(n), DataType::Decimal { .. } | DataType::DateTime64(..)) => put(20, &n.to_le_bytes()),
        (Value::Int128(n), DataType::Decimal { .. }) => put(21, &n.to_le_bytes()),
        (Value::Int256(n), DataType::Decimal { .. }) => put(23, &n.to_le_bytes()),
        (Value::UInt(n), _) => put(1, &n.to_le_bytes()),
        (Value::Int(n), _) => put(2, &n.to_le_bytes()),
        (Value::Float(x), _) => put(3, &x.to_le_bytes()),
        (Value::UInt128(n), _) => put(4, &n.to_le_bytes()),
        (Value::Int128(n), _) => put(5, &n.to_le_bytes()),
        (Value::UInt256(n), _) => put(24, &n.to_le_bytes()),
        (Value::Int256(n), _) => put(25, &n.to_le_bytes()),
        (Value::Decimal(scaled), _) => put(23, &scaled.digits.to_le_bytes()),
        (Value::Bytes(bytes), DataType::Uuid) => {
            let (high, low) = bytes.split_at(bytes.len() / 2);
            let reversed = |half: &[u8]| half.iter().rev().copied().collect::<Vec<u8>>();
            put(4, &[reversed(high), reversed(low)].concat());
        }
        (Value::Bytes(bytes), _) => {
            put(16, &(bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        }
        (Value::Array(values), DataType::Array(inner)) => {
            put(17, &(values.len() as u64).to_le_bytes());
            values.iter().for_each(|value| add(hash, value, inner));
        }
        (Value::Array(values), _) => put(17, &(values.len() as u64).to_le_bytes()),
        (Value::Tuple(values), of) => {
            put(18, &(values.len() as u64).to_le_bytes());
            let types = if let DataType::Tuple(fields) = of { &fields[..] } else { &[] };
            values.iter().zip(types).for_each(|(value, field)| add(hash, value, &field.ty));
        }
        (Value::Map(entries), DataType::Map(key, of)) => {
            put(26, &(entries.len() as u64).to_le_bytes());
            for (name, value) in entries {
                hash.update(&[18]);
                hash.update(&2u64.to_le_bytes());
                add(hash, name, key);
                add(hash, value, of);
            }
        }
        (Value::Map(entries), _) => put(26, &(entries.len() as u64).to_le_bytes()),
    }
}

fn readable(value: &Value, ty: &DataType) -> Option<String> {
    let mut out = String::new();
    match (value, ty) {
        (Value::UInt(days), DataType::Date) => {
            let (year, month, day) = civil_of_days(*days as i64);
            write!(out, "{year:04}{month:02}{day:02}").ok()?;
        }
        (Value::Int(n), DataType::Date32) => write!(out, "{n}").ok()?,
        (Value::UInt(n), ty) if !ty.is_float() => write!(out, "{n}").ok()?,
        (Value::Int(n), DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64) => {
            write!(out, "{n}").ok()?;
        }
        (Value::Int(n), DataType::Enum8(_) | DataType::Enum16(_)) => write!(out, "{n}").ok()?,
        _ => return None,
    }
    Some(out)
}

/// Year, month and day of a number of days since 1970-01-01 (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
fn civil_of_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids() {
        let of = |value, ty| Partition::of(&value, &ty, "").id.to_string();
        assert_eq!(of(Value::UInt(202_401), DataType::UInt32), "202401");
        assert_eq!(of(Value::UInt(19_723), DataType::Date), "20240101");
        assert_eq!(of(Value::Int(-1), DataType::Int8), "-1");
        let pair = DataType::Tuple(
            [DataType::UInt8, DataType::UInt8].map(|ty| chalet_types::TupleField { name: None, ty }).into(),
        );
        assert_eq!(of(Value::Tuple(vec![Value::UInt(1), Value::UInt(2)]), pair), "1-2");
        assert_eq!(of(Value::string("a"), DataType::String), "51fbadfb0deeea70ceafbd3c7c8aef25");
    }

    #[test]
    fn partitions_that_had_other_names() {
        let may = |value, ty, shown: &str| Partition::of(&value, &ty, shown).may_have_earlier_name();
        assert!(may(Value::string("a"), DataType::String, "a"));
        assert!(may(Value::Float(1.5), DataType::Float64, "1.5"));
        assert!(may(Value::Int(19_723), DataType::Date32, "2024-01-01"));
        assert!(!may(Value::UInt(19_723), DataType::Date, "2024-01-01"));
        assert!(!may(Value::UInt(202_401), DataType::UInt32, "202401"));
        assert!(!Partition::all().may_have_earlier_name());
    }
}
