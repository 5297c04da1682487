//! Arrow fields and arrays as our types and columns, by the conventions of the kernel's Arrow input.
//!
//! - [`field`]: the type that a field is read as
//! - [`array`]: the column that an array becomes
//! - [`text`]: strings of every Arrow layout

pub mod array;
pub mod field;
mod text;

pub use array::{Dictionary, from_arrow};
pub use field::type_of_field;
