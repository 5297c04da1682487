//! XML: a result with its metadata as an XML document.

use crate::format::{Capabilities, Format};
use crate::output::{BlockWriter, OutputFormat, Sink, Statistics, WriteRequest};
use crate::row_writer::{RowLayout, RowWriter};
use crate::text::Cells;
use chalet_base::Result;
use chalet_columns::Block;
use chalet_text::Style;
use chalet_text::write::escape::{lossy, xml};

struct Xml;

pub const FORMATS: &[Format] = &[Format {
    name: "XML",
    suffixes: &["xml"],
    content_type: "application/xml; charset=UTF-8",
    capabilities: Capabilities { tty_friendly: true, parallel_formatting: true, ..Capabilities::NONE },
    input: None,
    output: Some(&Xml),
}];

impl OutputFormat for Xml {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        let tags = request.header.iter().map(|c| tag(&c.0).to_string()).collect();
        let cells = Cells::new(&request, Style::Xml);
        Ok(RowWriter::boxed(
            XmlLayout { request, tags, cells, text: Vec::new(), rows: 0, closed: false },
            sink,
        ))
    }
}

/// The element name of a column: its own when that is a plain word.
fn tag(name: &str) -> &str {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.' || c == '-');
    if plain { name } else { "field" }
}

struct XmlLayout {
    request: WriteRequest,
    tags: Vec<String>,
    cells: Cells,
    text: Vec<u8>,
    rows: u64,
    /// `</data>` is written.
    closed: bool,
}

impl XmlLayout {
    fn fields(&mut self, out: &mut Vec<u8>, block: &Block, row: usize, indent: usize) {
        for (column, tag) in self.tags.iter().enumerate() {
            out.resize(out.len() + indent, b'\t');
            out.extend_from_slice(format!("<{tag}>").as_bytes());
            self.text.clear();
            self.cells.write(&mut self.text, block, column, row);
            // What is not UTF-8 cannot stand in a document.
            out.extend_from_slice(&lossy(&self.text));
            out.extend_from_slice(format!("</{tag}>\n").as_bytes());
        }
    }

    fn element(&mut self, out: &mut Vec<u8>, name: &str, indent: usize, block: &Block, row: usize) {
        out.resize(out.len() + indent, b'\t');
        out.extend_from_slice(format!("<{name}>\n").as_bytes());
        self.fields(out, block, row, indent + 1);
        out.resize(out.len() + indent, b'\t');
        out.extend_from_slice(format!("</{name}>\n").as_bytes());
    }

    fn close_data(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.closed, true) {
            out.extend_from_slice(b"\t</data>\n");
        }
    }
}

impl RowLayout for XmlLayout {
    fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(
            b"<?xml version='1.0' encoding='UTF-8' ?>\n<result>\n\t<meta>\n\t\t<columns>\n",
        );
        for ((name, _), ty) in self.request.header.iter().zip(self.request.type_names()) {
            out.extend_from_slice(b"\t\t\t<column>\n\t\t\t\t<name>");
            xml(out, name.as_bytes());
            out.extend_from_slice(b"</name>\n\t\t\t\t<type>");
            xml(out, ty.as_bytes());
            out.extend_from_slice(b"</type>\n\t\t\t</column>\n");
        }
        out.extend_from_slice(b"\t\t</columns>\n\t</meta>\n\t<data>\n");
    }

    fn row(&mut self, out: &mut Vec<u8>, block: &Block, row: usize) {
        self.rows += 1;
        self.element(out, "row", 2, block, row);
    }

    fn totals(&mut self, out: &mut Vec<u8>, block: &Block) {
        self.close_data(out);
        self.element(out, "totals", 1, block, 0);
    }

    fn extremes(&mut self, out: &mut Vec<u8>, block: &Block) {
        self.close_data(out);
        out.extend_from_slice(b"\t<extremes>\n");
        self.element(out, "min", 2, block, 0);
        self.element(out, "max", 2, block, 1);
        out.extend_from_slice(b"\t</extremes>\n");
    }

    fn end(&mut self, out: &mut Vec<u8>, statistics: &Statistics) {
        self.close_data(out);
        let mut text = format!("\t<rows>{}</rows>\n", self.rows);
        if let Some(n) = statistics.rows_before_limit {
            text.push_str(&format!("\t<rows_before_limit_at_least>{n}</rows_before_limit_at_least>\n"));
        }
        if let Some(n) = statistics.rows_before_aggregation {
            text.push_str(&format!("\t<rows_before_aggregation>{n}</rows_before_aggregation>\n"));
        }
        if self.request.settings.output_format_write_statistics {
            let Statistics { elapsed_seconds, rows_read, bytes_read, .. } = statistics;
            text.push_str(&format!(
                "\t<statistics>\n\t\t<elapsed>{elapsed_seconds}</elapsed>\n\t\t<rows_read>{rows_read}</rows_read>\n\
                 \t\t<bytes_read>{bytes_read}</bytes_read>\n\t</statistics>\n"
            ));
        }
        text.push_str("</result>\n");
        out.extend_from_slice(text.as_bytes());
    }

    fn exception(&mut self, out: &mut Vec<u8>, message: &str) -> bool {
        self.close_data(out);
        out.extend_from_slice(format!("\t<rows>{}</rows>\n\t<exception>", self.rows).as_bytes());
        xml(out, &lossy(message.as_bytes()));
        out.extend_from_slice(b"</exception>\n</result>\n");
        true
    }
}
