//! `leftPad`, `rightPad` and their forms in characters: strings of a certain length.

use crate::plain::Plain;
use crate::string_args::{Kind, StringArg, char_starts, expect, integers, try_build};
use chalet_base::{Result, ensure};
use chalet_columns::Column;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record};
use chalet_types::DataType;

/// The kernel's limit of the new length.
const MAX_LENGTH: i64 = 1_000_000;

macro_rules! pads {
    ($($id:ident $name:literal $aliases:expr, $left:literal $chars:literal, $summary:literal $syntax:literal $sql:literal => $result:literal;)*) => {$(
        pub static $id: Plain = Plain {
            record: Record {
                name: $name,
                any_case_aliases: $aliases,
                summary: $summary,
                syntax: $syntax,
                examples: &[Example { sql: $sql, result: $result }],
                constants: Constants::Seen,
                ..Record::DEFAULT
            },
            bind,
            execute: |call| execute(call, $left, $chars),
        };
    )*};
}

pads! {
    LEFT "leftPad" &["lpad"], true false,
        "The string brought to a length in bytes: cut, or filled up at the front with another string (a space when left out)."
        "leftPad(s, length[, pad])" "SELECT leftPad('abc', 7, '*'), leftPad('def', 5)" => "****abc\t  def";
    RIGHT "rightPad" &["rpad"], false false,
        "The string brought to a length in bytes: cut, or filled up at the end with another string (a space when left out)."
        "rightPad(s, length[, pad])" "SELECT rightPad('abc', 7, '*')" => "abc****";
    LEFT_UTF8 "leftPadUTF8" &[], true true,
        "As leftPad, with the length in characters."
        "leftPadUTF8(s, length[, pad])" "SELECT leftPadUTF8('абвг', 7, '*')" => "***абвг";
    RIGHT_UTF8 "rightPadUTF8" &[], false true,
        "As rightPad, with the length in characters."
        "rightPadUTF8(s, length[, pad])" "SELECT rightPadUTF8('абвг', 7, '*')" => "абвг***";
}

/// A text in units, bytes or characters.
struct Units<'a> {
    text: &'a [u8],
    /// Where characters begin, and the end; nothing where they are bytes.
    starts: Option<Vec<usize>>,
}

impl<'a> Units<'a> {
    fn of(text: &'a [u8], chars: bool) -> Units<'a> {
        Units { text, starts: (chars && !text.is_ascii()).then(|| char_starts(text)) }
    }

    fn len(&self) -> usize {
        self.starts.as_ref().map_or(self.text.len(), |starts| starts.len() - 1)
    }

    fn first(&self, n: usize) -> &'a [u8] {
        &self.text[..self.starts.as_ref().map_or(n, |starts| starts[n])]
    }
}

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    expect(name, args, 2, &[Kind::Text, Kind::Integer, Kind::Text])?;
    Ok(DataType::String.into())
}

fn execute(call: &Call, left: bool, chars: bool) -> Result<Column> {
    let texts = StringArg::of(call, 0)?;
    let lengths = integers(call, 1)?;
    let pads = if call.args.len() == 3 { Some(StringArg::of(call, 2)?) } else { None };
    try_build(call.n_rows, |row, out| {
        let length = lengths[row];
        ensure!(
            length >= 0,
            INDEX_OF_POSITIONAL_ARGUMENT_IS_OUT_OF_RANGE,
            "New padded length ({length}) is negative"
        );
        ensure!(
            length <= MAX_LENGTH,
            TOO_LARGE_STRING_SIZE,
            "New padded length ({length}) is too big, maximum is: {MAX_LENGTH}"
        );
        let text = texts.get(row);
        let own = Units::of(text, chars);
        let (length, len) = (length as usize, own.len());
        if length <= len {
            out.extend_from_slice(own.first(length));
            return Ok(());
        }
        let pad = pads.map_or(&b" "[..], |pads| pads.get(row));
        let pad = if pad.is_empty() { b" " } else { pad };
        if !left {
            out.extend_from_slice(text);
        }
        let units = Units::of(pad, chars);
        let (whole, rest) = ((length - len) / units.len(), (length - len) % units.len());
        (0..whole).for_each(|_| out.extend_from_slice(pad));
        out.extend_from_slice(units.first(rest));
        if left {
            out.extend_from_slice(text);
        }
        Ok(())
    })
}
