//! `sign`, `factorial`, `intExp2`, `intExp10`, `sqr`: integers out of numbers.

use crate::lanes::{Operand, try_unary, unary};
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, ScalarFunction};
use chalet_types::DataType;

const SIGN: Record = Record {
    name: "sign",
    case_insensitive: true,
    summary: "-1, 0 or 1 for negative numbers, zero and positive numbers.",
    syntax: "sign(x)",
    examples: &[Example { sql: "SELECT sign(-5), sign(0), sign(2.5)", result: "-1\t0\t1" }],
    total: true,
    ..Record::DEFAULT
};

const FACTORIAL: Record = Record {
    name: "factorial",
    case_insensitive: true,
    summary: "The product of the integers from 1 to x; 1 for x <= 0. Fails above 20.",
    syntax: "factorial(x)",
    examples: &[Example { sql: "SELECT factorial(5)", result: "120" }],
    ..Record::DEFAULT
};

const INT_EXP2: Record = Record {
    name: "intExp2",
    summary: "2 to the power of x as UInt64; 0 below 0, the greatest UInt64 from 64 on.",
    syntax: "intExp2(x)",
    examples: &[Example { sql: "SELECT intExp2(10)", result: "1024" }],
    ..Record::DEFAULT
};

const INT_EXP10: Record = Record {
    name: "intExp10",
    summary: "10 to the power of x as UInt64; 0 below 0, the greatest UInt64 from 20 on.",
    syntax: "intExp10(x)",
    examples: &[Example { sql: "SELECT intExp10(3)", result: "1000" }],
    ..Record::DEFAULT
};

/// Up to the greatest that fits, and what stands for all others.
const POWERS_OF_TEN: [u64; 21] = {
    let mut powers = [1; 21];
    let mut exponent = 1;
    while exponent < 20 {
        powers[exponent] = powers[exponent - 1] * 10;
        exponent += 1;
    }
    powers[20] = u64::MAX;
    powers
};

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Sign,
    Factorial,
    Exp2,
    Exp10,
}

pub struct IntegerFunction {
    record: &'static Record,
    kind: Kind,
}

pub const SIGN_FUNCTION: IntegerFunction = IntegerFunction { record: &SIGN, kind: Kind::Sign };
pub const FACTORIAL_FUNCTION: IntegerFunction = IntegerFunction { record: &FACTORIAL, kind: Kind::Factorial };
pub const INT_EXP2_FUNCTION: IntegerFunction = IntegerFunction { record: &INT_EXP2, kind: Kind::Exp2 };
pub const INT_EXP10_FUNCTION: IntegerFunction = IntegerFunction { record: &INT_EXP10, kind: Kind::Exp10 };

impl ScalarFunction for IntegerFunction {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let name = self.record.name;
        check_arity(name, args.len(), 1..=1)?;
        let ty = &args[0].ty;
        let legal =
            ty.is_number() && *ty != DataType::BFloat16 && (self.kind == Kind::Sign || !ty.is_decimal());
        ensure!(legal, ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {ty} of argument of function {name}");
        if self.kind == Kind::Factorial {
            let wide = ty.physical().width().unwrap_or(0) > 8;
            ensure!(
                !ty.is_float() && !wide,
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type of argument of function factorial, should not be floating point or big int"
            );
        }
        Ok(if self.kind == Kind::Sign { DataType::Int8 } else { DataType::UInt64 }.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let (x, n) = (Operand::of(call, 0), call.n_rows);
        let name = self.record.name;
        let whole = |x: f64| {
            ensure!(!x.is_nan(), BAD_ARGUMENTS, "{name} must not be called with nan");
            Ok(if x < 0.0 { -1.0 } else { x.trunc() })
        };
        Ok(match self.kind {
            Kind::Sign => Vector::from(unary::<f64, i8>(x, n, |x| match x {
                _ if x < 0.0 => -1,
                _ if x == 0.0 => 0,
                _ => 1,
            })?),
            Kind::Factorial => Vector::from(try_unary::<i128, u64>(x, n, |x| {
                if x > 20 {
                    bail!(
                        BAD_ARGUMENTS,
                        "The maximum value for the input argument of function factorial is 20"
                    );
                }
                Ok((1..=x.max(0) as u64).product())
            })?),
            Kind::Exp2 => Vector::from(try_unary::<f64, u64>(x, n, |x| {
                Ok(match whole(x)? {
                    x if x < 0.0 => 0,
                    x if x >= 64.0 => u64::MAX,
                    x => 1 << x as u32,
                })
            })?),
            // Integers are taken modulo 2^32, as in the kernel.
            Kind::Exp10 if call.args[0].ty.is_integer() => {
                Vector::from(unary::<i64, u64>(x, n, |x| match x as i32 {
                    ..0 => 0,
                    x => POWERS_OF_TEN[x.min(20) as usize],
                })?)
            }
            Kind::Exp10 => Vector::from(try_unary::<f64, u64>(x, n, |x| {
                Ok(match whole(x)? {
                    x if x < 0.0 => 0,
                    x if x >= 20.0 => u64::MAX,
                    x => 10u64.pow(x as u32),
                })
            })?),
        }
        .into())
    }
}
