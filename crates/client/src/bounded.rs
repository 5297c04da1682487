//! Reading what the other end claims, within bounds, and writing the like.

use chalet_base::{Result, ensure};
use chalet_formats::binary::{Source, put_var_uint};

/// Bytes of a name, a version, an address.
pub const SHORT: usize = 4 << 10;
/// Bytes of a query, a message, a list of columns.
pub const LONG: usize = 16 << 20;

/// A text of at most so many bytes; what is no UTF-8 in it is replaced.
pub fn text(from: &mut impl Source, limit: usize, what: &str) -> Result<String> {
    Ok(String::from_utf8_lossy(bytes(from, limit, what)?).into_owned())
}

/// At most so many bytes.
pub fn bytes<'a>(from: &'a mut impl Source, limit: usize, what: &str) -> Result<&'a [u8]> {
    let n = from.var_uint()?;
    ensure!(
        n <= limit as u64,
        TOO_LARGE_STRING_SIZE,
        "Too large string size of {what} (maximum: {limit}): {n}"
    );
    from.take(n as usize)
}

/// A count of things.
pub fn count(from: &mut impl Source, limit: u64, what: &str) -> Result<u64> {
    let n = from.var_uint()?;
    ensure!(n <= limit, TOO_LARGE_ARRAY_SIZE, "Too many {what} (maximum: {limit}): {n}");
    Ok(n)
}

/// One byte that says yes or no.
pub fn flag(from: &mut impl Source) -> Result<bool> {
    Ok(from.array::<1>()? != [0])
}

/// Appends numbers of variable length.
pub fn put_numbers(out: &mut Vec<u8>, numbers: &[u64]) {
    numbers.iter().for_each(|n| put_var_uint(out, *n));
}
