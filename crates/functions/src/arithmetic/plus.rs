//! `plus`: the operator `+`.

use super::binary::Binary;
use super::operation::{Kind, Operation};
use chalet_function_api::{Constants, Example, Linear, Record};

const RECORD: Record = Record {
    name: "plus",
    summary: "The sum of two numbers. Also adds numbers and intervals to dates and times, and tuples and arrays element by element.",
    syntax: "a + b",
    examples: &[Example {
        sql: "SELECT 5 + 5, toDate('2024-02-28') + 2, (1, 2) + (3, 4)",
        result: "10\t2024-03-01\t(4,6)",
    }],
    constants: Constants::Seen,
    linear: Linear::Plus,
    ..Record::DEFAULT
};

pub const FUNCTION: Binary = Binary { record: &RECORD, operation: Operation::new("plus", Kind::Plus) };
