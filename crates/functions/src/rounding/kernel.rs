//! Rounding to a number of decimal digits: floats, integers (negative digits only) and decimals.

use crate::lanes::{Lane, Operand, RUN};
use crate::number::{Cast, Integer};
use crate::with_integer;
use chalet_base::simd_dispatch::dispatch_simd;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Data, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Record, ScalarFunction};
use chalet_types::decimal::pow10;
use chalet_types::{DataType, I256, Physical, bf16};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Halves away from zero; of floats to the even neighbour.
    Nearest,
    /// Halves to the even neighbour.
    Even,
    Down,
    Up,
    ToZero,
}

pub struct Round {
    pub record: &'static Record,
    pub direction: Direction,
}

impl ScalarFunction for Round {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let name = self.record.name;
        ensure!(
            (1..=2).contains(&args.len()),
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "An incorrect number of arguments was specified for function '{name}'. Expected {}, got {}",
            if args.is_empty() { "at least 1 argument" } else { "at most 2 arguments" },
            args.len()
        );
        let ty = &args[0].ty;
        ensure!(
            ty.is_number(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "A value of illegal type was provided as 1st argument 'x' to function '{name}'. Expected: A number to round, got: {ty}"
        );
        if let Some(digits) = args.get(1) {
            ensure!(
                digits.ty.is_integer() && digits.ty.physical().width().is_some_and(|width| width <= 8),
                ILLEGAL_TYPE_OF_ARGUMENT,
                "A value of illegal type was provided as 2nd argument 'N' to function '{name}'. Expected: The number of decimal places to round to, got: {}",
                digits.ty
            );
        }
        Ok(ty.clone().into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let n = call.n_rows;
        let x = Operand::of(call, 0);
        let zero = Vector::from(vec![0i64]);
        let none = Operand { ty: &DataType::Int64, vector: &zero, constant: true };
        let digits = if call.args.len() > 1 { Operand::of(call, 1) } else { none };
        let direction = self.direction;
        if let DataType::Decimal { scale, .. } = call.result {
            let scale = i64::from(*scale);
            if let (Data::I64(values), true, [Ok(digits)]) =
                (&x.vector.data, digits.constant && !x.constant, [digits_of(digits)])
                && i16::try_from(digits).is_ok()
                && let Some(rounded) = decimals(values, scale - digits, direction)
            {
                return Ok(Vector::from(rounded).into());
            }
            return with_integer!(call.result.physical(), C => {
                each::<C>(x, digits, n, |x, digits| round_integer(x, scale - digits, direction, true))
            }, _ => bail!(LOGICAL_ERROR, "{} is no Decimal", call.result));
        }
        with_integer!(call.result.physical(), C => {
            each::<C>(x, digits, n, |x, digits| round_integer(x, -digits, direction, false))
        }, _ => match call.result.physical() {
            Physical::F32 if digits.constant => floats::<f32>(x, digits, n, |values, digits, out| all_f32(values, digits, direction, out)),
            Physical::F64 if digits.constant => floats::<f64>(x, digits, n, |values, digits, out| all_f64(values, digits, direction, out)),
            Physical::F32 => each::<f32>(x, digits, n, |x, digits| round_f32(x, digits, direction)),
            Physical::BF16 => each::<bf16>(x, digits, n, |x, digits| round_bf16(x, digits, direction)),
            _ => each::<f64>(x, digits, n, |x, digits| round_f64(x, digits, direction)),
        })
    }
}

/// The number of digits, where it is the same for all rows.
fn digits_of(digits: Operand) -> Result<i64> {
    Ok(Lane::<i64>::new(digits, 1)?.run(0, 1)[0])
}

/// [`round_integer`] of Decimal64 with one number of places for all: multiplies by the inverse of the power of ten.
fn decimals(values: &[i64], places: i64, direction: Direction) -> Option<Vec<i64>> {
    // Of more digits nothing is left, or the sums below could overflow.
    let unit = 10u64.checked_pow(u32::try_from(places).ok().filter(|places| (1..=18).contains(places))?)?;
    let inverse = Inverse::of(unit);
    const LARGE: u64 = 1 << 62;
    let round = |&x: &i64| {
        let magnitude = x.unsigned_abs();
        if magnitude >= LARGE {
            return round_integer(x, places, direction, true);
        }
        let away = match direction {
            Direction::ToZero => 0,
            Direction::Down => {
                if x < 0 {
                    unit - 1
                } else {
                    0
                }
            }
            Direction::Up => {
                if x < 0 {
                    0
                } else {
                    unit - 1
                }
            }
            Direction::Nearest => unit / 2,
            Direction::Even => {
                let quotient = inverse.divide(magnitude);
                let rest = magnitude - quotient * unit;
                // One more than half where the quotient is odd, so that a tie goes to the even neighbour.
                if rest > unit / 2 || rest == unit / 2 && quotient & 1 == 1 { unit - rest } else { 0 }
            }
        };
        let rounded = (inverse.divide(magnitude + away) * unit) as i64;
        if x < 0 { -rounded } else { rounded }
    };
    Some(values.iter().map(round).collect())
}

/// The inverse of a divisor as a fixed-point number: a product is several times as fast as a division.
struct Inverse {
    factor: u64,
    shift: u32,
}

impl Inverse {
    /// Exact for dividends below 2^63: `factor` is the least above `2^(63 + bits) / divisor`, where `2^bits` is at least the divisor.
    fn of(divisor: u64) -> Inverse {
        let bits = 64 - (divisor - 1).leading_zeros();
        Inverse { factor: ((1u128 << (63 + bits)) / u128::from(divisor)) as u64 + 1, shift: 63 + bits }
    }

