//! The fixed-width numbers as one family: conversions between all of them as in C, and the operations of integers.

use chalet_columns::{Data, Native, each_native};
use chalet_types::{I256, U256, bf16};
use ethnum::{AsI256, AsU256};

/// A conversion that never fails: integers keep their low bits, floats are truncated and saturate.
pub trait Cast<T>: Copy {
    fn cast(self) -> T;
}

macro_rules! casts_to {
    ($to:ty; $($from:ty)*) => {$(
        impl Cast<$to> for $from {
            #[inline(always)]
            fn cast(self) -> $to {
                self as $to
            }
        }
    )*};
}

macro_rules! casts_of_primitive {
    ($($to:ty, $as_to:ident;)*) => {$(
        casts_to!($to; u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64);
        impl Cast<$to> for U256 {
            #[inline]
            fn cast(self) -> $to {
                self.$as_to()
            }
        }
        impl Cast<$to> for I256 {
            #[inline]
            fn cast(self) -> $to {
                self.$as_to()
            }
        }
        impl Cast<$to> for bf16 {
            #[inline]
            fn cast(self) -> $to {
                self.to_f32() as $to
            }
        }
        impl Cast<U256> for $to {
            #[inline]
            fn cast(self) -> U256 {
                self.as_u256()
            }
        }
        impl Cast<I256> for $to {
            #[inline]
            fn cast(self) -> I256 {
                self.as_i256()
            }
        }
        impl Cast<bf16> for $to {
            #[inline]
            fn cast(self) -> bf16 {
                bf16::from_f64(self as f64)
            }
        }
    )*};
}

casts_of_primitive! {
    u8, as_u8; u16, as_u16; u32, as_u32; u64, as_u64; u128, as_u128;
    i8, as_i8; i16, as_i16; i32, as_i32; i64, as_i64; i128, as_i128;
    f32, as_f32; f64, as_f64;
}

macro_rules! casts_of_wide {
    ($($from:ty => $to:ty: $x:ident => $value:expr;)*) => {$(
        impl Cast<$to> for $from {
            #[inline]
            fn cast(self) -> $to {
                let $x = self;
                $value
            }
        }
    )*};
}

casts_of_wide! {
    U256 => U256: x => x; U256 => I256: x => x.as_i256(); I256 => U256: x => x.as_u256(); I256 => I256: x => x;
    U256 => bf16: x => bf16::from_f64(x.as_f64()); I256 => bf16: x => bf16::from_f64(x.as_f64());
    bf16 => bf16: x => x; bf16 => U256: x => x.to_f32().as_u256(); bf16 => I256: x => x.to_f32().as_i256();
}

/// A fixed-width number that runs of every other one convert to.
pub trait Number: Native + Cast<f64> {
    /// Converts `out.len()` values of `data` from `start` on; false when `data` has no fixed width.
    fn fill(data: &Data, start: usize, out: &mut [Self]) -> bool;
}

macro_rules! numbers {
    ($($ty:ty)*) => {$(
        impl Number for $ty {
            fn fill(data: &Data, start: usize, out: &mut [Self]) -> bool {
                each_native!(data, values => {
                    let values = &values[start..start + out.len()];
                    out.iter_mut().zip(values).for_each(|(out, &x)| *out = x.cast());
                    true
                }, _ => false)
            }
        }
    )*};
}

numbers!(u8 u16 u32 u64 u128 U256 i8 i16 i32 i64 i128 I256 bf16 f32 f64);

/// An integer: arithmetic that wraps, and what division needs to know.
pub trait Integer: Number + Ord + Eq {
    const ZERO: Self;
    const ONE: Self;
    const MIN: Self;
    const SIGNED: bool;
    const BITS: u32;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn neg(self) -> Self;
    /// Truncated quotient; the divisor is not zero, and not -1 under the least value.
    fn div(self, other: Self) -> Self;
    /// Remainder with the sign of the dividend; the divisor is as in [`div`](Self::div).
    fn rem(self, other: Self) -> Self;
    fn checked_add(self, other: Self) -> Option<Self>;
    fn checked_sub(self, other: Self) -> Option<Self>;
    fn checked_mul(self, other: Self) -> Option<Self>;
    fn bit_and(self, other: Self) -> Self;
    fn bit_or(self, other: Self) -> Self;
    fn bit_xor(self, other: Self) -> Self;
    fn bit_not(self) -> Self;
    /// `count` is below the number of bits.
    fn shl(self, count: u32) -> Self;
    /// `count` is below the number of bits; keeps the sign.
    fn shr(self, count: u32) -> Self;
    fn rotate_left(self, count: u32) -> Self;
    fn swap_bytes(self) -> Self;
    fn count_ones(self) -> u32;
}

