//! `greater`: the operator `>`.

use super::compare::Compare;
use super::order::Order;
use chalet_function_api::{Comparison, Constants, Example, Record};

const RECORD: Record = Record {
    name: "greater",
    summary: "Whether the first value is greater than the second one.",
    syntax: "a > b",
    examples: &[Example { sql: "SELECT 2 > 1, [1, 2] > [1]", result: "1\t1" }],
    constants: Constants::Seen,
    total: true,
    comparison: Comparison::Greater,
    ..Record::DEFAULT
};

pub const FUNCTION: Compare = Compare { record: &RECORD, order: Order::Greater };
