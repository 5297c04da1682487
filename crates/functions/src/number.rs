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

    /// Is it less than another one? Without a branch.
    fn less(self, other: Self) -> bool;

    /// Is it less than another one, or equal?
    fn at_most(self, other: Self) -> bool;
}

macro_rules! numbers {
    ($($ty:ty)*: $a:ident $b:ident => $less:expr, $at_most:expr) => {$(
        impl Number for $ty {
            fn fill(data: &Data, start: usize, out: &mut [Self]) -> bool {
                each_native!(data, values => {
                    let values = &values[start..start + out.len()];
                    out.iter_mut().zip(values).for_each(|(out, &x)| *out = x.cast());
                    true
                }, _ => false)
            }

            #[inline(always)]
            fn less(self, other: Self) -> bool {
                let ($a, $b) = (self, other);
                $less
            }

            #[inline(always)]
            fn at_most(self, other: Self) -> bool {
                let ($a, $b) = (self, other);
                $at_most
            }
        }
    )*};
}

numbers!(u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 bf16 f32 f64: a b => a < b, a <= b);
// The comparison of the library asks for the upper halves first.
numbers!(U256: a b => {
    let ((a, a_low), (b, b_low)) = (a.into_words(), b.into_words());
    (a < b) | ((a == b) & (a_low < b_low))
}, !b.less(a));
numbers!(I256: a b => {
    let ((a, a_low), (b, b_low)) = (a.into_words(), b.into_words());
    (a < b) | ((a == b) & (a_low.cast_unsigned() < b_low.cast_unsigned()))
}, !b.less(a));

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
    ($($ty:ty, $signed:literal, $zero:expr, $one:expr, $checked_mul:expr, $div:expr, $rem:expr;)*) => {$(
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
                $div(self, other)
            }
            #[inline(always)]
            fn rem(self, other: Self) -> Self {
                $rem(self, other)
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
    u8, false, 0, 1, u8::checked_mul, u8::wrapping_div, u8::wrapping_rem;
    u16, false, 0, 1, u16::checked_mul, u16::wrapping_div, u16::wrapping_rem;
    u32, false, 0, 1, u32::checked_mul, u32::wrapping_div, u32::wrapping_rem;
    u64, false, 0, 1, u64::checked_mul, u64::wrapping_div, u64::wrapping_rem;
    u128, false, 0, 1, u128::checked_mul, u128::wrapping_div, u128::wrapping_rem;
    i8, true, 0, 1, i8::checked_mul, i8::wrapping_div, i8::wrapping_rem;
    i16, true, 0, 1, i16::checked_mul, i16::wrapping_div, i16::wrapping_rem;
    i32, true, 0, 1, i32::checked_mul, i32::wrapping_div, i32::wrapping_rem;
    i64, true, 0, 1, i64::checked_mul, i64::wrapping_div, i64::wrapping_rem;
    i128, true, 0, 1, i128::checked_mul, i128::wrapping_div, i128::wrapping_rem;
    U256, false, U256::ZERO, U256::ONE, U256::checked_mul, unsigned_quotient, unsigned_rest;
    I256, true, I256::ZERO, I256::ONE, checked_product, quotient, rest;
}

/// An integer in 128 bits, if these hold it, as most do.
#[inline]
fn narrow(x: I256) -> Option<i128> {
    let (high, low) = x.into_words();
    (high == low >> 127).then_some(low)
}

/// The quotient and the rest in 64 bits, where these hold both numbers: a division of more bits takes several times as long.
#[inline]
fn short_division(x: u128, y: u128) -> (u128, u128) {
    match (u64::try_from(x), u64::try_from(y)) {
        (Ok(x), Ok(y)) => ((x / y).into(), (x % y).into()),
        _ => (x / y, x % y),
    }
}

/// The quotient of two integers, towards zero.
#[inline]
fn quotient(a: I256, b: I256) -> I256 {
    let (Some(x), Some(y)) = (narrow(a), narrow(b)) else { return a.wrapping_div(b) };
    let size = I256::from(short_division(x.unsigned_abs(), y.unsigned_abs()).0);
    if (x < 0) != (y < 0) { -size } else { size }
}

/// The rest of this division, with the sign of the dividend.
#[inline]
fn rest(a: I256, b: I256) -> I256 {
    let (Some(x), Some(y)) = (narrow(a), narrow(b)) else { return a.wrapping_rem(b) };
    let size = I256::from(short_division(x.unsigned_abs(), y.unsigned_abs()).1);
    if x < 0 { -size } else { size }
}

#[inline]
fn unsigned_quotient(a: U256, b: U256) -> U256 {
    match (u128::try_from(a), u128::try_from(b)) {
        (Ok(x), Ok(y)) => short_division(x, y).0.into(),
        _ => a.wrapping_div(b),
    }
}

#[inline]
fn unsigned_rest(a: U256, b: U256) -> U256 {
    match (u128::try_from(a), u128::try_from(b)) {
        (Ok(x), Ok(y)) => short_division(x, y).1.into(),
        _ => a.wrapping_rem(b),
    }
}

/// The product of two integers, if it has room. That of two that 128 bits hold always has: no division has to tell.
#[inline]
pub fn checked_product(a: I256, b: I256) -> Option<I256> {
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
                assert_eq!((a.less(b), a.at_most(b)), (a < b, a <= b), "{a} {b}");
                let (x, y) = (a.as_u256(), b.as_u256());
                assert_eq!((x.less(y), x.at_most(y)), (x < y, x <= y), "{x} {y}");
                if b != 0 && (a, b) != (I256::MIN, I256::MINUS_ONE) {
                    assert_eq!((a.div(b), a.rem(b)), (a / b, a % b), "{a} {b}");
                    assert_eq!((x.div(y), x.rem(y)), (x / y, x % y), "{x} {y}");
                }
            }
        }
    }
}
