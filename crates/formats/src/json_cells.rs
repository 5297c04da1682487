//! Cells of JSON formats: as JSON values, or all as strings.

use crate::WriteRequest;
use crate::text::Cells;
use chalet_columns::Block;
use chalet_text::Style;
use chalet_text::write::escape::{JsonStrings, json};

pub struct JsonCells {
    cells: Cells,
    strings: JsonStrings,
    /// Every value is written as a string of its plain text.
    as_strings: bool,
    text: Vec<u8>,
}

impl JsonCells {
    pub fn new(request: &WriteRequest, style: Style, as_strings: bool) -> JsonCells {
        JsonCells {
            cells: Cells::new(request, if as_strings { Style::Plain } else { style }),
            strings: strings(request),
            as_strings,
            text: Vec::new(),
        }
    }

    pub fn n_columns(&self) -> usize {
        self.cells.n_columns()
    }

    #[inline]
    pub fn write(&mut self, out: &mut Vec<u8>, block: &Block, column: usize, row: usize) {
        if !self.as_strings {
            return self.cells.write(out, block, column, row);
        }
        self.text.clear();
        self.cells.write(&mut self.text, block, column, row);
        json(out, &self.text, self.strings);
    }

    /// `[a, b, c]`
    pub fn write_array(&mut self, out: &mut Vec<u8>, block: &Block, row: usize) {
        out.push(b'[');
        for column in 0..self.n_columns() {
            if column > 0 {
                out.extend_from_slice(b", ");
            }
            self.write(out, block, column, row);
        }
        out.push(b']');
    }
}

/// How strings are escaped under the request's settings.
pub fn strings(request: &WriteRequest) -> JsonStrings {
    JsonStrings {
        escape_slashes: request.settings.output_format_json_escape_forward_slashes,
        validate: request.settings.output_format_json_validate_utf8,
    }
}

/// The names of the columns as JSON strings.
pub fn names(request: &WriteRequest) -> Vec<Vec<u8>> {
    let how = strings(request);
    let quoted = |name: &str| {
        let mut text = Vec::new();
        json(&mut text, name.as_bytes(), JsonStrings { validate: true, ..how });
        text
    };
    request.header.iter().map(|c| quoted(&c.0)).collect()
}
