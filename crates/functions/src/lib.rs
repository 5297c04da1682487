//! The scalar functions: one folder per family, one file per function (or per set of functions that share a kernel).
//!
//! - [`string`]: strings as bytes and as UTF-8

pub mod string;

use chalet_function_api::Registry;

/// Adds every function.
pub fn register(registry: &mut Registry) {
    string::register(registry);
}
