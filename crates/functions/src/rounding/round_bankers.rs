//! `roundBankers`: rounds to the given number of decimal places, halves to the even neighbour.

use super::kernel::{Direction, Round};
use chalet_function_api::{Constants, Example, Record, ShownType};

const RECORD: Record = Record {
    name: "roundBankers",
    summary: "Rounds to the given number of decimal places, halves to the even neighbour.",
    syntax: "roundBankers(x[, N])",
    examples: &[Example { sql: "SELECT roundBankers(2.5), roundBankers(125, -1)", result: "2\t120" }],
    constants: Constants::Seen,
    total: true,
    shown: ShownType::OfFirst,
    ..Record::DEFAULT
};

pub const FUNCTION: Round = Round { record: &RECORD, direction: Direction::Even };
