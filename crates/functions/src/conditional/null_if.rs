//! `nullIf`: NULL in place of one value.

use crate::comparison::{Order, Plan, Planner, Side};
use crate::lanes::Operand;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, NullBuffer};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Example, Nulls, Record, ScalarFunction,
};
use chalet_types::supertype::common_supertype;

const RECORD: Record = Record {
    name: "nullIf",
    case_insensitive: true,
    summary: "NULL when both arguments are equal, else the first one.",
    syntax: "nullIf(x, y)",
    examples: &[Example { sql: "SELECT nullIf(1, 1), nullIf(1, 2)", result: "\\N\t1" }],
    nulls: Nulls::Seen,
    constants: Constants::Seen,
    total: true,
    ..Record::DEFAULT
};

pub struct NullIf;

impl ScalarFunction for NullIf {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        check_arity(RECORD.name, args.len(), 2..=2)?;
        let ty = &args[0].ty;
        ensure!(
            ty.is_nullable() || ty.can_be_nullable(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Nested type {ty} cannot be inside Nullable type"
        );
        let (x, y) = (ty.bare(), args[1].ty.bare());
        if x.is_string() != y.is_string() && !x.is_enum() && !y.is_enum() {
            // Text stands for no value of another type here; there is no such type for both.
            common_supertype(&[x.clone(), y.clone()])?;
        }
        let planner = Planner { function: "equals", order: Order::Equal, reads_text: true, ctx };
        let plan = planner.plan(Side::from(&args[0]), Side::from(&args[1]))?;
        Ok(Bound::with_state(ty.clone().nullable(), plan))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let plan: &Plan = call.state()?;
        let (a, b) = (Operand::of(call, 0), Operand::of(call, 1));
        let n = call.n_rows;
        let (equal, unknown) = plan.run(Order::Equal, a, b, n, call.ctx)?;
        let null =
            |row: usize| b.vector.is_null(b.row(row)) || unknown.as_ref().is_some_and(|u| u.is_null(row));
        let keep: NullBuffer = (0..n).map(|row| equal[row] == 0 || null(row)).collect();
        let vector = if a.constant { a.vector.repeat(n) } else { a.vector.clone() };
        Ok(vector.with_nulls(Some(&keep)).into())
    }
}
