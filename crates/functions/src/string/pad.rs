//! `leftPad`, `rightPad` and their forms in characters: strings of a certain length.

use crate::plain::Plain;
use crate::string_args::{Kind, StringArg, begins_char, char_len, count_chars, expect, integers, try_build};
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

/// How long a text is, in bytes or characters. A byte that begins no character belongs to the one before.
fn len_of(text: &[u8], chars: bool) -> usize {
    if chars { count_chars(text) } else { text.len() }
}

/// The beginning of a longer text.
fn cut(text: &[u8], n: usize, chars: bool) -> &[u8] {
    if !chars || text.is_ascii() {
        return &text[..n];
    }
    let next = (0..text.len()).filter(|&place| begins_char(text[place])).nth(n);
    &text[..next.unwrap_or(text.len())]
}

/// What is repeated, in bytes or characters. Here each byte that begins none is one, so that there is something to repeat.
struct Units<'a> {
    text: &'a [u8],
    len: usize,
    chars: bool,
}

impl<'a> Units<'a> {
    fn of(text: &'a [u8], chars: bool) -> Units<'a> {
        let chars = chars && !text.is_ascii();
        let mut units = Units { text, len: text.len(), chars };
        if chars {
            units.len = units.ends().count();
        }
        units
    }

    /// Where characters end.
    fn ends(&self) -> impl Iterator<Item = usize> + 'a {
        let text = self.text;
        let after = move |place: usize| Some((place + char_len(*text.get(place)?)).min(text.len()));
        std::iter::successors(after(0), move |&place| after(place))
    }

    fn first(&self, n: usize) -> &'a [u8] {
        if !self.chars {
            return &self.text[..n];
        }
        let end = n.checked_sub(1).map_or(Some(0), |before| self.ends().nth(before));
        &self.text[..end.unwrap_or(self.text.len())]
    }
}

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    expect(name, args, 2, &[Kind::Text, Kind::Integer, Kind::String])?;
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
        let (length, len) = (length as usize, len_of(text, chars));
        if length <= len {
            out.extend_from_slice(cut(text, length, chars));
            return Ok(());
        }
        let pad = pads.map_or(&b" "[..], |pads| pads.get(row));
        let pad = if pad.is_empty() { b" " } else { pad };
        if !left {
            out.extend_from_slice(text);
        }
        if let &[byte] = pad {
            out.resize(out.len() + length - len, byte);
        } else {
            let units = Units::of(pad, chars);
            let (whole, rest) = ((length - len) / units.len, (length - len) % units.len);
            (0..whole).for_each(|_| out.extend_from_slice(pad));
            out.extend_from_slice(units.first(rest));
        }
        if left {
            out.extend_from_slice(text);
        }
        Ok(())
    })
}
