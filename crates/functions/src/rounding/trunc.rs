//! `trunc`: cuts off what is behind the given number of decimal places.

use super::kernel::{Direction, Round};
use chalet_function_api::{Constants, Example, Record, ShownType};

const RECORD: Record = Record {
    name: "trunc",
    aliases: &["truncate"],
    case_insensitive: true,
    summary: "Cuts off what is behind the given number of decimal places.",
    syntax: "trunc(x[, N])",
    examples: &[Example { sql: "SELECT trunc(-2.7), trunc(129, -1)", result: "-2\t120" }],
    constants: Constants::Seen,
    total: true,
    shown: ShownType::OfFirst,
    ..Record::DEFAULT
};

pub const FUNCTION: Round = Round { record: &RECORD, direction: Direction::ToZero };
