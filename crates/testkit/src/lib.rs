//! Tools to test the engine with: the runner of SQL tests and their modes.
//!
//! - [`modes`]: the ways in which every SQL test runs
//! - [`runner`]: one file of tests against a fresh session
//! - [`scratch`]: folders that tests may write into

pub mod modes;
pub mod runner;
pub mod scratch;
