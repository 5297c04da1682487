//! `bitNot`, `byteSwap`: the bits or bytes of one number.

use crate::arithmetic::{as_number, is_address};
use crate::lanes::{Operand, unary};
use crate::number::Integer;
use crate::with_integer;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Data, Fixed, StringBuilder, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, ScalarFunction};
use chalet_types::DataType;

const NOT: Record = Record {
    name: "bitNot",
    summary: "The number or string with all bits inverted.",
    syntax: "bitNot(x)",
    examples: &[Example { sql: "SELECT bitNot(5)", result: "250" }],
    total: true,
    ..Record::DEFAULT
};

const BYTE_SWAP: Record = Record {
    name: "byteSwap",
    case_insensitive: true,
    summary: "The integer with its bytes in reverse order.",
    syntax: "byteSwap(x)",
    examples: &[Example { sql: "SELECT byteSwap(3351772109)", result: "3455829959" }],
    total: true,
    ..Record::DEFAULT
};

pub struct Not;
pub struct ByteSwap;

impl ScalarFunction for Not {
    fn record(&self) -> &'static Record {
        &NOT
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(NOT.name, args.len(), 1..=1)?;
        let ty = as_number(&args[0].ty);
        Ok(match &*ty {
            DataType::Float32 => DataType::Int32,
            DataType::Float64 => DataType::Int64,
            other if !is_address(&args[0].ty) && (other.is_integer() || other.is_string()) => other.clone(),
            _ => {
                bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {} of argument of function bitNot", args[0].ty)
            }
        }
        .into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let (x, n) = (Operand::of(call, 0), call.n_rows);
        let vector = with_integer!(call.result.physical(), C => Vector::from(unary::<C, C>(x, n, C::bit_not)?),
        _ => match &x.vector.data {
            Data::Fixed(fixed) => {
                let bytes = fixed.bytes.iter().map(|byte| !byte).collect();
                Data::Fixed(Fixed { width: fixed.width, bytes }).into()
            }
            _ => {
                let mut out = StringBuilder::with_capacity(n);
                for s in x.vector.strings()?.iter() {
                    out.push_with(|bytes| bytes.extend(s.iter().map(|byte| !byte)));
                }
                out.finish().into()
            }
        });
        Ok(vector.into())
    }
}

impl ScalarFunction for ByteSwap {
    fn record(&self) -> &'static Record {
        &BYTE_SWAP
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(BYTE_SWAP.name, args.len(), 1..=1)?;
        let ty = &args[0].ty;
        ensure!(
            !matches!(ty, DataType::Float32 | DataType::Float64),
            NOT_IMPLEMENTED,
            "byteSwap is not implemented for {} datatype",
            if *ty == DataType::Float32 { "float" } else { "double" }
        );
        ensure!(
            ty.is_integer(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {ty} of argument of function byteSwap"
        );
        Ok(as_number(ty).into_owned().into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let (x, n) = (Operand::of(call, 0), call.n_rows);
        let vector = with_integer!(call.result.physical(), C => Vector::from(unary::<C, C>(x, n, C::swap_bytes)?),
            _ => bail!(LOGICAL_ERROR, "{} has no bytes to swap", call.result));
        Ok(vector.into())
    }
}
