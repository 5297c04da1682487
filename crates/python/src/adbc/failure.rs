//! Errors of the engine under the statuses of ADBC, from which driver managers make their exceptions.

use adbc_core::error::{Error, Status};
use chalet_base::codes;

/// The text is the engine's. So is the code, which callers of ADBC 1.1 find among the details: where they look for the
/// vendor's code, it says that there are details.
pub fn failed(error: chalet_base::Error) -> Error {
    let code = error.code();
    let begins = |words: &[&str]| words.iter().any(|word| code.name.starts_with(word));
    let is = |listed: &[chalet_base::ErrorCode]| listed.contains(&code);
    let status = if is(&[codes::NOT_IMPLEMENTED, codes::SUPPORT_IS_DISABLED]) || begins(&["UNSUPPORTED_"]) {
        Status::NotImplemented
    } else if is(&[codes::UNKNOWN_TABLE, codes::UNKNOWN_DATABASE, codes::FILE_DOESNT_EXIST]) {
        Status::NotFound
    } else if begins(&["TABLE_ALREADY", "DATABASE_ALREADY"]) {
        Status::AlreadyExists
    } else if begins(&["QUERY_WAS"]) {
        Status::Cancelled
    } else if begins(&["TIMEOUT"]) {
        Status::Timeout
    } else if is(&[codes::VIOLATED_CONSTRAINT]) {
        Status::Integrity
    } else if is(&[codes::LOGICAL_ERROR]) {
        Status::Internal
    } else if begins(&[
        "CANNOT_OPEN",
        "CANNOT_READ",
        "CANNOT_WRITE",
        "CANNOT_CREATE_D",
        "CANNOT_FSYNC",
        "CANNOT_STAT",
        "CHECKSUM_",
        "CORRUPTED_",
        "FILE_",
        "MEMORY_",
        "TOO_MANY_ROWS",
        "TOO_MANY_BYTES",
        "CANNOT_EXTRACT_TABLE",
    ]) {
        Status::IO
    } else if is(&[codes::READONLY]) {
        Status::Unauthorized
    } else if crate::error::is_of_data(code) {
        Status::InvalidData
    } else {
        Status::InvalidArguments
    };
    // Texts of C end with the first byte of zero.
    let text = error.to_string().replace('\0', "\\0");
    let details = vec![
        ("clickhouse.code".to_owned(), code.number.to_string().into_bytes()),
        ("clickhouse.name".to_owned(), code.name.as_bytes().to_vec()),
    ];
    Error { vendor_code: code.number, details: Some(details), ..Error::with_message_and_status(text, status) }
}

/// What the driver has not.
pub fn missing(what: &str) -> Error {
    Error::with_message_and_status(format!("{what} is not supported"), Status::NotImplemented)
}
