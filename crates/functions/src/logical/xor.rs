//! `xor`: exclusive or.

use super::and::check;
use crate::lanes::Operand;
use crate::ternary_logic::as_bools;
use chalet_base::Result;
use chalet_columns::{Column, Vector};
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Dictionaries, Example, Record, ScalarFunction,
};

const RECORD: Record = Record {
    name: "xor",
    summary: "1 when an odd number of the arguments is true. NULL when one is NULL.",
    syntax: "xor(a, b, ...)",
    examples: &[Example { sql: "SELECT xor(1, 0), xor(1, 1), xor(1, 1, 1)", result: "1\t0\t1" }],
    constants: Constants::Seen,
    dictionaries: Dictionaries::Decoded,
    total: true,
    ..Record::DEFAULT
};

pub struct Xor;

impl ScalarFunction for Xor {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        Ok(check(RECORD.name, args)?.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let mut odd = vec![0u8; call.n_rows];
        for arg in call.args {
            let next = as_bools(Operand::from(arg), call.n_rows)?;
            odd.iter_mut().zip(&next).for_each(|(odd, next)| *odd ^= next);
        }
        Ok(Vector::from(odd).into())
    }
}
