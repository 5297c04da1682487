//! `sparseGrams` and its kin: the parts of a string whose borders have greater hashes than everything between them.

use crate::plain::Plain;
use crate::search::position::short_word;
use crate::string_args::{StringArg, char_len, check_type, part_lists};
use chalet_base::crc32c::{SumsWords, dispatch_crc32c};
use chalet_base::{Result, ensure, err};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;
use std::ops::Range;

macro_rules! sparse_grams {
    ($($id:ident: $name:literal, $element:ident, $utf8:literal, $summary:literal, $sql:literal => $result:literal;)*) => {$(
        pub static $id: Plain = Plain {
            record: Record {
                name: $name,
                summary: $summary,
                syntax: concat!($name, "(s[, min_ngram_length[, max_ngram_length[, min_cutoff_length]]])"),
                examples: &[Example { sql: $sql, result: $result }],
                constant_arguments: &[1, 2, 3],
                ..Record::DEFAULT
            },
            bind: |name, args, ctx| bind(name, args, ctx, DataType::$element, $utf8),
            execute,
        };
    )*};
}

sparse_grams! {
    BYTES: "sparseGrams", String, false,
        "All substrings of at least 3 bytes whose first and last pairs of bytes have greater hashes than every pair between them.",
        "SELECT sparseGrams('alice')" => "['ali','lic','ice','lice']";
    UTF8: "sparseGramsUTF8", String, true,
        "All substrings of at least 3 characters whose first and last pairs of characters have greater hashes than every pair between them.",
        "SELECT sparseGramsUTF8('алиса')" => "['али','лис','иса','лиса','алиса']";
    HASHES: "sparseGramsHashes", UInt32, false, "The hashes of what sparseGrams finds.",
        "SELECT sparseGramsHashes('alice')" => "[3851133533,3120039944,646693941,2577359366]";
    HASHES_UTF8: "sparseGramsHashesUTF8", UInt32, true, "The hashes of what sparseGramsUTF8 finds.",
        "SELECT sparseGramsHashesUTF8('алиса')" => "[1328958118,547287748,4155892324,2403052185,1673399070]";
}

pub struct Lengths {
    pub least: u64,
    pub most: u64,
    /// Shorter parts are not listed.
    pub cutoff: u64,
    pub utf8: bool,
}

pub const SHORTEST: u64 = 3;
pub const USUAL_MOST: u64 = 100;

fn bind(name: &'static str, args: &[Argument], _: &Context, element: DataType, utf8: bool) -> Result<Bound> {
    check_arity(name, args.len(), 1..=4)?;
    check_type(args[0].ty == DataType::String, name, 0, "String", &args[0].ty)?;
    let length = |index: usize, default: u64| -> Result<u64> {
        let Some(arg) = args.get(index) else { return Ok(default) };
        check_type(arg.ty.is_integer(), name, index, "const Number", &arg.ty)?;
        let constant = arg.constant.as_ref().ok_or_else(|| {
            err!(ILLEGAL_COLUMN, "Argument {} of function {name} must be constant", index + 1)
        })?;
        Ok(constant.as_u64().unwrap_or(0))
    };
    let least = length(1, SHORTEST)?;
    let most = length(2, USUAL_MOST)?;
    let cutoff = length(3, least)?;
    ensure!(least >= SHORTEST, BAD_ARGUMENTS, "Argument 'min_ngram_length' must be greater or equal to 3");
    ensure!(
        most >= least,
        BAD_ARGUMENTS,
        "Argument 'max_ngram_length' must be greater or equal to 'min_ngram_length'"
    );
    ensure!(
        (least..=most).contains(&cutoff),
        BAD_ARGUMENTS,
        "Argument 'min_cutoff_length' must be between 'min_ngram_length' and 'max_ngram_length'"
    );
    Ok(Bound::with_state(element.array(), Lengths { least, most, cutoff, utf8 }))
}

fn execute(call: &Call) -> Result<Column> {
    let lengths: &Lengths = call.state()?;
    if *call.result == DataType::String.array() {
        let mut borders = Vec::new();
        return part_lists(call, 0, |_, text, out| {
            dispatch_crc32c(Grams { text, lengths, borders: &mut borders, out });
            Ok(())
        });
    }
    let texts = StringArg::of(call, 0)?;
    let (hashes, offsets) = dispatch_crc32c(Hashes { texts, n_rows: call.n_rows, lengths });
    Ok(crate::lists::list(offsets, Vector::from(hashes)).into())
}

/// Appends the parts of a text.
pub fn grams(text: &[u8], lengths: &Lengths, out: &mut Vec<Range<usize>>) {
    dispatch_crc32c(Grams { text, lengths, borders: &mut Vec::new(), out });
}

