//! Views that are filled by the clock (CREATE MATERIALIZED VIEW ... REFRESH).
//!
//! - [`schedule`]: when one is due
//! - [`state`]: what is known of one view
//! - [`scheduler`]: the thread that sees to them, and what statements ask of it
//!
//! How a view is filled stands in `statements/refresh.rs`.

pub(crate) mod schedule;
pub(crate) mod scheduler;
pub(crate) mod state;
