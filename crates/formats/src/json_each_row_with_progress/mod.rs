//! JSONEachRowWithProgress and its kin: a line of JSON for the columns, for each row, and for how far the query is.

use crate::format::{Capabilities, Format};
use crate::json_cells::{JsonCells, names, strings};
use crate::output::{BlockWriter, OutputFormat, Sink, Statistics, WriteRequest};
use crate::row_writer::{RowLayout, RowWriter};
use chalet_base::Result;
use chalet_columns::Block;
use chalet_text::Style;
use chalet_text::write::escape::json;

struct WithProgress {
    compact: bool,
    as_strings: bool,
}

const fn format(name: &'static str, format: &'static WithProgress) -> Format {
    Format {
        name,
        suffixes: &[],
        content_type: "application/json; charset=UTF-8",
        capabilities: Capabilities { tty_friendly: true, ..Capabilities::NONE },
        input: None,
        output: Some(format),
    }
}

pub const FORMATS: &[Format] = &[
    format("JSONEachRowWithProgress", &WithProgress { compact: false, as_strings: false }),
    format("JSONStringsEachRowWithProgress", &WithProgress { compact: false, as_strings: true }),
    format("JSONCompactEachRowWithProgress", &WithProgress { compact: true, as_strings: false }),
    format("JSONCompactStringsEachRowWithProgress", &WithProgress { compact: true, as_strings: true }),
];

impl OutputFormat for WithProgress {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        let layout = Layout {
            names: names(&request),
            cells: JsonCells::new(&request, Style::Json, self.as_strings),
            compact: self.compact,
            request,
        };
        Ok(RowWriter::boxed(layout, sink))
    }
}

struct Layout {
    request: WriteRequest,
    names: Vec<Vec<u8>>,
    cells: JsonCells,
    compact: bool,
}

impl Layout {
    fn line(&mut self, out: &mut Vec<u8>, title: &str, block: &Block, row: usize) {
        out.extend_from_slice(format!("{{\"{title}\":").as_bytes());
        if self.compact {
            self.cells.write_array(out, block, row);
        } else {
            for (i, name) in self.names.iter().enumerate() {
                out.push(if i == 0 { b'{' } else { b',' });
                out.extend_from_slice(name);
                out.push(b':');
                self.cells.write(out, block, i, row);
            }
            out.push(b'}');
        }
        out.extend_from_slice(b"}\n");
    }
}

impl RowLayout for Layout {
    fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"meta\":[");
        for (i, (name, ty)) in self.names.iter().zip(self.request.type_names()).enumerate() {
            out.extend_from_slice(if i == 0 { b"{\"name\":" } else { b",{\"name\":" });
            out.extend_from_slice(name);
            out.extend_from_slice(b",\"type\":");
            json(out, ty.as_bytes(), strings(&self.request));
            out.push(b'}');
        }
        out.extend_from_slice(b"]}\n");
    }

    fn row(&mut self, out: &mut Vec<u8>, block: &Block, row: usize) {
        self.line(out, "row", block, row);
    }

    fn totals(&mut self, out: &mut Vec<u8>, block: &Block) {
        (0..block.n_rows()).for_each(|row| self.line(out, "totals", block, row));
    }

    fn extremes(&mut self, out: &mut Vec<u8>, block: &Block) {
        for (row, title) in ["min", "max"].into_iter().enumerate().take(block.n_rows()) {
            self.line(out, title, block, row);
        }
    }

    fn end(&mut self, out: &mut Vec<u8>, statistics: &Statistics) {
        if statistics.rows_read > 0 {
            let line = format!(
                "{{\"progress\":{{\"read_rows\":\"{}\",\"read_bytes\":\"{}\",\"total_rows_to_read\":\"{}\",\
                 \"elapsed_ns\":\"{}\"}}}}\n",
                statistics.rows_read,
                statistics.bytes_read,
                statistics.rows_read,
                (statistics.elapsed_seconds * 1e9) as u64
            );
            out.extend_from_slice(line.as_bytes());
        }
        if let Some(n) = statistics.rows_before_limit {
            out.extend_from_slice(format!("{{\"rows_before_limit_at_least\":{n}}}\n").as_bytes());
        }
        if let Some(n) = statistics.rows_before_aggregation {
            out.extend_from_slice(format!("{{\"rows_before_aggregation\":{n}}}\n").as_bytes());
        }
    }

    fn exception(&mut self, out: &mut Vec<u8>, message: &str) -> bool {
        out.extend_from_slice(b"{\"exception\":");
        json(out, message.as_bytes(), strings(&self.request));
        out.extend_from_slice(b"}\n");
        true
    }
}
