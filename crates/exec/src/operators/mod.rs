//! The operators, one file each.

pub mod aggregate;
pub mod array_join;
pub(crate) mod bucket_sort;
pub mod collect;
pub mod distinct;
pub mod fetch;
pub mod fill;
pub mod filter;
pub mod join;
pub mod key_prefix;
pub mod limit;
pub mod limit_by;
pub mod materialize;
pub mod merge_rows;
pub mod merge_runs;
pub mod progress_scan;
pub mod project;
pub(crate) mod serial_scan;
pub mod set_op;
pub mod shared_rows;
pub mod sort;
pub mod sort_buffer;
pub(crate) mod sorted_scan;
pub mod stream;
pub mod top_k_threshold;
pub mod window;
