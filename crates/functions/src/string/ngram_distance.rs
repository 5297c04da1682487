//! `ngramDistance` and `ngramSearch`: how far apart two strings are by their runs of 4 bytes or 3 characters, which are
//! counted by 16 bits of a hash, as the kernel does, so that results agree.

use crate::plain::Plain;
use crate::string_args::{StringArg, char_len};
use chalet_base::crc32c::crc32c_of_word;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record, Registry};
use chalet_types::DataType;

/// Longer strings (in bytes) are as far apart as can be.
const LONGEST: usize = 1 << 15;

#[derive(Clone, Copy)]
struct Kind {
    utf8: bool,
    any_case: bool,
    /// The difference of both strings, else the share of the second that the first has.
    symmetric: bool,
}

/// The hashes of all runs of a string; `chars` is room for its characters.
fn hashes(text: &[u8], kind: Kind, chars: &mut Vec<u32>, out: &mut Vec<u16>) {
    out.clear();
    if !kind.utf8 {
        let hash = |run: u32| crc32c_of_word(u32::MAX, run.into()) as u16;
        let runs = text.windows(4).map(|run| u32::from_le_bytes([run[0], run[1], run[2], run[3]]));
        if kind.any_case {
            out.extend(runs.map(lower).map(hash))
        } else {
            out.extend(runs.map(hash))
        }
        return;
    }
    chars.clear();
    if text.is_ascii() {
        let mask = if kind.any_case { !0x20 } else { 0xff };
        chars.extend(text.iter().map(|byte| u32::from(byte & mask)));
    } else {
        read_chars(text, kind, chars);
    }
    out.extend(
        chars
            .windows(3)
            .map(|run| crc32c_of_word(run[2], u64::from(run[0]) << 32 | u64::from(run[1])) as u16),
    );
}

/// Four bytes with capital letters of ASCII as small ones, all at once: a byte below 128 carries into its highest bit where what is
/// added and it reach 128.
fn lower(bytes: u32) -> u32 {
    const ONES: u32 = 0x0101_0101;
    let low = bytes & (0x7f * ONES);
    let from_a = low + (0x80 - u32::from(b'A')) * ONES;
    let behind_z = low + (0x7f - u32::from(b'Z')) * ONES;
    let is_capital = from_a & !behind_z & !bytes & (0x80 * ONES);
    bytes | is_capital >> 2
}

/// The bytes of each character as a number.
fn read_chars(text: &[u8], kind: Kind, chars: &mut Vec<u32>) {
    let mut rest = text;
    while let Some(&first) = rest.first() {
        let len = char_len(first).min(rest.len());
        let mut bytes = [0; 4];
        bytes[..len].copy_from_slice(&rest[..len]);
        if kind.any_case {
            // Not the rules of Unicode: it clears the bits in which most letters of the same kind differ.
            bytes[..len].iter_mut().for_each(|byte| *byte &= !0x20);
            if len > 1 {
                bytes[0] &= !1;
            }
        }
        chars.push(u32::from_le_bytes(bytes));
        rest = &rest[len..];
    }
}

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    for arg in args {
        ensure!(
            arg.ty == DataType::String,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of argument of function {name}",
            arg.ty
        );
    }
    if let Some(needle) = args[1].constant.as_ref().and_then(|value| value.as_bytes()) {
        ensure!(
            needle.len() <= LONGEST,
            TOO_LARGE_STRING_SIZE,
            "String size of needle is too big for function {name}. Should be at most {LONGEST}"
        );
    }
    Ok(DataType::Float32.into())
}

