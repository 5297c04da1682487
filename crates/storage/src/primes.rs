//! `primes` and `system.primes`: prime numbers in order, sieved segment by segment while they are read.

use crate::scan::{ColumnRange, Interval};
use crate::{Morsel, Scan, ScanRequest, ScanWorker, Table, TableSchema};
use chalet_base::Result;
use chalet_columns::{Block, Column, Vector};
use chalet_types::DataType;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Numbers that are sieved at once: a segment of bytes fits the second-level cache.
const SEGMENT: u64 = 1 << 18;

/// The primes from number `first` on, counted from 0, each `step`th of them, `count` in all (endless when `None`).
#[derive(Clone)]
pub struct Primes {
    pub first: u64,
    pub count: Option<u64>,
    pub step: u64,
}

impl Table for Primes {
    fn engine(&self) -> &str {
        "SystemPrimes"
    }

    fn schema(&self) -> TableSchema {
        TableSchema::of([("prime", DataType::UInt64)])
    }

    fn takes_prewhere(&self) -> bool {
        false
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn Scan>> {
        let count = match (request.limit, &request.filter) {
            (Some(limit), None) => Some(self.count.map_or(limit, |count| count.min(limit))),
            _ => self.count,
        };
        Ok(Arc::new(PrimeScan {
            primes: Primes { count, ..self.clone() },
            most: most(&request.ranges),
            block_size: request.context.max_block_size.max(1),
            n_columns: request.columns.len(),
            is_taken: AtomicBool::new(false),
        }))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The greatest number that conditions allow.
fn most(ranges: &[ColumnRange]) -> u64 {
    let of_range = |range: &ColumnRange| {
        let high = range.high.as_ref().map(|(value, _)| value);
        let among = range.among.last();
        let intervals: Option<Vec<u64>> =
            range.any_of.iter().map(|Interval { high, .. }| high.as_ref()?.0.as_u64()).collect();
        let of_intervals = intervals.and_then(|highs| highs.into_iter().max());
        high.or(among).and_then(|value| value.as_u64()).or(of_intervals)
    };
    ranges.iter().filter_map(of_range).min().unwrap_or(u64::MAX)
}

struct PrimeScan {
    primes: Primes,
    most: u64,
    block_size: usize,
    n_columns: usize,
    is_taken: AtomicBool,
}

impl Scan for PrimeScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        let is_first = !self.is_taken.swap(true, Relaxed);
        Ok(Box::new(Worker {
            sieve: Sieve::default(),
            found: Vec::new().into_iter(),
            skipped: self.primes.first,
            step: self.primes.step,
            left: if is_first { self.primes.count.unwrap_or(u64::MAX) } else { 0 },
            most: self.most,
            block_size: self.block_size,
            n_columns: self.n_columns,
            number: 0,
        }))
    }

    fn total_rows(&self) -> Option<u64> {
        self.primes.count.filter(|_| self.most == u64::MAX)
    }
}

struct Worker {
    sieve: Sieve,
    /// Of the last segment, those that have not been put out.
    found: std::vec::IntoIter<u64>,
    /// Primes until the next that is wanted.
    skipped: u64,
    step: u64,
    left: u64,
    most: u64,
    block_size: usize,
    n_columns: usize,
    number: u32,
}

impl ScanWorker for Worker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX).min(self.block_size);
        let mut rows = Vec::new();
        // Blocks end with a segment, so that a query is seen to be stopped.
        while rows.len() < wanted {
            let Some(prime) = self.found.next() else {
                if !rows.is_empty() {
                    break;
                }
                match self.sieve.next_segment(self.most) {
                    Some(found) => self.found = found.into_iter(),
                    None => break,
                }
                continue;
            };
            if self.skipped > 0 {
                self.skipped -= 1;
                continue;
            }
            self.skipped = self.step - 1;
            rows.push(prime);
        }
        if rows.is_empty() {
            return Ok(None);
        }
        self.left -= rows.len() as u64;
        let n_rows = rows.len();
        let column = Column::Flat(Vector::from(rows));
        self.number += 1;
        let block = Block::new(vec![column; self.n_columns], n_rows);
        Ok(Some(Morsel { block, task: 0, number: self.number - 1 }))
    }
}

/// The sieve of Eratosthenes over one segment after the other.
#[derive(Default)]
struct Sieve {
    /// The first number of the next segment.
    low: u64,
    /// Primes up to the root of what was sieved.
    small: Vec<u64>,
    /// Up to where `small` goes.
    small_to: u64,
}

impl Sieve {
    /// The primes of the next segment, none beyond `most` or the range of UInt64.
    fn next_segment(&mut self, most: u64) -> Option<Vec<u64>> {
        let (low, high) = (self.low, self.low.checked_add(SEGMENT)?);
        if low > most {
            return None;
        }
        self.low = high;
        let root = high.isqrt() + 1;
        if root > self.small_to {
            // Twice as far as needed: the next segments need little more.
            self.small_to = root * 2;
            self.small = primes_below(self.small_to);
        }
        let mut is_composite = vec![false; SEGMENT as usize];
        for &prime in self.small.iter().take_while(|prime| **prime <= root) {
            let first = (prime * prime).max(low.div_ceil(prime) * prime);
            (first..high)
                .step_by(prime as usize)
                .for_each(|number| is_composite[(number - low) as usize] = true);
        }
        let numbers = (low..high).zip(&is_composite);
        Some(
            numbers
                .filter(|(number, composite)| *number > 1 && !**composite)
                .map(|(number, _)| number)
                .collect(),
        )
    }
}

fn primes_below(limit: u64) -> Vec<u64> {
    let mut is_composite = vec![false; limit as usize];
    let mut found = Vec::new();
    for number in 2..limit {
        if !is_composite[number as usize] {
            found.push(number);
            let multiples = number.saturating_mul(number)..limit;
            multiples.step_by(number as usize).for_each(|multiple| is_composite[multiple as usize] = true);
        }
    }
    found
}
