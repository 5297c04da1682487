//! `modulo` and its variants: the remainder of a division.

use super::binary::Binary;
use super::operation::{Kind, OnFault, Operation};
use chalet_function_api::{Constants, Example, Record};

const RECORD: Record = Record {
    name: "modulo",
    any_case_aliases: &["mod"],
    summary: "The remainder of a division, with the sign of the dividend. Fails for a zero divisor unless a side is a float.",
    syntax: "a % b",
    examples: &[Example { sql: "SELECT 7 % 3, -7 % 3, 5.5 % 2", result: "1\t-1\t1.5" }],
    constants: Constants::Seen,
    ..Record::DEFAULT
};

pub const FUNCTION: Binary = Binary { record: &RECORD, operation: Operation::new("modulo", Kind::Modulo) };

const LEGACY_RECORD: Record = Record {
    name: "moduloLegacy",
    summary: "As modulo; kept for partition keys of old tables.",
    syntax: "moduloLegacy(a, b)",
    examples: &[Example { sql: "SELECT moduloLegacy(7, 3)", result: "1" }],
    constants: Constants::Seen,
    ..Record::DEFAULT
};

pub const LEGACY: Binary =
    Binary { record: &LEGACY_RECORD, operation: Operation::new("moduloLegacy", Kind::Modulo) };

const OR_ZERO_RECORD: Record = Record {
    name: "moduloOrZero",
    summary: "As modulo, but 0 when the divisor is zero.",
    syntax: "moduloOrZero(a, b)",
    examples: &[Example { sql: "SELECT moduloOrZero(7, 0)", result: "0" }],
    constants: Constants::Seen,
    ..Record::DEFAULT
};

pub const OR_ZERO: Binary = Binary {
    record: &OR_ZERO_RECORD,
    operation: Operation::new("moduloOrZero", Kind::Modulo).on_fault(OnFault::Zero),
};

const OR_NULL_RECORD: Record = Record {
    name: "moduloOrNull",
    any_case_aliases: &["modOrNull"],
    summary: "As modulo, but NULL when the divisor is zero.",
    syntax: "moduloOrNull(a, b)",
    examples: &[Example { sql: "SELECT moduloOrNull(7, 0)", result: "\\N" }],
    constants: Constants::Seen,
    ..Record::DEFAULT
};

pub const OR_NULL: Binary = Binary {
    record: &OR_NULL_RECORD,
    operation: Operation::new("moduloOrNull", Kind::Modulo).on_fault(OnFault::Null),
};

const POSITIVE_RECORD: Record = Record {
    name: "positiveModulo",
    aliases: &["positive_modulo", "pmod"],
    case_insensitive: true,
    summary: "The remainder of a division that is never negative.",
    syntax: "positiveModulo(a, b)",
    examples: &[Example { sql: "SELECT positiveModulo(-7, 3)", result: "2" }],
    constants: Constants::Seen,
    ..Record::DEFAULT
};

pub const POSITIVE: Binary =
    Binary { record: &POSITIVE_RECORD, operation: Operation::new("positiveModulo", Kind::PositiveModulo) };

const POSITIVE_OR_NULL_RECORD: Record = Record {
    name: "positiveModuloOrNull",
    aliases: &["positive_modulo_or_null", "pmodOrNull"],
    case_insensitive: true,
    summary: "As positiveModulo, but NULL when the divisor is zero.",
    syntax: "positiveModuloOrNull(a, b)",
    examples: &[Example { sql: "SELECT positiveModuloOrNull(-7, 0)", result: "\\N" }],
    constants: Constants::Seen,
    ..Record::DEFAULT
};

pub const POSITIVE_OR_NULL: Binary = Binary {
    record: &POSITIVE_OR_NULL_RECORD,
    operation: Operation::new("positiveModuloOrNull", Kind::PositiveModulo).on_fault(OnFault::Null),
};
