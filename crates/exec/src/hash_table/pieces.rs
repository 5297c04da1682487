//! A buffer that several workers fill at once, each a piece of it: one allocation, whose pages are touched first by who fills them.

use chalet_base::events::{self, Event};
use chalet_base::switches::{self, Switch};
use chalet_memory::huge_pages;
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Pieces that lie one behind the other.
pub struct Pieces<T> {
    /// Its length is 0 until all pieces are filled.
    buffer: UnsafeCell<Vec<T>>,
    /// Where the first piece begins, and where each one ends.
    bounds: Vec<usize>,
    /// Of each piece, whether it was filled; who holds the lock has the piece for himself.
    filled: Vec<Mutex<bool>>,
}

// SAFETY: the buffer is reached through pieces alone, which do not overlap and are locked one by one.
unsafe impl<T: Send> Sync for Pieces<T> {}

/// A piece that nobody else has.
pub struct Piece<'a, T> {
    items: &'a mut [T],
    _lock: MutexGuard<'a, bool>,
}

impl<T: Copy> Pieces<T> {
    /// Room for pieces of these lengths.
    pub fn new(lengths: impl Iterator<Item = usize>) -> Pieces<T> {
        let mut bounds = vec![0];
        let mut end = 0;
        bounds.extend(lengths.map(|len| {
            end += len;
            end
        }));
        let filled = bounds[1..].iter().map(|_| Mutex::new(false)).collect();
        let mut buffer = Vec::with_capacity(end);
        if switches::is_on(Switch::HugePages) && huge_pages::advise(&mut buffer) {
            events::count(Event::HugePageTables);
        }
        Pieces { buffer: UnsafeCell::new(buffer), bounds, filled }
    }

    /// Where the first piece begins, and where each one ends.
    pub fn bounds(&self) -> &[usize] {
        &self.bounds
    }

    /// A piece; `value` is what its items are when it is asked for first. Waits for who has it.
    pub fn lock(&self, at: usize, value: T) -> Piece<'_, T> {
        let mut lock = self.filled[at].lock().unwrap_or_else(PoisonError::into_inner);
        let (start, end) = (self.bounds[at], self.bounds[at + 1]);
        // SAFETY: the bounds are inside the capacity, which never changes. Pieces do not overlap, and the lock keeps others from
        // this one. Items are written before a reference to them is made.
        let items = unsafe {
            let first = (*self.buffer.get()).as_mut_ptr().add(start);
            if !*lock {
                (0..end - start).for_each(|at| first.add(at).write(value));
            }
            std::slice::from_raw_parts_mut(first, end - start)
        };
        *lock = true;
        Piece { items, _lock: lock }
    }

    /// The whole buffer; pieces that nobody asked for are of `value`.
    pub fn into_vec(self, value: T) -> Vec<T> {
        (0..self.filled.len()).for_each(|at| drop(self.lock(at, value)));
        let mut buffer = self.buffer.into_inner();
        // SAFETY: all pieces, which together are the buffer, have been written.
        unsafe { buffer.set_len(self.bounds[self.bounds.len() - 1]) };
        buffer
    }
}

impl<T> Deref for Piece<'_, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        self.items
    }
}

impl<T> DerefMut for Piece<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_a_whole() {
        let pieces = Pieces::new([3, 0, 2, 4].into_iter());
        assert_eq!(pieces.bounds(), [0, 3, 3, 5, 9]);
        std::thread::scope(|scope| {
            for at in [2, 0, 1] {
                let pieces = &pieces;
                scope.spawn(move || pieces.lock(at, 7).iter_mut().for_each(|item| *item += at));
            }
        });
        pieces.lock(0, 0)[1] = 1;
        assert_eq!(pieces.into_vec(5), [7, 1, 7, 9, 9, 5, 5, 5, 5]);
    }
}
