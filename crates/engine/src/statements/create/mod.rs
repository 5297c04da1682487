//! CREATE TABLE, VIEW, DATABASE, DICTIONARY, FUNCTION.
//!
//! - [`table`], [`view`], [`database`], [`dictionary`], [`function`]: the statements
//! - [`clauses`]: what they share
//! - [`columns`]: the columns of tables and views
//! - [`engine`]: what an engine of tables is
//! - [`log`], [`file`], [`keyed`], [`merged`], [`merge_tree`], [`over_dictionary`], [`external`], [`kafka`]: engines
//! - [`merge_tree_settings`], [`old_syntax`], [`projection`], [`row_merging`], [`sampling`], [`skip_index`], [`vector_index`], [`ttl`]: what belongs to ENGINE = MergeTree
//! - [`materialized`]: MATERIALIZED VIEW
//! - [`engines`]: which engines there are
//! - [`stored`]: definitions as they are kept on disk

mod clauses;
mod columns;
mod database;
mod dictionary;
mod distributed;
mod engine;
mod engines;
mod external;
mod file;
mod function;
mod kafka;
mod keyed;
mod log;
mod materialized;
pub(crate) mod memory;
mod merge_tree;
mod merge_tree_settings;
mod merged;
mod old_syntax;
mod over_dictionary;
pub(crate) mod projection;
mod redirected;
mod replicated;
mod rocksdb;
mod row_merging;
pub(crate) mod sampling;
pub(crate) mod skip_index;
mod source_storage;
mod stored;
mod table;
pub(crate) mod ttl;
mod vector_index;
mod view;

pub(crate) use self::clauses::comment_sql;
pub(crate) use self::columns::columns_sql;
pub(crate) use self::database::database;
pub(crate) use self::dictionary::dictionary;
pub(crate) use self::engine::Found;
pub(crate) use self::engines::{create_stored, open};
pub(crate) use self::function::function;
pub(crate) use self::materialized::{
    MATERIALIZED_VIEW, inner_of, modify_comment, modify_query, modify_refresh,
};
pub(crate) use self::merge_tree::{check_keys, sorting_key, sorting_keys};
pub(crate) use self::merge_tree_settings::{MergeTreeSettings, value_of};
pub(crate) use self::stored::stored;
pub(crate) use self::table::table;
pub(crate) use self::view::{comment_view, qualify, view};