    #[inline(always)]
    fn divide(&self, dividend: u64) -> u64 {
        ((u128::from(dividend) * u128::from(self.factor)) >> self.shift) as u64
    }
}

/// Rounds runs of floats with one number of digits.
fn floats<C: crate::number::Number>(
    x: Operand,
    digits: Operand,
    n: usize,
    round: impl Fn(&[C], i64, &mut Vec<C>),
) -> Result<Column> {
    let (mut values, digits) = (Lane::<C>::new(x, n)?, digits_of(digits)?);
    let mut out = Vec::with_capacity(n);
    if n > 0 {
        check_places(&[digits])?;
    }
    for start in (0..n).step_by(RUN) {
        round(values.run(start, RUN.min(n - start)), digits, &mut out);
    }
    Ok(Vector::from(out).into())
}

fn check_places(places: &[i64]) -> Result<()> {
    ensure!(
        places.iter().all(|&places| i16::try_from(places).is_ok()),
        ARGUMENT_OUT_OF_BOUND,
        "Scale argument for rounding function is too large"
    );
    Ok(())
}

fn each<C: crate::number::Number>(
    x: Operand,
    digits: Operand,
    n: usize,
    f: impl Fn(C, i64) -> C,
) -> Result<Column> {
    let (mut values, mut places) = (Lane::<C>::new(x, n)?, Lane::<i64>::new(digits, n)?);
    let mut out = Vec::with_capacity(n);
    for start in (0..n).step_by(RUN) {
        let len = RUN.min(n - start);
        let run = values.run(start, len);
        if digits.constant {
            // One number of digits for all: the compiler moves its powers out of the loop.
            let places = places.run(start, 1);
            check_places(places)?;
            let places = places[0];
            out.extend(run.iter().map(|&x| f(x, places)));
        } else {
            let places = places.run(start, len);
            check_places(places)?;
            out.extend(run.iter().zip(places).map(|(&x, &places)| f(x, places)));
        }
    }
    Ok(Vector::from(out).into())
}

macro_rules! round_floats {
    ($name:ident, $all:ident, $ty:ty) => {
        /// [`$name`] of many: the power of ten is taken once, and many are rounded at a time.
        fn $all(values: &[$ty], digits: i64, direction: Direction, out: &mut Vec<$ty>) {
            let power = (10.0 as $ty).powi(digits.unsigned_abs().min(400) as i32);
            #[inline(always)]
            fn each(values: &[$ty], digits: i64, power: $ty, out: &mut Vec<$ty>, whole: impl Fn($ty) -> $ty) {
                match digits {
                    0 => out.extend(values.iter().map(|&x| whole(x))),
                    1.. => out.extend(values.iter().map(|&x| {
                        let rounded = whole(x * power) / power;
                        if rounded.is_finite() { rounded } else { x }
                    })),
                    _ => out.extend(values.iter().map(|&x| whole(x / power) * power)),
                }
            }
            dispatch_simd(|| match direction {
                Direction::Nearest | Direction::Even => {
                    each(values, digits, power, out, |x| x.round_ties_even())
                }
                Direction::Down => each(values, digits, power, out, |x| x.floor()),
                Direction::Up => each(values, digits, power, out, |x| x.ceil()),
                Direction::ToZero => each(values, digits, power, out, |x| x.trunc()),
            });
        }

        #[inline(always)]
        fn $name(x: $ty, digits: i64, direction: Direction) -> $ty {
            let whole = |x: $ty| match direction {
                Direction::Nearest | Direction::Even => x.round_ties_even(),
                Direction::Down => x.floor(),
                Direction::Up => x.ceil(),
                Direction::ToZero => x.trunc(),
            };
            if digits == 0 {
                return whole(x);
            }
            let power = (10.0 as $ty).powi(digits.unsigned_abs().min(400) as i32);
            let rounded = if digits > 0 { whole(x * power) / power } else { whole(x / power) * power };
            // Too many digits to change anything.
            if digits > 0 && !rounded.is_finite() { x } else { rounded }
        }
    };
}

/// As floats of 32 bits, but the power of ten and what comes of each step are cut to 16 bits.
fn round_bf16(x: bf16, digits: i64, direction: Direction) -> bf16 {
    let cut = |x: f32| f32::from_bits(x.to_bits() & 0xffff_0000);
    let x = x.to_f32();
    let power = cut(10f32.powi(digits.unsigned_abs().min(400) as i32));
    let rounded = match digits {
        0 => round_f32(x, 0, direction),
        1.. => cut(round_f32(cut(x * power), 0, direction)) / power,
        _ => cut(round_f32(cut(x / power), 0, direction)) * power,
    };
    let rounded = if digits > 0 && !rounded.is_finite() { x } else { rounded };
    bf16::from_bits((rounded.to_bits() >> 16) as u16)
}

round_floats!(round_f32, all_f32, f32);
round_floats!(round_f64, all_f64, f64);

/// Makes the last `places` decimal digits zero. Overflow wraps as it does in the kernel.
#[inline(always)]
fn round_integer<C: Integer>(x: C, places: i64, direction: Direction, decimal: bool) -> C
where
    I256: Cast<C>,
{
    if places <= 0 {
        return x;
    }
    let fits = places < 77
        && (C::BITS == 256 || pow10(places as u32) < I256::ONE << (C::BITS - u32::from(C::SIGNED)).min(254));
    if !fits {
        return C::ZERO;
    }
    let unit: C = pow10(places as u32).cast();
    let two = C::ONE.add(C::ONE);
    let negative = x < C::ZERO;
    match direction {
        Direction::ToZero => x.div(unit).mul(unit),
        Direction::Down => {
            let x = if negative { x.sub(unit.sub(C::ONE)) } else { x };
            x.div(unit).mul(unit)
        }
        Direction::Up => {
            let x = if negative { x } else { x.add(unit.sub(C::ONE)) };
            x.div(unit).mul(unit)
        }
        Direction::Nearest => {
            let half = unit.div(two);
            // Narrow integers are added as wider ones, as in C.
            if C::BITS <= 16 && !decimal {
                let (quotient, rest) = (x.div(unit), x.rem(unit));
                let up = if negative { rest <= half.neg() } else { rest >= half };
                let away = if negative { C::ONE.neg() } else { C::ONE };
                return if up { quotient.add(away) } else { quotient }.mul(unit);
            }
            let x = if negative { x.sub(half) } else { x.add(half) };
            x.div(unit).mul(unit)
        }
        Direction::Even => {
            let (quotient, rest) = (x.div(unit), x.rem(unit));
            let rest = if negative { rest.neg() } else { rest };
            let half = unit.div(two);
            let odd = quotient.rem(two) != C::ZERO;
            let up = rest > half || rest == half && odd;
            let away = if negative { C::ONE.neg() } else { C::ONE };
            if up { quotient.add(away) } else { quotient }.mul(unit)
        }
    }
}
