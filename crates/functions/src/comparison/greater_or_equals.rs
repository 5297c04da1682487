//! `greaterOrEquals`: the operator `>=`.

use super::compare::Compare;
use super::order::Order;
use chalet_function_api::{Comparison, Constants, Example, Record};

const RECORD: Record = Record {
    name: "greaterOrEquals",
    summary: "Whether the first value is greater than the second one or equal to it.",
    syntax: "a >= b",
    examples: &[Example { sql: "SELECT 1 >= 1, 1 >= 2", result: "1\t0" }],
    constants: Constants::Seen,
    total: true,
    comparison: Comparison::GreaterOrEqual,
    ..Record::DEFAULT
};

pub const FUNCTION: Compare = Compare { record: &RECORD, order: Order::GreaterOrEqual };
