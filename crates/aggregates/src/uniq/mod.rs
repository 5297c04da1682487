//! Counting different values.
//!
//! - [`key_set`]: the sets of keys that exact counts are made of
//! - [`keys`]: rows as keys
//! - [`exact`]: `uniqExact`

pub mod exact;
pub mod key_set;
pub mod keys;
