//! The hash table of GROUP BY and JOIN: from key columns to group numbers, and the keys of the groups back as columns.
//!
//! - [`key_layout`]: how key columns become keys: packed into words, one String as it is, anything else as bytes of a row
//! - [`store`]: the keys of the groups
//! - [`table`]: open addressing over a store
//! - [`dense`]: its shortcut for words that lie close together
//! - [`runs`]: neighbouring rows with equal keys, of which one is looked up
//! - [`word_set`]: what it is when only the keys are wanted
//!
//! Values are equal when their bits are, as in the kernel: 0 and -0 are two groups.

pub mod dense;
mod key_layout;
mod runs;
pub mod store;
pub mod table;
mod word_set;

pub use key_layout::{KeyLayout, extreme_rows, integer_bias};
pub use store::Store;
pub use table::{GroupTable, NO_GROUP};
