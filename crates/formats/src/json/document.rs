//! JSON documents of rows.

use crate::WriteRequest;
use crate::json_cells::{JsonCells, names, strings};
use crate::output::Statistics;
use crate::row_writer::RowLayout;
use chalet_base::{Result, ensure};
use chalet_columns::Block;
use chalet_text::Style;
use chalet_text::write::escape::json;
use chalet_types::DataType;
use std::sync::Arc;

/// How a row is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    Objects,
    Arrays,
}

/// The `meta` member: names and types.
pub fn put_meta(out: &mut Vec<u8>, request: &WriteRequest) {
    out.extend_from_slice(b"\t\"meta\":\n\t[\n");
    for (i, (name, ty)) in names(request).iter().zip(request.type_names()).enumerate() {
        out.extend_from_slice(if i > 0 { b",\n\t\t{\n\t\t\t\"name\": " } else { b"\t\t{\n\t\t\t\"name\": " });
        out.extend_from_slice(name);
        out.extend_from_slice(b",\n\t\t\t\"type\": ");
        json(out, ty.as_bytes(), strings(request));
        out.extend_from_slice(b"\n\t\t}");
    }
    out.extend_from_slice(b"\n\t],\n\n");
}

/// What follows the data: counts and statistics, and the end of the document.
pub fn put_end(out: &mut Vec<u8>, request: &WriteRequest, rows: u64, statistics: &Statistics) {
    let mut text = format!(",\n\n\t\"rows\": {rows}");
    if let Some(n) = statistics.rows_before_limit {
        text.push_str(&format!(",\n\n\t\"rows_before_limit_at_least\": {n}"));
    }
    if let Some(n) = statistics.rows_before_aggregation {
        text.push_str(&format!(",\n\n\t\"rows_before_aggregation\": {n}"));
    }
    if request.settings.output_format_write_statistics {
        let Statistics { elapsed_seconds, rows_read, bytes_read, .. } = statistics;
        text.push_str(&format!(
            ",\n\n\t\"statistics\":\n\t{{\n\t\t\"elapsed\": {elapsed_seconds},\n\t\t\"rows_read\": {rows_read},\n\
             \t\t\"bytes_read\": {bytes_read}\n\t}}"
        ));
    }
    text.push_str("\n}\n");
    out.extend_from_slice(text.as_bytes());
}

/// What follows the data where the statement has failed.
fn put_exception(out: &mut Vec<u8>, request: &WriteRequest, rows: u64, message: &str) {
    out.extend_from_slice(format!(",\n\n\t\"rows\": {rows},\n\n\t\"exception\": ").as_bytes());
    json(out, message.as_bytes(), strings(request));
    out.extend_from_slice(b"\n}\n");
}

pub struct DocumentLayout {
    request: WriteRequest,
    names: Vec<Vec<u8>>,
    rows: Rows,
    n_rows: u64,
    /// Cells of rows, of totals, and of extremes: they stand at different depths.
    cells: [JsonCells; 3],
    closed: bool,
}

/// Which of the cells.
#[derive(Clone, Copy)]
enum Part {
    Data,
    Totals,
    Extremes,
}

impl DocumentLayout {
    pub fn new(mut request: WriteRequest, rows: Rows, as_strings: bool) -> DocumentLayout {
        // A document is UTF-8, whatever the setting says of the formats of rows.
        Arc::make_mut(&mut request.settings).output_format_json_validate_utf8 = true;
        let cells = |depth| {
            let pretty = rows == Rows::Objects && request.settings.output_format_json_pretty_print;
            let style = if pretty { Style::JsonPretty(depth) } else { Style::Json };
            JsonCells::new(&request, style, as_strings)
        };
        DocumentLayout {
            names: names(&request),
            cells: [cells(3), cells(2), cells(3)],
            rows,
            n_rows: 0,
            closed: false,
            request,
        }
    }

    /// `{` members `}` or `[...]`, the opening bracket being where `out` ends.
    fn members(&mut self, out: &mut Vec<u8>, block: &Block, row: usize, part: Part, indent: usize) {
        let cells = &mut self.cells[part as usize];
        if self.rows == Rows::Arrays {
            return cells.write_array(out, block, row);
        }
        out.extend_from_slice(b"{\n");
        for (i, name) in self.names.iter().enumerate() {
            if i > 0 {
                out.extend_from_slice(b",\n");
            }
            tabs(out, indent + 1);
            out.extend_from_slice(name);
            out.extend_from_slice(b": ");
            cells.write(out, block, i, row);
        }
        out.push(b'\n');
        tabs(out, indent);
        out.push(b'}');
    }

