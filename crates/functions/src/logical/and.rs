//! `and`, `or`: three-valued logic over any number of arguments.

use crate::lanes::Operand;
use crate::ternary_logic::{Ternary, as_bools, known};
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Dictionaries, Example, Lazy, Nulls, Record, ScalarFunction,
};
use chalet_types::DataType;

const AND: Record = Record {
    name: "and",
    summary: "1 when all arguments are true, 0 when one is false, else NULL. Numbers other than 0 are true.",
    syntax: "a AND b",
    examples: &[Example { sql: "SELECT 1 AND 2, 1 AND 0, NULL AND 0, NULL AND 1", result: "1\t0\t0\t\\N" }],
    nulls: Nulls::Seen,
    constants: Constants::Seen,
    // The result is a plain UInt8 whatever the arguments are.
    dictionaries: Dictionaries::Decoded,
    lazy: Lazy::And,
    total: true,
    ..Record::DEFAULT
};

const OR: Record = Record {
    name: "or",
    summary: "1 when one argument is true, 0 when all are false, else NULL. Numbers other than 0 are true.",
    syntax: "a OR b",
    examples: &[Example { sql: "SELECT 1 OR 0, 0 OR 0, NULL OR 1, NULL OR 0", result: "1\t0\t1\t\\N" }],
    lazy: Lazy::Or,
    ..AND
};

pub struct Junction {
    record: &'static Record,
    /// The result of no arguments.
    neutral: bool,
}

pub const AND_FUNCTION: Junction = Junction { record: &AND, neutral: true };
pub const OR_FUNCTION: Junction = Junction { record: &OR, neutral: false };

/// Does the type have a truth?
pub fn has_truth(ty: &DataType) -> bool {
    use DataType::*;
    matches!(
        ty,
        Bool | UInt8 | UInt16 | UInt32 | UInt64 | Int8 | Int16 | Int32 | Int64 | Float32 | Float64 | Nothing
    )
}

/// Checks the arguments and says whether the result is a Bool.
pub fn check(name: &str, args: &[Argument]) -> Result<DataType> {
    ensure!(
        args.len() >= 2,
        TOO_FEW_ARGUMENTS_FOR_FUNCTION,
        "Number of arguments for function \"{name}\" should be at least 2: passed {}",
        args.len()
    );
    for (index, arg) in args.iter().enumerate() {
        ensure!(
            has_truth(arg.ty.bare()),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type ({}) of {} argument of function {name}",
            arg.ty,
            index + 1
        );
    }
    Ok(if args.iter().any(|arg| arg.ty == DataType::Bool) { DataType::Bool } else { DataType::UInt8 })
}

impl ScalarFunction for Junction {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let result = check(self.record.name, args)?;
        Ok(if args.iter().any(|arg| arg.ty.is_nullable()) { result.nullable() } else { result }.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let n = call.n_rows;
        let operands: Vec<Operand> = call.args.iter().map(Operand::from).collect();
        if operands.iter().all(|operand| known(*operand, n).is_none()) {
            let mut all = vec![u8::from(self.neutral); n];
            for operand in operands {
                let next = as_bools(operand, n)?;
                let pairs = all.iter_mut().zip(&next);
                if self.neutral {
                    pairs.for_each(|(all, next)| *all &= next);
                } else {
                    pairs.for_each(|(all, next)| *all |= next);
                }
            }
            return Ok(Vector::from(all).into());
        }
        let mut all = Ternary::all(n, self.neutral);
        for operand in operands {
            let next = Ternary::of(&as_bools(operand, n)?, known(operand, n));
            all = if self.neutral { all.and(&next) } else { all.or(&next) };
        }
        let (values, validity) = all.into_parts();
        Ok(Vector::new(Vector::from(values).data, validity).into())
    }
}
