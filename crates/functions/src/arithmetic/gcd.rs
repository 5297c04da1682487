//! `gcd`, `lcm`: the greatest common divisor and the least common multiple.

use super::binary::Binary;
use super::operation::{Kind, Operation};
use chalet_function_api::{Constants, Example, Record};

const RECORD: Record = Record {
    name: "gcd",
    summary: "The greatest common divisor of two integers. Fails when either is zero.",
    syntax: "gcd(a, b)",
    examples: &[Example { sql: "SELECT gcd(12, 18)", result: "6" }],
    constants: Constants::Seen,
    ..Record::DEFAULT
};

pub const FUNCTION: Binary = Binary { record: &RECORD, operation: Operation::new("gcd", Kind::Gcd) };

const LCM_RECORD: Record = Record {
    name: "lcm",
    summary: "The least common multiple of two integers. Fails when either is zero.",
    syntax: "lcm(a, b)",
    examples: &[Example { sql: "SELECT lcm(6, 8)", result: "24" }],
    constants: Constants::Seen,
    ..Record::DEFAULT
};

pub const LCM: Binary = Binary { record: &LCM_RECORD, operation: Operation::new("lcm", Kind::Lcm) };
