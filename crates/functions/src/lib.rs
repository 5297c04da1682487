//! The scalar functions: one folder per family, one file per function (or per set of functions that share a kernel).
//!
//! - [`number`], [`lanes`]: what the loops over numbers share
//! - [`interval`]: adding intervals to dates and times
//! - [`arithmetic`]: `+`, `-`, `*`, `/` and their kin
//! - [`string`]: strings as bytes and as UTF-8

pub mod arithmetic;
pub mod interval;
pub mod lanes;
pub mod number;
pub mod string;

use chalet_function_api::Registry;

/// Adds every function.
pub fn register(registry: &mut Registry) {
    arithmetic::register(registry);
    string::register(registry);
}
