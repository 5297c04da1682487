//! Sums over vectors of floats. The last digits depend on the order of additions and on where a product is rounded: these add in the
//! kernel's order, in so many sums side by side, whose total takes the rest.
//!
//! Loops are written out: closures of iterators are compiled apart, without the instructions of [`dispatch_fma`], and a fused
//! product is a call of the C library there.
//!
//! [`dispatch_fma`]: chalet_base::simd_dispatch::dispatch_fma

use crate::number::Number;
use std::ops::{Add, Div, Mul, Sub};

/// A float.
pub trait Real:
    Number
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + From<f32>
    + PartialOrd
{
    /// `self * by + to`, rounded once where the processor does so.
    fn product_plus<const FUSED: bool>(self, by: Self, to: Self) -> Self;
    fn magnitude(self) -> Self;
    fn root(self) -> Self;
    fn power(self, exponent: Self) -> Self;
    fn narrowed(x: f64) -> Self;
    /// The sum over the differences squared, or over products, as processors with registers of 512 bits add it: halves of the sums
    /// are added until one is left.
    fn in_register<const FUSED: bool>(
        x: &[Self],
        y: &[Self],
        add: impl Fn(Self, Self, Self) -> Self + Copy,
        rest: impl Fn(Self, Self, Self) -> Self,
    ) -> Self;
}

macro_rules! real {
    ($ty:ty, $lanes:literal) => {
        impl Real for $ty {
            #[inline(always)]
            fn product_plus<const FUSED: bool>(self, by: Self, to: Self) -> Self {
                if FUSED { self.mul_add(by, to) } else { self * by + to }
            }

            #[inline(always)]
            fn magnitude(self) -> Self {
                self.abs()
            }

            #[inline(always)]
            fn root(self) -> Self {
                self.sqrt()
            }

            #[inline(always)]
            fn power(self, exponent: Self) -> Self {
                self.powf(exponent)
            }

            #[inline(always)]
            fn narrowed(x: f64) -> Self {
                x as $ty
            }

            #[inline(always)]
            fn in_register<const FUSED: bool>(
                x: &[Self],
                y: &[Self],
                add: impl Fn(Self, Self, Self) -> Self + Copy,
                rest: impl Fn(Self, Self, Self) -> Self,
            ) -> Self {
                let (x, y) = (x.as_chunks::<$lanes>(), y.as_chunks::<$lanes>());
                let mut sum = Self::default();
                if !x.0.is_empty() {
                    let mut lanes = side_by_side(x.0, y.0, add);
                    let mut n = $lanes;
                    while n > 1 {
                        n /= 2;
                        for lane in 0..n {
                            lanes[lane] += lanes[lane + n];
                        }
                    }
                    sum = lanes[0];
                }
                for (&x, &y) in x.1.iter().zip(y.1) {
                    sum = rest(sum, x, y);
                }
                sum
            }
        }
    };
}

real!(f32, 16);
real!(f64, 8);

#[inline(always)]
fn side_by_side<T: Real, const LANES: usize>(
    x: &[[T; LANES]],
    y: &[[T; LANES]],
    add: impl Fn(T, T, T) -> T,
) -> [T; LANES] {
    let mut lanes = [T::default(); LANES];
    for (x, y) in x.iter().zip(y) {
        for lane in 0..LANES {
            lanes[lane] = add(lanes[lane], x[lane], y[lane]);
        }
    }
    lanes
}

/// The sum of what `add` adds, in as many lanes.
#[inline(always)]
pub fn sum<T: Real, const LANES: usize>(x: &[T], y: &[T], add: impl Fn(T, T, T) -> T) -> T {
    let (x, y) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    let mut total = T::default();
    if !x.0.is_empty() {
        for lane in side_by_side(x.0, y.0, &add) {
            total = total + lane;
        }
    }
    for (&x, &y) in x.1.iter().zip(y.1) {
        total = add(total, x, y);
    }
    total
}

/// The sum of products of vectors of one type, or of two.
#[inline(always)]
pub fn dot_product<T: Real, const FUSED: bool>(x: &[T], y: &[T], one_type: bool) -> T {
    let add = |sum, x: T, y| x.product_plus::<FUSED>(y, sum);
    if one_type { sum::<T, 16>(x, y, add) } else { sum::<T, 4>(x, y, add) }
}

/// One minus the cosine of the angle, of the three sums.
#[inline(always)]
pub fn cosine_distance<T: Real, const FUSED: bool>(x: &[T], y: &[T], in_register: bool) -> T {
    let add = |sum, x: T, y| x.product_plus::<FUSED>(y, sum);
    let product = |x: &[T], y: &[T]| match in_register {
        true => T::in_register::<FUSED>(x, y, add, |sum, x, y| sum + x * y),
        false => sum::<T, 8>(x, y, add),
    };
    T::from(1.0) - product(x, y) / (product(x, x) * product(y, y)).root()
}

/// The sum of the squares of differences.
#[inline(always)]
pub fn squared_distance<T: Real, const FUSED: bool>(x: &[T], y: &[T], in_register: bool) -> T {
    let add = |sum, x: T, y: T| (x - y).product_plus::<FUSED>(x - y, sum);
    match in_register {
        true => T::in_register::<FUSED>(x, y, add, |sum, x, y| sum + (x - y) * (x - y)),
        false => sum::<T, 8>(x, y, add),
    }
}
