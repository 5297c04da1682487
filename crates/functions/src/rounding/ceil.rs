//! `ceil`: the least number of the given number of decimal places that is not below x.

use super::kernel::{Direction, Round};
use chalet_function_api::{Constants, Example, Record, ShownType};

const RECORD: Record = Record {
    name: "ceil",
    aliases: &["ceiling"],
    case_insensitive: true,
    summary: "The least number of the given number of decimal places that is not below x.",
    syntax: "ceil(x[, N])",
    examples: &[Example { sql: "SELECT ceil(2.1), ceil(121, -1)", result: "3\t130" }],
    constants: Constants::Seen,
    total: true,
    shown: ShownType::OfFirst,
    ..Record::DEFAULT
};

pub const FUNCTION: Round = Round { record: &RECORD, direction: Direction::Up };
