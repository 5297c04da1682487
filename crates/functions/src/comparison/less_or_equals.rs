//! `lessOrEquals`: the operator `<=`.

use super::compare::Compare;
use super::order::Order;
use chalet_function_api::{Comparison, Constants, Example, Record};

const RECORD: Record = Record {
    name: "lessOrEquals",
    summary: "Whether the first value is less than the second one or equal to it.",
    syntax: "a <= b",
    examples: &[Example { sql: "SELECT 1 <= 1, 2 <= 1", result: "1\t0" }],
    constants: Constants::Seen,
    total: true,
    comparison: Comparison::LessOrEqual,
    ..Record::DEFAULT
};

pub const FUNCTION: Compare = Compare { record: &RECORD, order: Order::LessOrEqual };
