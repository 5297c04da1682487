//! `materialize`, `identity`: the argument itself, as a column or as it is.

use chalet_base::Result;
use chalet_columns::Column;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Context, Dictionaries, Example, Nulls, Record, ScalarFunction, SeveralTypes,
    Volatility,
};

const MATERIALIZE: Record = Record {
    name: "materialize",
    several_types: SeveralTypes::Seen,
    summary: "The argument as a column of its own even if it is a constant. It is not folded.",
    syntax: "materialize(x)",
    examples: &[Example { sql: "SELECT materialize(1)", result: "1" }],
    nulls: Nulls::Seen,
    dictionaries: Dictionaries::InTypes,
    volatility: Volatility::PerRow,
    total: true,
    ..Record::DEFAULT
};

const IDENTITY: Record = Record {
    name: "identity",
    aliases: &["__scalarSubqueryResult"],
    several_types: SeveralTypes::Seen,
    summary: "The argument.",
    syntax: "identity(x)",
    examples: &[Example { sql: "SELECT identity(42)", result: "42" }],
    volatility: Volatility::Immutable,
    ..MATERIALIZE
};

pub struct Same {
    record: &'static Record,
}

pub const MATERIALIZE_FUNCTION: Same = Same { record: &MATERIALIZE };
pub const IDENTITY_FUNCTION: Same = Same { record: &IDENTITY };

impl ScalarFunction for Same {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(self.record.name, args.len(), 1..=1)?;
        Ok(args[0].ty.clone().into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        Ok(call.vector(0).clone().into())
    }
}
