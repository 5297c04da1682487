//! Floats of more than 64 bits as integers of 128 and 256 bits, digit by digit to the base 2^64 - 1 as the kernel takes them apart: in
//! floats of 80 bits, whose roundings show in the lowest digits of the result.

use chalet_types::I256;
use ethnum::U256;

/// The base, as an integer.
const BASE: u64 = u64::MAX;

/// A float of 80 bits that is not negative: 64 bits times a power of two.
#[derive(Clone, Copy)]
struct Extended {
    mantissa: u64,
    exponent: i32,
}

impl Extended {
    /// The nearest to an integer times a power of two; a tie goes to the even neighbour.
    fn nearest(value: u128, exponent: i32) -> Extended {
        let surplus = (64 - value.leading_zeros() as i32).max(0);
        if surplus == 0 {
            return Extended { mantissa: value as u64, exponent };
        }
        let (kept, rest) = (value >> surplus, value & ((1 << surplus) - 1));
        let half = 1 << (surplus - 1);
        let up = rest > half || rest == half && kept & 1 == 1;
        let kept = kept + u128::from(up);
        // Rounding up may take one bit more.
        match u64::try_from(kept) {
            Ok(mantissa) => Extended { mantissa, exponent: exponent + surplus },
            Err(_) => Extended { mantissa: 1 << 63, exponent: exponent + surplus + 1 },
        }
    }

    /// Without what is behind the point.
    fn floor(self) -> Extended {
        if self.exponent >= 0 {
            return self;
        }
        let mantissa = self.mantissa.checked_shr(self.exponent.unsigned_abs()).unwrap_or(0);
        Extended { mantissa, exponent: 0 }
    }

    /// `self - other`, which are near each other, as the lowest 64 bits of an integer.
    fn minus(self, other: Extended) -> i64 {
        let least = self.exponent.min(other.exponent);
        let scaled = |x: Extended| {
            let shift = x.exponent - least;
            i128::from(x.mantissa) << shift.min(62)
        };
        let difference = scaled(self) - scaled(other);
        let shifted = match least {
            0.. => difference.checked_shl(least as u32).unwrap_or(0),
            _ => difference >> least.unsigned_abs().min(127),
        };
        shifted as i64
    }
}

/// The integer of a finite float whose magnitude is at least 2^63.
pub fn of_large(x: f64) -> I256 {
    let bits = x.to_bits();
    let mantissa = (bits & ((1 << 52) - 1) | 1 << 52) << 11;
    let exponent = ((bits >> 52) & 0x7ff) as i32 - 1023 - 63;
    let whole = Extended { mantissa, exponent };
    // The quotient by the base: the mantissa has eleven zeros at its end, and the quotient is nearest to one more.
    let quotient = Extended { mantissa: mantissa + 1, exponent: exponent - 64 };
    let high = match quotient.exponent {
        1.. => digits(x.abs() / 18_446_744_073_709_551_616.0),
        _ => U256::from(quotient.floor().mantissa),
    };
    let floor = quotient.floor();
    let product = Extended::nearest(u128::from(floor.mantissa) * u128::from(BASE), floor.exponent);
    let low = whole.minus(product) as u64;
    let value = high.wrapping_mul(BASE.into()).wrapping_add(low.into()).as_i256();
    if x < 0.0 { value.wrapping_neg() } else { value }
}

/// The digits above the lowest one, which are taken off floats of 64 bits.
fn digits(x: f64) -> U256 {
    // As a float of 64 bits the base is a power of two.
    const ROUNDED: f64 = 18_446_744_073_709_551_616.0;
    let quotient = x / ROUNDED;
    let high = if quotient <= ROUNDED { U256::from(quotient as u64) } else { digits(quotient) };
    let low = (x - quotient.floor() * ROUNDED) as u64;
    high.wrapping_mul(BASE.into()).wrapping_add(low.into())
}
