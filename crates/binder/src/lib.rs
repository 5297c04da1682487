//! From syntax tree to plan: names become columns, calls become functions with types, clauses become nodes. The only room
//! that reads both `syntax` and `plan`.
//!
//! - [`environment`]: what the binder asks of the session: tables, functions, settings
//! - [`scope`]: the tables that a SELECT sees, and their columns
//! - [`query`]: queries, UNION and the like, WITH
//! - [`select`]: the clauses of one SELECT, in the order of their evaluation
//! - [`clauses`]: what binding has found out about a SELECT
//! - [`aliases`]: the aliases that its expressions give
//! - [`from`]: FROM and ARRAY JOIN
//! - [`join`]: JOIN and its conditions
//! - [`expression`]: expressions and identifiers
//! - [`call`]: calls: scalar functions, constant folding, lambdas
//! - [`aggregate_call`]: calls of aggregates
//! - [`window_call`]: calls OVER a window
//! - [`in_operator`], [`in_elements`]: IN and its sets, and the elements of constant lists
//! - [`subquery`]: scalar sub-queries and EXISTS
//! - [`shared`]: sub-queries that are written more than once
//! - [`shown_type`]: what expressions show in place of their types
//! - [`correlated`]: sub-queries in expressions that read columns of the query around
//! - [`star`]: `*`, `COLUMNS` and what follows them
//! - [`grouping`]: GROUP BY in all its forms, and what may stand beside it
//! - [`order`]: ORDER BY, WITH FILL, LIMIT
//! - [`fill`]: other columns in the rows that WITH FILL makes
//! - [`names`]: the names of result columns
//! - [`nested`]: Nested columns by the name of the whole
//! - [`parameter_value`]: texts of query parameters as values
//! - [`parameter_name`]: query parameters in names of columns
//! - [`sample`]: the clause SAMPLE of a table
//! - [`query_settings`]: SETTINGS of sub-queries and of the arms of a set operation
//! - [`recursive`]: the rows of WITH RECURSIVE
//! - [`row_rule`]: what engines of the MergeTree family do to rows of equal keys
//! - [`parameters`]: views with parameters
//! - [`table_columns`]: defaults and other expressions in table definitions

mod aggregate_call;
mod aliases;
mod array_joins;
mod call;
mod clauses;
mod correlated;
pub mod environment;
mod expression;
mod fill;
mod from;
mod grouping;
mod in_elements;
mod in_operator;
mod join;
mod lambda_aliases;
mod names;
mod nested;
mod order;
mod parameter_name;
mod parameter_value;
mod parameters;
pub mod query;
mod query_settings;
mod recursive;
pub mod row_rule;
mod sample;
mod scope;
mod select;
mod shared;
mod shown_type;
mod star;
mod subquery;
pub mod table_columns;
mod window_call;

pub use call::{cast, is_array_join, make_call};
pub use environment::{ArgumentTable, BinderSettings, Environment, MaybeOwned, REGEXP, TableArgument};
pub use parameters::{bind_view, has_parameters};
pub use query::{BoundQuery, bind_query};
pub use star::matcher_regex;
