//! Writing raw values between tabs.

use crate::WriteRequest;
use crate::header::Header;
use crate::row_writer::RowLayout;
use crate::text::Cells;
use chalet_columns::Block;
use chalet_text::Style;

pub struct LineAsStringLayout {
    request: WriteRequest,
    header: Header,
    cells: Cells,
}

impl LineAsStringLayout {
    pub fn new(request: WriteRequest, header: Header) -> LineAsStringLayout {
        LineAsStringLayout { cells: Cells::new(&request, Style::Raw), request, header }
    }
}

impl RowLayout for LineAsStringLayout {
    fn begin(&mut self, out: &mut Vec<u8>) {
        let mut line = |texts: Vec<String>| {
            out.extend_from_slice(texts.join("\t").as_bytes());
            out.push(b'\n');
        };
        if self.header.has_names() {
            line(self.request.header.iter().map(|c| c.0.clone()).collect());
        }
        if self.header.has_types() {
            line(self.request.type_names().collect());
        }
    }

    fn row(&mut self, out: &mut Vec<u8>, block: &Block, row: usize) {
        self.cells.write_row(out, block, row, b"\t");
        out.push(b'\n');
    }

    fn totals(&mut self, out: &mut Vec<u8>, block: &Block) {
        self.extremes(out, block);
    }

    fn extremes(&mut self, out: &mut Vec<u8>, block: &Block) {
        out.push(b'\n');
        (0..block.n_rows()).for_each(|row| self.row(out, block, row));
    }
}
