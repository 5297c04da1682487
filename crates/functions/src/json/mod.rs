//! JSON in strings.
//!
//! - [`document`]: a parsed document
//! - [`path`]: going into it by keys and numbers
//! - [`raw`]: values as text again
//! - [`typed`]: values as values of a type

mod document;
mod extract;
mod json_path;
mod path;
mod raw;
mod simple;
mod typed;
mod whole;

use chalet_function_api::Registry;

pub fn register(registry: &mut Registry) {
    extract::register(registry);
    json_path::register(registry);
    simple::register(registry);
    whole::register(registry);
}
