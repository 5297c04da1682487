//! Data skipping indexes: of each granule of some rows of a part, what conditions can be tested on without its rows being read.
//!
//! ```text
//! <folder>/<n>.<identity>.idx    the index of that identity of part <n>    see `file`
//! ```
//!
//! An index file is derived from its part, and never needed for a right answer: a part without one is read whole, and so is one
//! whose file is damaged or of other rows, which its checksum and the checksums of the part in it tell. So the journal says
//! nothing of index files; they are on disk before the record that names their part, and go with it.
//!
//! - [`kind`]: types of indexes
//! - [`definition`]: an index as it is evaluated and stored
//! - [`filter`]: Bloom filters
//! - [`hashing`]: values as the hashes that filters hold
//! - [`words`]: tokens and n-grams of strings
//! - [`minmax`], [`sets`]: the other kinds
//! - [`granules`]: a whole index, as conditions see it
//! - [`writer`]: rows to granules
//! - [`file`]: granules to files and back
//! - [`part_indexes`]: the index files of a part
//! - [`pruning`]: the rows of a part that conditions leave

mod definition;
mod file;
mod filter;
mod granules;
mod hashing;
mod kind;
mod minmax;
mod part_indexes;
mod pruning;
mod sets;
mod words;
mod writer;

pub use definition::{SkipCondition, SkipIndexProgram};
pub(super) use file::{Of, is_unfinished, parse_file_name};
pub use filter::Filters;
pub use granules::Granules;
pub use hashing::hash_value;
pub use kind::SkipIndexKind;
pub use minmax::{MinMax, MinMaxGranule};
pub(super) use part_indexes::PartIndexes;
pub(super) use pruning::rows_to_read;
pub use sets::Sets;
pub(super) use writer::IndexWriters;
