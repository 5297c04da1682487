//! `randomString` and its kin, `generateUUIDv4`, `generateUUIDv7`, `fuzzBits`: random bytes.

use super::generator::{Generator, Pool, Source};
use crate::lanes::{Operand, unary};
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Data, Fixed, StringBuilder, Vector};
use chalet_function_api::{
    Argument, Bound, Call, Context, Dictionaries, Example, Record, ScalarFunction, Volatility,
};
use chalet_types::DataType;
use std::time::{SystemTime, UNIX_EPOCH};

const STRING: Record = Record {
    name: "randomString",
    summary: "A string of the given number of random bytes.",
    syntax: "randomString(length[, x])",
    examples: &[Example { sql: "SELECT length(randomString(10))", result: "10" }],
    dictionaries: Dictionaries::Decoded,
    volatility: Volatility::PerRow,
    ..Record::DEFAULT
};

const PRINTABLE: Record = Record {
    name: "randomPrintableASCII",
    summary: "A string of the given number of random printable ASCII characters.",
    syntax: "randomPrintableASCII(length[, x])",
    examples: &[Example { sql: "SELECT length(randomPrintableASCII(10))", result: "10" }],
    ..STRING
};

const UTF8: Record = Record {
    name: "randomStringUTF8",
    summary: "A string of the given number of random code points.",
    syntax: "randomStringUTF8(length)",
    examples: &[Example { sql: "SELECT lengthUTF8(randomStringUTF8(10))", result: "10" }],
    ..STRING
};

const FIXED: Record = Record {
    name: "randomFixedString",
    summary: "A FixedString of random bytes.",
    syntax: "randomFixedString(length)",
    examples: &[Example { sql: "SELECT toTypeName(randomFixedString(10))", result: "FixedString(10)" }],
    ..STRING
};

const UUID4: Record = Record {
    name: "generateUUIDv4",
    summary: "A random UUID of version 4.",
    syntax: "generateUUIDv4([x])",
    examples: &[Example { sql: "SELECT substring(toString(generateUUIDv4()), 15, 1)", result: "4" }],
    ..STRING
};

const UUID7: Record = Record {
    name: "generateUUIDv7",
    summary: "A UUID of version 7: the time in milliseconds, a counter and random bits.",
    syntax: "generateUUIDv7([x])",
    examples: &[Example { sql: "SELECT substring(toString(generateUUIDv7()), 15, 1)", result: "7" }],
    ..STRING
};

const FUZZ: Record = Record {
    name: "fuzzBits",
    summary: "The string with each bit inverted with the given probability.",
    syntax: "fuzzBits(s, probability)",
    examples: &[Example { sql: "SELECT fuzzBits('abc', 0.0)", result: "abc" }],
    ..STRING
};

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    String,
    Printable,
    Utf8,
    Fixed,
    Uuid4,
    Uuid7,
    Fuzz,
}

pub struct RandomBytes {
    record: &'static Record,
    kind: Kind,
}

pub const STRING_FUNCTION: RandomBytes = RandomBytes { record: &STRING, kind: Kind::String };
pub const PRINTABLE_FUNCTION: RandomBytes = RandomBytes { record: &PRINTABLE, kind: Kind::Printable };
pub const UTF8_FUNCTION: RandomBytes = RandomBytes { record: &UTF8, kind: Kind::Utf8 };
pub const FIXED_FUNCTION: RandomBytes = RandomBytes { record: &FIXED, kind: Kind::Fixed };
pub const UUID4_FUNCTION: RandomBytes = RandomBytes { record: &UUID4, kind: Kind::Uuid4 };
pub const UUID7_FUNCTION: RandomBytes = RandomBytes { record: &UUID7, kind: Kind::Uuid7 };
pub const FUZZ_FUNCTION: RandomBytes = RandomBytes { record: &FUZZ, kind: Kind::Fuzz };

