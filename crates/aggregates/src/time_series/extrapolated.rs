//! `rate`, `increase` and `delta` of PromQL: what a value changes over a window, extrapolated from the samples to the window's ends.

use super::grid::Grid;
use super::samples::Sample;
use super::sliding::pieces;
use std::collections::VecDeque;

/// What is asked of the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Of a counter, whose falls are resets to 0, per second.
    Rate,
    /// Of a counter.
    Increase,
    /// Of a value that goes up and down.
    Delta,
}

struct Piece {
    number: i64,
    count: usize,
    first: Sample,
    last: Sample,
    /// What resets inside the piece took away.
    resets: f64,
}

impl Piece {
    fn of((number, samples): (i64, &[Sample])) -> Piece {
        let mut piece = Piece {
            number,
            count: samples.len(),
            first: samples[0],
            last: samples[samples.len() - 1],
            resets: 0.0,
        };
        samples.windows(2).for_each(|pair| piece.resets += reset(pair[0], pair[1]));
        piece
    }
}

fn reset(before: Sample, next: Sample) -> f64 {
    if next.1 < before.1 { before.1 } else { 0.0 }
}

/// The change over the window of each point; none of fewer than two samples. `narrow`: the difference of two values is rounded to 32
/// bits, as they are.
pub fn changes(samples: &[Sample], grid: &Grid, change: Change, narrow: bool) -> Vec<Option<f64>> {
    let mut pieces = pieces(samples, grid).map(Piece::of).peekable();
    let mut window: VecDeque<Piece> = VecDeque::new();
    let (mut count, mut resets) = (0, 0.0);
    let points = 0..grid.points;
    let of_point = |index: i64| {
        while let Some(piece) = pieces.next_if(|piece| piece.number < grid.end_piece(index)) {
            if let Some(before) = window.back() {
                resets += reset(before.last, piece.first);
            }
            resets += piece.resets;
            count += piece.count;
            window.push_back(piece);
        }
        let first = grid.first_piece(index);
        while window.front().is_some_and(|piece| piece.number < first) {
            let Some(piece) = window.pop_front() else { break };
            resets -= piece.resets;
            count -= piece.count;
            match window.front() {
                Some(next) => resets -= reset(piece.last, next.first),
                None => resets = 0.0,
            }
        }
        let (first, last) = (window.front()?.first, window.back()?.last);
        (count > 1)
            .then(|| extrapolated(grid, grid.point(index), change, [first, last], count, resets, narrow))
    };
    points.map(of_point).collect()
}

fn extrapolated(
    grid: &Grid,
    point: i64,
    change: Change,
    [first, last]: [Sample; 2],
    count: usize,
    resets: f64,
    narrow: bool,
) -> f64 {
    let is_counter = change != Change::Delta;
    let mut difference = last.1 - first.1;
    if narrow {
        difference = f64::from(difference as f32);
    }
    if is_counter {
        difference += resets;
    }
    let sampled = (last.0 - first.0) as f64;
    let mut before = (i128::from(first.0) - i128::from(point) + i128::from(grid.window)) as f64;
    let mut after = (point - last.0) as f64;
    let interval = sampled / (count - 1) as f64;
    // Further from its end than samples are from each other, a window is taken to end half such a distance beyond the sample.
    let far = interval * 1.1;
    if before >= far {
        before = interval / 2.0;
    }
    if is_counter && difference > 0.0 && first.1 >= 0.0 {
        // A counter is never negative.
        before = before.min(sampled * (first.1 / difference));
    }
    if after >= far {
        after = interval / 2.0;
    }
    let factor = (sampled + before + after) / sampled;
    let per = if change == Change::Rate { grid.seconds(grid.window) } else { 1.0 };
    difference * (factor / per)
}
