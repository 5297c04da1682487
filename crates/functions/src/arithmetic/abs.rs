//! `abs`: the absolute value.

use super::operation::as_number;
use crate::lanes::{Operand, unary};
use crate::number::{Cast, Integer};
use chalet_base::{Result, bail};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, ScalarFunction};
use chalet_types::{DataType, I256, Physical, U256, promotion};

const RECORD: Record = Record {
    name: "abs",
    case_insensitive: true,
    summary: "The absolute value of a number; signed integers become unsigned.",
    syntax: "abs(x)",
    examples: &[Example { sql: "SELECT abs(-0.5), abs(-128)", result: "0.5\t128" }],
    total: true,
    ..Record::DEFAULT
};

pub struct Abs;

impl ScalarFunction for Abs {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(RECORD.name, args.len(), 1..=1)?;
        let ty = as_number(&args[0].ty);
        let result = match &*ty {
            _ if matches!(args[0].ty, DataType::IPv4 | DataType::IPv6) => None,
            DataType::BFloat16 => None,
            DataType::Decimal { .. } | DataType::Float32 | DataType::Float64 => Some(ty.clone().into_owned()),
            _ if ty.is_integer() => {
                promotion::unsigned_of_bits(8 * ty.physical().width().unwrap_or(1) as u32)
            }
            _ => None,
        };
        match result {
            Some(result) => Ok(result.into()),
            None => {
                bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {} of argument of function abs", args[0].ty)
            }
        }
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let (a, n) = (Operand::of(call, 0), call.n_rows);
        fn signed<C: Integer + Cast<R>, R: Integer>(a: Operand, n: usize) -> Result<Vector> {
            Ok(unary::<C, R>(a, n, |x| if x < C::ZERO { x.neg() } else { x }.cast())?.into())
        }
        let decimal = call.result.is_decimal();
        Ok(match a.vector.data.physical() {
            Physical::I8 => signed::<i8, u8>(a, n)?,
            Physical::I16 => signed::<i16, u16>(a, n)?,
            Physical::I32 if decimal => signed::<i32, i32>(a, n)?,
            Physical::I64 if decimal => signed::<i64, i64>(a, n)?,
            Physical::I128 if decimal => signed::<i128, i128>(a, n)?,
            Physical::I256 if decimal => signed::<I256, I256>(a, n)?,
            Physical::I32 => signed::<i32, u32>(a, n)?,
            Physical::I64 => signed::<i64, u64>(a, n)?,
            Physical::I128 => signed::<i128, u128>(a, n)?,
            Physical::I256 => signed::<I256, U256>(a, n)?,
            Physical::F32 => unary::<f32, f32>(a, n, f32::abs)?.into(),
            Physical::F64 => unary::<f64, f64>(a, n, f64::abs)?.into(),
            _ => a.vector.clone(),
        }
        .into())
    }
}
