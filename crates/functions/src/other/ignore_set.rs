//! `inIgnoreSet` and its like: what IN is where only its type matters. False beside a constant; beside anything else the binder makes
//! them IN.

use crate::plain::Plain;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Example, Nulls, Record};
use chalet_types::DataType;

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    ensure!(
        args.len() == 2,
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Function '{name}' expects 2 arguments, got {}",
        args.len()
    );
    Ok(DataType::UInt8.into())
}

fn execute(call: &Call) -> Result<Column> {
    Ok(Column::constant(Vector::from(vec![0u8]), call.n_rows))
}

macro_rules! ignoring {
    ($($name:literal, $nulls:ident;)*) => {
        pub static FUNCTIONS: &[Plain] = &[$(Plain {
            record: Record {
                name: $name,
                summary: "0, with the type that the operator without IgnoreSet in its name has.",
                syntax: concat!($name, "(x, set)"),
                examples: &[Example { sql: concat!("SELECT ", $name, "(1, 2)"), result: "0" }],
                nulls: Nulls::$nulls,
                ..Record::DEFAULT
            },
            bind,
            execute,
        }),*];
    };
}

ignoring! {
    "inIgnoreSet", Propagate;
    "notInIgnoreSet", Propagate;
    "nullInIgnoreSet", Seen;
    "notNullInIgnoreSet", Seen;
    "globalInIgnoreSet", Propagate;
    "globalNotInIgnoreSet", Propagate;
    "globalNullInIgnoreSet", Seen;
    "globalNotNullInIgnoreSet", Seen;
}
