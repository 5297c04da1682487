//! `errorCodeToName`, `visibleWidth`, `MACNumToString`, `MACStringToNum`, `MACStringToOUI`: small texts.

use crate::encoding::digits::hex_values;
use crate::lanes::{Operand, unary};
use chalet_base::{Result, codes, ensure};
use chalet_columns::{Column, Data, StringBuilder, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Nulls, Record, ScalarFunction};
use chalet_text::width::width;
use chalet_text::{Style, Writer};
use chalet_types::DataType;
use std::io::Write;

const ERROR_NAME: Record = Record {
    name: "errorCodeToName",
    summary: "The name of an error code, empty for a number that is none.",
    syntax: "errorCodeToName(code)",
    examples: &[Example { sql: "SELECT errorCodeToName(36)", result: "BAD_ARGUMENTS" }],
    total: true,
    ..Record::DEFAULT
};

const VISIBLE_WIDTH: Record = Record {
    name: "visibleWidth",
    summary: "The number of columns that a value takes when it is printed as text.",
    syntax: "visibleWidth(x)",
    examples: &[Example { sql: "SELECT visibleWidth('абв'), visibleWidth(NULL)", result: "3\t4" }],
    nulls: Nulls::Seen,
    total: true,
    ..Record::DEFAULT
};

const MAC_TO_STRING: Record = Record {
    name: "MACNumToString",
    summary: "A MAC address given as a number, in text.",
    syntax: "MACNumToString(number)",
    examples: &[Example { sql: "SELECT MACNumToString(149809441867716)", result: "88:40:3A:91:07:C4" }],
    total: true,
    ..Record::DEFAULT
};

const MAC_TO_NUMBER: Record = Record {
    name: "MACStringToNum",
    summary: "A MAC address in text as a number; 0 for text that is none.",
    syntax: "MACStringToNum(text)",
    examples: &[Example { sql: "SELECT MACStringToNum('01:02:03:04:05:06')", result: "1108152157446" }],
    total: true,
    ..Record::DEFAULT
};

const MAC_TO_OUI: Record = Record {
    name: "MACStringToOUI",
    summary: "The first three bytes of a MAC address in text, as a number; 0 for text that is none.",
    syntax: "MACStringToOUI(text)",
    examples: &[Example { sql: "SELECT MACStringToOUI('01:02:03:04:05:06')", result: "66051" }],
    total: true,
    ..Record::DEFAULT
};

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    ErrorName,
    VisibleWidth,
    MacToString,
    MacToNumber,
    MacToOui,
}

pub struct SmallText {
    record: &'static Record,
    kind: Kind,
}

pub const ERROR_NAME_FUNCTION: SmallText = SmallText { record: &ERROR_NAME, kind: Kind::ErrorName };
pub const VISIBLE_WIDTH_FUNCTION: SmallText = SmallText { record: &VISIBLE_WIDTH, kind: Kind::VisibleWidth };
pub const MAC_TO_STRING_FUNCTION: SmallText = SmallText { record: &MAC_TO_STRING, kind: Kind::MacToString };
pub const MAC_TO_NUMBER_FUNCTION: SmallText = SmallText { record: &MAC_TO_NUMBER, kind: Kind::MacToNumber };
pub const MAC_TO_OUI_FUNCTION: SmallText = SmallText { record: &MAC_TO_OUI, kind: Kind::MacToOui };

/// The values of characters as hexadecimal digits, 255 of what is none.
const DIGITS: [u8; 256] = hex_values(255);

/// The bytes of `XX:XX:...`, `n_bytes` of them. Any character separates, and what is no digit counts as 255, as in the kernel.
fn mac(text: &[u8], n_bytes: usize) -> u64 {
    let length = n_bytes * 3 - 1;
    if text.len() < length || n_bytes == 6 && text.len() > length {
        return 0;
    }
    let digit = |at: usize| u64::from(DIGITS[usize::from(text[at])]);
    (0..n_bytes).fold(0, |number, index| number << 8 | digit(index * 3) << 4 | digit(index * 3 + 1))
}

impl ScalarFunction for SmallText {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let name = self.record.name;
        check_arity(name, args.len(), 1..=1)?;
        let ty = &args[0].ty;
        let legal = match self.kind {
            Kind::ErrorName => ty.is_integer(),
            Kind::VisibleWidth => true,
            Kind::MacToString => *ty == DataType::UInt64,
            Kind::MacToNumber | Kind::MacToOui => *ty == DataType::String,
        };
        ensure!(legal, ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {ty} of argument of function {name}");
        Ok(match self.kind {
            Kind::ErrorName => DataType::String.low_cardinality(),
            Kind::MacToString => DataType::String,
            _ => DataType::UInt64,
        }
        .into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let (x, n) = (Operand::of(call, 0), call.n_rows);
        let mut texts = StringBuilder::with_capacity(n);
        Ok(match self.kind {
            Kind::ErrorName => {
                for code in unary::<i64, i64>(x, n, |x| x)? {
                    let found = codes::ALL.binary_search_by_key(&code, |known| known.number.into());
                    let name = if code == 0 { "OK" } else { found.map_or("", |at| codes::ALL[at].name) };
                    texts.push(name.as_bytes());
                }
                Vector::from(texts.finish())
            }
            Kind::MacToString => {
                for number in unary::<u64, u64>(x, n, |x| x)? {
                    let [_, _, bytes @ ..] = number.to_be_bytes();
                    // Writing to memory does not fail.
                    texts.push_with(|out| {
                        for (index, byte) in bytes.iter().enumerate() {
                            let _ = write!(out, "{}{byte:02X}", if index == 0 { "" } else { ":" });
                        }
                    });
                }
                Vector::from(texts.finish())
            }
            Kind::MacToNumber => {
                Vector::from(x.vector.strings()?.iter().map(|s| mac(s, 6)).collect::<Vec<u64>>())
            }
            Kind::MacToOui => {
                Vector::from(x.vector.strings()?.iter().map(|s| mac(s, 3)).collect::<Vec<u64>>())
            }
            Kind::VisibleWidth => {
                let writer = Writer::new(x.ty, Style::Raw, &crate::text::settings(call.ctx));
                let mut text = Vec::new();
                let widths = (0..n).map(|row| {
                    text.clear();
                    if x.vector.is_null(row) || *x.ty.bare() == DataType::Nothing {
                        return 4;
                    }
                    if let Data::Str(strings) = &x.vector.data
                        && *x.ty.bare() == DataType::String
                    {
                        return width(strings.get(row), 0) as u64;
                    }
                    writer.write(&mut text, x.vector, row);
                    width(&text, 0) as u64
                });
                Vector::from(widths.collect::<Vec<u64>>())
            }
        }
        .into())
    }
}
