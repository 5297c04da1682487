//! `multiply`: the operator `*`.

use super::binary::Binary;
use super::operation::{Kind, Operation};
use chalet_function_api::{Constants, Example, Record};

const RECORD: Record = Record {
    name: "multiply",
    summary: "The product of two numbers; of a tuple or an array and a number by element; of two tuples their scalar product.",
    syntax: "a * b",
    examples: &[Example { sql: "SELECT 6 * 7, (1, 2) * 3", result: "42\t(3,6)" }],
    constants: Constants::Seen,
    ..Record::DEFAULT
};

pub const FUNCTION: Binary =
    Binary { record: &RECORD, operation: Operation::new("multiply", Kind::Multiply) };
