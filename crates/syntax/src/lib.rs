//! The ClickHouse dialect as text: lexer, parser, tree and printer. Knows no types and no catalog.
//!
//! - `lexer`: bytes to tokens
//! - `ast`: the tree
//! - `parser`: tokens to tree, with ClickHouse's syntax errors
//! - `print`: tree to text
//! - `split`: texts cut into statements, for shells
//! - `explain`: the tree as EXPLAIN AST shows it
//! - `name`: the names of result columns
//! - `visit`: walks over expressions and what they contain
//! - `definition`: the expressions that definitions keep
//! - `substitute`: expressions in place of names

pub mod ast;
mod definition;
pub mod explain;
pub mod lexer;
pub mod name;
pub mod parser;
pub mod print;
pub mod split;
mod substitute;
pub mod visit;

pub use definition::for_each_kept_expr_mut;
pub use explain::explain_ast;
pub use name::{column_name, spelled_lambda};
pub use parser::{
    parse_expression, parse_printed, parse_refresh, parse_statements, parse_statements_with, parse_structure,
};
pub use split::split_statements;
pub use substitute::substitute;
