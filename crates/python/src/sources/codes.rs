//! Places in categories: pandas' Categorical. They stay codes into a dictionary.

use super::columns::{SharedValues, Values};
use super::plain::Items;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_types::DataType;
use std::ops::Range;

pub struct Codes {
    codes: Items,
    n_categories: usize,
    /// The categories, and NULL behind them when a code is negative.
    values: Vector,
    ty: DataType,
}

impl Codes {
    pub fn new(codes: Items, n_categories: usize, categories: &SharedValues) -> Result<Codes> {
        let ty = categories.ty();
        let mut values = categories.read(0..n_categories)?.into_flat();
        let any_null = (0..codes.len).any(|row| code(&codes, row) < 0);
        let mut bare = ty.without_low_cardinality().clone();
        if any_null {
            bare = if bare.can_be_nullable() { bare.nullable() } else { bare };
            let null = Vector::defaults(&bare, 1);
            values = Vector::concat(&[&values, &null]);
        } else if values.validity.is_none() {
            bare = bare.without_nullable().clone();
        }
        // Copied: few, and read until the statement's result is gone.
        let values = values.detached(&|_| true);
        let ty =
            if matches!(bare.without_nullable(), DataType::String) { bare.low_cardinality() } else { bare };
        Ok(Codes { codes, n_categories, values, ty })
    }
}

fn code(codes: &Items, row: usize) -> i64 {
    let bytes = codes.item(row);
    match *bytes {
        [a] => i64::from(a as i8),
        [a, b] => i64::from(i16::from_ne_bytes([a, b])),
        [a, b, c, d] => i64::from(i32::from_ne_bytes([a, b, c, d])),
        [a, b, c, d, e, f, g, h] => i64::from_ne_bytes([a, b, c, d, e, f, g, h]),
        _ => i64::MAX,
    }
}

impl Values for Codes {
    fn ty(&self) -> DataType {
        self.ty.clone()
    }

    fn read(&self, rows: Range<usize>) -> Result<Column> {
        let n = self.n_categories as i64;
        let mut codes: Vec<u32> = Vec::with_capacity(rows.len());
        for row in rows {
            let code = code(&self.codes, row);
            let place = if code < 0 { n } else { code };
            // The owner may have written since the categories were counted.
            ensure!(
                place < self.values.len() as i64 && code < n,
                INCORRECT_DATA,
                "Code {code} is of no category of {n}"
            );
            codes.push(place as u32);
        }
        Ok(Column::Dict { codes: codes.into(), values: self.values.clone() })
    }
}
