//! Markdown: a result as a table of that markup language.

use crate::format::{Capabilities, Format};
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use crate::row_writer::{RowLayout, RowWriter};
use crate::text::Cells;
use chalet_base::Result;
use chalet_columns::Block;
use chalet_text::Style;
use chalet_text::write::escape::escaped;
use chalet_types::DataType;

struct Markdown;

const fn format(name: &'static str, suffixes: &'static [&'static str], parallel: bool) -> Format {
    Format {
        name,
        suffixes,
        content_type: "text/plain; charset=UTF-8",
        capabilities: Capabilities {
            tty_friendly: true,
            parallel_formatting: parallel,
            ..Capabilities::NONE
        },
        input: None,
        output: Some(&Markdown),
    }
}

pub const FORMATS: &[Format] = &[format("Markdown", &["md"], true), format("MD", &[], false)];

impl OutputFormat for Markdown {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        let escapes = request.settings.output_format_markdown_escape_special_characters;
        let is_text = |ty: &DataType| matches!(ty, DataType::String | DataType::FixedString(_));
        let escaped = request.header.iter().map(|(_, ty)| escapes && is_text(ty)).collect();
        let cells = Cells::new(&request, Style::Escaped);
        let plain = Cells::new(&request, Style::Plain);
        Ok(RowWriter::boxed(MarkdownLayout { request, cells, plain, escaped, text: Vec::new() }, sink))
    }
}

struct MarkdownLayout {
    request: WriteRequest,
    cells: Cells,
    plain: Cells,
    /// Columns of strings whose punctuation is escaped: it may mean something to Markdown.
    escaped: Vec<bool>,
    text: Vec<u8>,
}

impl RowLayout for MarkdownLayout {
    fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"|");
        for (name, _) in self.request.header.iter() {
            out.push(b' ');
            escaped(out, name.as_bytes());
            out.extend_from_slice(b" |");
        }
        out.extend_from_slice(b"\n|");
        for (_, ty) in self.request.header.iter() {
            // Numbers stand to the right.
            let right = crate::text::stands_right(ty);
            out.extend_from_slice(if right { b"-:|" } else { b":-|" });
        }
        out.push(b'\n');
    }

    fn row(&mut self, out: &mut Vec<u8>, block: &Block, row: usize) {
        out.push(b'|');
        for column in 0..self.cells.n_columns() {
            out.push(b' ');
            if self.escaped[column] {
                self.text.clear();
                self.plain.write(&mut self.text, block, column, row);
                for &byte in &self.text {
                    if byte.is_ascii_punctuation() {
                        out.push(b'\\');
                    }
                    out.push(byte);
                }
            } else {
                self.cells.write(out, block, column, row);
            }
            out.extend_from_slice(b" |");
        }
        out.push(b'\n');
    }
}
