//! Errors of the engine under the statuses of ADBC, from which driver managers make their exceptions.

use adbc_core::error::{Error, Status};
use chalet_base::codes;

/// The text and code are the engine's.
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
        "FILE_",
        "MEMORY_",
        "CANNOT_EXTRACT_TABLE",
    ]) {
        Status::IO
    } else if is(&[codes::READONLY]) {
        Status::Unauthorized
    } else if begins(&[
        "CANNOT_PARSE",
        "INCORRECT_DATA",
        "TYPE_MISMATCH",
        "CANNOT_CONVERT",
        "DECIMAL_OVERFLOW",
    ]) {
        Status::InvalidData
    } else {
        Status::InvalidArguments
    };
    Error { vendor_code: code.number, ..Error::with_message_and_status(error.to_string(), status) }
}

/// What the driver has not.
pub fn missing(what: &str) -> Error {
    Error::with_message_and_status(format!("{what} is not supported"), Status::NotImplemented)
}
