//! Throttled checks for an interrupt, in a loop over calls of which each may take a microsecond or a minute.

use chalet_base::Result;
use chalet_engine::host::Interrupt;
use std::time::{Duration, Instant};

/// Asked about this often.
const PERIOD: Duration = Duration::from_millis(5);
const MOST_STEPS: u32 = 4096;

/// Checks for an interrupt every so many steps, adapted to a check about each [`PERIOD`].
pub struct InterruptThrottle<'a> {
    interrupt: &'a Interrupt,
    asked: Instant,
    /// Steps between two questions, and how many are left to the next.
    stride: u32,
    left: u32,
}

impl<'a> InterruptThrottle<'a> {
    pub fn new(interrupt: &'a Interrupt) -> InterruptThrottle<'a> {
        InterruptThrottle { interrupt, asked: Instant::now(), stride: 1, left: 1 }
    }

    /// The error that ends the query, if it shall stop.
    pub fn step(&mut self) -> Result<()> {
        self.left -= 1;
        if self.left > 0 {
            return Ok(());
        }
        let took = self.asked.elapsed();
        if took < PERIOD / 2 {
            self.stride = (self.stride * 2).min(MOST_STEPS);
        } else if took > PERIOD {
            self.stride = (self.stride / 4).max(1);
        }
        self.left = self.stride;
        self.asked = Instant::now();
        self.interrupt.check()
    }
}
