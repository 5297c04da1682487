//! The scalar functions: one folder per family, one file per function (or per set of functions that share a kernel).
//!
//! - [`number`], [`lanes`]: what the loops over numbers share
//! - [`interval`]: adding intervals to dates and times
//! - [`widen`]: values of a type as values of a supertype
//! - [`select`]: rows picked from several vectors
//! - [`truth`]: truth of numbers, three-valued logic
//! - [`text`]: text as values of other types
//! - [`arithmetic`]: `+`, `-`, `*`, `/` and their kin
//! - [`comparison`]: `=`, `<` and their kin
//! - [`conditional`]: conditions and NULL
//! - [`logical`]: AND, OR, NOT
//! - [`conversion`]: CAST and the `toType` functions
//! - [`string`]: strings as bytes and as UTF-8

pub mod arithmetic;
pub mod comparison;
pub mod conditional;
pub mod conversion;
pub mod interval;
pub mod lanes;
pub mod logical;
pub mod number;
pub mod select;
pub mod string;
pub mod text;
pub mod truth;
pub mod widen;

use chalet_function_api::Registry;

/// Adds every function.
pub fn register(registry: &mut Registry) {
    arithmetic::register(registry);
    comparison::register(registry);
    conditional::register(registry);
    logical::register(registry);
    conversion::register(registry);
    string::register(registry);
}
