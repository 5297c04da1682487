//! `bitSlice`: a part of a string by bits.

use crate::plain::Plain;
use crate::string_args::{StringArg, build, check_type, integers, window};
use chalet_base::Result;
use chalet_columns::Column;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "bitSlice",
        summary: "The bits of a string from a position on, which counts from 1 (from -1 at the end), as many as the length says; zeros fill the last byte.",
        syntax: "bitSlice(s, offset[, length])",
        examples: &[Example {
            sql: "SELECT bin(bitSlice(bin('Hello'), 1, 8)), bitSlice('Hello', 1, 8)",
            result: "00110000\tH",
        }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=3)?;
    for (index, arg) in args.iter().enumerate() {
        let narrow = arg.ty.is_integer() && arg.ty.physical().width().unwrap_or(16) <= 8;
        let (fits, expected) = match index {
            0 => (arg.ty.is_string(), "String"),
            _ => (narrow || arg.ty.is_float(), "(U)Int8/16/32/64 or Float"),
        };
        check_type(fits, name, index, expected, &arg.ty)?;
    }
    Ok(DataType::String.into())
}

fn execute(call: &Call) -> Result<Column> {
    let texts = StringArg::of(call, 0)?;
    let positions = integers(call, 1)?;
    let lengths = if call.args.len() == 3 { Some(integers(call, 2)?) } else { None };
    Ok(build(call.n_rows, |row, out| {
        let text = texts.get(row);
        let bits = window(8 * text.len(), positions[row], lengths.as_ref().map(|lengths| lengths[row]));
        slice(text, bits, out);
    }))
}

/// The bits of a range, moved to the front of bytes.
fn slice(text: &[u8], bits: std::ops::Range<usize>, out: &mut Vec<u8>) {
    if bits.is_empty() {
        return;
    }
    let shift = bits.start % 8;
    let n_bytes = bits.len().div_ceil(8);
    let from = &text[bits.start / 8..];
    let start = out.len();
    out.resize(start + n_bytes, 0);
    let moved = |byte: u8, next: u8| (u16::from_be_bytes([byte, next]) << shift >> 8) as u8;
    // Behind the last byte there is none, or one that does not count.
    let whole = n_bytes.min(from.len() - 1);
    for ((out, byte), next) in out[start..].iter_mut().zip(&from[..whole]).zip(&from[1..]) {
        *out = moved(*byte, *next);
    }
    if whole < n_bytes {
        out[start + whole] = moved(from[whole], 0);
    }
    let excess = 8 * n_bytes - bits.len();
    if let Some(last) = out.last_mut() {
        *last &= 0xff << excess;
    }
}