    /// `"name": [...]` or the name and an object below it.
    fn member(
        &mut self,
        out: &mut Vec<u8>,
        name: &str,
        block: &Block,
        row: usize,
        part: Part,
        indent: usize,
    ) {
        tabs(out, indent);
        out.extend_from_slice(format!("\"{name}\":").as_bytes());
        match self.rows {
            Rows::Arrays => out.push(b' '),
            Rows::Objects => {
                out.push(b'\n');
                tabs(out, indent);
            }
        }
        self.members(out, block, row, part, indent);
    }

    fn close_data(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.closed, true) {
            out.extend_from_slice(b"\n\t]");
        }
    }
}

fn tabs(out: &mut Vec<u8>, n: usize) {
    out.resize(out.len() + n, b'\t');
}

impl RowLayout for DocumentLayout {
    fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\n");
        put_meta(out, &self.request);
        out.extend_from_slice(b"\t\"data\":\n\t[\n");
    }

    fn row(&mut self, out: &mut Vec<u8>, block: &Block, row: usize) {
        if self.n_rows > 0 {
            out.extend_from_slice(b",\n");
        }
        self.n_rows += 1;
        tabs(out, 2);
        self.members(out, block, row, Part::Data, 2);
    }

    fn totals(&mut self, out: &mut Vec<u8>, block: &Block) {
        self.close_data(out);
        out.extend_from_slice(b",\n\n");
        self.member(out, "totals", block, 0, Part::Totals, 1);
    }

    fn extremes(&mut self, out: &mut Vec<u8>, block: &Block) {
        self.close_data(out);
        out.extend_from_slice(b",\n\n\t\"extremes\":\n\t{\n");
        self.member(out, "min", block, 0, Part::Extremes, 2);
        out.extend_from_slice(b",\n");
        self.member(out, "max", block, 1, Part::Extremes, 2);
        out.extend_from_slice(b"\n\t}");
    }

    fn end(&mut self, out: &mut Vec<u8>, statistics: &Statistics) {
        self.close_data(out);
        put_end(out, &self.request, self.n_rows, statistics);
    }

    fn exception(&mut self, out: &mut Vec<u8>, message: &str) -> bool {
        self.close_data(out);
        put_exception(out, &self.request, self.n_rows, message);
        true
    }
}

/// One object whose members are the rows.
pub struct ObjectEachRowLayout {
    names: Vec<Vec<u8>>,
    cells: JsonCells,
    request: WriteRequest,
    /// The column whose text names the rows.
    key: Option<usize>,
    n_rows: u64,
}

impl ObjectEachRowLayout {
    pub fn new(request: WriteRequest) -> Result<ObjectEachRowLayout> {
        let column = &request.settings.format_json_object_each_row_column_for_object_name;
        let key = request.header.iter().position(|c| c.0 == *column);
        ensure!(
            column.is_empty() || key.is_some(),
            BAD_ARGUMENTS,
            "Column name '{column}' from setting format_json_object_each_row_column_for_object_name doesn't exists in header"
        );
        if let Some(key) = key {
            ensure!(
                request.header[key].1 == DataType::String,
                BAD_ARGUMENTS,
                "Column '{column}' from setting json_object_each_row_column_for_object_name must be String, got {}",
                request.header[key].1
            );
        }
        Ok(ObjectEachRowLayout {
            names: names(&request),
            cells: JsonCells::new(&request, Style::Json, false),
            request,
            key,
            n_rows: 0,
        })
    }
}

impl RowLayout for ObjectEachRowLayout {
    fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{");
    }

    fn row(&mut self, out: &mut Vec<u8>, block: &Block, row: usize) {
        out.extend_from_slice(if self.n_rows > 0 { b",\n\t" } else { b"\n\t" });
        self.n_rows += 1;
        match self.key {
            Some(key) => {
                let (vector, row) = block.column(key).locate(row);
                let name = vector.strings().map(|s| s.get(row)).unwrap_or_default();
                json(out, name, strings(&self.request));
            }
            None => out.extend_from_slice(format!("\"row_{}\"", self.n_rows).as_bytes()),
        }
        out.extend_from_slice(b": {");
        let mut first = true;
        for (i, name) in self.names.iter().enumerate().filter(|(i, _)| Some(*i) != self.key) {
            if !std::mem::replace(&mut first, false) {
                out.push(b',');
            }
            out.extend_from_slice(name);
            out.push(b':');
            self.cells.write(out, block, i, row);
        }
        out.push(b'}');
    }

    fn end(&mut self, out: &mut Vec<u8>, _: &Statistics) {
        out.extend_from_slice(if self.n_rows == 0 { b"\n\n}\n" } else { b"\n}\n" });
    }

    fn exception(&mut self, out: &mut Vec<u8>, message: &str) -> bool {
        out.extend_from_slice(if self.n_rows > 0 { b",\n\t" } else { b"\n\t" });
        out.extend_from_slice(b"\"exception\": ");
        json(out, message.as_bytes(), strings(&self.request));
        out.extend_from_slice(b"\n}\n");
        true
    }
}
