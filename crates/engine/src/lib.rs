//! Sessions, settings and the life of a query: the one public API of the engine. Wiring only. A module uses none below it:
//!
//! - [`stack`]: the way into the engine
//! - [`formats`], [`settings`]: the registry of formats; every setting of the kernel by name, and the typed settings of each room
//! - [`replacement_scan`], [`replacement_query`]: names that the host program resolves to tables, or to queries
//! - [`caller`]: who asks a server for a statement
//! - [`run_options`], [`insert_data`], [`answer`], [`extremes`]: what statements are given and what they answer
//! - [`dictionaries`]: rows of a source under keys: what they are made of, how they are looked up; in its upper files, above the
//!   query context, how they are declared and loaded
//! - [`structure_text`]: columns and their types as one text
//! - [`host`], [`own_functions`], [`functions`]: functions of the host program, those of statements, formats and tables, and the
//!   registry of all
//! - [`sql_functions`], [`entities`], [`fork_guard`], [`database`]: what sessions share: the catalog, functions made by SQL
//! - [`file_access`]: which files statements may name
//! - [`server`]: a ClickHouse server that runs the statements, in place of this engine
//! - [`refresh`]: views that are filled by the clock: when they are
//! - [`session_state`]: what a session holds, and how a statement changes it
//! - [`query_context`]: what one statement runs with, as data
//! - [`written_keys`], [`written_settings`], [`stored_columns`], [`column_codecs`], [`column_definitions`], [`defaults`], [`defaults_over_stored`],
//!   [`reading`],
//!   [`made_table`], [`table_engines`], [`table_argument`],
//!   [`explain_indexes`], [`explain_syntax`], [`explain`], [`skip_indexes`], [`projections`], [`forced_keys`], [`direct_join`]: what statements and registries of tables share
//! - [`remote`]: tables of ClickHouse servers
//! - [`plan_optimizer`], [`patterns`]: the same, above it
//! - [`query_log`]: what statements have run, and which run now
//! - [`merged`], [`merge_tree_functions`]: tables whose names match, as one; how tables of the MergeTree family keep their rows
//! - [`redirected`]: other names for tables
//! - [`generate_random`]: arguments of tables of random values
//! - [`table_functions`], [`system`], [`tables`]: the tables that have names
//! - [`environment`]: what the binder asks of a query context
//! - [`merge_tree`]: keys, INSERTs and merges of tables of that family
//! - [`statements`]: one file per kind of statement
//! - [`backup`]: backups, which are databases of their own
//! - [`on_disk`]: databases that are kept in a folder
//! - [`partial_query`]: what another server asks for while it runs a query over several
//! - [`session`]: one session: its settings, current database, temporary tables; running statements
//! - [`conversation`]: statements that a server runs, for event loops

pub mod answer;
mod backup;
mod binding;
mod caller;
mod column_checks;
mod column_codecs;
mod column_definitions;
pub mod conversation;
pub mod database;
mod defaults;
mod defaults_over_stored;
mod dictionaries;
mod direct_join;
mod entities;
mod environment;
mod explain;
mod explain_indexes;
mod explain_syntax;
mod external_functions;
mod extremes;
mod file_access;
mod forced_keys;
pub mod fork_guard;
pub mod formats;
mod function_table;
pub mod functions;
mod generate_random;
pub mod host;
mod implicit_indexes;
mod insert_data;
mod inserted_rows;
mod macros;
mod made_table;
mod materialized;
mod merge_tree;
mod merge_tree_functions;
mod merged;
mod on_disk;
mod own_functions;
mod partial_query;
mod patterns;
mod plan_optimizer;
mod projections;
mod query_context;
mod query_log;
mod reading;
mod redirected;
mod refresh;
mod remote;
pub mod replacement_query;
pub mod replacement_scan;
mod run_options;
mod server;
pub mod session;
mod session_state;
pub mod settings;
mod skip_indexes;
mod sql_functions;
mod stack;
mod statements;
mod stored_columns;
mod structure_text;
mod system;
mod table_argument;
mod table_engines;
mod table_functions;
mod tables;
mod written_keys;
mod written_settings;

pub use answer::{Answer, Outline, Rows, StreamConsumer, StreamPart, Summary};
pub use caller::{Caller, Interface};
pub use chalet_exec::control::Progress;
pub use chalet_syntax::{lexer, split};
pub use database::Database;
pub use file_access::FileAccess;
pub use insert_data::{GivenRows, InsertData, MakeRows};
pub use partial_query::{Part, Stage};
pub use run_options::{Interrupt, RunOptions};
pub use session::{Session, Stream};
pub use session_state::Identity;
