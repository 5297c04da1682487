//! `convertCharset`: text in another character set. Sets of one byte per character are tables (`charsets.txt`: of each set the code
//! points of the bytes from 80 on), those of Unicode are computed.

use crate::plain::Plain;
use crate::string_args::{Kind, StringArg, constant_text, expect, try_build};
use chalet_base::{Result, bail};
use chalet_columns::Column;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;
use std::collections::HashMap;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "convertCharset",
        summary: "Text of one character set in another one: the forms of UTF-8, UTF-16 and UTF-32, ASCII, ISO-8859, Windows, IBM, KOI8.",
        syntax: "convertCharset(s, from, to)",
        examples: &[Example {
            sql: "SELECT hex(convertCharset('Café', 'UTF-8', 'ISO-8859-1'))",
            result: "436166E9",
        }],
        ..Record::DEFAULT
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        expect(name, args, 3, &[Kind::String, Kind::ConstText, Kind::ConstText])?;
        let charset = |index| Charset::named(constant_text(name, args, index)?);
        Ok(Bound::with_state(DataType::String, Conversion { from: charset(1)?, to: charset(2)? }))
    },
    execute: |call: &Call| -> Result<Column> {
        let Conversion { from, to } = call.state()?;
        let texts = StringArg::of(call, 0)?;
        try_build(call.n_rows, |row, out| {
            to.begin(out);
            from.decode(texts.get(row), |c| to.push(c, out));
            Ok(())
        })
    },
};

struct Conversion {
    from: Charset,
    to: Charset,
}

enum Charset {
    Utf8,
    /// Of bytes per unit: 2 or 4.
    Wide {
        bytes: usize,
        order: Order,
    },
    /// One byte per character: the characters of the bytes from 80 on, and the bytes of characters.
    Table {
        upper: Vec<char>,
        bytes: HashMap<char, u8>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Little,
    Big,
    /// As a mark at the beginning tells; little endian where there is none.
    Marked,
}

const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;
const MARK: char = '\u{feff}';

/// What stands for a character that a set of single bytes does not have.
const SUBSTITUTE: u8 = 0x1a;

static TABLES: &str = include_str!("charsets.txt");

/// Names of sets under which they are better known, without what does not count in a name.
const ALIASES: &[(&str, &str)] = &[
    ("ascii", "usascii"),
    ("iso646us", "usascii"),
    ("ansix341968", "usascii"),
    ("latin1", "iso88591"),
    ("l1", "iso88591"),
    ("cp819", "iso88591"),
    ("ibm819", "iso88591"),
    ("latin2", "iso88592"),
    ("l2", "iso88592"),
    ("latin3", "iso88593"),
    ("latin4", "iso88594"),
    ("cyrillic", "iso88595"),
    ("arabic", "iso88596"),
    ("greek", "iso88597"),
    ("hebrew", "iso88598"),
    ("latin5", "iso88599"),
    ("l5", "iso88599"),
    ("latin6", "iso885910"),
    ("latin9", "iso885915"),
    ("l9", "iso885915"),
    ("mac", "macintosh"),
    ("macroman", "macintosh"),
    ("maccyrillic", "xmaccyrillic"),
    ("koi8", "koi8r"),
];

/// Sets of several bytes per character, for which there are no tables.
const MULTIBYTE: &[&str] = &[
    "gbk",
    "gb18030",
    "gb2312",
    "big5",
    "big5hkscs",
    "shiftjis",
    "sjis",
    "eucjp",
    "euckr",
    "euccn",
    "iso2022jp",
    "iso2022kr",
    "iso2022cn",
    "hzgb2312",
    "utf7",
    "cp932",
    "cp936",
    "cp949",
    "cp950",
    "windows31j",
    "windows936",
    "windows949",
    "windows950",
];

/// Letters and digits of a name in lower case: nothing else counts.
fn plain(name: &[u8]) -> String {
    name.iter()
        .filter(|byte| byte.is_ascii_alphanumeric())
        .map(|byte| byte.to_ascii_lowercase() as char)
        .collect()
}

impl Charset {
    fn named(name: &[u8]) -> Result<Charset> {
        let mut key = plain(name);
        if let Some((_, known)) = ALIASES.iter().find(|(alias, _)| *alias == key) {
            key = (*known).into();
        }
        if let Some(number) = key.strip_prefix("cp") {
            let family = if number.starts_with("125") { "windows" } else { "ibm" };
            key = format!("{family}{number}");
        }
        let wide = |bytes, order| Ok(Charset::Wide { bytes, order });
        match key.as_str() {
            "utf8" => return Ok(Charset::Utf8),
            "utf16" => return wide(2, Order::Marked),
            "utf16le" => return wide(2, Order::Little),
            "utf16be" => return wide(2, Order::Big),
            "utf32" => return wide(4, Order::Marked),
            "utf32le" => return wide(4, Order::Little),
            "utf32be" => return wide(4, Order::Big),
            "usascii" => return Ok(Charset::of_upper(Vec::new())),
            "iso88591" => return Ok(Charset::of_upper((0x80..=0xff).map(char::from).collect())),
            _ => {}
        }
        for line in TABLES.lines() {
            let mut words = line.split(' ');
            if words.next().is_some_and(|name| plain(name.as_bytes()) == key) {
                let point =
                    |word| u32::from_str_radix(word, 16).ok().and_then(char::from_u32).unwrap_or(REPLACEMENT);
                return Ok(Charset::of_upper(words.map(point).collect()));
            }
        }
        let name = String::from_utf8_lossy(name);
        if MULTIBYTE.contains(&key.as_str()) {
            bail!(NOT_IMPLEMENTED, "The charset {name} is not supported by function convertCharset");
        }
        bail!(
            CANNOT_CREATE_CHARSET_CONVERTER,
            "Cannot create UConverter with charset {name}, error: U_FILE_ACCESS_ERROR"
        )
    }

