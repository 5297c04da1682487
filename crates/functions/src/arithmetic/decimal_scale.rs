//! `multiplyDecimal` and `divideDecimal`: exact products and quotients of decimals, cut off at a given scale.

use super::decimals::scale_of;
use crate::lanes::{Operand, try_binary};
use crate::plain::Plain;
use chalet_base::{Error, Result, ensure, err};
use chalet_columns::{Column, Vector};
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record};
use chalet_types::{DataType, I256, U256};

/// Digits of the results' type.
const PRECISION: u8 = 76;

pub static MULTIPLY: Plain = Plain {
    record: Record {
        name: "multiplyDecimal",
        summary: "The exact product of two decimals, cut off at the given scale (by default the greater of theirs).",
        syntax: "multiplyDecimal(a, b[, scale])",
        examples: &[Example {
            sql: "SELECT multiplyDecimal(toDecimal32(-12, 0), toDecimal32(-2.1, 1), 1)",
            result: "25.2",
        }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| {
        execute(call, -1, |a, b, shift| {
            let (a, b) = (a.unsigned_abs(), b.unsigned_abs());
            match (a.checked_mul(b), shift) {
                (Some(product), 0..) if product == U256::ZERO => Ok(product),
                (Some(product), 0..) => product.checked_mul(power(shift as u32)).ok_or_else(overflow),
                (Some(product), _) => Ok(product / power(shift.unsigned_abs())),
                (None, _) => long_product(a, b, shift),
            }
        })
    },
};

pub static DIVIDE: Plain = Plain {
    record: Record {
        name: "divideDecimal",
        summary: "The exact quotient of two decimals, cut off at the given scale (by default the greater of theirs).",
        syntax: "divideDecimal(a, b[, scale])",
        examples: &[Example {
            sql: "SELECT divideDecimal(toDecimal32(-12, 0), toDecimal32(2.1, 1), 10)",
            result: "-5.7142857142",
        }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| {
        execute(call, 1, |a, b, shift| {
            ensure!(b != I256::ZERO, ILLEGAL_DIVISION, "Division by zero");
            let (a, b) = (a.unsigned_abs(), b.unsigned_abs());
            if shift < 0 {
                return Ok(a / power(shift.unsigned_abs()) / b);
            }
            match (shift <= 77).then(|| a.checked_mul(power(shift as u32))).flatten() {
                Some(dividend) => Ok(dividend / b),
                None => long_quotient(a, b, shift as u32),
            }
        })
    },
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    ensure!(
        matches!(args.len(), 2 | 3),
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Number of arguments for function {name} does not match: 2 or 3 expected"
    );
    ensure!(
        args[..2].iter().all(|arg| arg.ty.is_decimal()),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Arguments for {name} function must be Decimal"
    );
    let scale = match args.get(2) {
        None => scale_of(&args[0].ty).max(scale_of(&args[1].ty)),
        Some(arg) => {
            let constant = arg.constant.as_ref().filter(|_| arg.ty == DataType::UInt8);
            let Some(scale) = constant.and_then(|scale| scale.as_u64()) else {
                return Err(err!(
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "Illegal type {} of third argument of function {name}. Should be constant UInt8 from range[0, 76]",
                    arg.ty
                ));
            };
            ensure!(
                scale <= PRECISION.into(),
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal value of third argument of function {name}: must be integer in range [0, 76]"
            );
            scale as u8
        }
    };
    Ok(DataType::Decimal { precision: PRECISION, scale }.into())
}

/// `compute` gets two values, and the digits that the result has to gain (or to lose): the second scale counts
/// for it in a quotient and against it in a product.
fn execute(
    call: &Call,
    sign_of_scale: i32,
    compute: impl Fn(I256, I256, i32) -> Result<U256>,
) -> Result<Column> {
    let (a, b) = (Operand::of(call, 0), Operand::of(call, 1));
    let scale = i32::from(scale_of(call.result));
    let (scale_a, scale_b) = (i32::from(scale_of(a.ty)), i32::from(scale_of(b.ty)));
    let shift = scale - scale_a + sign_of_scale * scale_b;
    let limit = power(PRECISION.into());
    let values = try_binary::<I256, I256, I256>(a, b, call.n_rows, |x, y| {
        let size = compute(x, y, shift)?;
        ensure!(size < limit, DECIMAL_OVERFLOW, "Numeric overflow: result bigger that Decimal256");
        let size = size.as_i256();
        Ok(if (x < I256::ZERO) != (y < I256::ZERO) { -size } else { size })
    })?;
    Ok(Vector::from(values).into())
}

fn power(exponent: u32) -> U256 {
    U256::from(10u8).pow(exponent)
}

#[cold]
fn overflow() -> Error {
    err!(DECIMAL_OVERFLOW, "Numeric overflow: result bigger that Decimal256")
}

/// Decimal digits, the least first.
fn digits(mut x: U256) -> Vec<u8> {
    let mut digits = Vec::new();
    while x != U256::ZERO {
        digits.push((x % 10).as_u8());
        x /= 10;
    }
    digits
}

/// The number of decimal digits, the greatest first, if it is one of the result's type.
fn number(mut digits: impl Iterator<Item = u8>) -> Result<U256> {
    let limit = power(u32::from(PRECISION) - 1);
    digits.try_fold(
        U256::ZERO,
        |x, digit| {
            if x < limit { Ok(x * 10 + U256::from(digit)) } else { Err(overflow()) }
        },
    )
}

/// A product of more than 256 bits, by digits.
fn long_product(a: U256, b: U256, shift: i32) -> Result<U256> {
    let (a, b) = (digits(a), digits(b));
    let mut sums = vec![0u32; a.len() + b.len() + 1];
    for (i, &x) in a.iter().enumerate() {
        for (j, &y) in b.iter().enumerate() {
            sums[i + j] += u32::from(x) * u32::from(y);
        }
    }
    let mut carry = 0;
    for sum in &mut sums {
        *sum += carry;
        carry = *sum / 10;
        *sum %= 10;
    }
    if shift >= 0 {
        return Err(overflow());
    }
    let lost = (shift.unsigned_abs() as usize).min(sums.len());
    number(sums[lost..].iter().rev().map(|&digit| digit as u8))
}

/// A quotient whose dividend, `a` followed by zeros, has more than 256 bits: by digits.
fn long_quotient(a: U256, b: U256, zeros: u32) -> Result<U256> {
    let mut rest = U256::ZERO;
    let quotient = digits(a).into_iter().rev().chain((0..zeros).map(|_| 0)).map(|digit| {
        // The rest is below the divisor, which has 76 digits at most.
        let next = rest * 10 + U256::from(digit);
        rest = next % b;
        (next / b).as_u8()
    });
    number(quotient)
}
