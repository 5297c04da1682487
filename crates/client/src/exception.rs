//! Exceptions of a server: code, name, message, and where it was thrown.

use crate::bounded::{self, LONG, SHORT};
use chalet_base::{Error, ErrorCode, Result, bail, codes};
use chalet_formats::binary::{Source, put_string};

/// An exception that another may have caused.
const MAX_NESTED: usize = 64;

/// Reads the packet behind its number, as an error that names the host.
pub fn read(from: &mut impl Source, host: &str) -> Result<Error> {
    let mut first = None;
    for _ in 0..MAX_NESTED {
        let code = i32::from_le_bytes(from.array()?);
        let name = bounded::text(from, SHORT, "the name of an exception")?;
        let message = bounded::text(from, LONG, "the message of an exception")?;
        bounded::text(from, LONG, "the stack trace of an exception")?;
        let is_nested = bounded::flag(from)?;
        let error = first.get_or_insert_with(|| of_parts(code, &name, &message, host));
        if !is_nested {
            return Ok(error.clone());
        }
    }
    bail!(INCORRECT_DATA, "An exception has more than {MAX_NESTED} causes");
}

/// In the kernel's words.
pub(crate) fn of_parts(code: i32, name: &str, message: &str, host: &str) -> Error {
    let known = codes::ALL.binary_search_by_key(&code, |known| known.number);
    let code =
        known.map_or(ErrorCode { number: code, name: codes::UNKNOWN_EXCEPTION.name }, |at| codes::ALL[at]);
    // Old servers write the name before the message and the trace behind it.
    let message = message.split(". Stack trace:").next().unwrap_or_default();
    let message = message.split(", e.what() = ").next().unwrap_or_default();
    let message = message.trim_end_matches('.').trim_end();
    let prefix = format!("{name}: ");
    let separator = if message.starts_with(&prefix) || name.is_empty() { "" } else { &prefix };
    Error::new(code, format!("Received from {host}. {separator}{message}"))
}

/// Appends the packet without its number.
pub fn write(out: &mut Vec<u8>, error: &Error) {
    out.extend_from_slice(&error.code().number.to_le_bytes());
    put_string(out, b"DB::Exception");
    put_string(out, format!("DB::Exception: {}", error.message()).as_bytes());
    put_string(out, b"");
    out.push(0);
}
