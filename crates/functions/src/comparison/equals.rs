//! `equals`: the operator `=`.

use super::compare::Compare;
use super::order::Order;
use chalet_function_api::{Comparison, Constants, Example, Record};

const RECORD: Record = Record {
    name: "equals",
    summary: "Whether two values are equal. Numbers compare by value whatever their types; a constant string stands for a value of the other side's type.",
    syntax: "a = b",
    examples: &[Example { sql: "SELECT 1 = 1.0, 'a' = 'b', (1, 2) = (1, 2)", result: "1\t0\t1" }],
    constants: Constants::Seen,
    total: true,
    comparison: Comparison::Equal,
    ..Record::DEFAULT
};

pub const FUNCTION: Compare = Compare { record: &RECORD, order: Order::Equal };
