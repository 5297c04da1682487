//! The hash table of GROUP BY and JOIN: from key columns to group numbers, and the keys of the groups back as columns.
//!
//! - [`key_layout`]: how key columns become keys: packed into words, one String as it is, anything else as bytes of a row
//! - [`store`]: the keys of the groups
//! - [`table`]: open addressing over a store
//! - [`dense`]: its shortcut for words that lie close together
//! - [`runs`]: neighbouring rows with equal keys, of which one is looked up
//! - [`word_set`]: what it is when only the keys are wanted
//! - [`pieces`]: a buffer that several workers fill
//! - [`partitioned_rows`]: rows partitioned by their keys, by all workers
//! - [`row_table`]: from keys to rows, filled by all workers
//!
//! Values are equal when their bits are, as in the kernel: 0 and -0 are two groups.

pub mod dense;
mod key_layout;
pub mod partitioned_rows;
pub mod pieces;
pub mod row_table;
mod runs;
pub mod store;
pub mod table;
mod word_set;

/// The slots of an empty table, in pages that are there. The allocator takes zeros from the system, where a page that is looked
/// up first and written then is faulted in twice, and the second time all processors must forget the first.
fn empty_slots(n: usize) -> Vec<u64> {
    const SLOTS_A_PAGE: usize = 4096 / size_of::<u64>();
    let mut slots = vec![0; n];
    if n > SLOTS_A_PAGE {
        slots.iter_mut().step_by(SLOTS_A_PAGE).for_each(|slot| *slot = std::hint::black_box(0));
    }
    slots
}

pub use key_layout::{KeyLayout, extreme_rows, integer_bias};
pub use store::Store;
pub use table::{GroupTable, NO_GROUP};
