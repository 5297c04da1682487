//! `widthBucket`: the number of the bucket of equal width that a value falls into.

use crate::lanes::{Operand, unary};
use chalet_base::{Result, ensure};
use chalet_columns::Column;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, ScalarFunction};
use chalet_types::DataType;

const RECORD: Record = Record {
    name: "widthBucket",
    aliases: &["width_bucket"],
    case_insensitive: true,
    summary: "The number of the bucket that x falls into, of `count` buckets of equal width between low and high; 0 below, count + 1 above.",
    syntax: "widthBucket(x, low, high, count)",
    examples: &[Example { sql: "SELECT widthBucket(10.15, -8.6, 23, 10)", result: "6" }],
    ..Record::DEFAULT
};

pub struct WidthBucket;

impl ScalarFunction for WidthBucket {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(RECORD.name, args.len(), 4..=4)?;
        for (index, arg) in args[..3].iter().enumerate() {
            let native =
                arg.ty.is_float() || arg.ty.is_integer() && arg.ty.physical().width().unwrap_or(0) <= 8;
            let (place, what) = [("1st", "operand"), ("2nd", "low"), ("3rd", "high")][index];
            ensure!(
                native,
                ILLEGAL_TYPE_OF_ARGUMENT,
                "A value of illegal type was provided as {place} argument '{what}' to function 'widthBucket'. Expected: native numeric, got: {}",
                arg.ty
            );
        }
        let result = match args[3].ty {
            DataType::UInt8 => DataType::UInt16,
            DataType::UInt16 => DataType::UInt32,
            DataType::UInt32 | DataType::UInt64 => DataType::UInt64,
            ref other => {
                chalet_base::bail!(
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "A value of illegal type was provided as 4th argument 'count' to function 'widthBucket'. Expected: native unsigned integer, got: {other}"
                )
            }
        };
        Ok(result.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let n = call.n_rows;
        let floats = |index| unary::<f64, f64>(Operand::of(call, index), n, |x| x);
        let (x, low, high) = (floats(0)?, floats(1)?, floats(2)?);
        let count = unary::<u64, u64>(Operand::of(call, 3), n, |x| x)?;
        let mut out = Vec::with_capacity(n);
        for row in 0..n {
            let (x, low, high, count) = (x[row], low[row], high[row], count[row]);
            ensure!(count != 0, BAD_ARGUMENTS, "Last argument (count) for function widthBucket cannot be 0");
            ensure!(
                !x.is_nan() && !low.is_nan() && !high.is_nan(),
                BAD_ARGUMENTS,
                "The first three arguments (operand, low, high) cannot be NaN in function widthBucket"
            );
            ensure!(
                low.is_finite() && high.is_finite(),
                BAD_ARGUMENTS,
                "The second and third arguments (low, high) cannot be Inf function widthBucket"
            );
            out.push(match () {
                _ if x < low || low >= high => 0,
                _ if x >= high => count.wrapping_add(1),
                _ => (((x - low) * (count as f64 / (high - low))) as u64).wrapping_add(1),
            });
        }
        Ok(crate::arithmetic::convert_numbers(out.into(), call.result.physical(), n)?.into())
    }
}
