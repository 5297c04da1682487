//! Tables and where they are found. Speaks columns and key ranges, never SQL expressions.
//!
//! - [`table`]: the trait of tables and their schema
//! - [`scan`]: reading: morsels handed to workers
//! - [`sorted_runs`]: scans of sorted parts, for who merges them
//! - [`insert`]: writing blocks
//! - [`catalog`]: databases and their tables
//! - [`detached`]: tables that are taken away until they are attached again
//! - [`disk`]: databases kept in a folder
//! - [`memory`]: the Memory engine; what other engines are in memory
//! - [`keyed`]: the engines Join and Set
//! - [`log`]: the Log family on disk
//! - [`merge_tree`]: tables of sorted parts that are merged
//! - [`numbers`]: `numbers`, `zeros`, `generateSeries`
//! - [`primes`]: prime numbers
//! - [`generate_random`]: endless rows of random values
//! - [`looped`]: the rows of another table again and again
//! - [`fixed`]: blocks that are given beforehand: `values`, `system.one`
//! - [`file`]: files of any format, by path or glob
//! - [`condition_cache`]: which parts of files hold no row that passes a filter
//! - [`mapped`]: files as memory
//! - [`row_ids`]: row ids of scans of several sources
//! - [`samples`]: some rows from all over a table, for estimates
//! - [`file_defaults`]: values that rows of files leave out
//! - [`file_inserter`]: INSERT into a file
//! - [`file_rows`]: rows of files by row id
//! - [`file_engine`]: the File engine
//! - [`paths`]: globs, `{a,b}` and `{1..9}` as lists of files
//! - [`replacement_scan`]: tables over rows that the host program holds
//! - [`row_merging`]: what engines of the MergeTree family do to rows of equal keys
//! - [`format_detection`]: the format of files whose names do not tell it
//! - [`null`]: the Null engine and the `null` function
//! - [`view`]: views, as text that the binder reads

pub mod catalog;
pub mod condition_cache;
pub mod detached;
pub mod disk;
pub mod file;
pub mod file_defaults;
pub mod file_engine;
mod file_inserter;
mod file_rows;
mod file_statistics;
pub mod fixed;
pub mod format_detection;
pub mod generate_random;
pub mod insert;
pub mod keyed;
pub mod log;
pub mod looped;
mod mapped;
pub mod memory;
pub mod merge_tree;
pub mod null;
pub mod numbers;
pub mod paths;
pub mod primes;
pub mod replacement_scan;
mod row_ids;
pub mod row_merging;
pub mod samples;
pub mod scan;
pub mod sorted_runs;
pub mod table;
pub mod view;

pub use catalog::{Catalog, Database, Entry};
pub use insert::Inserter;
pub use row_merging::RowMerging;
pub use scan::{ColumnRange, Morsel, RowsById, Scan, ScanContext, ScanRequest, ScanWorker, Summary};
pub use table::{ColumnSchema, Constraint, DefaultKind, Held, Projection, SkipIndex, Table, TableSchema};
