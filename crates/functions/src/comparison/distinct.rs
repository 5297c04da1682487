//! `isDistinctFrom`, `isNotDistinctFrom` (`<=>`): comparison in which NULL is a value like any other.

use super::order::Order;
use super::plan::{Plan, Planner, Side};
use crate::lanes::Operand;
use chalet_base::Result;
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Example, Nulls, Record, ScalarFunction,
};
use chalet_types::DataType;

const DISTINCT: Record = Record {
    name: "isDistinctFrom",
    summary: "Whether two values differ. NULL does not differ from NULL, and differs from everything else.",
    syntax: "isDistinctFrom(a, b)",
    examples: &[Example {
        sql: "SELECT isDistinctFrom(1, 2), isDistinctFrom(NULL, 1), isDistinctFrom(NULL, NULL)",
        result: "1\t1\t0",
    }],
    nulls: Nulls::Seen,
    constants: Constants::Seen,
    total: true,
    ..Record::DEFAULT
};

const NOT_DISTINCT: Record = Record {
    name: "isNotDistinctFrom",
    summary: "Whether two values are equal, NULL being equal to NULL. The operator `<=>`.",
    syntax: "a <=> b",
    examples: &[Example { sql: "SELECT 1 <=> 1, NULL <=> 1, NULL <=> NULL", result: "1\t0\t1" }],
    nulls: Nulls::Seen,
    constants: Constants::Seen,
    total: true,
    ..Record::DEFAULT
};

pub struct Distinct {
    record: &'static Record,
    /// The result for equal values.
    same: u8,
}

pub const FROM: Distinct = Distinct { record: &DISTINCT, same: 0 };
pub const NOT_FROM: Distinct = Distinct { record: &NOT_DISTINCT, same: 1 };

impl ScalarFunction for Distinct {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        check_arity(self.record.name, args.len(), 2..=2)?;
        let planner = Planner { function: self.record.name, order: Order::Equal, reads_text: false, ctx };
        let plan = planner.plan(Side::from(&args[0]), Side::from(&args[1]))?;
        Ok(Bound::with_state(DataType::UInt8, plan))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let plan: &Plan = call.state()?;
        let (a, b) = (Operand::of(call, 0), Operand::of(call, 1));
        let mut values = plan.same(a, b, call.n_rows, call.ctx)?;
        if self.same == 0 {
            values.iter_mut().for_each(|value| *value ^= 1);
        }
        Ok(Vector::from(values).into())
    }
}
