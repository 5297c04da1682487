//! `intDiv` and its variants: division of integers that drops the remainder.

use super::binary::Binary;
use super::operation::{Kind, OnFault, Operation};
use chalet_function_api::{Constants, Example, Record};

const RECORD: Record = Record {
    name: "intDiv",
    summary: "The quotient of two numbers without its fraction, rounded towards zero. Fails for a zero divisor.",
    syntax: "intDiv(a, b)",
    examples: &[Example { sql: "SELECT intDiv(-7, 2)", result: "-3" }],
    constants: Constants::Seen,
    ..Record::DEFAULT
};

pub const FUNCTION: Binary = Binary { record: &RECORD, operation: Operation::new("intDiv", Kind::IntDiv) };

const OR_ZERO_RECORD: Record = Record {
    name: "intDivOrZero",
    summary: "As intDiv, but 0 when the divisor is zero, or when the least number is divided by -1.",
    syntax: "intDivOrZero(a, b)",
    examples: &[Example { sql: "SELECT intDivOrZero(7, 0)", result: "0" }],
    constants: Constants::Seen,
    ..Record::DEFAULT
};

pub const OR_ZERO: Binary = Binary {
    record: &OR_ZERO_RECORD,
    operation: Operation::new("intDivOrZero", Kind::IntDiv).on_fault(OnFault::Zero),
};

const OR_NULL_RECORD: Record = Record {
    name: "intDivOrNull",
    summary: "As intDiv, but NULL when the divisor is zero, or when the least number is divided by -1.",
    syntax: "intDivOrNull(a, b)",
    examples: &[Example { sql: "SELECT intDivOrNull(7, 0)", result: "\\N" }],
    constants: Constants::Seen,
    ..Record::DEFAULT
};

pub const OR_NULL: Binary = Binary {
    record: &OR_NULL_RECORD,
    operation: Operation::new("intDivOrNull", Kind::IntDiv).on_fault(OnFault::Null),
};
