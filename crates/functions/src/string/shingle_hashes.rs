//! `ngramSimHash`, `ngramMinHash`, `wordShingleSimHash`, `wordShingleMinHash` and their kin: hashes that are close for strings that
//! share most runs of characters or words. Runs are hashed with CRC-32C, as the kernel does, so that results agree.

use crate::plain::Plain;
use crate::string_args::{StringArg, char_len};
use chalet_base::city_hash::hash_16;
use chalet_base::crc32c::{crc32c, crc32c_of_windows};
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Data, StringBuilder, Struct, Vector};
use chalet_function_api::{Argument, Bound, Call, Constants, Example, Record, Registry};
use chalet_types::DataType;
use std::collections::BTreeMap;

/// Most characters or words of a run, and most hashes that a MinHash keeps at either end.
const MOST: u64 = 25;

/// Words of so many bytes at most are left out.
const SHORT_WORD: usize = 3;

#[derive(Clone, Copy)]
enum Unit {
    Bytes,
    Characters,
    Words,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// A number in which each bit is the majority of that bit over all hashes.
    Sim,
    /// A hash of the smallest hashes, and one of the greatest.
    Min,
    /// The runs that have these hashes.
    Arg,
}

#[derive(Clone, Copy)]
struct Kind {
    unit: Unit,
    any_case: bool,
    answer: Answer,
}

#[derive(Clone, Copy)]
struct Sizes {
    /// Characters or words of a run.
    shingle: usize,
    hashes: usize,
}

fn bind(name: &'static str, args: &[Argument], answer: Answer) -> Result<Bound> {
    ensure!(!args.is_empty(), TOO_FEW_ARGUMENTS_FOR_FUNCTION, "Function {name} expect at least one argument");
    ensure!(
        args[0].ty == DataType::String,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "First argument of function {name} must be String, got {}",
        args[0].ty
    );
    let size = |index: usize, what: &str, default: u64| {
        let Some(arg) = args.get(index) else { return Ok(default as usize) };
        let what = format!("{} argument ({what})", ["First", "Second", "Third"][index.min(2)]);
        ensure!(
            arg.ty.is_unsigned(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "{what} of function {name} must be unsigned integer, got {}",
            arg.ty
        );
        let value = arg.constant.as_ref().and_then(|value| value.as_u64());
        ensure!(value.is_some(), ILLEGAL_TYPE_OF_ARGUMENT, "{what} of function {name} must be constant");
        let value = value.unwrap_or(default);
        ensure!(value > 0, ARGUMENT_OUT_OF_BOUND, "{what} of function {name} cannot be zero");
        ensure!(
            value <= MOST,
            ARGUMENT_OUT_OF_BOUND,
            "{what} of function {name} cannot be greater then {MOST}"
        );
        Ok(value as usize)
    };
    let shingle = size(1, "shingle size", 3)?;
    let most = if answer == Answer::Sim { 2 } else { 3 };
    ensure!(
        args.len() <= most,
        TOO_MANY_ARGUMENTS_FOR_FUNCTION,
        "Function {name} expect no more than {most} arguments, got {}",
        args.len()
    );
    let sizes = Sizes { shingle, hashes: size(2, "num hashes", 6)? };
    let pair = |ty: DataType| DataType::tuple([ty.clone(), ty]);
    let result = match answer {
        Answer::Sim => DataType::UInt64,
        Answer::Min => pair(DataType::UInt64),
        Answer::Arg => pair(DataType::tuple(vec![DataType::String; sizes.hashes])),
    };
    Ok(Bound::with_state(result, sizes))
}

/// Not the rules of letters: the bit that tells upper from lower case is set in every byte.
const ANY_CASE: u8 = 0x20;

/// Serves many texts.
#[derive(Default)]
struct Scratch {
    /// The text without regard to case.
    folded: Vec<u8>,
    starts: Vec<usize>,
}

/// Calls `found` with the hash of each run, and with the run. The hash of no bytes at all is `u64::MAX`.
fn each_shingle<'a>(
    text: &'a [u8],
    kind: Kind,
    size: usize,
    Scratch { folded, starts }: &mut Scratch,
    mut found: impl FnMut(u64, &'a [u8]),
) {
    let hashed = if kind.any_case {
        folded.clear();
        folded.extend(text.iter().map(|byte| byte | ANY_CASE));
        &folded[..]
    } else {
        text
    };
    let hash = |start: usize, end: usize, crc: u64| {
        if start == end { crc } else { crc32c(crc as u32, &hashed[start..end]).into() }
    };
    match kind.unit {
        Unit::Bytes if text.len() >= size => {
            crc32c_of_windows(u32::MAX, hashed, size, |at, hash| found(hash.into(), &text[at..at + size]));
        }
        Unit::Bytes => found(hash(0, text.len(), u64::MAX), text),
        Unit::Characters => {
            starts.clear();
            let mut last = 0;
            while last < text.len() {
                starts.push(last);
                last = (last + char_len(text[last])).min(text.len());
            }
            starts.push(last);
            if starts.len() <= size {
                return found(hash(0, text.len(), u64::MAX), text);
            }
            // The kernel leaves out the first run.
            for ends in starts.windows(size + 1).skip(1) {
                found(hash(ends[0], ends[size], u64::MAX), &text[ends[0]..ends[size]]);
            }
        }
        Unit::Words => {
            let words = words(text);
            for run in words.windows(size.min(words.len()).max(1)) {
                let crc = run.iter().fold(u64::MAX, |crc, &(start, end)| hash(start, end, crc));
                found(crc, &text[run[0].0..run[run.len() - 1].1]);
            }
        }
    }
}

/// Starts and ends of the words: runs of ASCII letters, digits and bytes beyond ASCII.
fn words(text: &[u8]) -> Vec<(usize, usize)> {
    let mut words = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let len =
            text[start..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii()).count();
        if len > SHORT_WORD {
            words.push((start, start + len));
        }
        start += len.max(1);
    }
    words
}

