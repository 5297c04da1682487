//! Rules that rewrite plans: plan in, plan out, same columns.
//!
//! - [`rules`]: the wrapper around every rule and the one ordered list
//! - [`merge_projections`]: a projection of plain columns over another is one
//! - [`sum_of_shifted`], [`reduce_group_keys`], [`split_distinct`]: simpler aggregations
//! - [`compare_unconverted`], [`extremes_unconverted`]: conversions that keep the order of numbers are left out, or done last
//! - [`push_down_filter`]: conditions move towards the tables
//! - [`push_down_limit`]: limits become limits of sorts, scans and aggregates
//! - [`prune_columns`]: columns that nobody reads are not made
//! - [`fetch_late`]: columns that sorting does not read are read for the rows that a limit leaves

mod compare_unconverted;
mod extremes_unconverted;
mod fetch_late;
mod merge_projections;
mod prune_columns;
mod push_down_filter;
mod push_down_limit;
mod reduce_group_keys;
pub mod rules;
mod split_distinct;
mod sum_of_shifted;

pub use rules::{Observer, Rewriter, optimize};
