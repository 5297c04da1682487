//! `less`: the operator `<`.

use super::compare::Compare;
use super::order::Order;
use chalet_function_api::{Comparison, Constants, Example, Record};

const RECORD: Record = Record {
    name: "less",
    summary: "Whether the first value is less than the second one.",
    syntax: "a < b",
    examples: &[Example { sql: "SELECT 1 < 2, 'b' < 'a', -1 < 18446744073709551615", result: "1\t0\t1" }],
    constants: Constants::Seen,
    total: true,
    comparison: Comparison::Less,
    ..Record::DEFAULT
};

pub const FUNCTION: Compare = Compare { record: &RECORD, order: Order::Less };
