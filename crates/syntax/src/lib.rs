//! The ClickHouse dialect as text: lexer, parser, tree and printer. Knows no types and no catalog.
//!
//! - [`lexer`]: bytes to tokens
//! - [`ast`]: the tree
//! - [`parser`]: tokens to tree, with ClickHouse's syntax errors
//! - [`print`]: tree to text
//! - [`visit`]: walks over expressions and what they contain

pub mod ast;
pub mod lexer;
pub mod parser;
pub mod print;
pub mod visit;

pub use parser::{parse_expression, parse_statements};
