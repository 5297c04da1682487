//! `digits`: a run of the decimal digits of an integer.

use crate::lanes::{Operand, unary};
use crate::plain::Plain;
use crate::string_args::{check_type, integers, window};
use chalet_base::{Result, ensure};
use chalet_columns::{Column, NullBuffer, Vector};
use chalet_function_api::{Arg, Argument, Bound, Call, Context, Example, Nulls, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "digits",
        summary: "The decimal digits of an integer from an offset on, as a number. Offsets and lengths are as of substring.",
        syntax: "digits(n, offset[, length])",
        examples: &[Example {
            sql: "SELECT digits(1234567890, 7), digits(1234567890, 7, 2), digits(1234567890, 3, -2)",
            result: "7890\t78\t345678",
        }],
        // The result of a NULL without a type is a Nullable(UInt64) too.
        nulls: Nulls::Seen,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    ensure!(
        (2..=3).contains(&args.len()),
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "An incorrect number of arguments was specified for function '{name}'. Expected 2 mandatory arguments and 1 optional argument, got {}",
        args.len()
    );
    for (index, arg) in args.iter().enumerate() {
        let ty = arg.ty.without_nullable();
        let narrow = ty.physical().width().is_some_and(|width| width <= 8);
        let fits = arg.ty.is_only_null() || *ty == DataType::Bool || ty.is_integer() && narrow;
        check_type(fits, name, index, "Int8/Int16/Int32/Int64/UInt8/UInt16/UInt32/UInt64", ty)?;
    }
    let nullable = args.iter().any(|arg| arg.ty.is_nullable());
    Ok(if nullable { DataType::UInt64.nullable() } else { DataType::UInt64 }.into())
}

fn execute(call: &Call) -> Result<Column> {
    let n = call.n_rows;
    if call.args.iter().any(|arg| arg.ty.is_only_null()) {
        return Ok(Vector::from(vec![0u64; n]).with_nulls(Some(&NullBuffer::new_null(n))).into());
    }
    let numbers = unary::<i128, u64>(Operand::of(call, 0), n, |n| n.unsigned_abs() as u64)?;
    let offsets = integers(call, 1)?;
    let lengths = if call.args.len() > 2 { Some(integers(call, 2)?) } else { None };
    let valid: Vec<bool> = (0..n).map(|row| call.args.iter().all(|arg| is_valid(arg, row))).collect();
    let part = |row: usize| {
        if valid[row] { part(numbers[row], offsets[row], lengths.as_ref().map(|l| l[row])) } else { Ok(0) }
    };
    let parts = Vector::from((0..n).map(part).collect::<Result<Vec<u64>>>()?);
    let nullable = call.result.is_nullable();
    Ok(if nullable { parts.with_nulls(Some(&NullBuffer::from(valid))) } else { parts }.into())
}

fn is_valid(arg: &Arg, row: usize) -> bool {
    let row = if arg.constant { 0 } else { row };
    arg.vector.validity.as_ref().is_none_or(|validity| validity.is_valid(row))
}

fn part(number: u64, offset: i64, length: Option<i64>) -> Result<u64> {
    ensure!(offset != 0, ZERO_ARRAY_OR_TUPLE_INDEX, "Indices in number are 1-based");
    let n = number.checked_ilog10().unwrap_or(0) as usize + 1;
    let part = window(n, offset, length);
    // The digits behind the part go, and then those before it. Of 20 digits there is no power of ten.
    let short = 10u64.checked_pow((n - part.end) as u32).map_or(0, |power| number / power);
    Ok(10u64.checked_pow(part.len() as u32).map_or(short, |power| short % power))
}
