//! ODBCDriver2: what the ODBC driver reads. Names and types as rows of strings, then rows of values as text.

use crate::format::{Capabilities, Format};
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use crate::row_writer::{RowLayout, RowWriter};
use crate::text::Cells;
use chalet_base::Result;
use chalet_columns::Block;
use chalet_text::Style;

struct OdbcDriver2;

pub const FORMATS: &[Format] = &[Format {
    name: "ODBCDriver2",
    suffixes: &[],
    content_type: "application/octet-stream",
    capabilities: Capabilities::NONE,
    input: None,
    output: Some(&OdbcDriver2),
}];

impl OutputFormat for OdbcDriver2 {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        let cells = Cells::new(&request, Style::Plain);
        Ok(RowWriter::boxed(Layout { request, cells, text: Vec::new() }, sink))
    }
}

struct Layout {
    request: WriteRequest,
    cells: Cells,
    text: Vec<u8>,
}

/// Its length in 32 bits, then the string.
fn put_string(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text);
}

impl RowLayout for Layout {
    fn begin(&mut self, out: &mut Vec<u8>) {
        let columns = &self.request.header;
        // Two rows that describe the columns, each behind its own title.
        out.extend_from_slice(&2u32.to_le_bytes());
        for (title, of_type) in [("name", false), ("type", true)] {
            out.extend_from_slice(&(columns.len() as u32 + 1).to_le_bytes());
            put_string(out, title.as_bytes());
            for (name, ty) in columns.iter() {
                put_string(out, if of_type { ty.to_string() } else { name.clone() }.as_bytes());
            }
        }
    }

    fn row(&mut self, out: &mut Vec<u8>, block: &Block, row: usize) {
        for column in 0..self.cells.n_columns() {
            if block.column(column).is_null(row) {
                out.extend_from_slice(&(-1i32).to_le_bytes());
                continue;
            }
            self.text.clear();
            self.cells.write(&mut self.text, block, column, row);
            put_string(out, &self.text);
        }
    }

    fn totals(&mut self, out: &mut Vec<u8>, block: &Block) {
        (0..block.n_rows()).for_each(|row| self.row(out, block, row));
    }
}
