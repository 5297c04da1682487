//! Decimals from text: exact digits, cut behind the scale.

use super::cursor::{Cursor, plain};
use chalet_base::{Error, Result, ensure, err};
use chalet_types::I256;
use chalet_types::decimal::pow10;

/// Reads a decimal as the integer that represents it. Digits behind the scale are dropped, too many digits before
/// the point are an error.
pub fn decimal(cur: &mut Cursor, precision: u8, scale: u8) -> Result<I256> {
    let (precision, scale) = (i64::from(precision), i64::from(scale));
    let negative = match cur.peek() {
        Some(sign @ (b'-' | b'+')) => {
            cur.advance(1);
            sign == b'-'
        }
        _ => false,
    };
    // Significant digits, and how far the value is from them in powers of ten.
    let mut digits: Vec<u8> = Vec::new();
    let (mut exponent, mut after_point) = (0i64, false);
    // More than this cannot matter: 76 digits and what is cut off.
    const KEPT: usize = 160;
    while let Some(byte) = cur.peek() {
        match byte {
            b'.' => after_point = true,
            b'0'..=b'9' => {
                if digits.len() < KEPT {
                    if byte != b'0' || !digits.is_empty() {
                        digits.push(byte);
                    }
                    exponent -= i64::from(after_point);
                } else {
                    exponent += i64::from(!after_point);
                }
            }
            _ => break,
        }
        cur.advance(1);
    }
    // An exponent may stand without digits before it, and be without digits where something else follows.
    if matches!(cur.peek(), Some(b'e' | b'E')) {
        cur.advance(1);
        exponent += read_exponent(cur)?;
    }
    if digits.is_empty() {
        return Ok(I256::ZERO);
    }
    if digits.len() as i64 + exponent > precision - scale {
        return Err(too_big(&digits, exponent, precision, scale));
    }
    let shift = exponent + scale;
    if shift < 0 {
        digits.truncate((digits.len() as i64 + shift).max(0) as usize);
    }
    let mut x = I256::ZERO;
    for group in digits.chunks(18) {
        let value = group.iter().fold(0i64, |v, d| v * 10 + i64::from(d - b'0'));
        x = x * pow10(group.len() as u32) + I256::from(value);
    }
    if shift > 0 {
        x *= pow10(shift as u32);
    }
    Ok(if negative { -x } else { x })
}

fn read_exponent(cur: &mut Cursor) -> Result<i64> {
    let negative = match cur.peek() {
        Some(sign @ (b'-' | b'+')) => {
            cur.advance(1);
            sign == b'-'
        }
        _ => false,
    };
    ensure!(!cur.is_at_end(), CANNOT_PARSE_NUMBER, "Cannot parse exponent while reading decimal");
    if !cur.peek().is_some_and(|byte| byte.is_ascii_digit()) {
        return Ok(0);
    }
    let value = super::number::wrapping_u64(cur, false)? as i64;
    let value = value.clamp(-100_000, 100_000);
    Ok(if negative { -value } else { value })
}

#[cold]
fn too_big(digits: &[u8], exponent: i64, precision: i64, scale: i64) -> Error {
    // Zeros at the end count as digits of the exponent when they stand before the point.
    err!(
        ARGUMENT_OUT_OF_BOUND,
        "Decimal value is too big: {} digits were read: '{}'e{exponent}. Expected to read decimal with scale {scale} \
         and precision {precision}",
        digits.len(),
        plain(digits)
    )
}
