//! `firstNonDefault`: the first value that is not the default of its type.

use super::branches::{common, pick};
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Data, Vector};
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Dictionaries, Example, Nulls, Record, ScalarFunction,
};
use chalet_types::DataType;

const RECORD: Record = Record {
    name: "firstNonDefault",
    case_insensitive: true,
    summary: "The first argument that is neither NULL nor, if its type has no NULL, the default (0, an empty string); else \
              NULL or the default.",
    syntax: "firstNonDefault(x, ...)",
    examples: &[Example {
        sql: "SELECT firstNonDefault(NULL, 0, 43, 77), firstNonDefault('', 'a')",
        result: "43\ta",
    }],
    nulls: Nulls::Seen,
    constants: Constants::Seen,
    dictionaries: Dictionaries::Decoded,
    total: true,
    ..Record::DEFAULT
};

pub struct FirstNonDefault;

impl ScalarFunction for FirstNonDefault {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        ensure!(
            !args.is_empty() && args.len() < 255,
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Number of arguments for function firstNonDefault doesn't match: passed {}, should be at least 1",
            args.len()
        );
        Ok(common(&args.iter().map(|arg| arg.ty.clone()).collect::<Vec<_>>())?.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let last = call.args.len() - 1;
        // Where no argument is taken, the result is NULL if it can be: one that can be NULL is NULL then.
        let otherwise = call.args.iter().position(|arg| arg.ty.is_nullable()).unwrap_or(last);
        let mut choice = vec![otherwise as u8; call.n_rows];
        for (index, arg) in call.args.iter().enumerate().rev() {
            if matches!(arg.vector.data, Data::Nothing(_)) {
                continue;
            }
            let bare: &DataType = arg.ty.without_nullable();
            let default = Vector::defaults(bare, 1);
            for (row, choice) in choice.iter_mut().enumerate() {
                let row = if arg.constant { 0 } else { row };
                let is_taken = arg.ty.is_nullable() || arg.vector.compare(row, &default, 0).is_ne();
                if is_taken && !arg.vector.is_null(row) {
                    *choice = index as u8;
                }
            }
        }
        let indices: Vec<usize> = (0..=last).collect();
        pick(call, &indices, &choice)
    }
}
