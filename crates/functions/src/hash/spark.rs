//! `xxHash64Spark`: xxHash of a string with the seed that Spark uses.

use crate::plain::Plain;
use crate::string_args::StringArg;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Nulls, Record};
use chalet_types::DataType;

/// Spark's seed, and its hash of NULL.
const SEED: u64 = 42;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "xxHash64Spark",
        summary: "The xxHash of a string, 64 bits, with the seed of Spark; 42 for NULL.",
        syntax: "xxHash64Spark(s)",
        examples: &[Example { sql: "SELECT xxHash64Spark('ABC')", result: "4105715581806190027" }],
        nulls: Nulls::Seen,
        total: true,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=1)?;
    let ty = &args[0].ty;
    ensure!(
        ty.is_only_null() || *ty.without_nullable() == DataType::String,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {ty} of argument of function {name}. Must be String or NULL"
    );
    Ok(DataType::Int64.into())
}

fn execute(call: &Call) -> Result<Column> {
    let arg = &call.args[0];
    if arg.ty.is_only_null() {
        return Ok(Vector::from(vec![SEED as i64; call.n_rows]).into());
    }
    let texts = StringArg::of(call, 0)?;
    let validity = arg.vector.validity.as_ref();
    let hashes = (0..call.n_rows).map(|row| {
        let own = if arg.constant { 0 } else { row };
        if validity.is_some_and(|validity| validity.is_null(own)) {
            return SEED as i64;
        }
        xxhash_rust::xxh64::xxh64(texts.get(row), SEED) as i64
    });
    Ok(Vector::from(hashes.collect::<Vec<i64>>()).into())
}
