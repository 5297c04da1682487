//! Counting different values.
//!
//! - [`exact`], for `uniqExact`
//! - [`bitmap`], for `groupBitmap`
//! - [`sampled`], for `uniq`
//! - [`combined`], for `uniqCombined`, `uniqCombined64`, `uniqHLL12`
//! - [`up_to`], for `uniqUpTo`
//! - [`key_set`], [`keys`]: the sets and keys that exact counts are made of
//! - [`sketch`], [`words`], [`city`], [`bias`]: the frame, the hashes and the tables of approximate ones

pub mod bias;
pub mod bitmap;
pub mod combined;
pub mod exact;
pub mod key_set;
pub mod keys;
pub mod sampled;
pub mod sketch;
pub mod up_to;
pub mod words;