    fn of_upper(upper: Vec<char>) -> Charset {
        let known = upper.iter().zip(0x80u8..=0xff).filter(|(c, _)| **c != REPLACEMENT);
        let bytes = known.map(|(c, byte)| (*c, byte)).collect();
        Charset::Table { upper, bytes }
    }

    /// The mark that a text of this set begins with.
    fn begin(&self, out: &mut Vec<u8>) {
        if matches!(self, Charset::Wide { order: Order::Marked, .. }) {
            self.push(MARK, out);
        }
    }

    fn push(&self, c: char, out: &mut Vec<u8>) {
        match self {
            Charset::Utf8 => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            Charset::Wide { bytes: 2, order } => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.extend(if *order == Order::Big { unit.to_be_bytes() } else { unit.to_le_bytes() });
                }
            }
            Charset::Wide { order, .. } => {
                let point = u32::from(c);
                out.extend(if *order == Order::Big { point.to_be_bytes() } else { point.to_le_bytes() });
            }
            Charset::Table { bytes, .. } => {
                out.push(if c.is_ascii() { c as u8 } else { bytes.get(&c).copied().unwrap_or(SUBSTITUTE) });
            }
        }
    }

    /// What is no character becomes the replacement character.
    fn decode(&self, text: &[u8], mut put: impl FnMut(char)) {
        match self {
            Charset::Utf8 => String::from_utf8_lossy(text).chars().for_each(put),
            Charset::Table { upper, .. } => text.iter().for_each(|&byte| {
                let high = || upper.get(usize::from(byte & 0x7f)).copied().unwrap_or(REPLACEMENT);
                put(if byte.is_ascii() { char::from(byte) } else { high() });
            }),
            Charset::Wide { bytes, order } => {
                let (big, text) = match (order, text, bytes) {
                    (Order::Marked, [0xff, 0xfe, 0, 0, rest @ ..], 4) => (false, rest),
                    (Order::Marked, [0, 0, 0xfe, 0xff, rest @ ..], 4) => (true, rest),
                    (Order::Marked, [0xff, 0xfe, rest @ ..], 2) => (false, rest),
                    (Order::Marked, [0xfe, 0xff, rest @ ..], 2) => (true, rest),
                    _ => (*order == Order::Big, text),
                };
                if *bytes == 2 {
                    let (units, rest) = text.as_chunks::<2>();
                    let unit = |unit: &[u8; 2]| {
                        if big { u16::from_be_bytes(*unit) } else { u16::from_le_bytes(*unit) }
                    };
                    char::decode_utf16(units.iter().map(unit)).for_each(|c| put(c.unwrap_or(REPLACEMENT)));
                    rest.iter().take(1).for_each(|_| put(REPLACEMENT));
                } else {
                    let (units, rest) = text.as_chunks::<4>();
                    let unit = |unit: &[u8; 4]| {
                        if big { u32::from_be_bytes(*unit) } else { u32::from_le_bytes(*unit) }
                    };
                    units.iter().for_each(|bytes| put(char::from_u32(unit(bytes)).unwrap_or(REPLACEMENT)));
                    rest.iter().take(1).for_each(|_| put(REPLACEMENT));
                }
            }
        }
    }
}
