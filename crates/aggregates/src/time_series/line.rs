//! The line of least squares through the samples of a window.

use super::grid::Grid;
use super::samples::Sample;
use super::sliding::Summary;

/// Means, squares and products of deviations from them, which Welford's way adds to and Chan's merges; times are in ticks since the
/// grid's start.
#[derive(Clone, Copy, Default)]
pub struct Line {
    count: f64,
    mean_time: f64,
    mean_value: f64,
    squares: f64,
    products: f64,
}

impl Line {
    /// The rise per tick; none of fewer than two samples.
    pub fn slope(&self) -> Option<f64> {
        (self.count >= 2.0).then(|| self.products / self.squares)
    }

    /// The value at a time.
    pub fn value_at(&self, time: f64) -> Option<f64> {
        let slope = self.slope()?;
        Some((self.mean_value - slope * self.mean_time) + slope * time)
    }
}

impl Summary for Line {
    fn of(samples: &[Sample], grid: &Grid) -> Self {
        let mut line = Line::default();
        for &(time, value) in samples {
            let time = time.wrapping_sub(grid.start) as f64;
            line.count += 1.0;
            let (from_time, from_value) = (time - line.mean_time, value - line.mean_value);
            line.mean_time += from_time / line.count;
            line.mean_value += from_value / line.count;
            line.squares += from_time * (time - line.mean_time);
            line.products += from_time * (value - line.mean_value);
        }
        Line::default().merged(&line)
    }

    fn merged(&self, later: &Self) -> Self {
        let count = self.count + later.count;
        let (time, value) = (later.mean_time - self.mean_time, later.mean_value - self.mean_value);
        Line {
            count,
            mean_time: self.mean_time + time * later.count / count,
            mean_value: self.mean_value + value * later.count / count,
            squares: self.squares + (later.squares + time * time * later.count * self.count / count),
            products: self.products + (later.products + time * value * later.count * self.count / count),
        }
    }
}
