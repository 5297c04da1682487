//! `translate` and `translateUTF8`: characters replaced one by one.

use crate::plain::Plain;
use crate::string_args::{Kind, StringArg, build, expect};
use chalet_base::hash::HashMap;
use chalet_base::{Result, ensure};
use chalet_function_api::{Argument, Bound, Constants, Context, Example, Record};
use chalet_types::DataType;

pub static BYTES: Plain = Plain {
    record: Record {
        name: "translate",
        summary: "The string with each character of `from` replaced by the one at the same place of `to`, or removed when there is none.",
        syntax: "translate(s, from, to)",
        examples: &[Example {
            sql: "SELECT translate('Hello, World!', 'delor', 'DELOR')",
            result: "HELLO, WORLD!",
        }],
        constants: Constants::Seen,
        constant_arguments: &[1, 2],
        constants_before_types: true,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| {
        let (texts, from, to) = (StringArg::of(call, 0)?, StringArg::of(call, 1)?, StringArg::of(call, 2)?);
        let map = byte_map(from.get(0), to.get(0))?;
        Ok(build(call.n_rows, |row, out| {
            let text = texts.get(row);
            let start = out.len();
            out.resize(start + text.len(), 0);
            let mut end = start;
            for &byte in text {
                let (to, kept) = map[usize::from(byte)];
                out[end] = to;
                end += usize::from(kept);
            }
            out.truncate(end);
        }))
    },
};

/// For each byte what takes its place, and whether anything does.
type ByteMap = [(u8, bool); 256];

fn byte_map(from: &[u8], to: &[u8]) -> Result<ByteMap> {
    ensure!(
        from.is_ascii() && to.is_ascii(),
        BAD_ARGUMENTS,
        "Second and third arguments must be ASCII strings"
    );
    check_lengths("translate", from.len(), to.len())?;
    let mut map: ByteMap = std::array::from_fn(|byte| (byte as u8, true));
    for (i, &byte) in from.iter().enumerate() {
        map[usize::from(byte)] = to.get(i).map_or((0, false), |&to| (to, true));
    }
    Ok(map)
}

pub static UTF8: Plain = Plain {
    record: Record {
        name: "translateUTF8",
        summary: "As translate, for strings of UTF-8.",
        syntax: "translateUTF8(s, from, to)",
        examples: &[Example {
            sql: "SELECT translateUTF8('Münchener Straße', 'üß', 'us')",
            result: "Munchener Strase",
        }],
        constants: Constants::Seen,
        constant_arguments: &[1, 2],
        constants_before_types: true,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| {
        let (texts, from, to) = (StringArg::of(call, 0)?, StringArg::of(call, 1)?, StringArg::of(call, 2)?);
        let map = CharMap::new(from.get(0), to.get(0))?;
        Ok(build(call.n_rows, |row, out| {
            let mut buffer = [0u8; 4];
            for c in String::from_utf8_lossy(texts.get(row)).chars() {
                match map.get(c) {
                    None => {}
                    Some(c) if c.is_ascii() => out.push(c as u8),
                    Some(c) => out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes()),
                }
            }
        }))
    },
};

/// For each character what takes its place, if anything does; those of ASCII are looked up by number.
struct CharMap {
    ascii: [Option<char>; 128],
    others: HashMap<char, Option<char>>,
}

impl CharMap {
    fn new(from: &[u8], to: &[u8]) -> Result<CharMap> {
        let (from, to) = (String::from_utf8_lossy(from), String::from_utf8_lossy(to));
        check_lengths("translateUTF8", from.chars().count(), to.chars().count())?;
        let mut map =
            CharMap { ascii: std::array::from_fn(|c| Some(char::from(c as u8))), others: HashMap::default() };
        let mut targets = to.chars();
        for c in from.chars() {
            let target = targets.next();
            match map.ascii.get_mut(c as usize) {
                Some(place) => *place = target,
                None => _ = map.others.insert(c, target),
            }
        }
        Ok(map)
    }

    #[inline]
    fn get(&self, c: char) -> Option<char> {
        match self.ascii.get(c as usize) {
            Some(target) => *target,
            None => self.others.get(&c).copied().unwrap_or(Some(c)),
        }
    }
}

/// What takes the place of a character is known for no more of them than there are.
fn check_lengths(name: &str, from: usize, to: usize) -> Result<()> {
    ensure!(
        to <= from,
        BAD_ARGUMENTS,
        "Second argument of function {name} must not be shorter than the third argument. Size of the second argument: {from}, \
         size of the third argument: {to}"
    );
    Ok(())
}

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    expect(name, args, 3, &[Kind::Text, Kind::Text, Kind::Text])?;
    Ok(DataType::String.into())
}
