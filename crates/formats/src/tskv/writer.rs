//! Writing TSKV.

use crate::WriteRequest;
use crate::row_writer::RowLayout;
use crate::text::Cells;
use chalet_columns::Block;
use chalet_text::Style;
use chalet_text::write::escape::escaped;

pub struct TskvLayout {
    /// `name=` of each column, escaped.
    keys: Vec<Vec<u8>>,
    cells: Cells,
}

impl TskvLayout {
    pub fn new(request: &WriteRequest) -> TskvLayout {
        let key = |name: &str| {
            let mut text = Vec::new();
            escaped(&mut text, name.as_bytes());
            let mut key = Vec::with_capacity(text.len() + 1);
            for byte in text {
                if byte == b'=' {
                    key.push(b'\\');
                }
                key.push(byte);
            }
            key.push(b'=');
            key
        };
        TskvLayout {
            keys: request.header.iter().map(|c| key(&c.0)).collect(),
            cells: Cells::new(request, Style::Escaped),
        }
    }
}

impl RowLayout for TskvLayout {
    fn row(&mut self, out: &mut Vec<u8>, block: &Block, row: usize) {
        for (i, key) in self.keys.iter().enumerate() {
            if i > 0 {
                out.push(b'\t');
            }
            out.extend_from_slice(key);
            self.cells.write(out, block, i, row);
        }
        out.push(b'\n');
    }
}