fn execute(call: &Call, kind: Kind) -> Result<Column> {
    let (a, b) = (StringArg::of(call, 0)?, StringArg::of(call, 1)?);
    // Of at most `LONGEST` each, up and down.
    let mut counts = vec![0i16; 1 << 16];
    let (mut chars, mut first, mut second) = (Vec::new(), Vec::new(), Vec::new());
    let mut results = Vec::with_capacity(call.n_rows);
    for row in 0..call.n_rows {
        let (x, y) = (a.get(row), b.get(row));
        if x.len() > LONGEST || y.len() > LONGEST {
            results.push(if kind.symmetric { 1.0 } else { 0.0 });
            continue;
        }
        hashes(x, kind, &mut chars, &mut first);
        if row == 0 || b.constant().is_none() {
            hashes(y, kind, &mut chars, &mut second);
        }
        second.iter().for_each(|&hash| counts[usize::from(hash)] += 1);
        let mut shared = 0;
        for &hash in &first {
            let count = &mut counts[usize::from(hash)];
            shared += usize::from(*count > 0);
            *count -= 1;
        }
        first.iter().chain(&second).for_each(|&hash| counts[usize::from(hash)] = 0);
        let (n, m) = (first.len(), second.len());
        results.push(match kind.symmetric {
            true => (n + m - 2 * shared) as f32 / (n + m).max(1) as f32,
            false => 1.0 - (m - shared) as f32 / m.max(1) as f32,
        });
    }
    Ok(Vector::from(results).into())
}

macro_rules! ngrams {
    ($($name:literal $utf8:literal $any_case:literal $symmetric:literal $summary:literal $sql:literal => $result:literal;)*) => {
        &[$(Plain {
            record: Record {
                name: $name,
                summary: $summary,
                syntax: concat!($name, "(haystack, needle)"),
                examples: &[Example { sql: $sql, result: $result }],
                constants: Constants::Seen,
                ..Record::DEFAULT
            },
            bind,
            execute: |call| execute(call, Kind { utf8: $utf8, any_case: $any_case, symmetric: $symmetric }),
        }),*]
    };
}

static FUNCTIONS: &[Plain] = ngrams! {
    "ngramDistance" false false true
        "The share of the runs of 4 bytes of two strings that only one of them has: 0 when they are alike, 1 when nothing is."
        "SELECT ngramDistance('ClickHouse', 'ClickHouses')" => "0.06666667";
    "ngramDistanceCaseInsensitive" false true true
        "As ngramDistance, without regard to the case of ASCII letters."
        "SELECT ngramDistanceCaseInsensitive('ClickHouse', 'clickhouse')" => "0";
    "ngramDistanceUTF8" true false true "As ngramDistance, of runs of 3 characters."
        "SELECT ngramDistanceUTF8('abcde', 'abcdf')" => "0.33333334";
    "ngramDistanceCaseInsensitiveUTF8" true true true
        "As ngramDistanceUTF8, without regard to the case of letters of ASCII and of most other letters."
        "SELECT ngramDistanceCaseInsensitiveUTF8('abcde', 'CDE')" => "0.5";
    "ngramSearch" false false false
        "The share of the runs of 4 bytes of the second string that the first has: 1 when it has all."
        "SELECT ngramSearch('Hello World', 'World Hello')" => "0.5";
    "ngramSearchCaseInsensitive" false true false
        "As ngramSearch, without regard to the case of ASCII letters."
        "SELECT ngramSearchCaseInsensitive('Hello World', 'hello')" => "1";
    "ngramSearchUTF8" true false false "As ngramSearch, of runs of 3 characters."
        "SELECT ngramSearchUTF8('абвгд', 'бвг')" => "1";
    "ngramSearchCaseInsensitiveUTF8" true true false
        "As ngramSearchUTF8, without regard to the case of letters of ASCII and of most other letters."
        "SELECT ngramSearchCaseInsensitiveUTF8('Hello World', 'hello')" => "1";
};

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}

#[cfg(test)]
mod tests {
    use super::lower;

    #[test]
    fn four_bytes_are_made_lower_at_once() {
        for byte in 0..=255u8 {
            let bytes = [byte, b'Z', 255 - byte, b'@'];
            let expected = bytes.map(|byte| byte.to_ascii_lowercase());
            assert_eq!(lower(u32::from_le_bytes(bytes)).to_le_bytes(), expected, "{bytes:?}");
        }
    }
}
