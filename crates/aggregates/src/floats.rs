//! Numbers of any type seen as 64-bit floats, one match a row: for statistics, which compute in floats anyway.

use chalet_base::{Result, bail};
use chalet_columns::{Data, Vector};
use chalet_types::DataType;

/// The values of a numeric argument; decimals scaled down.
#[derive(Clone, Copy)]
pub struct Floats<'a> {
    data: &'a Data,
    /// 10^scale for decimals, else 1.
    divisor: f64,
}

impl<'a> Floats<'a> {
    pub fn of(vector: &'a Vector, divisor: f64) -> Result<Floats<'a>> {
        match &vector.data {
            Data::Nothing(_) | Data::Str(_) | Data::Fixed(_) | Data::List(_) | Data::Struct(_) => {
                bail!(LOGICAL_ERROR, "Column is {:?} where a number was expected", vector.data.physical())
            }
            data => Ok(Floats { data, divisor }),
        }
    }

    #[inline]
    pub fn get(&self, row: usize) -> f64 {
        let x = match self.data {
            Data::U8(v) => v[row].into(),
            Data::U16(v) => v[row].into(),
            Data::U32(v) => v[row].into(),
            Data::U64(v) => v[row] as f64,
            Data::U128(v) => v[row] as f64,
            Data::U256(v) => v[row].as_f64(),
            Data::I8(v) => v[row].into(),
            Data::I16(v) => v[row].into(),
            Data::I32(v) => v[row].into(),
            Data::I64(v) => v[row] as f64,
            Data::I128(v) => v[row] as f64,
            Data::I256(v) => v[row].as_f64(),
            Data::BF16(v) => v[row].into(),
            Data::F32(v) => v[row].into(),
            Data::F64(v) => v[row],
            _ => 0.0,
        };
        if self.divisor == 1.0 { x } else { x / self.divisor }
    }
}

/// What the raw integers of a type are divided by.
pub fn divisor(ty: &DataType) -> f64 {
    match ty {
        DataType::Decimal { scale, .. } => 10f64.powi(i32::from(*scale)),
        _ => 1.0,
    }
}

/// An unsigned argument of up to 64 bits, such as a weight.
#[derive(Clone, Copy)]
pub struct Unsigned<'a>(&'a Data);

impl<'a> Unsigned<'a> {
    pub fn of(vector: &'a Vector) -> Unsigned<'a> {
        Unsigned(&vector.data)
    }

    #[inline]
    pub fn get(&self, row: usize) -> u64 {
        match self.0 {
            Data::U8(v) => v[row].into(),
            Data::U16(v) => v[row].into(),
            Data::U32(v) => v[row].into(),
            Data::U64(v) => v[row],
            Data::I8(v) => v[row] as u64,
            Data::I16(v) => v[row] as u64,
            Data::I32(v) => v[row] as u64,
            Data::I64(v) => v[row] as u64,
            Data::F32(v) => v[row] as u64,
            Data::F64(v) => v[row] as u64,
            _ => 0,
        }
    }
}
