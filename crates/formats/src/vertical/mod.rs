//! Vertical: one value a line, behind its column's name.

use crate::format::{Capabilities, Format};
use crate::output::{BlockWriter, OutputFormat, Sink, Statistics, WriteRequest};
use crate::pretty::{BOLD, Colours, ValueTexts, put_tip, shown_name, width};
use crate::row_writer::{RowLayout, RowWriter};
use chalet_base::Result;
use chalet_columns::Block;
use chalet_types::DataType;

struct VerticalFormat;

pub const FORMATS: &[Format] = &[Format {
    name: "Vertical",
    suffixes: &[],
    content_type: "text/plain; charset=UTF-8",
    capabilities: Capabilities { tty_friendly: true, parallel_formatting: true, ..Capabilities::NONE },
    input: None,
    output: Some(&VerticalFormat),
}];

impl OutputFormat for VerticalFormat {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        let colours = Colours::new(&request.settings, request.terminal, true);
        let layout = VerticalLayout {
            vertical: Vertical::new(&request, colours),
            texts: ValueTexts::vertical(&request),
            max_rows: request.settings.output_format_pretty_max_rows,
            rows: 0,
            has_totals: false,
        };
        Ok(RowWriter::boxed(layout, sink))
    }
}

/// Lays out rows whose texts are made.
pub struct Vertical {
    colours: Colours,
    /// Each with its colon.
    names: Vec<String>,
    /// Spaces behind each, so that values stand in one column.
    padding: Vec<usize>,
    number: Vec<bool>,
    tip_threshold: u64,
}

impl Vertical {
    pub fn new(request: &WriteRequest, colours: Colours) -> Vertical {
        let shown = |name: &str| format!("{}:", shown_name(name, &request.settings));
        let names: Vec<String> = request.header.iter().map(|c| shown(&c.0)).collect();
        // A name that was cut counts as what it was cut to, also where wide characters make it a column more.
        let most = request.settings.output_format_pretty_max_column_name_width_cut_to as usize;
        let of_shown = |(name, column): (&String, &(String, DataType))| {
            let whole = name.strip_suffix(':') == Some(&column.0);
            if whole { width(name.as_bytes(), 0) } else { most + 1 }
        };
        let widths: Vec<usize> = names.iter().zip(request.header.iter()).map(of_shown).collect();
        let widest = widths.iter().copied().max().unwrap_or(0);
        let is_number = |ty: &DataType| ty.bare().is_number() && *ty.bare() != DataType::Bool;
        Vertical {
            colours,
            names,
            padding: widths.iter().map(|w| widest - w + 1).collect(),
            number: request.header.iter().map(|c| is_number(&c.1)).collect(),
            tip_threshold: request.settings.output_format_pretty_single_large_number_tip_threshold,
        }
    }

    /// A title underlined, then the values.
    pub fn put_row(&self, out: &mut Vec<u8>, number: u64, texts: &[Vec<u8>]) {
        // As in the kernel, the line under 9 is as long as the one under 10.
        let underline = format!("Row {}:", number + 1).len();
        self.put(out, &format!("Row {number}:"), underline, texts);
    }

    fn put(&self, out: &mut Vec<u8>, title: &str, underline: usize, texts: &[Vec<u8>]) {
        out.extend_from_slice(format!("{title}\n{}\n", "─".repeat(underline)).as_bytes());
        for (column, text) in texts.iter().enumerate() {
            self.colours.put(out, BOLD, self.names[column].as_bytes());
            out.resize(out.len() + self.padding[column], b' ');
            self.colours.put_value(out, text, self.number[column]);
            if self.number[column] {
                put_tip(out, text, self.tip_threshold, self.colours);
            }
            out.push(b'\n');
        }
    }
}

struct VerticalLayout {
    vertical: Vertical,
    texts: ValueTexts,
    max_rows: u64,
    rows: u64,
    has_totals: bool,
}

impl VerticalLayout {
    fn texts(&self, block: &Block, row: usize) -> Vec<Vec<u8>> {
        (0..self.vertical.names.len())
            .map(|column| {
                let mut text = Vec::new();
                self.texts.write(&mut text, block, column, row);
                text
            })
            .collect()
    }

    fn put(&self, out: &mut Vec<u8>, title: &str, block: &Block, row: usize) {
        self.vertical.put(out, title, title.len(), &self.texts(block, row));
    }
}

impl RowLayout for VerticalLayout {
    fn row(&mut self, out: &mut Vec<u8>, block: &Block, row: usize) {
        self.rows += 1;
        if self.rows > self.max_rows {
            return;
        }
        if self.rows > 1 {
            out.push(b'\n');
        }
        self.vertical.put_row(out, self.rows, &self.texts(block, row));
    }

    fn totals(&mut self, out: &mut Vec<u8>, block: &Block) {
        self.has_totals = true;
        out.extend_from_slice(b"\n\n");
        self.put(out, "Totals:", block, 0);
    }

    fn extremes(&mut self, out: &mut Vec<u8>, block: &Block) {
        out.extend_from_slice(if self.has_totals { b"\n" } else { b"\n\n" });
        self.put(out, "Min:", block, 0);
        out.push(b'\n');
        self.put(out, "Max:", block, 1);
    }

    fn end(&mut self, out: &mut Vec<u8>, _: &Statistics) {
        if self.rows > self.max_rows {
            out.extend_from_slice(format!("\nShowed first {}.\n", self.max_rows).as_bytes());
        }
    }
}
