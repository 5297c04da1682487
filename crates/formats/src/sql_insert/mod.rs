//! SQLInsert: a result as INSERT statements.

use crate::format::{Capabilities, Format};
use crate::output::{BlockWriter, OutputFormat, Sink, Statistics, WriteRequest};
use crate::row_writer::{RowLayout, RowWriter};
use crate::text::Cells;
use chalet_base::Result;
use chalet_columns::Block;
use chalet_text::Style;

struct SqlInsert;

pub const FORMATS: &[Format] = &[Format {
    name: "SQLInsert",
    suffixes: &["sql"],
    content_type: "text/plain; charset=UTF-8",
    capabilities: Capabilities { tty_friendly: true, ..Capabilities::NONE },
    input: None,
    output: Some(&SqlInsert),
}];

impl OutputFormat for SqlInsert {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        let cells = Cells::new(&request, Style::Quoted);
        let prefix = prefix(&request);
        let batch = request.settings.output_format_sql_insert_max_batch_size;
        Ok(RowWriter::boxed(SqlInsertLayout { prefix, cells, batch, rows: 0 }, sink))
    }
}

/// `INSERT INTO table (columns) VALUES `
fn prefix(request: &WriteRequest) -> Vec<u8> {
    let settings = &request.settings;
    let mut text =
        String::from(if settings.output_format_sql_insert_use_replace { "REPLACE" } else { "INSERT" });
    text.push_str(" INTO ");
    text.push_str(&settings.output_format_sql_insert_table_name);
    if settings.output_format_sql_insert_include_column_names {
        text.push_str(" (");
        for (i, (name, _)) in request.header.iter().enumerate() {
            text.push_str(if i > 0 { ", " } else { "" });
            match settings.output_format_sql_insert_quote_names {
                true => text.push_str(&format!("`{}`", name.replace('\\', "\\\\").replace('`', "\\`"))),
                false => text.push_str(name),
            }
        }
        text.push(')');
    }
    text.push_str(" VALUES ");
    text.into_bytes()
}

struct SqlInsertLayout {
    prefix: Vec<u8>,
    cells: Cells,
    /// Rows a statement, at most.
    batch: u64,
    /// Rows in the statement being written.
    rows: u64,
}

impl RowLayout for SqlInsertLayout {
    fn row(&mut self, out: &mut Vec<u8>, block: &Block, row: usize) {
        if self.rows > 0 && self.rows == self.batch {
            out.extend_from_slice(b";\n");
            self.rows = 0;
        }
        if self.rows == 0 {
            out.extend_from_slice(&self.prefix);
        } else {
            out.extend_from_slice(b", ");
        }
        self.rows += 1;
        out.push(b'(');
        self.cells.write_row(out, block, row, b", ");
        out.push(b')');
    }

    fn end(&mut self, out: &mut Vec<u8>, _: &Statistics) {
        out.extend_from_slice(b";\n");
    }
}
