//! How fast a query has to be, and may be: `min_execution_speed` and its kin.

use chalet_base::{Result, ensure};
use std::time::Duration;

/// Limits of speed, 0 for none. They hold from `since` on, when the speed has settled.
#[derive(Clone, Debug, Default)]
pub struct SpeedLimits {
    pub min_rows_per_second: u64,
    pub max_rows_per_second: u64,
    pub min_bytes_per_second: u64,
    pub max_bytes_per_second: u64,
    /// The whole query must not be expected to run longer.
    pub max_estimated_time: Duration,
    pub since: Duration,
}

impl SpeedLimits {
    pub fn is_limited(&self) -> bool {
        let speeds = [
            self.min_rows_per_second,
            self.max_rows_per_second,
            self.min_bytes_per_second,
            self.max_bytes_per_second,
        ];
        speeds.iter().any(|&limit| limit > 0) || !self.max_estimated_time.is_zero()
    }

    /// Fails with TOO_SLOW, or gives the time since the start of the query before which it must not go on. `total_rows`: of
    /// all sources, 0 where they do not know.
    pub fn check(&self, elapsed: Duration, rows: u64, bytes: u64, total_rows: u64) -> Result<Duration> {
        if elapsed <= self.since || elapsed.is_zero() {
            return Ok(Duration::ZERO);
        }
        let seconds = elapsed.as_secs_f64();
        for (what, count, minimum) in
            [("rows", rows, self.min_rows_per_second), ("bytes", bytes, self.min_bytes_per_second)]
        {
            let speed = count as f64 / seconds;
            ensure!(
                minimum == 0 || speed >= minimum as f64,
                TOO_SLOW,
                "Query is executing too slow: {speed} {what}/sec., minimum: {minimum}"
            );
        }
        if !self.max_estimated_time.is_zero() && total_rows > 0 && rows > 0 {
            let estimated = seconds * (total_rows as f64 / rows as f64);
            ensure!(
                estimated <= self.max_estimated_time.as_secs_f64(),
                TOO_SLOW,
                "Estimated query execution time ({estimated:.5} seconds) is too long. Maximum: {}. Estimated rows to \
                 process: {total_rows} ({rows} read in {seconds} seconds).",
                self.max_estimated_time.as_secs_f64()
            );
        }
        let earliest = |count: u64, maximum: u64| {
            let seconds = if maximum == 0 { 0.0 } else { count as f64 / maximum as f64 };
            Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
        };
        Ok(earliest(rows, self.max_rows_per_second).max(earliest(bytes, self.max_bytes_per_second)))
    }
}
