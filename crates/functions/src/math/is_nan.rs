//! `isNaN`, `isInfinite`, `isFinite`, `ifNotFinite`: what floats have beside numbers.

use crate::lanes::{Operand, unary};
use crate::select::{Branch, select};
use crate::widen::widen;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Nulls, Record, ScalarFunction};
use chalet_types::DataType;
use chalet_types::supertype::common_supertype;

const IS_NAN: Record = Record {
    name: "isNaN",
    summary: "1 for NaN, else 0.",
    syntax: "isNaN(x)",
    examples: &[Example { sql: "SELECT isNaN(0 / 0), isNaN(1)", result: "1\t0" }],
    total: true,
    ..Record::DEFAULT
};

const IS_INFINITE: Record = Record {
    name: "isInfinite",
    summary: "1 for the infinities, else 0.",
    syntax: "isInfinite(x)",
    examples: &[Example { sql: "SELECT isInfinite(1 / 0), isInfinite(1)", result: "1\t0" }],
    total: true,
    ..Record::DEFAULT
};

const IS_FINITE: Record = Record {
    name: "isFinite",
    summary: "0 for NaN and the infinities, else 1.",
    syntax: "isFinite(x)",
    examples: &[Example { sql: "SELECT isFinite(1 / 0), isFinite(1)", result: "0\t1" }],
    total: true,
    ..Record::DEFAULT
};

const IF_NOT_FINITE: Record = Record {
    name: "ifNotFinite",
    summary: "The first argument if it is finite, else the second one.",
    syntax: "ifNotFinite(x, otherwise)",
    examples: &[Example { sql: "SELECT ifNotFinite(1 / 0, 42), ifNotFinite(1.5, 42)", result: "42\t1.5" }],
    nulls: Nulls::Seen,
    total: true,
    ..Record::DEFAULT
};

pub struct Question {
    record: &'static Record,
    answer: fn(f64) -> bool,
}

pub const IS_NAN_FUNCTION: Question = Question { record: &IS_NAN, answer: f64::is_nan };
pub const IS_INFINITE_FUNCTION: Question = Question { record: &IS_INFINITE, answer: f64::is_infinite };
pub const IS_FINITE_FUNCTION: Question = Question { record: &IS_FINITE, answer: f64::is_finite };

/// Floats, and integers that convert to them.
fn native(ty: &DataType) -> bool {
    ty.is_float() || ty.is_integer() && ty.physical().width().unwrap_or(0) <= 8
}

impl ScalarFunction for Question {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(self.record.name, args.len(), 1..=1)?;
        ensure!(
            native(&args[0].ty),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Argument for function {} must be a number",
            self.record.name
        );
        Ok(DataType::UInt8.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let answer = self.answer;
        Ok(Vector::from(unary::<f64, u8>(Operand::of(call, 0), call.n_rows, |x| u8::from(answer(x)))?).into())
    }
}

pub struct IfNotFinite;

impl ScalarFunction for IfNotFinite {
    fn record(&self) -> &'static Record {
        &IF_NOT_FINITE
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(IF_NOT_FINITE.name, args.len(), 2..=2)?;
        ensure!(
            args[0].ty.is_only_null() || native(args[0].ty.without_nullable()),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Argument for function isFinite must be a number"
        );
        Ok(common_supertype(&[args[0].ty.clone(), args[1].ty.clone()])?.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let mut choice = match call.args[0].ty.is_only_null() {
            true => vec![1; call.n_rows],
            false => unary::<f64, u8>(Operand::of(call, 0), call.n_rows, |x| u8::from(!x.is_finite()))?,
        };
        // NULL is not finite.
        for (row, choice) in choice.iter_mut().enumerate() {
            *choice |= u8::from(call.vector(0).is_null(row));
        }
        let x = widen(call.vector(0), call.args[0].ty, call.result, call.ctx)?;
        let y = widen(call.vector(1), call.args[1].ty, call.result, call.ctx)?;
        let branch = |vector| Branch { vector, constant: false };
        Ok(select(&[branch(&x), branch(&y)], &choice)?.into())
    }
}
