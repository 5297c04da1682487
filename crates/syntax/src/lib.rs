//! The ClickHouse dialect as text: lexer, parser, tree and printer. Knows no types and no catalog.
//!
//! - [`lexer`]: bytes to tokens
//! - [`ast`]: the tree

pub mod ast;
pub mod lexer;
