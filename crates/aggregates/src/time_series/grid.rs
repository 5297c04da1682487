//! The points of a grid and the windows before them.

use super::parameters::Reader;
use chalet_base::{Result, ensure};
use chalet_types::Value;

/// More points are no grid.
const MAX_POINTS: i64 = 0xff_ffff;

/// Points at equal steps; before each point `p` a window `(p - window, p]`, all in ticks of the timestamps.
///
/// The ends of all windows cut time into pieces that windows share: a window is a run of pieces. Point `i` ends piece `2i + 1`; where
/// the window is no multiple of the step, another piece, `2i`, ends before it where the window of a later point begins.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    pub start: i64,
    pub step: i64,
    pub window: i64,
    pub points: i64,
    /// Ticks of a second.
    pub second: f64,
}

impl Grid {
    /// Reads start, end, step and window.
    pub fn of(parameters: &[Value], reader: &Reader) -> Result<Grid> {
        let start = reader.time(&parameters[0], "start")?;
        let end = reader.time(&parameters[1], "end")?;
        let step = reader.seconds(&parameters[2], "step")?;
        let window = reader.seconds(&parameters[3], "window")?;
        ensure!(end >= start, BAD_ARGUMENTS, "End timestamp is less than start timestamp");
        ensure!(step > 0 || start == end, BAD_ARGUMENTS, "Step should be greater than zero");
        ensure!(window >= 0, BAD_ARGUMENTS, "Window should be non-negative");
        // The window of an only point is one piece, however long.
        let step = if start == end { window.max(1) } else { step };
        let steps = end.abs_diff(start) / step as u64;
        ensure!(
            steps < MAX_POINTS as u64,
            BAD_ARGUMENTS,
            "Number of grid points in the timeseries grid exceeds maximum ({MAX_POINTS}). Consider narrowing the [start, end] range \
             or increasing the step"
        );
        let second = 10f64.powi(reader.scale.unwrap_or(0).into());
        Ok(Grid { start, step, window, points: steps as i64 + 1, second })
    }

    /// The point of this number.
    pub fn point(&self, index: i64) -> i64 {
        // Points are between the start and the end.
        self.start + index * self.step
    }

    /// Is the time in the window of some point?
    pub fn covers(&self, time: i64) -> bool {
        self.piece(time).is_some()
    }

    /// The piece of a time, if it is in the window of some point.
    pub fn piece(&self, time: i64) -> Option<i64> {
        let since = i128::from(time) - i128::from(self.start);
        let step = i128::from(self.step);
        // The first point at or after the time.
        let index = since.div_euclid(step) + i128::from(since.rem_euclid(step) != 0);
        if index >= i128::from(self.points) || since <= -i128::from(self.window) {
            return None;
        }
        let before = index * step - since;
        if self.window < self.step {
            return (before < i128::from(self.window)).then_some(index as i64 * 2 + 1);
        }
        let rest = i128::from(self.window % self.step);
        Some(index as i64 * 2 + i64::from(before < rest || rest == 0))
    }

    /// The first piece of the window of a point.
    pub fn first_piece(&self, index: i64) -> i64 {
        if self.window < self.step {
            return index * 2;
        }
        let earlier = index - self.window / self.step;
        if self.window % self.step == 0 { (earlier + 1) * 2 } else { earlier * 2 + 1 }
    }

    /// The first piece behind the window of a point.
    pub fn end_piece(&self, index: i64) -> i64 {
        index * 2 + 2
    }

    /// How many pieces a window has.
    pub fn pieces_of_window(&self) -> i64 {
        let whole = self.window / self.step;
        if self.window % self.step == 0 || whole == 0 { whole.max(1) } else { whole * 2 + 1 }
    }

    /// A number of ticks in seconds.
    pub fn seconds(&self, ticks: i64) -> f64 {
        ticks as f64 / self.second
    }
}