/// The parts of a text.
struct Grams<'a> {
    text: &'a [u8],
    lengths: &'a Lengths,
    /// Serves many texts.
    borders: &'a mut Vec<Border>,
    out: &'a mut Vec<Range<usize>>,
}

impl SumsWords for Grams<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, sum: impl Fn(u32, u64) -> u32 + Copy) {
        each_gram(self.text, self.lengths, self.borders, sum, |part| self.out.push(part));
    }
}

/// The hashes of the parts of all texts, and where those of each end.
struct Hashes<'a> {
    texts: StringArg<'a>,
    n_rows: usize,
    lengths: &'a Lengths,
}

impl SumsWords for Hashes<'_> {
    type Output = (Vec<u32>, Vec<i64>);

    #[inline(always)]
    fn run(self, sum: impl Fn(u32, u64) -> u32 + Copy) -> Self::Output {
        let (mut hashes, mut borders) = (Vec::new(), Vec::new());
        let mut offsets = Vec::with_capacity(self.n_rows + 1);
        offsets.push(0i64);
        for row in 0..self.n_rows {
            let text = self.texts.get(row);
            each_gram(text, self.lengths, &mut borders, sum, |part| hashes.push(hash(&text[part], sum)));
            offsets.push(hashes.len() as i64);
        }
        (hashes, offsets)
    }
}

/// A border that may begin a part: where it begins, the number of its last character, its hash.
struct Border {
    start: usize,
    symbol: u64,
    hash: u32,
}

#[inline(always)]
fn each_gram(
    text: &[u8],
    lengths: &Lengths,
    borders: &mut Vec<Border>,
    sum: impl Fn(u32, u64) -> u32 + Copy,
    found: impl FnMut(Range<usize>),
) {
    match lengths.utf8 {
        true => each_gram_of::<true>(text, lengths, borders, sum, found),
        false => each_gram_of::<false>(text, lengths, borders, sum, found),
    }
}

/// Goes through the text from left to right with the borders that no later one has hidden: their hashes fall from left to right.
#[inline(always)]
fn each_gram_of<const UTF8: bool>(
    text: &[u8],
    lengths: &Lengths,
    borders: &mut Vec<Border>,
    sum: impl Fn(u32, u64) -> u32 + Copy,
    mut found: impl FnMut(Range<usize>),
) {
    let next = |place: usize| match UTF8 {
        true => (place + char_len(text[place])).min(text.len()),
        false => place + 1,
    };
    let (mut left, mut right) = (0, 0);
    let width = lengths.least - 1;
    borders.clear();
    let mut symbol = 0u64;
    while right < text.len() {
        let end = next(right);
        if symbol + 1 >= width {
            let hash = hash(&text[left..end], sum);
            let mut emit = |border: &Border| {
                let length = symbol - border.symbol + width;
                if length > lengths.most {
                    return false;
                }
                if length >= lengths.cutoff {
                    found(border.start..end);
                }
                true
            };
            while let Some(border) = borders.pop_if(|border| border.hash < hash) {
                if !emit(&border) {
                    // Those before it are even further away.
                    borders.clear();
                }
            }
            if let Some(border) = borders.last() {
                emit(border);
            }
            while borders.pop_if(|border| border.hash == hash).is_some() {}
            borders.push(Border { start: left, symbol, hash });
            left = next(left);
        }
        right = end;
        symbol += 1;
    }
}

/// CRC-32C of words of 8 bytes, the last of which tells its length.
#[inline(always)]
fn hash(text: &[u8], sum: impl Fn(u32, u64) -> u32) -> u32 {
    let Some(last) = text.last_chunk::<8>() else { return sum(0, counted_word(text)) };
    let (words, rest) = text.as_chunks::<8>();
    let crc = words.iter().fold(0, |crc, word| sum(crc, u64::from_le_bytes(*word)));
    if rest.is_empty() {
        return crc;
    }
    // The bytes that are left, at the end of a word.
    let before = 8 * (8 - rest.len());
    sum(crc, u64::from_le_bytes(*last) >> before << before | rest.len() as u64)
}

/// Fewer than 8 bytes, and in the last byte how many they are.
#[inline(always)]
fn counted_word(text: &[u8]) -> u64 {
    short_word(text) | (text.len() as u64) << 56
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_bytes_and_their_number() {
        for n in 0..8 {
            let text = &b"sparse_"[..n];
            let mut word = [0; 8];
            word[..n].copy_from_slice(text);
            word[7] = n as u8;
            assert_eq!(counted_word(text), u64::from_le_bytes(word));
        }
    }
}
