//! The right side in fewer bytes: integers as distances from the least. Rows are picked from it at random, so that what counts is how
//! much of a column the caches hold. The copies are made by whoever picks, once enough rows were picked to pay for it.

use super::{defaults_between, not_made};
use chalet_base::events::{self, Event};
use chalet_base::switches::{self, Switch};
use chalet_columns::narrow::Narrow;
use chalet_columns::{Block, Column};
use chalet_memory::guard::caught;
use chalet_memory::{Reservation, Tracker};
use chalet_types::DataType;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// The narrow copies of the columns of one block.
pub(super) struct NarrowCopies {
    /// Rows that were picked so far.
    picked: AtomicUsize,
    /// Whether somebody has begun to make the copies.
    is_begun: AtomicBool,
    /// In the order of the columns, none where a copy would not help.
    copies: OnceLock<(Vec<Option<Narrow>>, Reservation)>,
    memory: Arc<Tracker>,
}

/// Columns of fewer rows are found in the caches as they are.
const LEAST_ROWS: usize = 1 << 17;

/// A copy is made when one in so many rows was picked.
const ROWS_PER_PICK: usize = 8;

impl NarrowCopies {
    pub fn new(memory: Arc<Tracker>) -> NarrowCopies {
        NarrowCopies {
            picked: AtomicUsize::new(0),
            is_begun: AtomicBool::new(false),
            copies: OnceLock::new(),
            memory,
        }
    }

    /// Rows of the block that this belongs to, defaults of the given types where there is no row. Columns that are not read are not made.
    pub fn gather(&self, block: &Block, rows: &[u32], types: &[DataType], is_read: &[bool]) -> Vec<Column> {
        let read_types: Vec<&DataType> =
            types.iter().zip(is_read).filter(|(_, read)| **read).map(|(ty, _)| ty).collect();
        let made = defaults_between(rows, &read_types, |rows| self.pick(block, rows, is_read));
        let mut made = made.into_iter();
        let column = |(ty, &is_read): (&DataType, &bool)| {
            let made = if is_read { made.next() } else { None };
            made.unwrap_or_else(|| not_made(ty, rows.len()))
        };
        types.iter().zip(is_read).map(column).collect()
    }

    fn pick(&self, block: &Block, rows: &[u32], is_read: &[bool]) -> Vec<Column> {
        let of_column = |at: usize| self.copies.get().and_then(|(copies, _)| copies[at].as_ref());
        let pick = |(at, column): (usize, &Column)| match of_column(at) {
            Some(narrow) => Column::Flat(narrow.gather(rows)),
            None => column.gather(rows),
        };
        let may_copy = block.n_rows() >= LEAST_ROWS && switches::is_on(Switch::NarrowCopies);
        if may_copy && self.copies.get().is_none() {
            let picked = self.picked.fetch_add(rows.len(), Relaxed) + rows.len();
            if picked >= block.n_rows() / ROWS_PER_PICK && !self.is_begun.swap(true, Relaxed) {
                self.make(block, is_read);
            }
        }
        block.columns().iter().enumerate().filter(|(at, _)| is_read[*at]).map(pick).collect()
    }

    /// Makes the copies; others pick from the columns meanwhile. Where there is no memory for them there are none, and the query goes on.
    fn make(&self, block: &Block, is_read: &[bool]) {
        let mut memory = Reservation::new(self.memory.clone());
        let mut copy = |(column, is_read): (&Column, &bool)| {
            let Some(Column::Flat(vector)) = is_read.then_some(column) else { return None };
            let narrow = caught(|| Narrow::of(vector)).ok()??;
            memory.grow(narrow.memory()).ok()?;
            events::count(Event::NarrowJoinCopies);
            Some(narrow)
        };
        let copies = block.columns().iter().zip(is_read).map(&mut copy).collect();
        let _ = self.copies.set((copies, memory));
    }
}
