//! Our types and columns as Arrow fields and arrays, by the conventions of the kernel's Arrow output.
//!
//! - [`field`]: the Arrow field of a type
//! - [`array`]: the Arrow array of a column

pub mod array;
pub mod field;

pub use array::to_arrow;
pub use field::field_of;
