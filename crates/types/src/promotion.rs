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

/// Float result when one side is a float: the wider of the two, an integer counting as its own width.
fn float(a: &DataType, b: &DataType) -> Option<DataType> {
    let width = |ty: &DataType| match (ty.is_float(), bits(ty)) {
        (true, w) => w,
        // An integer of 8 or 16 bits does not widen a float; from 32 bits on it asks for Float64.
        (false, 8) => 16,
        (false, 16) => 32,
        (false, _) => 64,
    };
    float_of_bits(width(a).max(width(b)))
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

/// `-a`.
pub fn negation(a: &DataType) -> Option<DataType> {
    if a.is_float() {
        return Some(a.clone());
    }
    signed_of_bits(if a.is_signed() { bits(a) } else { next_bits(bits(a)) })
}

/// `intDiv(a, b)`: the width of the dividend, signed when either is.
pub fn integer_quotient(a: &DataType, b: &DataType) -> Option<DataType> {
    integer(a.is_signed() || b.is_signed(), bits(a))
}
