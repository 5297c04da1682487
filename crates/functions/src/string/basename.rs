//! `basename`: what follows the last slash or backslash.

use crate::plain::Plain;
use crate::texts::parts;
use chalet_base::{Result, bail};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Context, Example, Record};
use chalet_types::DataType;
use memchr::memrchr2;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "basename",
        summary: "The part of a string behind its last slash or backslash; the whole string when it has none.",
        syntax: "basename(s)",
        examples: &[Example { sql: "SELECT basename('some/long/path/to/file')", result: "file" }],
        total: true,
        ..Record::DEFAULT
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        check_arity(name, args.len(), 1..=1)?;
        match &args[0].ty {
            DataType::String => Ok(DataType::String.into()),
            DataType::FixedString(_) => {
                bail!(ILLEGAL_COLUMN, "Column of type FixedString is not supported by this function")
            }
            ty => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {ty} of argument of function {name}"),
        }
    },
    execute: |call| parts(call, |_, text| memrchr2(b'/', b'\\', text).map_or(0, |at| at + 1)..text.len()),
};
