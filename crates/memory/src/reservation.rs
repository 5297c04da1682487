//! Reservations: the bytes that one operator holds, by which it decides when to go to disk.

use crate::{Tracker, thread};
use chalet_base::Result;
use std::sync::Arc;

/// The bytes that one operator holds. The allocator charges the query for them; a reservation says whose they are, and is
/// where growth is refused between blocks.
#[derive(Debug)]
pub struct Reservation {
    tracker: Arc<Tracker>,
    bytes: usize,
}

impl Reservation {
    /// Nothing reserved yet, for a query with this tracker.
    pub fn new(tracker: Arc<Tracker>) -> Reservation {
        Reservation { tracker, bytes: 0 }
    }

    /// Sets how many bytes are held now. Fails with `MEMORY_LIMIT_EXCEEDED` when there are more than before and the query is
    /// over a limit; the reservation then stays as it was.
    pub fn resize(&mut self, bytes: usize) -> Result<()> {
        if bytes > self.bytes {
            thread::check(&self.tracker)?;
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Adds `bytes`, see [`resize`](Self::resize).
    pub fn grow(&mut self, bytes: usize) -> Result<()> {
        self.resize(self.bytes + bytes)
    }

    /// Bytes held now.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The query's tracker.
    pub fn tracker(&self) -> &Arc<Tracker> {
        &self.tracker
    }
}
