//! Tools to test the engine with: the runner of SQL tests and their modes.
//!
//! - [`gaps`]: statements that are known to fail
//! - [`modes`]: the ways in which every SQL test runs
//! - [`on_disk`]: the mode in which the database is on disk
//! - [`runner`]: one file of tests against a fresh session
//! - [`scratch`]: folders that tests may write into

pub mod gaps;
pub mod modes;
mod on_disk;
pub mod runner;
pub mod scratch;
