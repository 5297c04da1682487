//! Bodies of several parts (`multipart/form-data`): fields, and tables that come with a query, which have the name of their part and
//! rows in a format that parameters name: `NAME_format`, `NAME_structure` or `NAME_types`.

use super::request::Request;
use crate::external::ExternalTables;
use crate::statement::cannot_read;
use chalet_base::{Result, bail, ensure, err};
use std::io::{Cursor, Read};

/// Bytes of a body at most, as `http_max_multipart_form_data_size`.
const MAX_BODY: u64 = 1 << 30;

/// What the parts of a body are.
#[derive(Debug, Default, PartialEq)]
pub struct Parts {
    /// Parts without the name of a file.
    pub fields: Vec<(String, String)>,
    /// Names of tables, and their bytes.
    pub tables: Vec<(String, Vec<u8>)>,
}

/// The parts of the body of a request; `None` where it has none.
pub fn parts(request: &Request, body: &mut dyn Read) -> Result<Option<Parts>> {
    let Some(kind) = request.header("content-type").filter(|kind| kind.starts_with("multipart/form-data"))
    else {
        return Ok(None);
    };
    let boundary = parameter(kind, "boundary").filter(|boundary| !boundary.is_empty());
    let boundary =
        boundary.ok_or_else(|| err!(BAD_ARGUMENTS, "A body of several parts without a boundary"))?;
    let mut bytes = Vec::new();
    body.take(MAX_BODY + 1).read_to_end(&mut bytes).map_err(cannot_read)?;
    ensure!(
        bytes.len() as u64 <= MAX_BODY,
        QUERY_IS_TOO_LARGE,
        "A body of several parts is too large (maximum: {MAX_BODY} bytes)"
    );
    parse(&bytes, &boundary).map(Some)
}

fn parse(bytes: &[u8], boundary: &str) -> Result<Parts> {
    let broken = || err!(CANNOT_READ_ALL_DATA, "A body of several parts that is not complete");
    let mark = format!("\r\n--{boundary}");
    // The first mark may have nothing before it.
    let first = &mark.as_bytes()[2..];
    let mut at = match bytes.starts_with(first) {
        true => first.len(),
        false => find(bytes, mark.as_bytes()).ok_or_else(broken)? + mark.len(),
    };
    let mut parts = Parts::default();
    loop {
        let rest = &bytes[at..];
        if rest.starts_with(b"--") {
            return Ok(parts);
        }
        let begin = find(rest, b"\r\n").ok_or_else(broken)? + 2;
        let part = &rest[begin..];
        let end = find(part, mark.as_bytes()).ok_or_else(broken)?;
        parts.add(&part[..end])?;
        at += begin + end + mark.len();
    }
}

impl Parts {
    /// Headers, an empty line, and what the part has.
    fn add(&mut self, part: &[u8]) -> Result<()> {
        let (head, data) = match find(part, b"\r\n\r\n") {
            Some(at) => (&part[..at], &part[at + 4..]),
            None => bail!(CANNOT_READ_ALL_DATA, "A part of a body without an empty line behind its headers"),
        };
        let head = String::from_utf8_lossy(head);
        let mut lines = head.split("\r\n").filter_map(|line| line.split_once(':'));
        let (_, disposition) = lines
            .find(|(name, _)| name.trim().eq_ignore_ascii_case("content-disposition"))
            .ok_or_else(|| err!(BAD_ARGUMENTS, "A part of a body without Content-Disposition"))?;
        let Some(name) = parameter(disposition, "name").filter(|name| !name.is_empty()) else {
            bail!(BAD_ARGUMENTS, "A part of a body without a name");
        };
        match parameter(disposition, "filename") {
            Some(_) => self.tables.push((name, data.to_vec())),
            None => self.fields.push((name, String::from_utf8_lossy(data).into_owned())),
        }
        Ok(())
    }

    /// The names of parameters that say what the tables are.
    pub fn about_tables(&self) -> Vec<String> {
        let names = self
            .tables
            .iter()
            .flat_map(|(name, _)| ["format", "structure", "types"].map(|what| (name, what)));
        names.map(|(name, what)| format!("{name}_{what}")).collect()
    }

