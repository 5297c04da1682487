//! The syntax tree: what was written, with byte positions, before any name or type is known.
//!
//! - `ident`: positions, identifiers and object names
//! - `expr`: expressions
//! - `query`: SELECT and set operations
//! - `create`: CREATE and the pieces of a table definition
//! - `alter`: ALTER TABLE commands
//! - `entity`: workloads, resources and named collections
//! - `backup`: BACKUP and RESTORE
//! - `refresh`: when a materialized view is filled anew
//! - `statement`: the statement list and the small statements
//!
//! Equality ignores positions, so that a tree equals the tree of its own printed text.

pub mod alter;
pub mod backup;
pub mod create;
pub mod entity;
pub mod expr;
pub mod ident;
pub mod query;
pub mod refresh;
pub mod statement;

pub use alter::*;
pub use backup::*;
pub use create::*;
pub use entity::*;
pub use expr::*;
pub use ident::*;
pub use query::*;
pub use refresh::*;
pub use statement::*;
