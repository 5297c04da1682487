//! Numbers of any type seen as 64-bit floats, one match a row: for statistics, which compute in floats anyway.

use chalet_base::{Result, bail};
use chalet_columns::builder::Values;
use chalet_columns::wire::{take, take_array};
use chalet_columns::{Builder, Data, Vector};
use chalet_types::{AsI256, AsU256, DataType, I256, Physical, U256, bf16};
use std::ops::Range;

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

    /// The first of these rows as floats, as many as there is room for.
    fn copy_to<'o>(&self, rows: &Range<usize>, out: &'o mut [f64; AT_ONCE]) -> &'o [f64] {
        let out = &mut out[..rows.len().min(AT_ONCE)];
        let rows = rows.start..rows.start + out.len();
        macro_rules! copied {
            ($($plain:ident),*; $x:ident: $($cast:ident => $to:expr),*) => {
                match self.data {
                    $(Data::$plain(v) => out.iter_mut().zip(&v[rows]).for_each(|(to, &x)| *to = x.into()),)*
                    $(Data::$cast(v) => out.iter_mut().zip(&v[rows]).for_each(|(to, &$x)| *to = $to),)*
                    _ => return self.each_to(rows, out),
                }
            };
        }
        copied!(U8, U16, U32, I8, I16, I32, F32, F64; x: U64 => x as f64, I64 => x as f64);
        if self.divisor != 1.0 {
            out.iter_mut().for_each(|x| *x /= self.divisor);
        }
        out
    }

    fn each_to<'o>(&self, rows: Range<usize>, out: &'o mut [f64]) -> &'o [f64] {
        out.iter_mut().zip(rows).for_each(|(to, row)| *to = self.get(row));
        out
    }

    /// Calls `f` with the rows as floats, some hundred at once, so that the match is made once for all of them.
    #[inline]
    pub fn by_parts(&self, mut rows: Range<usize>, mut f: impl FnMut(&[f64])) {
        let mut values = [0.0; AT_ONCE];
        while !rows.is_empty() {
            let some = self.copy_to(&rows, &mut values);
            rows.start += some.len();
            f(some);
        }
    }

    /// The same with the rows of two columns.
    #[inline]
    pub fn pairs_by_parts(
        xs: &Floats,
        ys: &Floats,
        mut rows: Range<usize>,
        mut f: impl FnMut(&[f64], &[f64]),
    ) {
        let (mut x_values, mut y_values) = ([0.0; AT_ONCE], [0.0; AT_ONCE]);
        while !rows.is_empty() {
            let (x_part, y_part) = (xs.copy_to(&rows, &mut x_values), ys.copy_to(&rows, &mut y_values));
            rows.start += x_part.len();
            f(x_part, y_part);
        }
    }
}

/// Rows that are made floats together.
const AT_ONCE: usize = 256;

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

/// An integer of any width; 0 for anything else.
pub fn integer(data: &Data, row: usize) -> I256 {
    match data {
        Data::U8(v) => v[row].into(),
        Data::U16(v) => v[row].into(),
        Data::U32(v) => v[row].into(),
        Data::U64(v) => v[row].into(),
        Data::U128(v) => v[row].into(),
        Data::U256(v) => v[row].as_i256(),
        Data::I8(v) => v[row].into(),
        Data::I16(v) => v[row].into(),
        Data::I32(v) => v[row].into(),
        Data::I64(v) => v[row].into(),
        Data::I128(v) => v[row].into(),
        Data::I256(v) => v[row],
        _ => I256::ZERO,
    }
}

/// Appends an integer to a builder of integers or floats, wrapping.
pub fn push_integer(x: I256, out: &mut Builder) -> Result<()> {
    match &mut out.values {
        Values::U8(values) => values.push(x.as_u8()),
        Values::U16(values) => values.push(x.as_u16()),
        Values::U32(values) => values.push(x.as_u32()),
        Values::U64(values) => values.push(x.as_u64()),
        Values::U128(values) => values.push(x.as_u128()),
        Values::U256(values) => values.push(x.as_u256()),
        Values::I8(values) => values.push(x.as_i8()),
        Values::I16(values) => values.push(x.as_i16()),
        Values::I32(values) => values.push(x.as_i32()),
        Values::I64(values) => values.push(x.as_i64()),
        Values::I128(values) => values.push(x.as_i128()),
        Values::I256(values) => values.push(x),
        Values::F64(values) => values.push(x.as_f64()),
        _ => bail!(LOGICAL_ERROR, "Result of an aggregate is {:?}", out.physical()),
    }
    Ok(())
}

/// Appends a number in the representation of the argument that it was.
pub fn put_float(x: f64, to: Physical, out: &mut Vec<u8>) {
    macro_rules! put {
        ($($physical:ident => $ty:ty),*) => {
            match to {
                $(Physical::$physical => out.extend((x as $ty).to_le_bytes()),)*
                Physical::BF16 => out.extend(bf16::from_f64(x).to_le_bytes()),
                Physical::U256 => out.extend(x.as_u256().to_le_bytes()),
                Physical::I256 => out.extend(x.as_i256().to_le_bytes()),
                _ => out.extend(x.to_le_bytes()),
            }
        };
    }
    put!(U8 => u8, U16 => u16, U32 => u32, U64 => u64, U128 => u128, I8 => i8, I16 => i16, I32 => i32, I64 => i64,
        I128 => i128, F32 => f32);
}

/// Bytes of an integer in states.
pub fn integer_width(ty: &DataType) -> usize {
    ty.physical().width().unwrap_or(32)
}

/// Takes an integer of this type.
pub fn take_integer(ty: &DataType, bytes: &mut &[u8]) -> Result<I256> {
    let taken = take(bytes, integer_width(ty))?;
    let is_negative = !ty.is_unsigned() && taken.last().is_some_and(|byte| *byte >= 0x80);
    let mut wide = [if is_negative { 0xff } else { 0 }; 32];
    wide[..taken.len()].copy_from_slice(taken);
    Ok(I256::from_le_bytes(wide))
}

/// Takes what [`put_float`] wrote.
pub fn take_float(from: Physical, bytes: &mut &[u8]) -> Result<f64> {
    macro_rules! take {
        ($($physical:ident => $ty:ty),*) => {
            match from {
                $(Physical::$physical => <$ty>::from_le_bytes(take_array(bytes)?) as f64,)*
                Physical::BF16 => bf16::from_le_bytes(take_array(bytes)?).to_f64(),
                Physical::U256 => U256::from_le_bytes(take_array(bytes)?).as_f64(),
                Physical::I256 => I256::from_le_bytes(take_array(bytes)?).as_f64(),
                _ => f64::from_le_bytes(take_array(bytes)?),
            }
        };
    }
    Ok(
        take!(U8 => u8, U16 => u16, U32 => u32, U64 => u64, U128 => u128, I8 => i8, I16 => i16, I32 => i32, I64 => i64,
        I128 => i128, F32 => f32),
    )
}
