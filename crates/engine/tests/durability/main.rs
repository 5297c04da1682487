//! Can tables on disk be trusted? Each file attacks them in another way.
//!
//! - [`place`]: a folder for a test, and what is asked of the database in it
//! - [`faults`]: each call of the file system fails once
//! - [`disk_model`]: what a disk may hold after a power cut
//! - [`power_cut`]: the power goes at any call
//! - [`killed`]: the process goes at any time
//! - [`damage`]: each byte is changed
//! - [`invariants`]: many threads at once

mod damage;
#[cfg(debug_assertions)]
mod disk_model;
#[cfg(debug_assertions)]
mod faults;
mod invariants;
#[cfg(unix)]
mod killed;
mod place;
#[cfg(debug_assertions)]
mod power_cut;