/// How often each bit of some numbers is set: the bits of place `i` of all 32 counts are one number.
#[derive(Default)]
struct BitCounts {
    places: [u32; 32],
    /// Numbers so far.
    n: u32,
}

impl BitCounts {
    fn add(&mut self, number: u32) {
        self.n += 1;
        let mut carry = number;
        for place in &mut self.places {
            (*place, carry) = (*place ^ carry, *place & carry);
            if carry == 0 {
                return;
            }
        }
    }

    /// The bits that more than half of the numbers have.
    fn majority(&self) -> u32 {
        let half = self.n / 2;
        let (mut more, mut equal) = (0, u32::MAX);
        for i in (0..u32::BITS - self.n.leading_zeros()).rev() {
            let place = self.places[i as usize];
            if half >> i & 1 == 0 {
                more |= equal & place;
                equal &= !place;
            } else {
                equal &= place;
            }
        }
        more
    }
}

/// Of a single run this is its hash.
fn sim_hash(text: &[u8], kind: Kind, size: usize, scratch: &mut Scratch) -> u64 {
    let mut counts = BitCounts::default();
    let mut of_nothing = false;
    each_shingle(text, kind, size, scratch, |hash, _| {
        // Only the hash of an empty run, which stands alone, has more than 32 bits.
        of_nothing = hash > u64::from(u32::MAX);
        counts.add(hash as u32);
    });
    if of_nothing { u64::MAX } else { counts.majority().into() }
}

/// The smallest hashes from the greatest of them down, and the greatest from the smallest of them up.
struct Extremes<'a> {
    low: BTreeMap<u64, &'a [u8]>,
    high: BTreeMap<u64, &'a [u8]>,
}

