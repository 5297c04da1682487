//! Numbers from text: integers that wrap as the kernel's do, and floats.

use super::cursor::{Cursor, plain};
use chalet_base::{Result, bail, err};
use chalet_types::{U256, bf16};

/// Sign and digits of an integer. Without any digit the value is zero and nothing is consumed but for a sign,
/// which then is an error.
#[inline]
pub fn sign(cur: &mut Cursor, signed: bool) -> Result<bool> {
    let negative = match cur.peek() {
        Some(b'-') if signed => true,
        Some(b'-') => {
            bail!(CANNOT_PARSE_NUMBER, "Unsigned type must not contain '-' symbol")
        }
        Some(b'+') => false,
        _ => return Ok(false),
    };
    cur.advance(1);
    if !cur.peek().is_some_and(|b| b.is_ascii_digit()) {
        bail!(CANNOT_PARSE_NUMBER, "Cannot parse number without any digits");
    }
    Ok(negative)
}

/// An integer of up to 64 bits, modulo 2^64.
#[inline]
pub fn wrapping_u64(cur: &mut Cursor, signed: bool) -> Result<u64> {
    let negative = sign(cur, signed)?;
    let mut x = 0u64;
    let rest = cur.rest();
    let mut n = 0;
    while n < rest.len() && rest[n].is_ascii_digit() {
        x = x.wrapping_mul(10).wrapping_add(u64::from(rest[n] - b'0'));
        n += 1;
    }
    cur.advance(n);
    Ok(if negative { x.wrapping_neg() } else { x })
}

/// An integer of 128 or 256 bits, modulo 2^256.
pub fn wrapping_u256(cur: &mut Cursor, signed: bool) -> Result<U256> {
    let negative = sign(cur, signed)?;
    let digits = cur.take_until(|b| !b.is_ascii_digit());
    let mut x = U256::ZERO;
    // Groups of 19 digits fit 64 bits.
    for group in digits.chunks(19) {
        let value = group.iter().fold(0u64, |v, d| v * 10 + u64::from(d - b'0'));
        x = x.wrapping_mul(U256::from(10u64.pow(group.len() as u32))).wrapping_add(U256::from(value));
    }
    Ok(if negative { x.wrapping_neg() } else { x })
}

/// Would the digits of an integer overflow `limit`, which is the greatest magnitude for its sign?
pub fn overflows(digits: &[u8], limit: U256) -> bool {
    let digits = &digits[digits.iter().position(|&d| d != b'0').unwrap_or(digits.len())..];
    // 2^256 has 78 digits.
    if digits.len() > 78 {
        return true;
    }
    let mut x = U256::ZERO;
    for d in digits {
        let next = x.checked_mul(U256::from(10u8)).and_then(|x| x.checked_add(U256::from(d - b'0')));
        match next {
            Some(next) if next <= limit => x = next,
            _ => return true,
        }
    }
    false
}

/// A float: digits with point and exponent, `inf`, `nan`.
#[inline]
pub fn f64(cur: &mut Cursor) -> Result<f64> {
    float(cur)
}

#[inline]
pub fn f32(cur: &mut Cursor) -> Result<f32> {
    float(cur)
}

/// BFloat16 keeps the upper half of a Float32, without rounding.
pub fn bfloat16(cur: &mut Cursor) -> Result<bf16> {
    Ok(bf16::from_bits((f32(cur)?.to_bits() >> 16) as u16))
}

#[inline]
fn float<F: fast_float2::FastFloat>(cur: &mut Cursor) -> Result<F> {
    let plus = usize::from(cur.peek() == Some(b'+'));
    match fast_float2::parse_partial::<F, _>(&cur.rest()[plus..]) {
        Ok((x, n)) if n > 0 => {
            cur.advance(plus + n);
            Ok(x)
        }
        _ => {
            let rest = cur.rest();
            Err(err!(
                CANNOT_PARSE_NUMBER,
                "Cannot read floating point value here: {}",
                plain(&rest[..rest.len().min(100)])
            ))
        }
    }
}
