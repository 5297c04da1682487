//! `multiIf`: the value behind the first true condition; CASE without an operand.

use super::branches::{MixesScales, check_condition, common_or_variant, condition, pick, types_to_mix};
use chalet_base::{Result, ensure};
use chalet_columns::Column;
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Dictionaries, Example, Lazy, Nulls, Record, ScalarFunction,
    SeveralTypes,
};

const RECORD: Record = Record {
    name: "multiIf",
    several_types: SeveralTypes::Seen,
    aliases: &["caseWithoutExpression", "caseWithoutExpr"],
    summary: "The value behind the first condition that is true, or the last argument when none is.",
    syntax: "multiIf(condition1, then1, condition2, then2, ..., else)",
    examples: &[Example {
        sql: "SELECT multiIf(0, 'a', 1, 'b', 'c'), CASE WHEN 1 = 2 THEN 'x' ELSE 'y' END",
        result: "b\ty",
    }],
    nulls: Nulls::Seen,
    constants: Constants::Seen,
    dictionaries: Dictionaries::Decoded,
    lazy: Lazy::Conditions,
    total: true,
    ..Record::DEFAULT
};

pub struct MultiIf;

/// More branches than this do not fit into a choice of one byte.
const MOST_BRANCHES: usize = 255;

impl ScalarFunction for MultiIf {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        ensure!(
            args.len() >= 3 && args.len() % 2 == 1,
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Invalid number of arguments for function multiIf"
        );
        ensure!(
            args.len() / 2 < MOST_BRANCHES,
            NOT_IMPLEMENTED,
            "multiIf with more than {MOST_BRANCHES} branches"
        );
        for arg in args[..args.len() - 1].iter().step_by(2) {
            check_condition(arg, RECORD.name, "argument (condition)")?;
        }
        let types = types_to_mix(values(args.len()).map(|i| &args[i]));
        // With one condition it is `if`.
        let by_row = args.len() == 3 && args[0].constant.is_none();
        let mixes = MixesScales::of(&args[1].ty, &args[2].ty, by_row);
        Ok(Bound::with_state(common_or_variant(&types, ctx)?, mixes))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let n_conditions = call.args.len() / 2;
        MixesScales::check(call)?;
        let mut choice = vec![n_conditions as u8; call.n_rows];
        // From the last condition to the first, so that the first one that holds is what remains.
        for index in (0..n_conditions).rev() {
            let holds = condition(&call.args[2 * index], call.n_rows)?;
            let index = index as u8;
            choice.iter_mut().zip(&holds).for_each(|(c, &holds)| *c = if holds != 0 { index } else { *c });
        }
        pick(call, &values(call.args.len()).collect::<Vec<_>>(), &choice)
    }
}

/// Indices of the values among the arguments.
fn values(n_args: usize) -> impl Iterator<Item = usize> {
    (1..n_args).step_by(2).chain([n_args - 1])
}
