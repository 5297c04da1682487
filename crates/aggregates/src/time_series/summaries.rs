//! What windows are summed up to: the last samples, the least and the greatest, sums and counts.

use super::grid::Grid;
use super::samples::Sample;
use super::sliding::Summary;

/// The last sample, and the one before it.
#[derive(Clone, Copy)]
pub struct Last {
    pub before: Option<Sample>,
    pub last: Sample,
}

impl Summary for Last {
    fn of(samples: &[Sample], _: &Grid) -> Self {
        let before = samples.len().checked_sub(2).map(|at| samples[at]);
        Last { before, last: samples[samples.len() - 1] }
    }

    fn merged(&self, later: &Self) -> Self {
        Last { before: later.before.or(Some(self.last)), last: later.last }
    }
}

/// The latest sample of the greatest value, or of the least: NaN only where there is nothing else.
#[derive(Clone, Copy)]
pub struct Extreme<const GREATEST: bool>(pub Sample);

impl<const GREATEST: bool> Summary for Extreme<GREATEST> {
    fn of(samples: &[Sample], _: &Grid) -> Self {
        let rest = samples[1..].iter().map(|&sample| Extreme(sample));
        rest.fold(Extreme(samples[0]), |best, next| best.merged(&next))
    }

    fn merged(&self, later: &Self) -> Self {
        let (old, new) = (self.0.1, later.0.1);
        let better = if GREATEST { new >= old } else { new <= old };
        if better || old.is_nan() { *later } else { *self }
    }
}

/// A sum with what rounding took of it, and a count.
#[derive(Clone, Copy)]
pub struct Sum {
    sum: f64,
    lost: f64,
    pub count: u64,
}

impl Sum {
    /// Neumaier's way of adding.
    fn plus(mut self, x: f64) -> Self {
        let sum = self.sum + x;
        self.lost += if self.sum.abs() >= x.abs() { (self.sum - sum) + x } else { (x - sum) + self.sum };
        self.sum = sum;
        self
    }

    /// The sum.
    pub fn total(&self) -> f64 {
        // What an infinite sum lost is not a number.
        if self.sum.is_finite() { self.sum + self.lost } else { self.sum }
    }
}

impl Summary for Sum {
    fn of(samples: &[Sample], _: &Grid) -> Self {
        let empty = Sum { sum: 0.0, lost: 0.0, count: samples.len() as u64 };
        samples.iter().fold(empty, |sum, sample| sum.plus(sample.1))
    }

    fn merged(&self, later: &Self) -> Self {
        let mut sum = self.plus(later.sum);
        sum.lost += later.lost;
        sum.count += later.count;
        sum
    }
}

/// How often a value differs from the one before it, or is less.
#[derive(Clone, Copy)]
pub struct Steps<const DOWN: bool> {
    first: f64,
    last: f64,
    pub count: u64,
}

/// Is it a step? NaN follows NaN without one.
fn is_step(down: bool, before: f64, x: f64) -> bool {
    if down { x < before } else { x != before && !(x.is_nan() && before.is_nan()) }
}

impl<const DOWN: bool> Summary for Steps<DOWN> {
    fn of(samples: &[Sample], _: &Grid) -> Self {
        let count = samples.windows(2).filter(|pair| is_step(DOWN, pair[0].1, pair[1].1)).count() as u64;
        Steps { first: samples[0].1, last: samples[samples.len() - 1].1, count }
    }

    fn merged(&self, later: &Self) -> Self {
        let between = u64::from(is_step(DOWN, self.last, later.first));
        Steps { first: self.first, last: later.last, count: self.count + between + later.count }
    }
}