macro_rules! integers {
    ($($ty:ty, $signed:literal, $zero:expr, $one:expr, $checked_mul:expr;)*) => {$(
        impl Integer for $ty {
            const ZERO: Self = $zero;
            const ONE: Self = $one;
            const MIN: Self = <$ty>::MIN;
            const SIGNED: bool = $signed;
            const BITS: u32 = 8 * size_of::<$ty>() as u32;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn neg(self) -> Self {
                self.wrapping_neg()
            }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                self.wrapping_div(other)
            }
            #[inline(always)]
            fn rem(self, other: Self) -> Self {
                self.wrapping_rem(other)
            }
            #[inline(always)]
            fn checked_add(self, other: Self) -> Option<Self> {
                self.checked_add(other)
            }
            #[inline(always)]
            fn checked_sub(self, other: Self) -> Option<Self> {
                self.checked_sub(other)
            }
            #[inline(always)]
            fn checked_mul(self, other: Self) -> Option<Self> {
                $checked_mul(self, other)
            }
            #[inline(always)]
            fn bit_and(self, other: Self) -> Self {
                self & other
            }
            #[inline(always)]
            fn bit_or(self, other: Self) -> Self {
                self | other
            }
            #[inline(always)]
            fn bit_xor(self, other: Self) -> Self {
                self ^ other
            }
            #[inline(always)]
            fn bit_not(self) -> Self {
                !self
            }
            #[inline(always)]
            fn shl(self, count: u32) -> Self {
                self.wrapping_shl(count)
            }
            #[inline(always)]
            fn shr(self, count: u32) -> Self {
                self.wrapping_shr(count)
            }
            #[inline(always)]
            fn rotate_left(self, count: u32) -> Self {
                self.rotate_left(count)
            }
            #[inline(always)]
            fn swap_bytes(self) -> Self {
                self.swap_bytes()
            }
            #[inline(always)]
            fn count_ones(self) -> u32 {
                self.count_ones()
            }
        }
    )*};
}

integers! {
    u8, false, 0, 1, u8::checked_mul; u16, false, 0, 1, u16::checked_mul; u32, false, 0, 1, u32::checked_mul;
    u64, false, 0, 1, u64::checked_mul; u128, false, 0, 1, u128::checked_mul;
    U256, false, U256::ZERO, U256::ONE, U256::checked_mul;
    i8, true, 0, 1, i8::checked_mul; i16, true, 0, 1, i16::checked_mul; i32, true, 0, 1, i32::checked_mul;
    i64, true, 0, 1, i64::checked_mul; i128, true, 0, 1, i128::checked_mul;
    I256, true, I256::ZERO, I256::ONE, checked_product;
}

/// The product of two integers, if it has room. That of two that 128 bits hold always has: no division has to tell.
#[inline]
pub fn checked_product(a: I256, b: I256) -> Option<I256> {
    let narrow = |x: I256| {
        let (high, low) = x.into_words();
        (high == low >> 127).then_some(low)
    };
    let (Some(x), Some(y)) = (narrow(a), narrow(b)) else { return a.checked_mul(b) };
    let (x_size, y_size) = (x.unsigned_abs(), y.unsigned_abs());
    let product = match (u64::try_from(x_size), u64::try_from(y_size)) {
        (Ok(x), Ok(y)) => I256::from(u128::from(x) * u128::from(y)),
        _ => return Some(a.wrapping_mul(b)),
    };
    Some(if (x < 0) != (y < 0) { -product } else { product })
}

/// Runs an expression with `$c` standing for the integer type of a representation, else the last arm.
#[macro_export]
macro_rules! with_integer {
    ($physical:expr, $c:ident => $body:expr, _ => $otherwise:expr) => {{
        use chalet_types::Physical as P;
        match $physical {
            P::U8 => {
                type $c = u8;
                $body
            }
            P::U16 => {
                type $c = u16;
                $body
            }
            P::U32 => {
                type $c = u32;
                $body
            }
            P::U64 => {
                type $c = u64;
                $body
            }
            P::U128 => {
                type $c = u128;
                $body
            }
            P::U256 => {
                type $c = chalet_types::U256;
                $body
            }
            P::I8 => {
                type $c = i8;
                $body
            }
            P::I16 => {
                type $c = i16;
                $body
            }
            P::I32 => {
                type $c = i32;
                $body
            }
            P::I64 => {
                type $c = i64;
                $body
            }
            P::I128 => {
                type $c = i128;
                $body
            }
            P::I256 => {
                type $c = chalet_types::I256;
                $body
            }
            _ => $otherwise,
        }
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_the_library() {
        let edges = [
            0,
            1,
            2,
            3,
            u64::MAX as i128 - 1,
            u64::MAX as i128,
            u64::MAX as i128 + 1,
            i128::MAX - 1,
            i128::MAX,
            i128::MIN,
        ];
        let mut numbers: Vec<I256> = edges.iter().flat_map(|&x| [I256::from(x), -I256::from(x)]).collect();
        numbers.extend([
            I256::MAX,
            I256::MIN,
            I256::MAX / 2,
            I256::MIN / 2,
            I256::MIN + 1,
            I256::from(i128::MIN) - 1,
        ]);
        numbers.extend((0..77).map(chalet_types::decimal::pow10));
        for &a in &numbers {
            for &b in &numbers {
                assert_eq!(checked_product(a, b), a.checked_mul(b), "{a} {b}");
            }
        }
    }
}
