//! The operators, one file each.

pub mod aggregate;
pub mod array_join;
pub mod collect;
pub mod counted;
pub mod distinct;
pub mod fetch;
pub mod fill;
pub mod filter;
pub mod gather;
pub mod join;
pub mod limit;
pub mod limit_by;
pub mod project;
pub mod set_op;
pub mod sort;
pub mod stream;
pub mod top_bound;
pub mod unsorted;
pub mod window;
