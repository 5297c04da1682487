//! `uniqUpTo(n)`: the number of different values, exactly up to n, else n + 1.

use crate::check::some_arguments;
use crate::uniq::sketch::{Sketch, counting};
use crate::uniq::words::Words;
use chalet_base::{Result, bail, ensure};
use chalet_columns::wire::{put_len, take_len, take_u64};
use chalet_function_api::aggregate::AggregateNulls;
use chalet_function_api::{Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example};
use chalet_types::Value;
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "uniqUpTo",
    summary: "The number of different values if it is at most `n` (10 if not given), else `n` + 1.",
    syntax: "uniqUpTo(n)(x[, ...])",
    examples: &[Example {
        sql: "SELECT uniqUpTo(3)(number), uniqUpTo(30)(number) FROM numbers(10)",
        result: "4\t10",
    }],
    nulls: AggregateNulls::SkipPlainResult,
    zero_when_only_null: true,
    ..AggregateRecord::DEFAULT
};

/// The largest `n`.
const MAX: u64 = 100;

pub struct UniqUpTo;

impl AggregateFunction for UniqUpTo {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = RECORD.name;
        let limit = match parameters {
            [] => 10,
            [limit] => match limit.as_u64() {
                Some(limit) => limit,
                None => bail!(BAD_ARGUMENTS, "Parameter for aggregate function {name} should be a number"),
            },
            _ => bail!(
                NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                "Aggregate function {name} requires one parameter or less"
            ),
        };
        ensure!(
            limit <= MAX,
            ARGUMENT_OUT_OF_BOUND,
            "Too large parameter for aggregate function {name}. Maximum: {MAX}"
        );
        some_arguments(name, args)?;
        Ok(counting::<Few>(limit as usize, Words::new(args)))
    }
}

/// The words seen, one more than the limit at most.
struct Few(Vec<u64>);

impl Sketch for Few {
    type Plan = usize;

    fn empty(_: &usize) -> Self {
        Few(Vec::new())
    }

    fn insert(&mut self, limit: &usize, word: u64) {
        if self.0.len() <= *limit && !self.0.contains(&word) {
            self.0.push(word);
        }
    }

    fn merge(&mut self, limit: &usize, other: Self) {
        other.0.into_iter().for_each(|word| self.insert(limit, word));
    }

    fn count(&mut self, _: &usize) -> u64 {
        self.0.len() as u64
    }

    fn serialise(&self, limit: &usize, out: &mut Vec<u8>) {
        put_len(self.0.len(), out);
        // That there are too many says it all.
        if self.0.len() > *limit {
            return;
        }
        self.0.iter().for_each(|word| out.extend(word.to_le_bytes()));
    }

    fn deserialise(limit: &usize, bytes: &mut &[u8]) -> Result<Self> {
        let mut few = Few(Vec::new());
        let n = take_len(bytes)?;
        if n > *limit {
            few.0 = (0..=*limit as u64).collect();
            return Ok(few);
        }
        for _ in 0..n {
            few.insert(limit, take_u64(bytes)?);
        }
        Ok(few)
    }

    fn heap(&self) -> usize {
        self.0.capacity() * 8
    }
}
