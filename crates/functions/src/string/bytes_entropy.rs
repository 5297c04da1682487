//! `stringBytesUniq` and `stringBytesEntropy`: how varied the bytes of a string are.

use crate::plain::Plain;
use crate::string_args::{Kind, StringArg, expect};
use chalet_base::Result;
use chalet_base::simd_dispatch::dispatch_simd;
use chalet_columns::Vector;
use chalet_function_api::{Call, Example, Record};
use chalet_types::DataType;

pub static UNIQ: Plain = Plain {
    record: Record {
        name: "stringBytesUniq",
        summary: "The number of different bytes in a string.",
        syntax: "stringBytesUniq(s)",
        examples: &[Example { sql: "SELECT stringBytesUniq('hello')", result: "4" }],
        total: true,
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        expect(name, args, 1, &[Kind::String])?;
        Ok(DataType::UInt16.into())
    },
    execute: |call| {
        let texts = StringArg::of(call, 0)?;
        // With the instruction that counts bits.
        let counts: Vec<u16> =
            dispatch_simd(|| (0..call.n_rows).map(|row| different(texts.get(row))).collect());
        Ok(Vector::from(counts).into())
    },
};

pub static ENTROPY: Plain = Plain {
    record: Record {
        name: "stringBytesEntropy",
        summary: "Shannon's entropy of the bytes of a string, in bits.",
        syntax: "stringBytesEntropy(s)",
        examples: &[Example { sql: "SELECT stringBytesEntropy('aabb')", result: "1" }],
        total: true,
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        expect(name, args, 1, &[Kind::String])?;
        Ok(DataType::Float64.into())
    },
    execute: |call| Ok(Vector::from(each(call, entropy)?).into()),
};

/// The number of different bytes.
#[inline(always)]
fn different(text: &[u8]) -> u16 {
    if text.is_ascii() {
        // Both halves stay in registers: which of them a byte belongs to cannot be guessed.
        let (mut low, mut high) = (0u64, 0u64);
        for &byte in text {
            let bit = 1 << (byte & 63);
            let is_high = u64::from(byte >> 6).wrapping_neg();
            (low, high) = (low | bit & !is_high, high | bit & is_high);
        }
        return (low.count_ones() + high.count_ones()) as u16;
    }
    let mut set = [0u64; 4];
    text.iter().for_each(|&byte| set[usize::from(byte >> 6)] |= 1 << (byte & 63));
    set.iter().map(|bits| bits.count_ones() as u16).sum()
}

fn each<T>(call: &Call, sum_up: fn(&[u32; 256], usize) -> T) -> Result<Vec<T>> {
    let texts = StringArg::of(call, 0)?;
    let row = |row: usize| {
        let mut counts = [0u32; 256];
        texts.get(row).iter().for_each(|&byte| counts[byte as usize] += 1);
        sum_up(&counts, texts.get(row).len())
    };
    Ok((0..call.n_rows).map(row).collect())
}

fn entropy(counts: &[u32; 256], len: usize) -> f64 {
    let share = |&n: &u32| f64::from(n) / len as f64;
    -counts.iter().filter(|&&n| n > 0).map(|n| share(n) * share(n).log2()).sum::<f64>() + 0.0
}
