//! `structureToProtobufSchema` and `structureToCapnProtoSchema`: columns as the schema of a message of another format.

use super::capn_proto_schema;
use crate::structure_text::parse_structure;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::{Argument, Bound, Call, Example, Nulls, Record, Volatility};
use chalet_functions::plain::Plain;
use chalet_types::{DataType, Value};
use std::collections::HashSet;

const NAMES: [&str; 2] = ["first", "second"];

pub static PROTOBUF: Plain = Plain {
    record: Record {
        name: "structureToProtobufSchema",
        summary: "Columns in the form of CREATE TABLE as the text of a Protobuf schema; the message is called \"Message\", or as the second argument says.",
        syntax: "structureToProtobufSchema(structure[, message])",
        examples: &[Example {
            sql: "SELECT structureToProtobufSchema('x UInt8, y Array(String)', 'Row')",
            result: "syntax = \"proto3\";\\n\\nmessage Row\\n{\\n    uint32 x = 1;\\n    repeated bytes y = 2;\\n}\\n",
        }],
        nulls: Nulls::Seen,
        constant_arguments: &[0, 1],
        ..Record::DEFAULT
    },
    bind: |name, args, _| bind(name, args, chalet_formats::protobuf::schema_text),
    execute,
};

pub static CAPN_PROTO: Plain = Plain {
    record: Record {
        name: "structureToCapnProtoSchema",
        summary: "Columns in the form of CREATE TABLE as the text of a CapnProto schema with an identifier of its own; the message is called \"Message\", or as the second argument says.",
        syntax: "structureToCapnProtoSchema(structure[, message])",
        examples: &[Example { sql: "SELECT length(structureToCapnProtoSchema('x UInt8'))", result: "62" }],
        nulls: Nulls::Seen,
        constant_arguments: &[0, 1],
        volatility: Volatility::PerQuery,
        ..Record::DEFAULT
    },
    bind: |name, args, _| bind(name, args, capn_proto_schema::schema_text),
    execute,
};

/// The text that binding made.
struct Schema(String);

fn bind(
    name: &'static str,
    args: &[Argument],
    schema_text: impl Fn(&[(String, DataType)], &str) -> Result<String>,
) -> Result<Bound> {
    ensure!(
        (1..=2).contains(&args.len()),
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Number of arguments for function {name} doesn't match: passed {}, expected 1 or 2",
        args.len()
    );
    for (arg, which) in args.iter().zip(NAMES) {
        ensure!(
            arg.ty == DataType::String,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of the {which} argument of function {name}, expected constant string",
            arg.ty
        );
    }
    let text = |index: usize| args.get(index).and_then(|arg| arg.constant.as_ref()).and_then(Value::as_str);
    let Some(structure) = text(0) else {
        bail!(ILLEGAL_COLUMN, "Argument at index 0 for function {name} must be constant");
    };
    ensure!(
        args.len() == 1 || text(1).is_some(),
        ILLEGAL_COLUMN,
        "Argument at index 1 for function {name} must be constant"
    );
    let columns = parse_structure(structure)?;
    let mut names = HashSet::new();
    if let Some((twice, _)) = columns.iter().find(|(name, _)| !names.insert(name)) {
        bail!(ILLEGAL_COLUMN, "Cannot add column {twice}: column with this name already exists");
    }
    let text = schema_text(&columns, text(1).unwrap_or("Message"))?;
    Ok(Bound::with_state(DataType::String, Schema(text)))
}

fn execute(call: &Call) -> Result<Column> {
    let Schema(text) = call.state()?;
    let value = Vector::of_value(&Value::string(text), &DataType::String)?;
    Ok(Column::constant(value, call.n_rows))
}
