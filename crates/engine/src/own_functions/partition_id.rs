//! `partitionId`: what a partition of these values of a partition key is called.

use chalet_base::{Result, ensure};
use chalet_columns::{Column, StringBuilder, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_functions::plain::Plain;
use chalet_storage::merge_tree::Partition;
use chalet_types::{DataType, TupleField, Value};

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "partitionId",
        any_case_aliases: &["partitionID"],
        summary: "The name of the partition of tables of the MergeTree family that holds rows with these values of the partition key.",
        syntax: "partitionId(x, ...)",
        examples: &[Example { sql: "SELECT partitionId(2024, 5)", result: "2024-5" }],
        ..Record::DEFAULT
    },
    bind,
    execute,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    ensure!(
        !args.is_empty(),
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Function {name} requires at least one argument"
    );
    Ok(DataType::String.into())
}

fn execute(call: &Call) -> Result<Column> {
    let types = call.args.iter().map(|arg| TupleField { name: None, ty: arg.ty.clone() });
    let key = DataType::Tuple(types.collect());
    let mut out = StringBuilder::with_capacity(call.n_rows);
    for row in 0..call.n_rows {
        let values = (0..call.args.len()).map(|index| call.vector(index).value(row));
        out.push(Partition::of(&Value::Tuple(values.collect()), &key, "").id.as_bytes());
    }
    Ok(Vector::from(out.finish()).into())
}
