//! Runs plans: plans them physically as pipelines and drives those on one pool of workers.
//!
//! - [`control`]: cancellation, limits and progress of one query
//! - [`speed`]: how fast a query has to be, and may be
//! - [`context`]: what operators know of the query
//! - [`expression`]: bound expressions as programs over blocks
//! - [`row_set`]: sets of rows, for IN and for distinct rows
//! - [`pool`]: the workers of the process
//! - [`tasks`]: work that all of them do together, and its results
//! - [`ranges`]: bounds of columns that follow from a filter
//! - [`enum_literals`]: words that an Enum in a key does not have
//! - [`skip_index`]: what data skipping indexes test of a filter
//! - [`filter_stages`]: which conditions of a filter are tested first
//! - [`condition`]: a filter as text, for remembering what it found
//! - [`aggregate_from_statistics`]: aggregates that a table answers without being read
//! - [`pipeline`]: source, operators, sink; stages and their order
//! - [`hash_table`]: from keys to group numbers
//! - [`physical_planner`]: the one match from plan nodes to operators
//! - [`runtime_filters`]: which scans the filters that joins make of their right sides go to
//! - [`join_bounds`]: which inequalities of a join its right side is sorted by
//! - [`spill`]: going on on disk when memory runs short
//! - [`sorted_streams`]: merging sorted streams of blocks
//! - [`read_in_order`]: which sorts a table's own order makes needless
//! - [`operators`]: one file per operator
//! - [`explain`]: pipelines as text, with what they did
//! - [`result`]: running a whole plan

mod aggregate_from_statistics;
pub mod condition;
pub mod context;
pub mod control;
mod enum_literals;
pub mod explain;
pub mod expression;
mod filter_stages;
mod hash_table;
mod in_sets;
mod join_bounds;
pub mod operators;
pub mod physical_planner;
pub mod pipeline;
pub mod pool;
pub mod ranges;
mod read_in_order;
pub mod result;
pub mod row_set;
mod runtime_filters;
pub mod skip_index;
pub mod sorted_streams;
pub mod speed;
pub mod spill;
mod tasks;
mod waiting;

pub use context::{ExecContext, ExecSettings, GroupByOverflow, RuntimeFilterPolicy};
pub use control::{Limits, Overflow, QueryControl};
pub use result::{Output, execute};
pub use speed::SpeedLimits;
pub use spill::SpillLimits;
