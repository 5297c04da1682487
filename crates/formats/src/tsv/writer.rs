//! Writing tab-separated rows, escaped or raw.

use crate::WriteRequest;
use crate::header::Header;
use crate::row_writer::RowLayout;
use crate::text::Cells;
use chalet_columns::Block;
use chalet_text::Style;
use chalet_text::write::escape::escaped;

pub struct TsvLayout {
    request: WriteRequest,
    cells: Cells,
    header: Header,
    raw: bool,
    line_end: &'static [u8],
}

impl TsvLayout {
    pub fn new(request: WriteRequest, header: Header, raw: bool) -> TsvLayout {
        let cells = Cells::new(&request, if raw { Style::Raw } else { Style::Escaped });
        let crlf = request.settings.output_format_tsv_crlf_end_of_line;
        TsvLayout { request, cells, header, raw, line_end: if crlf { b"\r\n" } else { b"\n" } }
    }

    fn line(&self, out: &mut Vec<u8>, texts: impl Iterator<Item = String>) {
        for (i, text) in texts.enumerate() {
            if i > 0 {
                out.push(b'\t');
            }
            match self.raw {
                true => out.extend_from_slice(text.as_bytes()),
                false => escaped(out, text.as_bytes()),
            }
        }
        out.extend_from_slice(self.line_end);
    }
}

impl RowLayout for TsvLayout {
    fn begin(&mut self, out: &mut Vec<u8>) {
        if self.header.has_names() {
            self.line(out, self.request.header.iter().map(|c| c.0.clone()));
        }
        if self.header.has_types() {
            self.line(out, self.request.type_names());
        }
    }

    fn row(&mut self, out: &mut Vec<u8>, block: &Block, row: usize) {
        self.cells.write_row(out, block, row, b"\t");
        out.extend_from_slice(self.line_end);
    }

    fn totals(&mut self, out: &mut Vec<u8>, block: &Block) {
        self.extremes(out, block);
    }

    fn extremes(&mut self, out: &mut Vec<u8>, block: &Block) {
        out.extend_from_slice(self.line_end);
        (0..block.n_rows()).for_each(|row| self.row(out, block, row));
    }
}
