//! Result types of arithmetic: the kernel widens by one step, keeps signs, and stops at 64 bits (or at the wide width).

use crate::DataType;

fn bits(ty: &DataType) -> u32 {
    8 * ty.physical().width().unwrap_or(1) as u32
}

pub fn unsigned_of_bits(bits: u32) -> Option<DataType> {
    use DataType::*;
    Some(match bits {
        8 => UInt8,
        16 => UInt16,
        32 => UInt32,
        64 => UInt64,
        128 => UInt128,
        256 => UInt256,
        _ => return None,
    })
}

pub fn signed_of_bits(bits: u32) -> Option<DataType> {
    use DataType::*;
    Some(match bits {
        8 => Int8,
        16 => Int16,
        32 => Int32,
        64 => Int64,
        128 => Int128,
        256 => Int256,
        _ => return None,
    })
}

pub fn float_of_bits(bits: u32) -> Option<DataType> {
    use DataType::*;
    Some(match bits {
        16 => BFloat16,
        32 => Float32,
        64 => Float64,
        _ => return None,
    })
}

fn integer(signed: bool, bits: u32) -> Option<DataType> {
    if signed { signed_of_bits(bits) } else { unsigned_of_bits(bits) }
}

/// Up to 64 bits one step wider; the wide integers stay.
fn next_bits(bits: u32) -> u32 {
    if bits < 64 { bits * 2 } else { bits }
}

fn is_wide(ty: &DataType) -> bool {
    bits(ty) > 64
}

/// Float result when one side is a float: one step wider, and wide enough for the other side. The kernel has
/// no such arithmetic between floats and integers of 128 and 256 bits.
fn float(a: &DataType, b: &DataType) -> Option<DataType> {
    if is_wide(a) || is_wide(b) {
        return None;
    }
    float_of_bits(next_bits(bits(a).max(bits(b))).clamp(32, 64))
}

/// `a + b`, `a * b`.
pub fn sum(a: &DataType, b: &DataType) -> Option<DataType> {
    if a.is_float() || b.is_float() {
        return float(a, b);
    }
    integer(a.is_signed() || b.is_signed(), next_bits(bits(a).max(bits(b))))
}

/// `a - b`: always signed.
pub fn difference(a: &DataType, b: &DataType) -> Option<DataType> {
    if a.is_float() || b.is_float() {
        return float(a, b);
    }
    integer(true, next_bits(bits(a).max(bits(b))))
}

/// BFloat16 does not meet integers of 128 and 256 bits.
fn meet(a: &DataType, b: &DataType) -> bool {
    let short = |x: &DataType, y: &DataType| *x == DataType::BFloat16 && is_wide(y);
    !short(a, b) && !short(b, a)
}

/// `a / b`: always Float64.
pub fn quotient(a: &DataType, b: &DataType) -> Option<DataType> {
    meet(a, b).then_some(DataType::Float64)
}

/// `-a`.
pub fn negation(a: &DataType) -> Option<DataType> {
    if a.is_float() {
        return (*a != DataType::BFloat16).then(|| a.clone());
    }
    signed_of_bits(if a.is_signed() { bits(a) } else { next_bits(bits(a)) })
}

/// `intDiv(a, b)`: the width of the dividend, signed when either is (floats are).
pub fn integer_quotient(a: &DataType, b: &DataType) -> Option<DataType> {
    let signed = |ty: &DataType| ty.is_signed() || ty.is_float();
    if meet(a, b) { integer(signed(a) || signed(b), bits(a)) } else { None }
}

/// `a % b`: the width of the divisor; a signed dividend needs one step more.
pub fn remainder(a: &DataType, b: &DataType) -> Option<DataType> {
    match () {
        _ if a.is_float() || b.is_float() => quotient(a, b),
        _ if a.is_signed() => signed_of_bits(next_bits(bits(b))),
        _ => unsigned_of_bits(bits(b)),
    }
}

/// `positiveModulo(a, b)`: unsigned of the width of the divisor.
pub fn positive_remainder(a: &DataType, b: &DataType) -> Option<DataType> {
    if a.is_float() || b.is_float() { quotient(a, b) } else { unsigned_of_bits(bits(b)) }
}
