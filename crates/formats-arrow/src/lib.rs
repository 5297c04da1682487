//! Arrow at the borders of the engine: columns to Arrow arrays and back, and the Arrow and ArrowStream formats.
//!
//! A room of its own because `arrow-array`, `arrow-schema` and `arrow-ipc` would otherwise stand in the build of
//! everything that uses columns, while only formats and the Python room speak Arrow types.
//!
//! - [`options`]: how types that Arrow lacks are written
//! - [`export`]: our types and columns as Arrow fields and arrays
//! - [`import`]: Arrow fields and arrays as our types and columns
//! - [`ipc`]: the ArrowStream and Arrow (file) formats

pub mod export;
pub mod import;
pub mod ipc;
pub mod options;

pub use export::{field_of, to_arrow};
pub use import::{Dictionary, from_arrow, type_of_field};
pub use ipc::FORMATS;
pub use options::{ExportOptions, StringsAs};

use chalet_base::{Error, err};

/// An error of the Arrow libraries in the shape of ours: it speaks of bytes that do not make sense.
pub(crate) fn arrow_error(error: arrow_schema::ArrowError) -> Error {
    use arrow_schema::ArrowError::*;
    match error {
        NotYetImplemented(message) => err!(NOT_IMPLEMENTED, "{message}"),
        IoError(message, source) if source.kind() == std::io::ErrorKind::UnexpectedEof => {
            err!(CANNOT_READ_ALL_DATA, "Cannot read all data: {message}")
        }
        other => err!(INCORRECT_DATA, "Error while reading Arrow data: {other}"),
    }
}
