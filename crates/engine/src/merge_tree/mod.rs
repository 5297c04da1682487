//! What tables of the MergeTree family need of the engine: the expressions of their keys, and work in the background.
//!
//! - [`key_program`]: keys as programs over the stored columns
//! - [`deduplication`]: INSERTs that are dropped when they come again
//! - [`insert`]: the rows of an INSERT, sorted and cut into parts
//! - [`distinct`]: the rows that DEDUPLICATE leaves
//! - [`row_rules`]: what becomes of rows of equal keys
//! - [`ttl`]: what has expired
//! - [`merge`]: parts put together as one
//! - [`part_defaults`]: defaults for rows of parts that lack a column
//! - [`part_query`]: queries over parts
//! - [`background`]: merges that nobody waits for

pub(crate) mod background;
pub(crate) mod deduplication;
mod distinct;
pub(crate) mod insert;
pub(crate) mod key_program;
pub(crate) mod merge;
pub(crate) mod part_defaults;
pub(crate) mod part_query;
mod row_rules;
pub(crate) mod ttl;