/// Longer strings are refused.
const LONGEST: u64 = 1 << 24;

struct State {
    source: Source,
    probability: f64,
}

impl ScalarFunction for RandomBytes {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let name = self.record.name;
        let (least, most) = match self.kind {
            Kind::Uuid4 | Kind::Uuid7 => (0, 1),
            Kind::Fuzz => (2, 2),
            Kind::Fixed | Kind::Utf8 => (1, 1),
            Kind::String | Kind::Printable => (1, 2),
        };
        ensure!(
            (least..=most).contains(&args.len()),
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Number of arguments for function {name} doesn't match: passed {}, should be from {least} to {most}",
            args.len()
        );
        let mut probability = 0.0;
        let integer = |arg: &Argument| {
            ensure!(
                arg.ty.is_integer(),
                ILLEGAL_TYPE_OF_ARGUMENT,
                "A value of illegal type was provided as 1st argument 'length' to function '{name}'. Expected: (U)Int*, got: {}",
                arg.ty
            );
            Ok(())
        };
        let result = match self.kind {
            Kind::Uuid4 | Kind::Uuid7 => DataType::Uuid,
            Kind::Fuzz => {
                ensure!(
                    args[0].ty.is_string(),
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "First argument of function fuzzBits must be String or FixedString"
                );
                let given =
                    args[1].constant.as_ref().filter(|_| args[1].ty.is_float()).and_then(|p| p.as_f64());
                let Some(given) = given else {
                    bail!(
                        ILLEGAL_TYPE_OF_ARGUMENT,
                        "Second argument of function fuzzBits must be constant float"
                    );
                };
                ensure!(
                    (0.0..=1.0).contains(&given),
                    ARGUMENT_OUT_OF_BOUND,
                    "Second argument of function fuzzBits must be from `0.0` to `1.0`"
                );
                probability = given;
                args[0].ty.clone()
            }
            Kind::Fixed => {
                integer(&args[0])?;
                let Some(length) = args[0].constant.as_ref().and_then(|value| value.as_i64()) else {
                    bail!(ILLEGAL_COLUMN, "First argument for function randomFixedString must be constant");
                };
                ensure!(length > 0, ARGUMENT_OUT_OF_BOUND, "FixedString size must be positive");
                ensure!((length as u64) < LONGEST, ARGUMENT_OUT_OF_BOUND, "FixedString size is too large");
                DataType::FixedString(length as u32)
            }
            _ => {
                if !args[0].ty.is_float() {
                    integer(&args[0])?;
                }
                DataType::String
            }
        };
        Ok(Bound::with_state(result, State { source: Source::new(), probability }))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let state: &State = call.state()?;
        let n = call.n_rows;
        let mut generator = state.source.generator();
        let g = &mut generator;
        let fixed =
            |width: usize, bytes: Vec<u8>| Vector::from(Data::Fixed(Fixed { width, bytes: bytes.into() }));
        Ok(match self.kind {
            Kind::Uuid4 => {
                let mut bytes = vec![0; 16 * n];
                g.fill(&mut bytes);
                bytes.as_chunks_mut::<16>().0.iter_mut().for_each(|uuid| mark(uuid, 4));
                fixed(16, bytes)
            }
            Kind::Uuid7 => fixed(16, time_ordered(g, n)),
            Kind::Fixed => {
                let width = call.result.physical().width().unwrap_or(1);
                let mut bytes = vec![0; width * n];
                g.fill(&mut bytes);
                fixed(width, bytes)
            }
            Kind::Fuzz => fuzz(call.vector(0), g, state.probability)?,
            Kind::String | Kind::Printable | Kind::Utf8 => strings(self, call, g)?,
        }
        .into())
    }
}

/// Sets version and variant.
fn mark(uuid: &mut [u8; 16], version: u8) {
    uuid[6] = version << 4 | uuid[6] & 0x0f;
    uuid[8] = 0x80 | uuid[8] & 0x3f;
}

