//! A function that is one of the six comparisons.

use super::order::Order;
use super::plan::{Plan, Planner, Side};
use crate::lanes::Operand;
use chalet_base::Result;
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Record, ScalarFunction};
use chalet_types::{DataType, Value};
use std::any::Any;

pub struct Compare {
    pub record: &'static Record,
    pub order: Order,
}

impl ScalarFunction for Compare {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        check_arity(self.record.name, args.len(), 2..=2)?;
        let planner = Planner { function: self.record.name, order: self.order, reads_text: true, ctx };
        let mut plan = planner.plan(Side::from(&args[0]), Side::from(&args[1]))?;
        // As in ClickHouse, a written NULL in one of two constants decides, where columns may differ in other elements.
        if args.iter().all(|arg| arg.constant.is_some()) && plan.has_null_field() {
            plan = Plan::Null;
        }
        let nullable = plan.gives_null(&args[0].ty, &args[1].ty);
        let result = if nullable { DataType::UInt8.nullable() } else { DataType::UInt8 };
        Ok(Bound::with_state(result, plan))
    }

    fn parsed_literal(&self, state: &(dyn Any + Send + Sync)) -> Option<(usize, Value)> {
        match state.downcast_ref()? {
            Plan::Text { left, value, .. } => Some((usize::from(!left), value.value(0))),
            _ => None,
        }
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let plan: &Plan = call.state()?;
        let (a, b) = (Operand::of(call, 0), Operand::of(call, 1));
        let (values, validity) = plan.run(self.order, a, b, call.n_rows, call.ctx)?;
        Ok(Vector::new(Vector::from(values).data, validity).into())
    }
}
