//! Regular expressions that several threads match with.

use regex::bytes::Regex;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

/// A compiled expression. Matching takes scratch space (the states of a lazy automaton), which an expression lends to one thread at a
/// time, match by match; with [`of_thread`](Self::of_thread) every thread has its own.
pub struct SharedRegex {
    regex: Regex,
    /// Clones share the program, not the scratch space.
    clones: Mutex<HashMap<ThreadId, Arc<Regex>>>,
}

impl SharedRegex {
    /// The expression for this thread: to be asked for once a block.
    pub fn of_thread(&self) -> Arc<Regex> {
        let mut clones = self.clones.lock().unwrap_or_else(PoisonError::into_inner);
        clones.entry(thread::current().id()).or_insert_with(|| Arc::new(self.regex.clone())).clone()
    }
}

impl From<Regex> for SharedRegex {
    fn from(regex: Regex) -> SharedRegex {
        SharedRegex { regex, clones: Mutex::default() }
    }
}

impl Deref for SharedRegex {
    type Target = Regex;

    fn deref(&self) -> &Regex {
        &self.regex
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_has_its_own() {
        let regex = SharedRegex::from(Regex::new("a+").unwrap());
        let here = regex.of_thread();
        assert!(Arc::ptr_eq(&here, &regex.of_thread()));
        let there = thread::scope(|scope| scope.spawn(|| regex.of_thread()).join().unwrap());
        assert!(!Arc::ptr_eq(&here, &there));
        assert!(there.is_match(b"baa") && here.is_match(b"baa") && regex.is_match(b"baa"));
    }
}
