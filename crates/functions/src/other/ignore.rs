//! `ignore`, `indexHint`: a constant whatever the arguments are.

use chalet_base::Result;
use chalet_columns::{Column, Vector};
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Dictionaries, Example, Nulls, Record, ScalarFunction,
    SeveralTypes,
};
use chalet_types::DataType;

const IGNORE: Record = Record {
    name: "ignore",
    several_types: SeveralTypes::Seen,
    summary: "0 for any arguments, which are computed nevertheless.",
    syntax: "ignore(x, ...)",
    examples: &[Example { sql: "SELECT ignore(0, 'a', NULL)", result: "0" }],
    nulls: Nulls::Seen,
    constants: Constants::Seen,
    dictionaries: Dictionaries::Decoded,
    total: true,
    ..Record::DEFAULT
};

const INDEX_HINT: Record = Record {
    name: "indexHint",
    several_types: SeveralTypes::Seen,
    summary: "1; its argument only serves to choose the parts of a table to read.",
    syntax: "indexHint(condition)",
    examples: &[Example { sql: "SELECT indexHint(0)", result: "1" }],
    hints_index: true,
    ..IGNORE
};

pub struct Fixed {
    record: &'static Record,
    value: u8,
}

pub const IGNORE_FUNCTION: Fixed = Fixed { record: &IGNORE, value: 0 };
pub const INDEX_HINT_FUNCTION: Fixed = Fixed { record: &INDEX_HINT, value: 1 };

impl ScalarFunction for Fixed {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, _: &[Argument], _: &Context) -> Result<Bound> {
        Ok(DataType::UInt8.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        Ok(Column::constant(Vector::from(vec![self.value]), call.n_rows))
    }
}
