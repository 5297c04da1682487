//! A list of a bounded size: what is new takes the place of what is oldest.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Entries with the bytes that each takes.
pub(crate) struct Ring<T> {
    entries: Mutex<Entries<T>>,
    most_entries: usize,
    most_bytes: usize,
}

struct Entries<T> {
    list: VecDeque<(T, usize)>,
    bytes: usize,
}

impl<T> Ring<T> {
    pub fn new(most_entries: usize, most_bytes: usize) -> Ring<T> {
        let entries = Mutex::new(Entries { list: VecDeque::new(), bytes: 0 });
        Ring { entries, most_entries, most_bytes }
    }

    /// Adds an entry of so many bytes. The last one stays, however large it is.
    pub fn push(&self, entry: T, bytes: usize) {
        // Mostly one, which needs no list.
        let (mut first, mut dropped) = (None, Vec::new());
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        while entries.list.len() >= self.most_entries || entries.bytes + bytes > self.most_bytes {
            let Some((oldest, size)) = entries.list.pop_front() else { break };
            entries.bytes -= size;
            match &first {
                None => first = Some(oldest),
                Some(_) => dropped.push(oldest),
            }
        }
        entries.bytes += bytes;
        entries.list.push_back((entry, bytes));
        // What is dropped is freed when others can go on.
        drop(entries);
    }

    /// Something of each entry, the oldest first.
    pub fn collect<R>(&self, of: impl FnMut(&T) -> R) -> Vec<R> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.list.iter().map(|(entry, _)| entry).map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_entries_go() {
        let ring = Ring::new(3, 100);
        (0..5).for_each(|n| ring.push(n, 10));
        assert_eq!(ring.collect(|n| *n), [2, 3, 4]);
        ring.push(5, 85);
        assert_eq!(ring.collect(|n| *n), [4, 5]);
        ring.push(6, 1000);
        assert_eq!(ring.collect(|n| *n), [6]);
    }
}
