//! `if`: one of two values.

use super::branches::{MixesScales, check_condition, common_or_variant, condition, pick, types_to_mix};
use chalet_base::Result;
use chalet_columns::Column;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Dictionaries, Example, Lazy, Nulls, Record, ScalarFunction,
    SeveralTypes,
};

const RECORD: Record = Record {
    name: "if",
    several_types: SeveralTypes::Seen,
    case_insensitive: true,
    summary: "The second argument when the first one is true, else the third one. NULL is not true.",
    syntax: "if(condition, then, else)",
    examples: &[Example {
        sql: "SELECT if(1, 'yes', 'no'), if(NULL, 2 + 2, 2 + 6), 0 ? 1 : 2",
        result: "yes\t8\t2",
    }],
    nulls: Nulls::Seen,
    constants: Constants::Seen,
    dictionaries: Dictionaries::Decoded,
    lazy: Lazy::Conditions,
    total: true,
    ..Record::DEFAULT
};

pub struct If;

impl ScalarFunction for If {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        check_arity(RECORD.name, args.len(), 3..=3)?;
        check_condition(&args[0], RECORD.name, "first argument (condition)")?;
        let result = common_or_variant(&types_to_mix(args[1..].iter()), ctx)?;
        let mixes = MixesScales::of(&args[1].ty, &args[2].ty, args[0].constant.is_none());
        Ok(Bound::with_state(result, mixes))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        MixesScales::check(call)?;
        let mut choice = condition(&call.args[0], call.n_rows)?;
        // The first branch is the one of true.
        choice.iter_mut().for_each(|c| *c ^= 1);
        pick(call, &[1, 2], &choice)
    }
}
