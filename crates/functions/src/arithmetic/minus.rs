//! `minus`: the operator `-` of two arguments.

use super::binary::Binary;
use super::operation::{Kind, Operation};
use chalet_function_api::{Constants, Example, Linear, Record};

const RECORD: Record = Record {
    name: "minus",
    summary: "The difference of two numbers. Also takes numbers and intervals from dates and times, and subtracts dates, tuples and arrays.",
    syntax: "a - b",
    examples: &[Example {
        sql: "SELECT 3 - 5, toDate('2024-03-01') - toDate('2024-02-28')",
        result: "-2\t2",
    }],
    constants: Constants::Seen,
    linear: Linear::Minus,
    ..Record::DEFAULT
};

pub const FUNCTION: Binary = Binary { record: &RECORD, operation: Operation::new("minus", Kind::Minus) };
