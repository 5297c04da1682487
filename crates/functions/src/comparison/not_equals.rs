//! `notEquals`: the operator `!=`.

use super::compare::Compare;
use super::order::Order;
use chalet_function_api::{Comparison, Constants, Example, Record};

const RECORD: Record = Record {
    name: "notEquals",
    summary: "Whether two values differ.",
    syntax: "a != b",
    examples: &[Example { sql: "SELECT 1 != 2, 'a' <> 'a'", result: "1\t0" }],
    constants: Constants::Seen,
    total: true,
    comparison: Comparison::NotEqual,
    ..Record::DEFAULT
};

pub const FUNCTION: Compare = Compare { record: &RECORD, order: Order::NotEqual };