    /// Makes the tables.
    pub fn make(self, tables: &mut ExternalTables<'_>, parameters: &[(String, String)]) -> Result<()> {
        for (name, data) in self.tables {
            let find = |what: &str| {
                let wanted = format!("{name}_{what}");
                parameters.iter().rfind(|(known, _)| *known == wanted).map(|(_, value)| value.as_str())
            };
            let structure = match (find("structure"), find("types")) {
                (Some(structure), _) => structure.to_owned(),
                (None, Some(types)) => numbered(types),
                (None, None) => bail!(
                    BAD_ARGUMENTS,
                    "Neither structure nor types have not been provided for external table {name}. Use fields \
                     {name}_structure or {name}_types to do so"
                ),
            };
            let format = find("format").unwrap_or("TabSeparated");
            tables.add_written(&name, &structure, format, Box::new(Cursor::new(data)))?;
        }
        Ok(())
    }
}

/// Columns `_1`, `_2`, ... of these types.
fn numbered(types: &str) -> String {
    let (mut depth, mut number) = (0, 1);
    let mut structure = "_1 ".to_owned();
    for c in types.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                number += 1;
                structure.push_str(&format!(", _{number} "));
                continue;
            }
            _ => {}
        }
        structure.push(c);
    }
    structure
}

/// `name=value` or `name="value"` of a header, where a backslash takes the meaning of what follows it.
fn parameter(header: &str, wanted: &str) -> Option<String> {
    let mut rest = header.split_once(';')?.1;
    loop {
        let (name, value) = rest.split_once('=')?;
        let (text, behind) = match value.trim_start().strip_prefix('"') {
            Some(quoted) => unquoted(quoted)?,
            None => {
                let (text, behind) = value.split_once(';').unwrap_or((value, ""));
                (text.trim().to_owned(), behind)
            }
        };
        if name.trim().trim_start_matches(';').trim().eq_ignore_ascii_case(wanted) {
            return Some(text);
        }
        rest = behind;
    }
}

/// The text up to the quote that ends it, and what follows.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((out, &text[at + 1..])),
            '\\' => out.push(chars.next()?.1),
            c => out.push(c),
        }
    }
    None
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    let first = *what.first()?;
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|&byte| byte == first) {
        let at = from + at;
        if bytes[at..].starts_with(what) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_bodies() {
        let body = b"--b\r\nContent-Disposition: form-data; name=\"query\"\r\n\r\nSELECT 1\r\n--b\r\n\
                     Content-Disposition: form-data; name=t; filename=\"a\\\"b;\"\r\nContent-Type: text/plain\r\n\r\n1\r\n2\r\n\r\n--b--\r\n";
        let parts = parse(body, "b").unwrap();
        assert_eq!(parts.fields, [("query".to_owned(), "SELECT 1".to_owned())]);
        assert_eq!(parts.tables, [("t".to_owned(), b"1\r\n2\r\n".to_vec())]);
        // Whatever is cut off.
        for end in 0..body.len() - 4 {
            assert!(parse(&body[..end], "b").is_err(), "{end}");
        }
        assert_eq!(parse(b"--b--", "b").unwrap(), Parts::default());
        for wrong in ["", "X: y\r\n\r\n", "Content-Disposition: form-data\r\n\r\n"] {
            assert!(parse(format!("--b\r\n{wrong}\r\n--b--").as_bytes(), "b").is_err(), "{wrong}");
        }
    }

    #[test]
    fn structures() {
        assert_eq!(
            numbered("Int32, Array(Tuple(Int8, String)),String"),
            "_1 Int32, _2  Array(Tuple(Int8, String)), _3 String"
        );
        assert_eq!(parameter("multipart/form-data; charset=x; boundary=\"a b\"", "boundary").unwrap(), "a b");
        assert_eq!(parameter("form-data; filename=\"x\"; name=y", "name").unwrap(), "y");
    }
}
