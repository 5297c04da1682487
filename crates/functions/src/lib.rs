//! The scalar functions: one folder per family, one file per function (or per set of functions that share a kernel).
//!
//! - [`number`], [`lanes`]: what the loops over numbers share
//! - [`interval`]: adding intervals to dates and times
//! - [`widen`]: values of a type as values of a supertype
//! - [`select`]: rows picked from several vectors
//! - [`ternary_logic`]: numbers as booleans, three-valued logic
//! - [`text`]: text as values of other types
//! - [`string_args`]: String and FixedString arguments
//! - [`plain`]: a function as two free functions and a record
//! - [`portable`]: which functions servers of all versions compute alike
//! - [`lists`], [`ids`], [`distinct`]: what functions of arrays and maps share
//! - [`arithmetic`]: `+`, `-`, `*`, `/` and their kin
//! - [`comparison`]: `=`, `<` and their kin
//! - [`conditional`]: conditions and NULL
//! - [`logical`]: AND, OR, NOT
//! - [`conversion`]: CAST and the `toType` functions
//! - [`tuple`], [`array`], [`map`]: containers
//! - `time_series`: tags of time series
//! - [`higher_order`]: functions of arrays and maps that take a lambda
//! - [`math`]: functions of floats, distances
//! - [`rounding`]: round, floor, ceil and their kin
//! - [`bit`]: bits of numbers and strings
//! - [`random`]: random values
//! - [`crypto`]: encryption, message authentication codes
//! - [`hash`]: hashes, digests, checksums
//! - [`other`]: types, blocks, session, texts for people
//! - [`string`]: strings as bytes and as UTF-8
//! - [`search`]: substrings, patterns and replacement
//! - [`date_time`]: dates, times, zones and spans of time
//! - [`json`]: JSON in strings
//! - [`several`]: Variant, Dynamic and JSON
//! - [`address`]: addresses of the Internet protocols
//! - [`url`]: parts of URLs, percent encoding
//! - [`encoding`]: bytes as text and back
//! - [`collation`]: texts as bytes that sort by the rules of a language, for COLLATE
//! - [`geo`]: places on Earth, polygons, curves that fill the plane

pub mod address;
pub mod arithmetic;
pub mod array;
pub mod bit;
pub mod collation;
pub mod comparison;
pub mod conditional;
pub mod conversion;
pub mod crypto;
pub mod date_time;
pub mod distinct;
pub mod encoding;
pub mod geo;
pub mod hash;
pub mod higher_order;
pub mod ids;
pub mod interval;
pub mod json;
pub mod lanes;
pub mod lists;
pub mod logical;
pub mod map;
pub mod math;
pub mod number;
pub mod other;
pub mod plain;
pub mod portable;
pub mod random;
pub mod rounding;
pub mod search;
pub mod select;
pub mod several;
pub mod string;
pub mod string_args;
pub mod ternary_logic;
pub mod text;
mod time_series;
pub mod tuple;
pub mod url;
pub mod widen;

use chalet_function_api::Registry;

/// Adds every function.
pub fn register(registry: &mut Registry) {
    address::register(registry);
    arithmetic::register(registry);
    array::register(registry);
    comparison::register(registry);
    conditional::register(registry);
    logical::register(registry);
    conversion::register(registry);
    crypto::register(registry);
    date_time::register(registry);
    json::register(registry);
    map::register(registry);
    encoding::register(registry);
    geo::register(registry);
    higher_order::register(registry);
    search::register(registry);
    math::register(registry);
    bit::register(registry);
    hash::register(registry);
    random::register(registry);
    other::register(registry);
    rounding::register(registry);
    several::register(registry);
    string::register(registry);
    time_series::register(registry);
    tuple::register(registry);
    url::register(registry);
}
