//! Writing one JSON object a row.

use crate::WriteRequest;
use crate::json_cells::{JsonCells, names, strings};
use crate::output::Statistics;
use crate::row_writer::RowLayout;
use chalet_columns::Block;
use chalet_text::Style;
use chalet_text::write::escape::json;

pub struct JsonEachRowLayout {
    request: WriteRequest,
    names: Vec<Vec<u8>>,
    cells: JsonCells,
    /// `[`, commas and `]` around the objects.
    as_array: bool,
    any: bool,
}

impl JsonEachRowLayout {
    pub fn new(request: &WriteRequest, as_strings: bool) -> JsonEachRowLayout {
        let mut names = names(request);
        names.iter_mut().for_each(|name| name.push(b':'));
        JsonEachRowLayout {
            request: request.clone(),
            names,
            cells: JsonCells::new(request, Style::Json, as_strings),
            as_array: request.settings.output_format_json_array_of_rows,
            any: false,
        }
    }
}

impl RowLayout for JsonEachRowLayout {
    fn begin(&mut self, out: &mut Vec<u8>) {
        if self.as_array {
            out.extend_from_slice(b"[\n");
        }
    }

    fn row(&mut self, out: &mut Vec<u8>, block: &Block, row: usize) {
        if self.as_array && self.any {
            out.extend_from_slice(b",\n");
        }
        self.any = true;
        out.push(b'{');
        for (i, name) in self.names.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            out.extend_from_slice(name);
            self.cells.write(out, block, i, row);
        }
        out.push(b'}');
        if !self.as_array {
            out.push(b'\n');
        }
    }

    fn end(&mut self, out: &mut Vec<u8>, _: &Statistics) {
        if self.as_array {
            out.extend_from_slice(b"\n]\n");
        }
    }

    fn exception(&mut self, out: &mut Vec<u8>, message: &str) -> bool {
        if self.as_array && self.any {
            out.extend_from_slice(b",\n");
        }
        out.extend_from_slice(b"{\"exception\": ");
        json(out, message.as_bytes(), strings(&self.request));
        out.extend_from_slice(if self.as_array { b"}\n]\n" } else { b"}\n" });
        true
    }
}

/// Objects spread over lines, indented by four spaces.
pub struct PrettyJsonEachRowLayout {
    request: WriteRequest,
    names: Vec<Vec<u8>>,
    cells: JsonCells,
    text: Vec<u8>,
    /// `[`, commas and `]` around the objects.
    as_array: bool,
    any: bool,
}

impl PrettyJsonEachRowLayout {
    pub fn new(request: &WriteRequest) -> PrettyJsonEachRowLayout {
        PrettyJsonEachRowLayout {
            request: request.clone(),
            names: names(request),
            cells: JsonCells::new(request, Style::JsonPretty(1), false),
            text: Vec::new(),
            as_array: request.settings.output_format_json_array_of_rows,
            any: false,
        }
    }
}

impl RowLayout for PrettyJsonEachRowLayout {
    fn begin(&mut self, out: &mut Vec<u8>) {
        if self.as_array {
            out.extend_from_slice(b"[\n");
        }
    }

    fn row(&mut self, out: &mut Vec<u8>, block: &Block, row: usize) {
        if self.as_array && self.any {
            out.extend_from_slice(b",\n");
        }
        self.any = true;
        out.extend_from_slice(b"{\n");
        for (i, name) in self.names.iter().enumerate() {
            if i > 0 {
                out.extend_from_slice(b",\n");
            }
            out.extend_from_slice(b"    ");
            out.extend_from_slice(name);
            out.extend_from_slice(b": ");
            self.text.clear();
            self.cells.write(&mut self.text, block, i, row);
            // Tabs stand only in indents: inside strings they are escaped.
            for &byte in &self.text {
                match byte {
                    b'\t' => out.extend_from_slice(b"    "),
                    _ => out.push(byte),
                }
            }
        }
        out.extend_from_slice(if self.as_array { b"\n}" } else { b"\n}\n" });
    }

    fn end(&mut self, out: &mut Vec<u8>, _: &Statistics) {
        if self.as_array {
            out.extend_from_slice(b"\n]\n");
        }
    }

    fn exception(&mut self, out: &mut Vec<u8>, message: &str) -> bool {
        out.extend_from_slice(b"{\n    \"exception\": ");
        json(out, message.as_bytes(), strings(&self.request));
        out.extend_from_slice(b"\n}\n");
        true
    }
}
