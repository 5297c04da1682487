//! `round`: rounds to the given number of decimal places.

use super::kernel::{Direction, Round};
use chalet_function_api::{Constants, Example, Record, ShownType};

const RECORD: Record = Record {
    name: "round",
    case_insensitive: true,
    summary: "Rounds to the given number of decimal places. Halves of floats go to the even neighbour, halves of integers and decimals away from zero.",
    syntax: "round(x[, N])",
    examples: &[Example {
        sql: "SELECT round(3.14159, 2), round(2.5), round(toDecimal32(2.5, 1)), round(125, -1)",
        result: "3.14\t2\t3\t130",
    }],
    constants: Constants::Seen,
    total: true,
    shown: ShownType::OfFirst,
    ..Record::DEFAULT
};

pub const FUNCTION: Round = Round { record: &RECORD, direction: Direction::Nearest };
