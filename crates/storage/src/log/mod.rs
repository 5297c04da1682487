//! The engines Log, TinyLog and StripeLog on disk: one file per table, to whose end each INSERT is written as a whole.
//!
//! ```text
//! file    = header frame*
//! header  = "chaletL1" id committed rows checksum zeros       64 bytes; rewritten in place after each INSERT
//! frame   = head column*                                      up to some ten thousand rows
//! head    = "LOGB" flags(4) rows(8) columns(4) zeros(4) { stored(4) raw(4) checksum(8) }* checksum(8)
//! column  = the values as in the Native format, as an LZ4 block where that is shorter (stored < raw)
//! ```
//!
//! All numbers are little-endian, with 8 bytes where nothing else is said; checksums are XXH3 with 64 bits: of what
//! precedes in the header and the head, of the stored bytes of a column. The first bit of `flags` is set in the last frame
//! of an INSERT. `id` is another one after each TRUNCATE, which replaces the file.
//!
//! An INSERT is acknowledged when its frames are on disk. Only then `committed` becomes the length of the file, without
//! waiting for the disk: it never says more than what is there, and less only when the machine went down. So what a file
//! holds behind it is the beginning of an INSERT that was killed, unless it is whole; what is amiss before it is damage.
//!
//! - [`layout`]: header and heads as bytes
//! - [`walk`]: from head to head
//! - [`file`]: the file of a table: opening, appending, replacing
//! - [`encode`]: blocks to frames
//! - [`inserter`]: one INSERT
//! - [`scan`]: frames to blocks, only the columns that are asked for
//! - [`table`]: the table

mod encode;
mod file;
mod inserter;
mod layout;
mod scan;
mod table;
mod walk;

pub use table::LogTable;
