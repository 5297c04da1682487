//! Parquet: pages decoded straight into our columns, pruning, late materialisation, writing.
//!
//! The footer, the page index and bloom filters are read by the `parquet` crate; page headers, decompression and
//! decoding are ours, because that is where the time goes.
//!
//! - [`file`]: an opened file: bytes, footer, columns
//! - [`cache`], [`dictionaries`]: footers and dictionaries of files read before, both [`lru`]
//! - [`schema`]: the Parquet schema as our types
//! - [`thrift`]: page headers
//! - [`codec`], [`snappy`]: decompression
//! - [`page`]: the pages of a column chunk
//! - [`encoding`]: encodings of pages
//! - [`leaf`]: a stored column as a stream of values
//! - [`column`]: a column of the table from its leaves
//! - [`row_group`]: rows of a row group, with a filter applied while reading
//! - [`known`]: the rows of a row group that are known to pass a filter
//! - [`by_number`]: rows of a file by their numbers
//! - [`prune`]: what statistics, page index and bloom filters exclude
//! - [`zones`]: row groups by bisection, where their bounds ascend
//! - [`statistics`]: what is known of the rows, for estimates
//! - [`input`], [`output`], [`format`]: the Parquet format of the registry
//! - [`metadata_format`]: the format ParquetMetadata

mod by_number;
pub mod cache;
mod codec;
mod column;
pub mod dictionaries;
mod encoding;
pub mod file;
pub mod format;
mod input;
mod known;
mod leaf;
mod lru;
mod metadata_format;
mod output;
mod page;
pub mod prune;
pub mod row_group;
pub mod schema;
mod snappy;
mod statistics;
mod thrift;
mod zones;

pub use file::ParquetFile;
pub use format::FORMATS;
pub use prune::{Bounds, RangePredicate};
pub use row_group::{RowFilter, RowGroupReader, Selection};

use chalet_base::{Error, err};
use parquet::errors::ParquetError;

/// An error of the `parquet` crate in the shape of ours.
pub(crate) fn parquet_error(error: ParquetError) -> Error {
    match error {
        ParquetError::NYI(message) => err!(NOT_IMPLEMENTED, "{message}"),
        ParquetError::EOF(message) => err!(CANNOT_READ_ALL_DATA, "Cannot read all data: {message}"),
        other => err!(INCORRECT_DATA, "Error while reading Parquet data: {other}"),
    }
}
