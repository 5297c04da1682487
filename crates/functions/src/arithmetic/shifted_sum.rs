//! What the optimizer puts in place of `sum(x + c)`: from the sum of `x`, the number of rows and `c` to the sum of shifted
//! values, modulo 2^64. Users cannot call it.

use chalet_base::Result;
use chalet_columns::{Column, Data, Vector};
use chalet_function_api::call::BoundFunction;
use chalet_function_api::{Argument, Bound, Call, Context, Record, ScalarFunction};
use chalet_types::DataType;
use std::sync::Arc;

static SHIFTED: Record = Record {
    name: "sumOfShifted",
    summary: "The sum of `x + c` from the sum of `x`, the number of rows and `c`.",
    syntax: "sumOfShifted(sum, count, c)",
    total: true,
    ..Record::DEFAULT
};

static NEGATED: Record = Record {
    name: "sumOfNegated",
    summary: "The sum of `c - x` from the sum of `x`, the number of rows and `c`.",
    syntax: "sumOfNegated(sum, count, c)",
    ..SHIFTED
};

struct ShiftedSum {
    negated: bool,
    /// UInt64 or Int64.
    result: DataType,
}

/// The function from sum, count and shift (a UInt64 each, the sum may be an Int64) to `sum(x + shift)`, or with
/// `negated` to `sum(shift - x)`.
pub fn bind(negated: bool, result: &DataType, sum: &DataType, ctx: &Context) -> Result<BoundFunction> {
    let function = Arc::new(ShiftedSum { negated, result: result.clone() });
    let args = [sum, &DataType::UInt64, &DataType::UInt64].map(|ty| Argument::of_type(ty.clone()));
    BoundFunction::bind(function, &args, ctx)
}

impl ScalarFunction for ShiftedSum {
    fn record(&self) -> &'static Record {
        if self.negated { &NEGATED } else { &SHIFTED }
    }

    fn bind(&self, _: &[Argument], _: &Context) -> Result<Bound> {
        Ok(self.result.clone().into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let sums: Vec<u64> = match &call.args[0].vector.data {
            Data::I64(sums) => sums.iter().map(|&sum| sum as u64).collect(),
            _ => call.args[0].vector.values::<u64>()?.to_vec(),
        };
        let (counts, shifts) = (call.args[1].vector.values::<u64>()?, call.args[2].vector.values::<u64>()?);
        let shifted = sums.into_iter().zip(counts).zip(shifts).map(|((sum, count), shift)| {
            let sum = if self.negated { sum.wrapping_neg() } else { sum };
            sum.wrapping_add(shift.wrapping_mul(*count))
        });
        Ok(match self.result {
            DataType::Int64 => Vector::from(shifted.map(|x| x as i64).collect::<Vec<i64>>()),
            _ => Vector::from(shifted.collect::<Vec<u64>>()),
        }
        .into())
    }
}