impl<'a> Extremes<'a> {
    fn of(text: &'a [u8], kind: Kind, sizes: Sizes, scratch: &mut Scratch) -> Extremes<'a> {
        let mut extremes = Extremes { low: BTreeMap::new(), high: BTreeMap::new() };
        each_shingle(text, kind, sizes.shingle, scratch, |hash, run| {
            extremes.low.entry(hash).or_insert(run);
            if extremes.low.len() > sizes.hashes {
                extremes.low.pop_last();
            }
            extremes.high.entry(hash).or_insert(run);
            if extremes.high.len() > sizes.hashes {
                extremes.high.pop_first();
            }
        });
        extremes
    }

    fn hashes(&self) -> (u64, u64) {
        let low = self.low.keys().rev().fold(0, |sum, &hash| hash_16(sum, hash));
        (low, self.high.keys().fold(0, |sum, &hash| hash_16(sum, hash)))
    }
}

fn execute(call: &Call, kind: Kind) -> Result<Column> {
    let sizes: Sizes = *call.state()?;
    let (texts, n) = (StringArg::of(call, 0)?, call.n_rows);
    let pair = |fields: Vec<Vector>| Vector::from(Data::Struct(Struct { fields, len: n }));
    let mut scratch = Scratch::default();
    Ok(match kind.answer {
        Answer::Sim => {
            let sim = (0..n).map(|row| sim_hash(texts.get(row), kind, sizes.shingle, &mut scratch));
            Vector::from(sim.collect::<Vec<u64>>())
        }
        Answer::Min => {
            let hashes = (0..n).map(|row| Extremes::of(texts.get(row), kind, sizes, &mut scratch).hashes());
            let (low, high): (Vec<u64>, Vec<u64>) = hashes.unzip();
            pair(vec![low.into(), high.into()])
        }
        Answer::Arg => {
            let builders = || -> Vec<StringBuilder> {
                (0..sizes.hashes).map(|_| StringBuilder::with_capacity(n)).collect()
            };
            let (mut low, mut high) = (builders(), builders());
            for row in 0..n {
                let extremes = Extremes::of(texts.get(row), kind, sizes, &mut scratch);
                let mut runs = extremes.low.values().rev();
                low.iter_mut().for_each(|out| out.push(runs.next().copied().unwrap_or_default()));
                let mut runs = extremes.high.values();
                high.iter_mut().for_each(|out| out.push(runs.next().copied().unwrap_or_default()));
            }
            let tuple = |builders: Vec<StringBuilder>| {
                pair(builders.into_iter().map(|out| out.finish().into()).collect())
            };
            pair(vec![tuple(low), tuple(high)])
        }
    }
    .into())
}

macro_rules! hashes {
    ($($name:literal $unit:ident $any_case:literal $answer:ident $syntax:literal $summary:literal $sql:literal => $result:literal;)*) => {
        &[$(Plain {
            record: Record {
                name: $name,
                summary: $summary,
                syntax: concat!($name, $syntax),
                examples: &[Example { sql: $sql, result: $result }],
                constants: Constants::Seen,
                ..Record::DEFAULT
            },
            bind: |name, args, _| bind(name, args, Answer::$answer),
            execute: |call| {
                execute(call, Kind { unit: Unit::$unit, any_case: $any_case, answer: Answer::$answer })
            },
        }),*]
    };
}

static FUNCTIONS: &[Plain] = hashes! {
    "ngramSimHash" Bytes false Sim "(s[, shingle_size])"
        "A number whose bits are those of most hashes of runs of bytes: near strings have numbers that differ in few bits."
        "SELECT ngramSimHash('ClickHouse')" => "1627567969";
    "ngramSimHashUTF8" Characters false Sim "(s[, shingle_size])"
        "A number whose bits are those of most hashes of runs of characters: near strings have numbers that differ in few bits."
        "SELECT ngramSimHashUTF8('ClickHouse')" => "1628157797";
    "ngramSimHashCaseInsensitive" Bytes true Sim "(s[, shingle_size])"
        "A number whose bits are those of most hashes of runs of bytes: near strings have numbers that differ in few bits, without regard to the case of letters."
        "SELECT ngramSimHashCaseInsensitive('ClickHouse')" => "562180645";
    "ngramSimHashCaseInsensitiveUTF8" Characters true Sim "(s[, shingle_size])"
        "A number whose bits are those of most hashes of runs of characters: near strings have numbers that differ in few bits, without regard to the case of letters."
        "SELECT ngramSimHashCaseInsensitiveUTF8('ClickHouse')" => "1636742693";
    "ngramMinHash" Bytes false Min "(s[, shingle_size[, n_hashes]])"
        "Hashes of the smallest and of the greatest hashes of runs of bytes: near strings often have equal ones."
        "SELECT ngramMinHash('ClickHouse')" => "(18333312859352735453,9054248444481805918)";
    "ngramMinHashUTF8" Characters false Min "(s[, shingle_size[, n_hashes]])"
        "Hashes of the smallest and of the greatest hashes of runs of characters: near strings often have equal ones."
        "SELECT ngramMinHashUTF8('ClickHouse')" => "(18333312859352735453,6742163577938632877)";
    "ngramMinHashCaseInsensitive" Bytes true Min "(s[, shingle_size[, n_hashes]])"
        "Hashes of the smallest and of the greatest hashes of runs of bytes: near strings often have equal ones, without regard to the case of letters."
        "SELECT ngramMinHashCaseInsensitive('ClickHouse')" => "(2106263556442004574,13203602793651726206)";
    "ngramMinHashCaseInsensitiveUTF8" Characters true Min "(s[, shingle_size[, n_hashes]])"
        "Hashes of the smallest and of the greatest hashes of runs of characters: near strings often have equal ones, without regard to the case of letters."
        "SELECT ngramMinHashCaseInsensitiveUTF8('ClickHouse')" => "(12493625717655877135,13203602793651726206)";
    "ngramMinHashArg" Bytes false Arg "(s[, shingle_size[, n_hashes]])"
        "The runs with the smallest and those with the greatest hashes of runs of bytes."
        "SELECT ngramMinHashArg('ClickHouse', 3, 1)" => "(('use'),('Cli'))";
    "ngramMinHashArgUTF8" Characters false Arg "(s[, shingle_size[, n_hashes]])"
        "The runs with the smallest and those with the greatest hashes of runs of characters."
        "SELECT ngramMinHashArgUTF8('ClickHouse', 3, 1)" => "(('use'),('ckH'))";
    "ngramMinHashArgCaseInsensitive" Bytes true Arg "(s[, shingle_size[, n_hashes]])"
        "The runs with the smallest and those with the greatest hashes of runs of bytes, without regard to the case of letters."
        "SELECT ngramMinHashArgCaseInsensitive('ClickHouse', 3, 1)" => "(('Cli'),('Hou'))";
    "ngramMinHashArgCaseInsensitiveUTF8" Characters true Arg "(s[, shingle_size[, n_hashes]])"
        "The runs with the smallest and those with the greatest hashes of runs of characters, without regard to the case of letters."
        "SELECT ngramMinHashArgCaseInsensitiveUTF8('ClickHouse', 3, 1)" => "(('use'),('Hou'))";
    "wordShingleSimHash" Words false Sim "(s[, shingle_size])"
        "A number whose bits are those of most hashes of runs of words: near strings have numbers that differ in few bits."
        "SELECT wordShingleSimHash('ClickHouse is a column-oriented database')" => "2294352913";
    "wordShingleSimHashUTF8" Words false Sim "(s[, shingle_size])"
        "A number whose bits are those of most hashes of runs of words: near strings have numbers that differ in few bits."
        "SELECT wordShingleSimHashUTF8('ClickHouse is a column-oriented database')" => "2294352913";
    "wordShingleSimHashCaseInsensitive" Words true Sim "(s[, shingle_size])"
        "A number whose bits are those of most hashes of runs of words: near strings have numbers that differ in few bits, without regard to the case of letters."
        "SELECT wordShingleSimHashCaseInsensitive('ClickHouse is a column-oriented database')" => "2688548881";
    "wordShingleSimHashCaseInsensitiveUTF8" Words true Sim "(s[, shingle_size])"
        "A number whose bits are those of most hashes of runs of words: near strings have numbers that differ in few bits, without regard to the case of letters."
        "SELECT wordShingleSimHashCaseInsensitiveUTF8('ClickHouse is a column-oriented database')" => "2688548881";
    "wordShingleMinHash" Words false Min "(s[, shingle_size[, n_hashes]])"
        "Hashes of the smallest and of the greatest hashes of runs of words: near strings often have equal ones."
        "SELECT wordShingleMinHash('ClickHouse is a column-oriented database')" => "(10646477655733592386,9006746606551459975)";
    "wordShingleMinHashUTF8" Words false Min "(s[, shingle_size[, n_hashes]])"
        "Hashes of the smallest and of the greatest hashes of runs of words: near strings often have equal ones."
        "SELECT wordShingleMinHashUTF8('ClickHouse is a column-oriented database')" => "(10646477655733592386,9006746606551459975)";
    "wordShingleMinHashCaseInsensitive" Words true Min "(s[, shingle_size[, n_hashes]])"
        "Hashes of the smallest and of the greatest hashes of runs of words: near strings often have equal ones, without regard to the case of letters."
        "SELECT wordShingleMinHashCaseInsensitive('ClickHouse is a column-oriented database')" => "(7167205469835569408,7506462137000786535)";
    "wordShingleMinHashCaseInsensitiveUTF8" Words true Min "(s[, shingle_size[, n_hashes]])"
        "Hashes of the smallest and of the greatest hashes of runs of words: near strings often have equal ones, without regard to the case of letters."
        "SELECT wordShingleMinHashCaseInsensitiveUTF8('ClickHouse is a column-oriented database')" => "(7167205469835569408,7506462137000786535)";
    "wordShingleMinHashArg" Words false Arg "(s[, shingle_size[, n_hashes]])"
        "The runs with the smallest and those with the greatest hashes of runs of words."
        "SELECT wordShingleMinHashArg('ClickHouse is a column-oriented database', 3, 1)" => "(('column-oriented database'),('ClickHouse is a column-oriented'))";
    "wordShingleMinHashArgUTF8" Words false Arg "(s[, shingle_size[, n_hashes]])"
        "The runs with the smallest and those with the greatest hashes of runs of words."
        "SELECT wordShingleMinHashArgUTF8('ClickHouse is a column-oriented database', 3, 1)" => "(('column-oriented database'),('ClickHouse is a column-oriented'))";
    "wordShingleMinHashArgCaseInsensitive" Words true Arg "(s[, shingle_size[, n_hashes]])"
        "The runs with the smallest and those with the greatest hashes of runs of words, without regard to the case of letters."
        "SELECT wordShingleMinHashArgCaseInsensitive('ClickHouse is a column-oriented database', 3, 1)" => "(('ClickHouse is a column-oriented'),('column-oriented database'))";
    "wordShingleMinHashArgCaseInsensitiveUTF8" Words true Arg "(s[, shingle_size[, n_hashes]])"
        "The runs with the smallest and those with the greatest hashes of runs of words, without regard to the case of letters."
        "SELECT wordShingleMinHashArgCaseInsensitiveUTF8('ClickHouse is a column-oriented database', 3, 1)" => "(('ClickHouse is a column-oriented'),('column-oriented database'))";
};

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
