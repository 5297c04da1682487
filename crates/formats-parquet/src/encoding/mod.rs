//! Encodings of pages, as pure functions of bytes; every length in the data is checked.
//!
//! - [`alp`]: floats of few decimal digits as integers
//! - [`rle`]: runs and bit-packed groups: dictionary codes and levels
//! - [`delta`]: integers as differences
//! - [`byte_array`]: byte strings: plain, with delta lengths
//! - [`front_coded`]: byte strings with shared prefixes
//! - [`split`]: the bytes of numbers apart

pub mod alp;
pub mod byte_array;
pub mod delta;
pub mod front_coded;
pub mod rle;
pub mod split;

use chalet_base::{Error, err};

#[cold]
pub fn cut_short(what: &str) -> Error {
    err!(CANNOT_READ_ALL_DATA, "Unexpected end of page data in Parquet file ({what})")
}
