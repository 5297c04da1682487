//! Functions of one or two numbers that compute in Float64.

use crate::lanes::{Operand, binary, unary};
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record, ScalarFunction};
use chalet_types::DataType;
use chalet_types::decimal::pow10;
use std::borrow::Cow;

/// The loop of a function, compiled for it.
#[derive(Clone, Copy)]
pub enum Loop {
    One(fn(Operand, usize) -> Result<Vec<f64>>),
    Two(fn(Operand, Operand, usize) -> Result<Vec<f64>>),
}

pub struct FloatFunction {
    pub record: Record,
    pub run: Loop,
}

/// A record with what functions of floats have in common.
pub const fn record(
    name: &'static str,
    case_insensitive: bool,
    summary: &'static str,
    syntax: &'static str,
    examples: &'static [Example],
) -> Record {
    Record {
        name,
        case_insensitive,
        summary,
        syntax,
        examples,
        constants: Constants::Seen,
        total: true,
        ..Record::DEFAULT
    }
}

/// A function of one number: name, case rule, summary, example and its loop.
#[macro_export]
macro_rules! float_functions {
    ($($static:ident: $name:literal, $ci:literal, $summary:literal, $sql:literal => $result:literal, $f:expr;)*) => {$(
        pub static $static: $crate::math::float_function::FloatFunction = $crate::math::float_function::FloatFunction {
            record: $crate::math::float_function::record(
                $name,
                $ci,
                $summary,
                concat!($name, "(x)"),
                &[chalet_function_api::Example { sql: $sql, result: $result }],
            ),
            run: $crate::math::float_function::Loop::One(|x, n| {
                $crate::lanes::unary::<f64, f64>(x, n, $f)
            }),
        };
    )*};
}

impl ScalarFunction for &'static FloatFunction {
    fn record(&self) -> &'static Record {
        let function: &'static FloatFunction = self;
        &function.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let name = self.record.name;
        let two = matches!(self.run, Loop::Two(_));
        let arity = if two { 2 } else { 1 };
        check_arity(name, args.len(), arity..=arity)?;
        for arg in args {
            let wide = arg.ty.is_integer() && arg.ty.physical().width().unwrap_or(0) > 8;
            ensure!(
                arg.ty.is_number() && !(two && wide),
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type {} of argument of function {name}",
                arg.ty
            );
        }
        Ok(DataType::Float64.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let n = call.n_rows;
        let values = match self.run {
            Loop::One(run) => {
                let vector = floats(Operand::of(call, 0), n)?;
                run(Operand { vector: &vector, ..Operand::of(call, 0) }, n)?
            }
            Loop::Two(run) => {
                let (x, y) = (floats(Operand::of(call, 0), n)?, floats(Operand::of(call, 1), n)?);
                let a = Operand { vector: &x, ..Operand::of(call, 0) };
                let b = Operand { vector: &y, ..Operand::of(call, 1) };
                run(a, b, n)?
            }
        };
        Ok(Vector::from(values).into())
    }
}

/// Decimals as floats; other numbers convert on the way.
pub fn floats<'a>(operand: Operand<'a>, n: usize) -> Result<Cow<'a, Vector>> {
    let DataType::Decimal { scale, .. } = operand.ty.bare() else {
        return Ok(Cow::Borrowed(operand.vector));
    };
    let divisor = pow10((*scale).into()).as_f64();
    let n = if operand.constant { 1 } else { n };
    let flat = Operand { constant: false, ..operand };
    Ok(Cow::Owned(unary::<f64, f64>(flat, n, |x| x / divisor)?.into()))
}

/// The loop of a function of two floats.
pub fn two(a: Operand, b: Operand, n: usize, f: impl Fn(f64, f64) -> f64) -> Result<Vec<f64>> {
    binary::<f64, f64>(a, b, n, f)
}
