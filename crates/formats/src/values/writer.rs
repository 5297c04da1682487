//! Writing rows as the tuples of INSERT ... VALUES.

use crate::WriteRequest;
use crate::row_writer::RowLayout;
use crate::text::Cells;
use chalet_columns::Block;
use chalet_text::Style;

pub struct ValuesLayout {
    cells: Cells,
    any: bool,
}

impl ValuesLayout {
    pub fn new(request: &WriteRequest) -> ValuesLayout {
        ValuesLayout { cells: Cells::new(request, Style::Quoted), any: false }
    }
}

impl RowLayout for ValuesLayout {
    fn row(&mut self, out: &mut Vec<u8>, block: &Block, row: usize) {
        if self.any {
            out.push(b',');
        }
        self.any = true;
        out.push(b'(');
        self.cells.write_row(out, block, row, b",");
        out.push(b')');
    }
}
