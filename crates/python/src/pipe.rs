//! What lies between a thread that makes things and one that takes them: so many bytes at most, closed from either end.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A queue of items that each count as some bytes.
pub struct Pipe<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    most_bytes: usize,
}

struct State<T> {
    items: VecDeque<(T, usize)>,
    bytes: usize,
    /// Nothing is put in any more.
    ended: bool,
    /// Nothing is taken out any more.
    closed: bool,
}

/// What there is to take.
pub enum Taken<T> {
    Item(T),
    Ended,
    /// Nothing within the time.
    NotYet,
}

impl<T> Pipe<T> {
    pub fn new(most_bytes: usize) -> Pipe<T> {
        let state = State { items: VecDeque::new(), bytes: 0, ended: false, closed: false };
        Pipe { state: Mutex::new(state), changed: Condvar::new(), most_bytes }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for room. False when nobody takes any more; one item always has room.
    pub fn put(&self, item: T, bytes: usize) -> bool {
        let mut state = self.state();
        while !state.closed && !state.items.is_empty() && state.bytes + bytes > self.most_bytes {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.closed {
            return false;
        }
        state.items.push_back((item, bytes));
        state.bytes += bytes;
        self.changed.notify_all();
        true
    }

    pub fn end(&self) {
        self.state().ended = true;
        self.changed.notify_all();
    }

    /// Takes no more; what is held is dropped.
    pub fn close(&self) {
        let held = {
            let mut state = self.state();
            state.closed = true;
            state.bytes = 0;
            std::mem::take(&mut state.items)
        };
        self.changed.notify_all();
        drop(held);
    }

    pub fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// The next item, if one comes within the time.
    pub fn take(&self, wait: Duration) -> Taken<T> {
        let mut state = self.state();
        if state.items.is_empty() && !state.ended && !state.closed && !wait.is_zero() {
            state = self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
        match state.items.pop_front() {
            Some((item, bytes)) => {
                state.bytes -= bytes;
                self.changed.notify_all();
                Taken::Item(item)
            }
            None if state.ended || state.closed => Taken::Ended,
            None => Taken::NotYet,
        }
    }
}
