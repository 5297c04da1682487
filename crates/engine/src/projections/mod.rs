//! Projections of tables of the MergeTree family: what their rows are, how parts get them, and which queries they answer.
//!
//! - [`declared`]: as they are written
//! - [`program`]: as they are computed and stored
//! - [`groups`]: aggregating ones in the place of GROUP BY
//! - [`choice`]: which are read by a plan
//! - [`write`]: rows of parts; above the optimizer, since they are made by queries

pub(crate) mod choice;
pub(crate) mod declared;
pub(crate) mod groups;
pub(crate) mod program;
pub(crate) mod write;
