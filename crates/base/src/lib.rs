//! The ground floor: errors with ClickHouse codes, hashing, small helpers. Nothing of databases.
//!
//! - [`error`]: the error type and the `err!`, `bail!`, `ensure!` macros
//! - [`base64`]: bytes as text of 64 digits
//! - [`bisect`]: bisection over ranges of indexes
//! - [`city_hash`]: CityHash 1.0.2
//! - [`codes`]: every ClickHouse error code by name
//! - [`crc32c`]: the checksum of Castagnoli
//! - [`cores`]: how many cores there are
//! - [`events`]: counters of what the process did
//! - [`forks`]: locks and forked children
//! - [`hash`]: the fast hash of hash tables
//! - [`lz4`]: blocks of LZ4
//! - [`switches`]: mechanisms below every query that experiments switch off
//! - [`suggest`]: the nearest names to a mistyped one
//! - [`sip_hash`]: the state of SipHash-2-4, which several hashes end
//! - [`table_order`]: the order in which a hash table gives its keys
//! - [`simd_dispatch`](mod@wide): loops for processors with wider registers

pub mod base64;
pub mod bisect;
pub mod city_hash;
pub mod codes;
pub mod cores;
pub mod crc32c;
pub mod error;
pub mod events;
pub mod forks;
pub mod hash;
pub mod lz4;
pub mod simd_dispatch;
pub mod sip_hash;
pub mod suggest;
pub mod switches;
pub mod table_order;

pub use cores::cores;
pub use error::{Error, ErrorCode, Result, discard_messages};
