//! MergeTree: a table as a set of immutable, sorted parts, whose changes are records of a journal.
//!
//! ```text
//! <folder>/journal         the parts that there are, and small parts themselves   see `journal`
//! <folder>/<n>.parquet     the part of that number
//! <folder>/<n>.<key>.idx   an index of that part                            see `skip_index`
//! <folder>/<n>.<key>.prj   that part has that projection; its rows are here or in a file beside     see `projection`
//! ```
//!
//! An INSERT sorts its rows and makes a part of each partition. A small part is kept in memory, and its rows are written to
//! the journal; a larger one is a file of its own, which is on disk before the journal names it. A record of the journal is
//! one atomic change: parts that go, parts that come, or another version of the columns. A merge puts one part in the place of
//! several, a mutation others in the place of all.
//!
//! A file of rows is Parquet with pages of one granule, so that statistics, the page index and late materialization of the
//! reader prune it; its columns have the types of the machine that ours are made of (`stored_type`). A statement reads a
//! snapshot: the parts that there were when it began. A file goes with the last snapshot that has it.
//!
//! - [`keys`]: partition and sorting key
//! - [`partition`]: names of partitions
//! - [`columns`]: versions of the columns
//! - [`definition`]: what a table is defined as
//! - [`part`]: one part
//! - [`checksums`]: those of files
//! - [`stored_type`]: columns as files have them
//! - [`part_file`], [`mapping`]: files of parts, and those that stay mapped
//! - [`change`]: changes as records
//! - [`journal`]: the file of records
//! - [`parts`]: the set of parts: snapshots, commits, claims
//! - [`export`]: parts as the folder of another table
//! - [`memo`]: what was made of a definition
//! - [`merges`]: which parts to merge
//! - [`inserter`]: one INSERT
//! - [`skip_index`]: data skipping indexes of parts
//! - [`projection`]: projections of parts
//! - [`rows_writer`], [`rewrite`]: rows of parts in the making, and parts that take the place of others
//! - [`sorted_rows`]: rows of parts in memory that ranges leave
//! - [`layout`]: which columns are read of a part
//! - [`scan`], [`scan_worker`]: parts to blocks
//! - [`runs`]: parts as sorted runs
//! - [`part_rows`]: rows of parts by row id
//! - [`tokens`]: which INSERTs were done
//! - [`table`]: the table
//! - [`part_set`]: some of its parts as a table

pub mod change;
mod checksums;
pub mod columns;
mod definition;
pub mod export;
mod inserter;
mod journal;
mod keys;
mod layout;
mod mapping;
mod memo;
mod merges;
pub mod part;
mod part_file;
mod part_rows;
mod part_set;
mod partition;
mod partition_bounds;
pub mod parts;
pub mod projection;
mod rewrite;
mod rows_writer;
mod runs;
mod scan;
mod scan_worker;
pub mod skip_index;
mod sorted_rows;
mod stored_type;
mod table;
mod tokens;

pub use columns::KeptBlocks;
pub use definition::{Defaults, Definition, ImplicitIndexes};
pub use inserter::PartsInserter;
pub use keys::{SortingKey, TableKeys};
pub use memo::Memo;
pub use merges::MergeChoice;
pub use part_set::PartSet;
pub use partition::Partition;
pub use rewrite::{Lineage, Rewrite};
pub use table::{MergeTree, PERSISTED, TableSettings};

/// The name of the engine.
pub const MERGE_TREE: &str = "MergeTree";
