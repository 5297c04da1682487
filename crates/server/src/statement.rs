//! Where a statement ends and its data begin, in bytes that are still arriving.

use chalet_base::{Result, bail, err};
use chalet_client::query::statement;
use chalet_engine::split::split_statements;
use std::io::{self, Cursor, Read};

/// Bytes of a statement, without its data.
const MAX_STATEMENT: usize = 16 << 20;
/// Bytes in which the head of an INSERT ends, when its data do not.
const MAX_HEAD: usize = 256 << 10;

/// A statement, and the data of an INSERT that follow it.
pub struct Split {
    pub sql: String,
    pub data: Option<Box<dyn Read + Send>>,
}

/// Reads a statement. Of an INSERT only what stands before its data, which are left to be read.
pub fn split(mut from: Box<dyn Read + Send>) -> Result<Split> {
    let mut bytes = Vec::new();
    let ended = read_up_to(&mut from, &mut bytes, MAX_HEAD)?;
    if let Some((head, data)) = insert_head(&bytes) {
        let rest = bytes.split_off(data);
        bytes.truncate(head);
        // No data at all: what the statement itself has counts.
        let data: Box<dyn Read + Send> =
            if ended { Box::new(Cursor::new(rest)) } else { Box::new(Cursor::new(rest).chain(from)) };
        return Ok(Split { sql: statement(&bytes), data: Some(data) });
    }
    if !ended && !read_up_to(&mut from, &mut bytes, MAX_STATEMENT)? {
        bail!(QUERY_IS_TOO_LARGE, "Query is too large (maximum: {MAX_STATEMENT} bytes)");
    }
    Ok(Split { sql: statement(&bytes), data: None })
}

/// Reads until there are more bytes than this; true at the end of the stream.
fn read_up_to(from: &mut dyn Read, bytes: &mut Vec<u8>, most: usize) -> Result<bool> {
    let wanted = (most + 1).saturating_sub(bytes.len()) as u64;
    from.take(wanted).read_to_end(bytes).map_err(cannot_read)?;
    Ok(bytes.len() <= most)
}

#[cold]
pub fn cannot_read(error: io::Error) -> chalet_base::Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<chalet_base::Error>()) {
        Some(ours) => ours.clone(),
        None => err!(CANNOT_READ_ALL_DATA, "Cannot read the body of the request: {error}"),
    }
}

/// Where the statement of an INSERT with data ends, and where these begin. The data may be no text.
fn insert_head(bytes: &[u8]) -> Option<(usize, usize)> {
    let whole = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) => std::str::from_utf8(&bytes[..e.valid_up_to()]).unwrap_or_default(),
    };
    let first = split_statements(whole).into_iter().next()?;
    let head = first.data?.start;
    // A semicolon behind the name of the format, and the rest of its line, are no data.
    let rest = &bytes[head..];
    let Some(rest) = rest.strip_prefix(b";") else { return Some((head, head)) };
    let blank = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
    let line_end = usize::from(rest.get(blank) == Some(&b'\n'));
    Some((head, head + 1 + blank + line_end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(bytes: &[u8]) -> (String, Option<Vec<u8>>) {
        let split = split(Box::new(Cursor::new(bytes.to_vec()))).unwrap();
        let data = split.data.map(|mut data| {
            let mut all = Vec::new();
            data.read_to_end(&mut all).unwrap();
            all
        });
        (split.sql, data)
    }

    #[test]
    fn bytes_of_literals() {
        for (bytes, sql) in [
            (&b"SELECT '\xff\xfe\xe2\x82\xac'"[..], "SELECT '\\xFF\\xFE€'"),
            (b"SELECT '\\\xff', '\\\\\xff'", "SELECT '\\\\\\xFF', '\\\\\\xFF'"),
        ] {
            assert_eq!(parts(bytes), (sql.to_owned(), None));
        }
    }

    #[test]
    fn data_of_inserts() {
        for (bytes, sql, data) in [
            (&b"SELECT 1"[..], "SELECT 1", None),
            (
                b"INSERT INTO t FORMAT CSV\n1,2\n\n3,4\n",
                "INSERT INTO t FORMAT CSV\n",
                Some(&b"1,2\n\n3,4\n"[..]),
            ),
            (
                b"INSERT INTO t FORMAT RowBinary\n\xff\x00\n",
                "INSERT INTO t FORMAT RowBinary\n",
                Some(b"\xff\x00\n"),
            ),
            (b"INSERT INTO t FORMAT CSV;\n1", "INSERT INTO t FORMAT CSV", Some(b"1")),
            (b"insert into t values (1), (2)", "insert into t values", Some(b" (1), (2)")),
            (b"INSERT INTO t SELECT 1", "INSERT INTO t SELECT 1", None),
            (b"INSERT INTO t FORMAT CSV\n", "INSERT INTO t FORMAT CSV\n", Some(b"")),
        ] {
            assert_eq!(parts(bytes), (sql.to_owned(), data.map(<[u8]>::to_vec)), "{sql}");
        }
    }

    #[test]
    fn more_data_than_a_head() {
        let mut bytes = b"INSERT INTO t FORMAT TSV\n".to_vec();
        let head = bytes.len();
        bytes.extend((0..MAX_HEAD * 3).map(|i| i as u8));
        let (sql, data) = parts(&bytes);
        assert!(sql.len() == head && data.as_deref() == Some(&bytes[head..]));
        let long = format!("SELECT '{}'", "x".repeat(MAX_HEAD * 2));
        assert_eq!(parts(long.as_bytes()), (long.clone(), None));
        let endless = split(Box::new(io::repeat(b'x'))).map(drop).unwrap_err();
        assert_eq!(endless.code().name, "QUERY_IS_TOO_LARGE");
    }
}
