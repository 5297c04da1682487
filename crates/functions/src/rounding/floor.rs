//! `floor`: the greatest number of the given number of decimal places that is not above x.

use super::kernel::{Direction, Round};
use chalet_function_api::{Constants, Example, Record, ShownType};

const RECORD: Record = Record {
    name: "floor",
    case_insensitive: true,
    summary: "The greatest number of the given number of decimal places that is not above x.",
    syntax: "floor(x[, N])",
    examples: &[Example {
        sql: "SELECT floor(-2.5), floor(2.75, 1), floor(128, -1)",
        result: "-3\t2.7\t120",
    }],
    constants: Constants::Seen,
    total: true,
    shown: ShownType::OfFirst,
    ..Record::DEFAULT
};

pub const FUNCTION: Round = Round { record: &RECORD, direction: Direction::Down };
