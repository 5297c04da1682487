//! `divide`, `divideOrNull`: the operator `/`.

use super::binary::Binary;
use super::operation::{Kind, OnFault, Operation};
use chalet_function_api::{Constants, Example, Record};

const RECORD: Record = Record {
    name: "divide",
    summary: "The quotient of two numbers as Float64, of decimals as Decimal. Dividing a number by zero gives inf, -inf or nan; dividing a Decimal by zero fails.",
    syntax: "a / b",
    examples: &[Example { sql: "SELECT 25 / 4, 1 / 0", result: "6.25\tinf" }],
    constants: Constants::Seen,
    ..Record::DEFAULT
};

pub const FUNCTION: Binary = Binary { record: &RECORD, operation: Operation::new("divide", Kind::Divide) };

const OR_NULL_RECORD: Record = Record {
    name: "divideOrNull",
    summary: "The quotient of two numbers as Float64, NULL when the divisor is zero.",
    syntax: "divideOrNull(a, b)",
    examples: &[Example { sql: "SELECT divideOrNull(25, 0)", result: "\\N" }],
    constants: Constants::Seen,
    ..Record::DEFAULT
};

pub const OR_NULL: Binary = Binary {
    record: &OR_NULL_RECORD,
    operation: Operation::new("divideOrNull", Kind::Divide).on_fault(OnFault::Null),
};