/// 48 bits of milliseconds, a counter that starts at random and goes up within the block, random bits.
fn time_ordered(g: &mut Generator, n: usize) -> Vec<u8> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_millis() as u64);
    // 42 bits in two pieces, of which the highest is free for counting.
    let mut counter = g.next() & ((1 << 41) - 1);
    let mut bytes = Vec::with_capacity(16 * n);
    for _ in 0..n {
        counter = (counter + 1) & ((1 << 42) - 1);
        let high = now << 16 | counter >> 30;
        let low = (counter & ((1 << 30) - 1)) << 32 | u64::from(g.next() as u32);
        let mut uuid = [0u8; 16];
        uuid[..8].copy_from_slice(&high.to_be_bytes());
        uuid[8..].copy_from_slice(&low.to_be_bytes());
        mark(&mut uuid, 7);
        bytes.extend_from_slice(&uuid);
    }
    bytes
}

fn fuzz(vector: &Vector, g: &mut Generator, probability: f64) -> Result<Vector> {
    let mut flip = |byte: u8| (0..8).fold(byte, |byte, bit| byte ^ (u8::from(g.unit() < probability) << bit));
    Ok(match &vector.data {
        Data::Fixed(fixed) => {
            let bytes = fixed.bytes.iter().map(|&byte| flip(byte)).collect();
            Data::Fixed(Fixed { width: fixed.width, bytes }).into()
        }
        _ => {
            let mut out = StringBuilder::with_capacity(vector.len());
            for s in vector.strings()?.iter() {
                out.push_with(|bytes| bytes.extend(s.iter().map(|&byte| flip(byte))));
            }
            out.finish().into()
        }
    })
}

fn strings(function: &RandomBytes, call: &Call, g: &mut Generator) -> Result<Vector> {
    let mut out = StringBuilder::with_capacity(call.n_rows);
    let lengths: Vec<i64> = match call.args[0].ty.is_float() {
        // What is no length is refused as one that is too long.
        true => unary::<f64, f64>(Operand::of(call, 0), call.n_rows, |x| x)?
            .iter()
            .map(|&x| if x >= 0.0 { x as i64 } else { -1 })
            .collect(),
        false => unary::<i64, i64>(Operand::of(call, 0), call.n_rows, |x| x)?,
    };
    let mut pool = Pool::new();
    for length in lengths {
        ensure!(
            (0..=LONGEST as i64).contains(&length),
            TOO_LARGE_STRING_SIZE,
            "Too large string size in function {}",
            function.record.name
        );
        let length = length as usize;
        out.push_with(|bytes| match function.kind {
            Kind::Printable => printable(length, bytes, &mut pool, g),
            Kind::Utf8 => {
                for _ in 0..length {
                    // Any code point but the surrogates.
                    let c = loop {
                        if let Some(c) = char::from_u32(g.below(0x11_0000) as u32) {
                            break c;
                        }
                    };
                    bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
            _ if length <= Pool::MOST => bytes.extend_from_slice(pool.take(length, g)),
            _ => {
                let start = bytes.len();
                bytes.resize(start + length, 0);
                g.fill(&mut bytes[start..]);
            }
        });
    }
    Ok(out.finish().into())
}

/// Appends characters from the blank to the tilde. Each takes 16 random bits, so that none is more frequent than others by more than
/// one in 689.
fn printable(length: usize, bytes: &mut Vec<u8>, pool: &mut Pool, g: &mut Generator) {
    let character = |bits: &[u8; 2]| b' ' + ((u32::from(u16::from_le_bytes(*bits)) * 95) >> 16) as u8;
    let mut left = length;
    while left > 0 {
        let n = left.min(Pool::MOST / 2);
        let random = pool.take(2 * n, g).as_chunks::<2>().0;
        bytes.extend(random.iter().map(character));
        left -= n;
    }
}
