//! Columns and blocks: Arrow buffers under logical types, and the kernels that do not care about types.
//!
//! - [`buf`]: `Buf<T>`, a shared immutable slice over an Arrow buffer
//! - [`strings`]: byte strings as 16-byte views
//! - [`vector`]: `Vector`, a flat run of values with validity; `Data`, its representations
//! - [`column`]: `Column`, a vector as it is, constant, or dictionary-coded
//! - [`dictionary`]: finding the distinct values of a vector
//! - [`bits`]: bytes that say yes or no, as bits
//! - [`block`]: `Block`, columns of equal length
//! - [`builder`]: appending values of any type
//! - [`values`]: single values in and out of vectors
//! - [`row_mask`]: `RowMask`, the rows that a filter keeps
//! - [`take`]: gather, slice, concatenate, repeat
//! - [`compare`]: row comparison
//! - [`in_order`]: whether rows are sorted as they are
//! - [`keys`]: rows as byte strings, for sorting and for grouping
//! - [`frame_of_reference`]: integers in few bytes, for temporary files
//! - [`narrow`]: copies of integers in few bytes, for picking rows at random
//! - [`interleave`]: rows of several blocks as one
//! - [`variant`]: values of several types in one column
//! - [`json`]: objects of JSON columns
//! - [`qbit`]: vectors of which leading bits may be read alone
//! - [`rows`], [`wire`]: rows as bytes that can be read back
//! - [`set_order`]: sets in the order of the kernel's hash tables
//! - [`raw`]: blocks as bytes that can be read back, without their types

pub mod bits;
pub mod block;
pub mod buf;
pub mod builder;
pub mod column;
pub mod compare;
pub mod dictionary;
pub mod frame_of_reference;
pub mod in_order;
pub mod interleave;
pub mod json;
pub mod keys;
pub mod narrow;
pub mod qbit;
pub mod raw;
pub mod row_mask;
pub mod rows;
pub mod set_order;
pub mod strings;
pub mod take;
pub mod values;
pub mod variant;
pub mod vector;
pub mod wire;

pub use arrow_buffer::{BooleanBuffer, NullBuffer};
pub use block::Block;
pub use buf::{Buf, Native};
pub use builder::{Builder, ListBuilder};
pub use column::Column;
pub use row_mask::RowMask;
pub use strings::{INLINE, Parts, StringBuilder, Strings};
pub use vector::{Data, Fixed, List, Struct, Vector};
