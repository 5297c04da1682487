//! Trackers: how many bytes are in use, the most there were, and the limit. A query's tracker reports to its user's.

use crate::exceeded::{Exceeded, Level};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// Bytes of a query, or of all queries of a user. Shared by all threads that work for it.
#[derive(Debug)]
pub struct Tracker {
    level: Level,
    current: AtomicI64,
    peak: AtomicI64,
    /// In bytes; 0 for none.
    limit: AtomicU64,
    parent: Option<Arc<Tracker>>,
}

impl Tracker {
    /// For all queries of a user, which is a session here.
    pub fn of_user() -> Tracker {
        Tracker::new(Level::User, None)
    }

    /// For one query, as a part of its user's.
    pub fn of_query(user: Option<Arc<Tracker>>) -> Tracker {
        Tracker::new(Level::Query, user)
    }

    fn new(level: Level, parent: Option<Arc<Tracker>>) -> Tracker {
        Tracker {
            level,
            current: AtomicI64::new(0),
            peak: AtomicI64::new(0),
            limit: AtomicU64::new(0),
            parent,
        }
    }

    /// Sets the limit in bytes; 0 for none.
    pub fn set_limit(&self, bytes: u64) {
        self.limit.store(bytes, Relaxed);
    }

    /// The limit in bytes, 0 for none.
    pub fn limit(&self) -> u64 {
        self.limit.load(Relaxed)
    }

    /// The tracker that contains this one.
    pub fn parent(&self) -> Option<&Arc<Tracker>> {
        self.parent.as_ref()
    }

    /// Bytes in use now.
    pub fn current(&self) -> u64 {
        self.current.load(Relaxed).max(0) as u64
    }

    /// The most bytes that were ever in use.
    pub fn peak(&self) -> u64 {
        self.peak.load(Relaxed).max(0) as u64
    }

    /// Adds what was allocated less what was freed, which may be negative.
    pub fn add(&self, bytes: i64) {
        let now = self.current.fetch_add(bytes, Relaxed) + bytes;
        if bytes > 0 && now > self.peak.load(Relaxed) {
            self.peak.fetch_max(now, Relaxed);
        }
        if let Some(parent) = &self.parent {
            parent.add(bytes);
        }
    }

    /// Takes note that `more` bytes than are charged are in use for a moment, between two times that a thread charges them.
    pub fn note_peak(&self, more: u64) {
        let now = self.current.load(Relaxed).saturating_add_unsigned(more);
        if now > self.peak.load(Relaxed) {
            self.peak.fetch_max(now, Relaxed);
        }
        if let Some(parent) = &self.parent {
            parent.note_peak(more);
        }
    }

    /// Is `chunk` more bytes over the limit of this tracker or of one that contains it? Who is at work is left out.
    pub fn exceeded_by(&self, chunk: u64) -> Option<Exceeded> {
        let limit = self.limit();
        let would_use = self.current() + chunk;
        if limit > 0 && would_use > limit {
            return Some(Exceeded {
                level: self.level,
                would_use,
                chunk,
                limit,
                query: self.current(),
                resident: 0,
                operator: "",
                function: "",
            });
        }
        self.parent.as_ref()?.exceeded_by(chunk)
    }
}

impl Drop for Tracker {
    /// What a query leaves behind (rows of tables, results, caches) is the process's, no longer the user's.
    fn drop(&mut self) {
        if let Some(parent) = &self.parent {
            parent.add(-self.current.load(Relaxed));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_part_of_its_user() {
        let user = Arc::new(Tracker::of_user());
        user.set_limit(100);
        let query = Tracker::of_query(Some(user.clone()));
        query.set_limit(1000);
        query.add(80);
        assert_eq!(query.exceeded_by(20), None);
        assert_eq!(query.exceeded_by(21).map(|e| (e.level, e.would_use)), Some((Level::User, 101)));
        query.add(-50);
        assert_eq!((query.current(), query.peak(), user.current()), (30, 80, 30));
        query.note_peak(60);
        query.note_peak(10);
        assert_eq!((query.current(), query.peak()), (30, 90));
        drop(query);
        assert_eq!((user.current(), user.peak()), (0, 90));
    }
}
