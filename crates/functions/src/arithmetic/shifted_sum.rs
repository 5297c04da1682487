//! What the optimizer puts in place of `sum(x + c)`: a sum and a count to the sum of shifted values. Users cannot call it.

use chalet_base::Result;
use chalet_columns::{Column, Data, Vector};
use chalet_function_api::call::BoundFunction;
use chalet_function_api::{Argument, Bound, Call, Context, Record, ScalarFunction};
use chalet_types::DataType;
use std::sync::Arc;

static RECORD: Record = Record {
    name: "sumOfShifted",
    summary: "The sum of `x + c` from the sum of `x` and the number of rows.",
    syntax: "sumOfShifted(sum, count)",
    total: true,
    ..Record::DEFAULT
};

struct ShiftedSum {
    negated: bool,
    shift: u64,
    /// UInt64 or Int64.
    result: DataType,
}

/// The function from sum and count to `sum(x + shift)`, or `sum(shift - x)` when negated, modulo 2^64.
pub fn bind(
    negated: bool,
    shift: u64,
    result: &DataType,
    sum: &DataType,
    ctx: &Context,
) -> Result<BoundFunction> {
    let function = Arc::new(ShiftedSum { negated, shift, result: result.clone() });
    let args = [Argument::of_type(sum.clone()), Argument::of_type(DataType::UInt64)];
    BoundFunction::bind(function, &args, ctx)
}

impl ScalarFunction for ShiftedSum {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn bind(&self, _: &[Argument], _: &Context) -> Result<Bound> {
        Ok(self.result.clone().into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let counts = call.args[1].vector.values::<u64>()?;
        let shifted = |sum: u64, count: u64| {
            let sum = if self.negated { sum.wrapping_neg() } else { sum };
            sum.wrapping_add(self.shift.wrapping_mul(count))
        };
        let sums: Vec<u64> = match &call.args[0].vector.data {
            Data::I64(sums) => sums.iter().zip(counts).map(|(&s, &n)| shifted(s as u64, n)).collect(),
            _ => {
                let sums = call.args[0].vector.values::<u64>()?;
                sums.iter().zip(counts).map(|(&s, &n)| shifted(s, n)).collect()
            }
        };
        Ok(match self.result {
            DataType::Int64 => Vector::from(sums.into_iter().map(|x| x as i64).collect::<Vec<i64>>()),
            _ => Vector::from(sums),
        }
        .into())
    }
}
