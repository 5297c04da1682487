//! `caseWithExpression`: CASE with an operand.

use super::branches::{common, pick, types_to_mix};
use crate::comparison::{Order, Plan, Planner, Side};
use crate::conversion::cast::{Mode, Rules, convert};
use crate::lanes::Operand;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Example, Nulls, Record, ScalarFunction,
};
use chalet_types::{DataType, Value};

const RECORD: Record = Record {
    name: "caseWithExpression",
    aliases: &["caseWithExpr"],
    summary: "The result behind the first value that equals the operand, or the last argument when none does.",
    syntax: "CASE x WHEN value1 THEN result1 ... ELSE otherwise END",
    examples: &[Example {
        sql: "SELECT CASE 2 WHEN 1 THEN 'one' WHEN 2 THEN 'two' ELSE 'many' END",
        result: "two",
    }],
    nulls: Nulls::Seen,
    constants: Constants::Seen,
    total: true,
    ..Record::DEFAULT
};

pub struct Case;

impl ScalarFunction for Case {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        ensure!(
            !args.is_empty(),
            TOO_FEW_ARGUMENTS_FOR_FUNCTION,
            "Function caseWithExpression expects at least 1 argument"
        );
        ensure!(
            args.len() >= 4 && args.len() % 2 == 0,
            BAD_ARGUMENTS,
            "Function caseWithExpression expects an even number of arguments: (expr, when1, then1, ..., else)"
        );
        ensure!(args.len() <= 512, NOT_IMPLEMENTED, "CASE with more than 255 branches");
        let planner = Planner { function: "equals", order: Order::Equal, reads_text: true, ctx };
        let whens = (1..args.len() - 1).step_by(2);
        let plans = whens.map(|i| planner.plan(Side::from(&args[0]), Side::from(&args[i])));
        let plans: Vec<Plan> = plans.collect::<Result<_>>()?;
        check_names(args, ctx)?;
        let types = types_to_mix(results(args.len()).map(|i| &args[i]));
        Ok(Bound::with_state(common(&types)?, plans))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let plans: &Vec<Plan> = call.state()?;
        let n = call.n_rows;
        let mut choice = vec![plans.len() as u8; n];
        for (index, plan) in plans.iter().enumerate().rev() {
            let (a, b) = (Operand::of(call, 0), Operand::of(call, 2 * index + 1));
            let equal = plan.same(a, b, n, call.ctx)?;
            choice
                .iter_mut()
                .zip(&equal)
                .for_each(|(c, &equal)| *c = if equal != 0 { index as u8 } else { *c });
        }
        pick(call, &results(call.args.len()).collect::<Vec<_>>(), &choice)
    }
}

/// Where all branches are constants, the kernel looks the operand up in a table of them: fails for one that is no name of its Enum.
fn check_names(args: &[Argument], ctx: &Context) -> Result<()> {
    let own = args[0].ty.bare();
    let is_enum = matches!(own, DataType::Enum8(_) | DataType::Enum16(_));
    if !is_enum || args[1..].iter().any(|arg| arg.constant.as_ref().is_none_or(Value::is_null)) {
        return Ok(());
    }
    for when in args[1..args.len() - 1].iter().step_by(2) {
        if let (DataType::String, Some(name)) = (&when.ty, &when.constant) {
            let name = Vector::of_value(name, &when.ty)?;
            convert(&name, &when.ty, own, &Rules::new(Mode::Cast, ctx))?;
        }
    }
    Ok(())
}

/// Indices of the results among the arguments.
fn results(n_args: usize) -> impl Iterator<Item = usize> {
    (2..n_args - 1).step_by(2).chain([n_args - 1])
}
