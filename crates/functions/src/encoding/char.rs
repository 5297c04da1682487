//! `char`: a string of bytes given as numbers.

use crate::lanes::{Operand, unary};
use crate::plain::Plain;
use crate::string_args::build;
use chalet_base::{Result, ensure};
use chalet_columns::Column;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "char",
        case_insensitive: true,
        summary: "The string whose bytes are the arguments; of larger numbers the lowest byte.",
        syntax: "char(n1, n2, ...)",
        examples: &[Example { sql: "SELECT char(104.1, 101, 108.9, 108.9, 111)", result: "hello" }],
        ..Record::DEFAULT
    },
    bind,
    execute,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    ensure!(
        !args.is_empty(),
        TOO_FEW_ARGUMENTS_FOR_FUNCTION,
        "Number of arguments for function {name} doesn't match: passed 0, should be at least 1"
    );
    for arg in args {
        ensure!(
            arg.ty.is_integer() || arg.ty.is_float(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of argument of function {name}, must be Int, UInt or Float number",
            arg.ty
        );
        ensure!(
            arg.ty.is_narrow_integer() || matches!(arg.ty, DataType::Float32 | DataType::Float64),
            ILLEGAL_COLUMN,
            "Illegal column {} of first argument of function {name}",
            arg.ty
        );
    }
    Ok(DataType::String.into())
}

fn execute(call: &Call) -> Result<Column> {
    let columns = (0..call.args.len()).map(|index| bytes(call, index)).collect::<Result<Vec<_>>>()?;
    Ok(build(call.n_rows, |row, out| out.extend(columns.iter().map(|column| column[row]))))
}

fn bytes(call: &Call, index: usize) -> Result<Vec<u8>> {
    let (operand, n) = (Operand::of(call, index), call.n_rows);
    if operand.ty.is_float() {
        return unary::<f64, u8>(operand, n, |x| {
            // Only floats beyond 64 bits have to be converted the slow way, to wrap around.
            if x.abs() < 9e18 { x as i64 as u8 } else { x as i128 as u8 }
        });
    }
    unary::<i64, u8>(operand, n, |x| x as u8)
}
