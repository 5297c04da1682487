//! `sin`, `cos` and `tan`, rounded correctly but for one value in billions, as the kernel's sines and cosines are: sums of two floats, the second of which
//! holds what the first one has no digits for.

use crate::lanes::{Operand, unary};
use chalet_base::Result;
use chalet_base::simd_dispatch::dispatch_fma;
use std::f64::consts::PI;
use std::sync::LazyLock;

/// A number as a sum; the second one is below half of the last digit of the first.
type Double = (f64, f64);

/// Parts of a turn that have an entry in the table.
const PARTS: usize = 256;

/// What π is beyond the first float, and beyond the second.
const PI_REST: f64 = 1.224_646_799_147_353_2e-16;
const PI_LAST: f64 = -2.994_769_809_718_339_7e-33;

/// Larger angles are left to the system, whose last digit may differ.
const LARGE: f64 = (1u64 << 40) as f64;

/// Smaller angles are their own sine, and have the cosine 1.
const TINY: f64 = 1.0 / (1u64 << 27) as f64;

/// The sum, where the first has the greater magnitude.
#[inline(always)]
fn quick_sum(a: f64, b: f64) -> Double {
    let sum = a + b;
    (sum, b - (sum - a))
}

#[inline(always)]
fn sum(a: f64, b: f64) -> Double {
    let sum = a + b;
    let other = sum - a;
    (sum, (a - (sum - other)) + (b - other))
}

/// `FUSED`: the processor multiplies and adds with one rounding.
#[inline(always)]
fn product<const FUSED: bool>(a: f64, b: f64) -> Double {
    let product = a * b;
    if FUSED {
        return (product, a.mul_add(b, -product));
    }
    // Halves of the digits, whose products are exact.
    let halves = |x: f64| {
        let scaled = x * 134_217_729.0;
        let high = scaled - (scaled - x);
        (high, x - high)
    };
    let ((a1, a2), (b1, b2)) = (halves(a), halves(b));
    (product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2)
}

#[inline(always)]
fn product_of_doubles<const FUSED: bool>(a: Double, b: Double) -> Double {
    let (high, low) = product::<FUSED>(a.0, b.0);
    quick_sum(high, low + (a.0 * b.1 + a.1 * b.0))
}

/// The sines of the parts of a turn.
static TABLE: LazyLock<Box<[Double; PARTS]>> = LazyLock::new(|| {
    let quarter = PARTS / 4;
    // Up to an eighth of a turn by its series, of which 30 terms are more than enough.
    let series = |part: usize, first: usize| {
        let angle = product_of_doubles::<false>((PI / 128.0, PI_REST / 128.0), (part as f64, 0.0));
        let square = product_of_doubles::<false>(angle, angle);
        let mut term = if first == 1 { angle } else { (1.0, 0.0) };
        let mut total = term;
        for n in (first..30).step_by(2) {
            let divisor = ((n + 1) * (n + 2)) as f64;
            let next = product_of_doubles::<false>(term, square);
            let quotient = next.0 / divisor;
            let (back, rest) = product::<false>(quotient, divisor);
            term = quick_sum(-quotient, -((next.0 - back - rest + next.1) / divisor));
            let (high, low) = sum(total.0, term.0);
            total = quick_sum(high, low + total.1 + term.1);
        }
        total
    };
    let first_quarter = |part: usize| match part {
        0 => (0.0, 0.0),
        _ if part <= quarter / 2 => series(part, 1),
        _ => series(quarter - part, 0),
    };
    let all = |part: usize| {
        let half = part % (2 * quarter);
        let (high, low) = first_quarter(if half <= quarter { half } else { 2 * quarter - half });
        if part < 2 * quarter { (high, low) } else { (-high, -low) }
    };
    Box::new(std::array::from_fn(all))
});

/// An angle as parts of a turn and what is left.
struct Angle {
    parts: usize,
    /// The sine of what is left.
    sine: Double,
    /// The cosine of what is left, less 1.
    cosine: Double,
}

#[inline(always)]
fn reduced<const FUSED: bool>(x: f64) -> Angle {
    // Adding it rounds to a whole number.
    const WHOLE: f64 = 6_755_399_441_055_744.0;
    let count = (x * (128.0 / PI) + WHOLE) - WHOLE;
    // What is left of the angle, at most half of a part.
    let (whole, e1) = product::<FUSED>(count, PI / 128.0);
    let (rest, e2) = product::<FUSED>(count, PI_REST / 128.0);
    let (left, e3) = sum(x, -whole);
    let (left, e4) = sum(left, -e1);
    let (left, e5) = sum(left, -rest);
    let (angle, low) = quick_sum(left, e3 + e4 + e5 - e2 - count * (PI_LAST / 128.0));
    // Its square, and the series of sine and cosine without their first terms.
    let (square, square_low) = product::<FUSED>(angle, angle);
    let square_low = square_low + 2.0 * angle * low;
    let tail = square * (1.0 / 120.0 - square * (1.0 / 5_040.0 - square * (1.0 / 362_880.0)));
    let (sixth, sixth_low) = product::<FUSED>(square, -1.0 / 6.0);
    let sixth_low = sixth_low - square * 9.251_858_538_542_97e-18 - square_low * (1.0 / 6.0) + square * tail;
    let (cubic, cubic_low) = product::<FUSED>(angle, sixth);
    let (sine, sine_low) = quick_sum(angle, cubic);
    let sine_low = sine_low + (cubic_low + angle * sixth_low + low * sixth) + low;
    let cosine = -0.5 * square;
    let cosine_low = -0.5 * square_low
        + square * square * (1.0 / 24.0 - square * (1.0 / 720.0 - square * (1.0 / 40_320.0)));
    Angle { parts: count as i64 as usize, sine: (sine, sine_low), cosine: (cosine, cosine_low) }
}

