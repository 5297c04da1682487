//! `uniq`: counts in a set of 32-bit hashes of which, when there are more than 65536, only every second is kept, then
//! every fourth, and so on.

use crate::check::some_arguments;
use crate::hashes::int_hash64;
use crate::uniq::key_set::KeySet;
use crate::uniq::sketch::{Sketch, counting};
use crate::uniq::words::Words;
use chalet_base::crc32c::crc32c_of_word;
use chalet_base::{Result, ensure};
use chalet_columns::wire::{put_len, take_array, take_count, take_u8};
use chalet_function_api::aggregate::AggregateNulls;
use chalet_function_api::{Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example};
use chalet_types::{DataType, Value};
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "uniq",
    summary: "The approximate number of different values or combinations of values; exact or nearly so up to 65536.",
    syntax: "uniq(x[, ...])",
    examples: &[Example { sql: "SELECT uniq(number % 3) FROM numbers(10)", result: "3" }],
    nulls: AggregateNulls::SkipPlainResult,
    zero_when_only_null: true,
    ..AggregateRecord::DEFAULT
};

pub struct Uniq;

impl AggregateFunction for Uniq {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        crate::check::no_parameters(RECORD.name, parameters)?;
        some_arguments(RECORD.name, args)?;
        let mix = match args {
            [one] if one.ty == DataType::String => Mix::Word,
            _ if Words::new(args).is_number() => Mix::Word,
            _ => Mix::Hash,
        };
        Ok(counting::<Sample>(mix, Words::new(args)))
    }
}

/// How the kernel gets 32 bits from a word.
#[derive(Clone, Copy)]
enum Mix {
    /// By a hash, of one number or String.
    Word,
    /// By cutting: anything else has been hashed well.
    Hash,
}

/// Hashes that are kept.
const MAX: usize = 1 << 16;

#[derive(Default)]
struct Sample {
    /// Hashes that end in `skip` zeros.
    hashes: KeySet<u32>,
    skip: u8,
}

impl Sample {
    fn good(&self, hash: u32) -> bool {
        u64::from(hash) & ((1 << self.skip) - 1) == 0
    }

    fn add(&mut self, hash: u32) {
        if !self.good(hash) {
            return;
        }
        self.hashes.insert(hash);
        while self.hashes.len() > MAX && self.skip < 32 {
            self.raise(self.skip + 1);
        }
    }

    fn raise(&mut self, skip: u8) {
        self.skip = skip;
        let mut hashes = std::mem::take(&mut self.hashes);
        hashes.retain(|hash| self.good(hash));
        self.hashes = hashes;
    }
}

impl Sketch for Sample {
    type Plan = Mix;

    fn empty(_: &Mix) -> Self {
        Sample::default()
    }

    #[inline]
    fn insert(&mut self, mix: &Mix, word: u64) {
        self.add(match mix {
            Mix::Word => int_hash64(word) as u32,
            Mix::Hash => word as u32,
        });
    }

    fn merge(&mut self, _: &Mix, other: Self) {
        if other.skip > self.skip {
            self.raise(other.skip);
        }
        self.hashes.reserve(other.hashes.len());
        other.hashes.for_each(|hash| self.add(hash));
    }

    fn count(&mut self, _: &Mix) -> u64 {
        let kept = self.hashes.len() as u64;
        if self.skip == 0 {
            return kept;
        }
        // The kernel adds something to the number, so that one does not see that it is a multiple of a power of two.
        let seen = (kept << self.skip) + (u64::from(crc32c_of_word(u32::MAX, kept)) & ((1 << self.skip) - 1));
        // Different values may have equal hashes: how many values fill that many of 2^32 places?
        let places = 2f64.powi(32);
        (places * (places.ln() - (places - seen as f64).ln())).round() as u64
    }

    fn serialise(&self, _: &Mix, out: &mut Vec<u8>) {
        out.push(self.skip);
        put_len(self.hashes.len(), out);
        self.hashes.for_each(|hash| out.extend(hash.to_le_bytes()));
    }

    fn deserialise(_: &Mix, bytes: &mut &[u8]) -> Result<Self> {
        let skip = take_u8(bytes)?;
        ensure!(skip <= 32, CANNOT_READ_ALL_DATA, "Aggregate state skips {skip} bits");
        let mut sample = Sample { skip, ..Sample::default() };
        for _ in 0..take_count(bytes, 4)? {
            sample.add(u32::from_le_bytes(take_array(bytes)?));
        }
        Ok(sample)
    }

    fn heap(&self) -> usize {
        self.hashes.heap()
    }
}
