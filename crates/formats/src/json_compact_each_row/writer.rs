//! Writing one JSON array a row.

use crate::WriteRequest;
use crate::header::Header;
use crate::json_cells::{JsonCells, names, strings};
use crate::row_writer::RowLayout;
use chalet_columns::Block;
use chalet_text::Style;
use chalet_text::write::escape::json;

pub struct JsonCompactEachRowLayout {
    request: WriteRequest,
    header: Header,
    cells: JsonCells,
}

impl JsonCompactEachRowLayout {
    pub fn new(request: WriteRequest, header: Header, as_strings: bool) -> JsonCompactEachRowLayout {
        let cells = JsonCells::new(&request, Style::Json, as_strings);
        JsonCompactEachRowLayout { request, header, cells }
    }
}

impl RowLayout for JsonCompactEachRowLayout {
    fn begin(&mut self, out: &mut Vec<u8>) {
        let mut line = |texts: Vec<Vec<u8>>| {
            out.push(b'[');
            out.extend_from_slice(&texts.join(&b", "[..]));
            out.extend_from_slice(b"]\n");
        };
        if self.header.has_names() {
            line(names(&self.request));
        }
        if self.header.has_types() {
            let quoted = |text: String| {
                let mut out = Vec::new();
                json(&mut out, text.as_bytes(), strings(&self.request));
                out
            };
            line(self.request.type_names().map(quoted).collect());
        }
    }

    fn row(&mut self, out: &mut Vec<u8>, block: &Block, row: usize) {
        self.cells.write_array(out, block, row);
        out.push(b'\n');
    }

    fn exception(&mut self, out: &mut Vec<u8>, message: &str) -> bool {
        out.push(b'[');
        json(out, message.as_bytes(), strings(&self.request));
        out.extend_from_slice(b"]\n");
        true
    }
}
