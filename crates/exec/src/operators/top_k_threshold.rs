//! The threshold of a top-k sort, published to the scan below as a dynamic filter: the first key of the k-th best row so far.
//! Rows that sort behind it need not be read.

use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_columns::keys::Order;
use chalet_columns::{Block, BooleanBuffer, Column, Vector};
use std::sync::{PoisonError, RwLock};

/// The threshold, which only ever gets tighter; shared by the workers of a sort and those of the scan.
pub struct TopKThreshold {
    order: Order,
    /// One row; none while there are fewer rows than wanted.
    last: RwLock<Option<Vector>>,
}

impl TopKThreshold {
    /// No threshold yet: all rows may still be among the first.
    pub fn new(order: Order) -> TopKThreshold {
        TopKThreshold { order, last: RwLock::new(None) }
    }

    /// At least k rows sort no later than one with this first key (of one row): replaces a looser threshold.
    pub fn tighten(&self, first_key: &Vector) {
        let key = Column::Flat(first_key.clone());
        // Behind NaN nothing can be left out.
        if key.rows_before(first_key, self.order, true).is_none() {
            return;
        }
        let mut last = self.last.write().unwrap_or_else(PoisonError::into_inner);
        let is_tighter = match &*last {
            None => true,
            Some(last) => {
                let rows = key.rows_before(last, self.order, false);
                rows.is_some_and(|rows| rows.count_set_bits() > 0)
            }
        };
        if is_tighter {
            *last = Some(first_key.clone());
        }
    }

    /// A bit per row of a block that holds the first key alone: may the row still be among the first k? Equal ones do: further keys may tell them apart.
    pub fn may_count(&self, keys: &Block) -> Result<BooleanBuffer> {
        let n = keys.n_rows();
        let last = self.last.read().unwrap_or_else(PoisonError::into_inner).clone();
        let rows = last.and_then(|last| keys.column(0).rows_before(&last, self.order, true));
        let Some(rows) = rows else { return Ok(BooleanBuffer::new_set(n)) };
        events::add(Event::TopKFilteredRows, (n - rows.count_set_bits()) as u64);
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_only_gets_tighter() {
        let threshold = TopKThreshold::new(Order::new(true, false));
        let keys = Block::new(vec![Vector::from(vec![1u32, 5, 7, 9]).into()], 4);
        let counting = || threshold.may_count(&keys).unwrap().set_indices().collect::<Vec<_>>();
        assert_eq!(counting(), [0, 1, 2, 3]);
        threshold.tighten(&Vector::from(vec![5u32]));
        assert_eq!(counting(), [1, 2, 3]);
        threshold.tighten(&Vector::from(vec![1u32]));
        assert_eq!(counting(), [1, 2, 3]);
        threshold.tighten(&Vector::from(vec![8u32]));
        assert_eq!(counting(), [3]);
    }
}
