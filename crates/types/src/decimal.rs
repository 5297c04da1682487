//! Precision and scale of decimals: widths, powers of ten.

use crate::I256;
use std::sync::LazyLock;

/// Digits that fit the four widths of 32, 64, 128 and 256 bits.
pub const MAX_PRECISION: [u8; 4] = [9, 18, 38, 76];

/// The largest precision of the width that holds `precision` digits.
pub fn widest_of_same_width(precision: u8) -> u8 {
    MAX_PRECISION.into_iter().find(|&max| precision <= max).unwrap_or(76)
}

/// 10^exponent for exponents 0..=76.
pub fn pow10(exponent: u32) -> I256 {
    /// A power takes as long as many other steps of whoever asks for it row by row.
    static POWERS: LazyLock<[I256; 77]> =
        LazyLock::new(|| std::array::from_fn(|exponent| I256::new(10).pow(exponent as u32)));
    POWERS.get(exponent as usize).copied().unwrap_or_else(|| I256::new(10).wrapping_pow(exponent))
}

/// 10^exponent for exponents 0..=18.
pub fn pow10_i64(exponent: u32) -> i64 {
    10i64.pow(exponent)
}

/// 10^exponent for exponents 0..=38.
pub fn pow10_i128(exponent: u32) -> i128 {
    10i128.pow(exponent)
}
