//! The operators, one file each.

pub mod aggregate;
pub mod array_join;
pub mod collect;
pub mod distinct;
pub mod fetch;
pub mod fill;
pub mod filter;
pub mod join;
pub mod limit;
pub mod limit_by;
pub mod materialize;
pub mod merge_rows;
pub mod progress_scan;
pub mod project;
pub(crate) mod serial_scan;
pub mod set_op;
pub mod sort;
pub mod sort_buffer;
pub mod stream;
pub mod top_k_threshold;
pub mod window;
