//! Markdown: a result as a table of that markup language.

use crate::format::{Capabilities, Format};
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use crate::row_writer::{RowLayout, RowWriter};
use crate::text::Cells;
use chalet_base::Result;
use chalet_columns::Block;
use chalet_text::Style;
use chalet_text::write::escape::escaped;

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
        let cells = Cells::new(&request, Style::Escaped);
        Ok(RowWriter::boxed(MarkdownLayout { request, cells, text: Vec::new() }, sink))
    }
}

struct MarkdownLayout {
    request: WriteRequest,
    cells: Cells,
    text: Vec<u8>,
}

/// Characters that mean something to Markdown.
const SPECIAL: &[u8] = b"\\`*_{}[]<>()#+-.!|";

impl MarkdownLayout {
    fn put(&self, out: &mut Vec<u8>, text: &[u8]) {
        if !self.request.settings.output_format_markdown_escape_special_characters {
            return out.extend_from_slice(text);
        }
        for &byte in text {
            if SPECIAL.contains(&byte) {
                out.push(b'\\');
            }
            out.push(byte);
        }
    }
}

impl RowLayout for MarkdownLayout {
    fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"|");
        for (name, _) in self.request.header.iter() {
            out.push(b' ');
            let mut text = Vec::new();
            escaped(&mut text, name.as_bytes());
            self.put(out, &text);
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
            let mut text = std::mem::take(&mut self.text);
            text.clear();
            self.cells.write(&mut text, block, column, row);
            self.put(out, &text);
            self.text = text;
            out.extend_from_slice(b" |");
        }
        out.push(b'\n');
    }
}
