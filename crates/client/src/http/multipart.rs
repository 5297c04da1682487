//! Bodies of requests: the statement, or a form of several parts where tables of the client come along, each a part in format Native.

use crate::request::{ExternalTable, Request};
use chalet_base::Result;
use chalet_formats::native::{BlockLayout, write_block};
use std::hash::{BuildHasher, RandomState};

/// A body with tables; without them it is the statement alone.
pub(super) struct Form {
    boundary: String,
    pub tables: Vec<Part>,
}

/// A table as a part.
pub(super) struct Part {
    head: String,
    rows: Vec<u8>,
    /// Parameters that say what it is.
    pub about: Vec<(String, String)>,
}

impl Form {
    pub fn of(request: &Request) -> Result<Form> {
        let random = || RandomState::new().hash_one(request.text.len());
        let boundary = format!("chalet{:016x}{:016x}", random(), random());
        let tables = request.tables.iter().map(Part::of).collect::<Result<_>>()?;
        Ok(Form { boundary, tables })
    }

    /// Of the body, where it is more than a statement.
    pub fn content_type(&self) -> Option<String> {
        (!self.tables.is_empty()).then(|| format!("multipart/form-data; boundary={}", self.boundary))
    }

    /// Bytes of the body with this statement.
    pub fn len(&self, text: &str) -> usize {
        if self.tables.is_empty() {
            return text.len();
        }
        let of_tables =
            self.tables.iter().map(|part| self.begin().len() + part.head.len() + part.rows.len() + 2);
        self.begin().len() + QUERY.len() + text.len() + 2 + of_tables.sum::<usize>() + self.end().len()
    }

    /// Writes the body.
    pub fn write(&self, text: &str, to: &mut Vec<u8>) {
        if self.tables.is_empty() {
            return to.extend_from_slice(text.as_bytes());
        }
        let mut part = |head: &str, bytes: &[u8]| {
            for piece in [self.begin().as_bytes(), head.as_bytes(), bytes, b"\r\n"] {
                to.extend_from_slice(piece);
            }
        };
        part(QUERY, text.as_bytes());
        self.tables.iter().for_each(|table| part(&table.head, &table.rows));
        to.extend_from_slice(self.end().as_bytes());
    }

    fn begin(&self) -> String {
        format!("--{}\r\n", self.boundary)
    }

    fn end(&self) -> String {
        format!("--{}--\r\n", self.boundary)
    }
}

/// The head of the part that is the statement.
const QUERY: &str = "Content-Disposition: form-data; name=\"query\"\r\n\r\n";

impl Part {
    fn of(table: &ExternalTable) -> Result<Part> {
        let name = &table.name;
        let columns = table.blocks.first().map(|rows| &rows.schema[..]).unwrap_or_default();
        let structure: Vec<String> =
            columns.iter().map(|(column, ty)| format!("{} {}", identifier(column), ty)).collect();
        let mut rows = Vec::new();
        for block in table.blocks.iter().filter(|rows| !rows.block.is_empty()) {
            write_block(&mut rows, &block.schema, &block.block, BlockLayout::FILE)?;
        }
        let quoted = name.replace('\\', "\\\\").replace('"', "\\\"");
        Ok(Part {
            head: format!(
                "Content-Disposition: form-data; name=\"{quoted}\"; filename=\"{quoted}\"\r\n\
                 Content-Type: application/octet-stream\r\n\r\n"
            ),
            rows,
            about: vec![
                (format!("{name}_format"), "Native".into()),
                (format!("{name}_structure"), structure.join(", ")),
            ],
        })
    }
}

/// Old servers cut structures at blanks and commas and know no quotes in them: there are as few as can be.
fn identifier(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_word = name.chars().all(is_plain) && !name.starts_with(|c: char| c.is_ascii_digit());
    if is_word && !name.is_empty() {
        return name.to_owned();
    }
    format!("`{}`", name.replace('\\', "\\\\").replace('`', "\\`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Rows;
    use chalet_columns::Block;
    use chalet_types::DataType;

    #[test]
    fn a_form() {
        let table = |name: &str| ExternalTable {
            name: name.into(),
            blocks: vec![Rows {
                schema: vec![("a".into(), DataType::UInt8), ("b c".into(), DataType::String)],
                block: Block::new(Vec::new(), 0),
            }],
        };
        let mut request = Request::new("SELECT 1");
        let plain = Form::of(&request).unwrap();
        assert_eq!((plain.len(&request.text), plain.content_type()), (8, None));
        request.tables = vec![table("t"), table("u")];
        let form = Form::of(&request).unwrap();
        let mut body = Vec::new();
        form.write(&request.text, &mut body);
        assert_eq!(body.len(), form.len(&request.text));
        assert_eq!(form.tables[1].about[1], ("u_structure".into(), "a UInt8, `b c` String".into()));
        assert_eq!(String::from_utf8(body).unwrap().matches(&form.boundary).count(), 4);
    }
}
