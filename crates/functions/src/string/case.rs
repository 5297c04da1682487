//! `lower` and `upper`: the case of ASCII letters.

use crate::plain::Plain;
use chalet_base::{Result, bail};
use chalet_columns::strings::INLINE;
use chalet_columns::{Column, Data, Fixed, StringBuilder, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, ShownType};

pub static LOWER: Plain = Plain {
    record: Record {
        name: "lower",
        aliases: &["lcase"],
        case_insensitive: true,
        summary: "The string with its ASCII letters in lower case.",
        syntax: "lower(s)",
        examples: &[Example { sql: "SELECT lower('ClickHouse')", result: "clickhouse" }],
        total: true,
        shown: ShownType::OfFirst,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, <[u8]>::make_ascii_lowercase, b'A'),
};

pub static UPPER: Plain = Plain {
    record: Record {
        name: "upper",
        aliases: &["ucase"],
        case_insensitive: true,
        summary: "The string with its ASCII letters in upper case.",
        syntax: "upper(s)",
        examples: &[Example { sql: "SELECT upper('ClickHouse')", result: "CLICKHOUSE" }],
        total: true,
        shown: ShownType::OfFirst,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, <[u8]>::make_ascii_uppercase, b'a'),
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=1)?;
    match &args[0].ty {
        ty if ty.is_string() => Ok(ty.clone().into()),
        ty => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {ty} of argument of function {name}"),
    }
}

/// One byte in every place of a view but those of the length.
pub(super) const fn in_view(byte: u8) -> u128 {
    u128::from_le_bytes([0, 0, 0, 0, byte, byte, byte, byte, byte, byte, byte, byte, byte, byte, byte, byte])
}

/// The view of a short string with the case changed of the 26 letters from `first` on, all its bytes at once.
#[inline(always)]
pub(super) fn change_view(view: u128, first: u8) -> u128 {
    // Sums of seven bits cannot carry: their top bits say which bytes are at least the first letter, and which are past the last.
    let low = view & in_view(0x7f);
    let (reaches, passes) = (low + in_view(0x80 - first), low + in_view(0x80 - first - 26));
    let letters = reaches & !passes & !view & in_view(0x80);
    view ^ letters >> 2
}

fn execute(call: &Call, change: fn(&mut [u8]), first: u8) -> Result<Column> {
    let data = match &call.vector(0).data {
        Data::Fixed(fixed) => {
            let mut bytes = fixed.bytes.to_vec();
            change(&mut bytes);
            Data::Fixed(Fixed { width: fixed.width, bytes: bytes.into() })
        }
        _ => {
            let strings = call.vector(0).strings()?;
            if let Some(changed) = strings.changed(change, |view| change_view(view, first)) {
                return Ok(Vector::from(changed).into());
            }
            let mut out = StringBuilder::with_capacity(strings.len());
            for (row, &view) in strings.views().iter().enumerate() {
                if view as u32 as usize <= INLINE {
                    out.push_viewed(change_view(view, first), b"");
                    continue;
                }
                let text = strings.get(row);
                out.push_with(|bytes| {
                    let start = bytes.len();
                    bytes.extend_from_slice(text);
                    change(&mut bytes[start..]);
                });
            }
            Data::Str(out.finish())
        }
    };
    Ok(Vector::from(data).into())
}
