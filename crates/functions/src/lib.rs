//! The scalar functions: one folder per family, one file per function (or per set of functions that share a kernel).
//!
//! - [`number`], [`lanes`]: what the loops over numbers share
//! - [`interval`]: adding intervals to dates and times
//! - [`widen`]: values of a type as values of a supertype
//! - [`text`]: text as values of other types
//! - [`arithmetic`]: `+`, `-`, `*`, `/` and their kin
//! - [`comparison`]: `=`, `<` and their kin
//! - [`string`]: strings as bytes and as UTF-8

pub mod arithmetic;
pub mod comparison;
pub mod interval;
pub mod lanes;
pub mod number;
pub mod string;
pub mod text;
pub mod widen;

use chalet_function_api::Registry;

/// Adds every function.
pub fn register(registry: &mut Registry) {
    arithmetic::register(registry);
    comparison::register(registry);
    string::register(registry);
}