/// The sine of an angle that is so many parts of a turn ahead.
#[inline(always)]
fn ahead<const FUSED: bool>(angle: &Angle, table: &[Double; PARTS], parts: usize) -> Double {
    let Angle { sine: (sine, sine_low), cosine: (cosine, cosine_low), .. } = *angle;
    // sin(a + b) = sin a + cos a sin b + sin a (cos b - 1).
    let part = angle.parts.wrapping_add(parts) % PARTS;
    let (sin, sin_low) = table[part];
    let (cos, cos_low) = table[(part + PARTS / 4) % PARTS];
    let (first, first_low) = product::<FUSED>(cos, sine);
    let first_low = first_low + cos * sine_low + cos_low * sine;
    let (second, second_low) = product::<FUSED>(sin, cosine);
    let second_low = second_low + sin * cosine_low + sin_low * cosine;
    let (total, e6) = sum(sin, first);
    let (total, e7) = sum(total, second);
    (total, e6 + e7 + first_low + second_low + sin_low)
}

#[inline(always)]
fn sine_ahead<const FUSED: bool>(x: f64, table: &[Double; PARTS], parts: usize) -> f64 {
    let (sine, low) = ahead::<FUSED>(&reduced::<FUSED>(x), table, parts);
    sine + low
}

/// Sine by cosine, and what the quotient of the floats leaves.
#[inline(always)]
fn tangent<const FUSED: bool>(x: f64, table: &[Double; PARTS]) -> f64 {
    let angle = reduced::<FUSED>(x);
    let sine = ahead::<FUSED>(&angle, table, 0);
    let cosine = ahead::<FUSED>(&angle, table, PARTS / 4);
    let (sine, sine_low) = quick_sum(sine.0, sine.1);
    let (cosine, cosine_low) = quick_sum(cosine.0, cosine.1);
    let quotient = sine / cosine;
    let (back, rest) = product::<FUSED>(quotient, cosine);
    quotient + (sine - back - rest + sine_low - quotient * cosine_low) / cosine
}

#[inline(always)]
fn sines<const FUSED: bool>(values: &mut [f64]) {
    let table = &**TABLE;
    for x in values {
        *x = match x.abs() {
            magnitude if magnitude < TINY => *x,
            magnitude if magnitude < LARGE => sine_ahead::<FUSED>(*x, table, 0),
            _ => x.sin(),
        };
    }
}

#[inline(always)]
fn cosines<const FUSED: bool>(values: &mut [f64]) {
    let table = &**TABLE;
    for x in values {
        *x = match x.abs() {
            magnitude if magnitude < TINY => 1.0,
            magnitude if magnitude < LARGE => sine_ahead::<FUSED>(*x, table, PARTS / 4),
            _ => x.cos(),
        };
    }
}

#[inline(always)]
fn tangents<const FUSED: bool>(values: &mut [f64]) {
    let table = &**TABLE;
    for x in values {
        *x = match x.abs() {
            magnitude if magnitude < TINY => *x,
            magnitude if magnitude < LARGE => tangent::<FUSED>(*x, table),
            _ => libm::tan(*x),
        };
    }
}

/// The tangents of a column.
pub fn tan(x: Operand, n: usize) -> Result<Vec<f64>> {
    let mut values = unary::<f64, f64>(x, n, |x| x)?;
    dispatch_fma(&mut values, |values| tangents::<true>(values), |values| tangents::<false>(values));
    Ok(values)
}

/// The sines of a column.
pub fn sin(x: Operand, n: usize) -> Result<Vec<f64>> {
    let mut values = unary::<f64, f64>(x, n, |x| x)?;
    dispatch_fma(&mut values, |values| sines::<true>(values), |values| sines::<false>(values));
    Ok(values)
}

/// The cosines of a column.
pub fn cos(x: Operand, n: usize) -> Result<Vec<f64>> {
    let mut values = unary::<f64, f64>(x, n, |x| x)?;
    dispatch_fma(&mut values, |values| cosines::<true>(values), |values| cosines::<false>(values));
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn are_near_those_of_the_system_with_and_without_fused_operations() {
        let angles =
            (0..200_000).map(|i| f64::from(i) * 21_474.837 - f64::from(i % 7)).chain([0.5, -0.5, 1e-9]);
        let angles: Vec<f64> = angles.collect();
        let (mut sin, mut cos) = (angles.clone(), angles.clone());
        let (mut fused_sin, mut fused_cos) = (angles.clone(), angles.clone());
        sines::<false>(&mut sin);
        cosines::<false>(&mut cos);
        sines::<true>(&mut fused_sin);
        cosines::<true>(&mut fused_cos);
        assert_eq!((&sin, &cos), (&fused_sin, &fused_cos));
        let (mut tan, mut fused_tan) = (angles.clone(), angles.clone());
        tangents::<false>(&mut tan);
        tangents::<true>(&mut fused_tan);
        let near = |a: f64, b: f64| (a.to_bits() as i64).abs_diff(b.to_bits() as i64) <= 1;
        for (i, x) in angles.iter().enumerate() {
            assert!(near(sin[i], x.sin()) && near(cos[i], x.cos()), "{x}: {} {}", sin[i], cos[i]);
            assert!(near(tan[i], x.tan()) && near(fused_tan[i], x.tan()), "{x}: {}", tan[i]);
        }
    }

    #[test]
    fn zeros_keep_their_signs() {
        let mut zeros = [0.0, -0.0];
        sines::<false>(&mut zeros);
        assert_eq!(zeros.map(f64::to_bits), [0.0f64.to_bits(), (-0.0f64).to_bits()]);
    }
}
