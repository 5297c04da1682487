//! JSON documents of columns. They are written when the last row is known.

use super::document::{put_end, put_meta};
use crate::json_cells::{JsonCells, names};
use crate::output::{BlockWriter, Out, Sink, Statistics, WriteRequest};
use chalet_base::Result;
use chalet_columns::Block;
use chalet_text::Style;

/// What stands around the columns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ColumnsLayout {
    /// An object of columns by name.
    Named,
    /// An array of columns.
    Bare,
    /// The object inside of a document with metadata.
    WithMetadata,
}

pub struct ColumnsWriter {
    request: WriteRequest,
    layout: ColumnsLayout,
    cells: JsonCells,
    names: Vec<Vec<u8>>,
    blocks: Vec<Block>,
    totals: Option<Block>,
    extremes: Option<Block>,
    out: Out,
}

impl ColumnsWriter {
    pub fn new(request: WriteRequest, layout: ColumnsLayout, sink: Box<dyn Sink>) -> ColumnsWriter {
        ColumnsWriter {
            cells: JsonCells::new(&request, Style::Json, false),
            names: names(&request),
            request,
            layout,
            blocks: Vec::new(),
            totals: None,
            extremes: None,
            out: Out::new(sink),
        }
    }

    /// The columns, one a line.
    fn put_columns(&mut self, indent: usize) -> Result<()> {
        // As in the kernel, columns that got no block are not shown, unless names are all there is.
        if self.blocks.is_empty() && self.layout != ColumnsLayout::Named {
            self.out.text.push(b'\n');
            return Ok(());
        }
        for column in 0..self.names.len() {
            let out = &mut self.out.text;
            if column > 0 {
                out.extend_from_slice(b",\n");
            }
            out.resize(out.len() + indent, b'\t');
            if self.layout != ColumnsLayout::Bare {
                out.extend_from_slice(&self.names[column]);
                out.extend_from_slice(b": ");
            }
            out.push(b'[');
            let mut first = true;
            for block in &self.blocks {
                for row in 0..block.n_rows() {
                    if !std::mem::replace(&mut first, false) {
                        self.out.text.extend_from_slice(b", ");
                    }
                    self.cells.write(&mut self.out.text, block, column, row);
                }
                self.out.settle()?;
            }
            self.out.text.push(b']');
        }
        self.out.text.push(b'\n');
        Ok(())
    }

    /// One row as an object of single values.
    fn put_row(&mut self, block: &Block, row: usize, indent: usize) {
        let out = &mut self.out.text;
        out.resize(out.len() + indent, b'\t');
        out.extend_from_slice(b"{\n");
        for (column, name) in self.names.iter().enumerate() {
            if column > 0 {
                out.extend_from_slice(b",\n");
            }
            out.resize(out.len() + indent + 1, b'\t');
            out.extend_from_slice(name);
            out.extend_from_slice(b": ");
            self.cells.write(out, block, column, row);
        }
        out.push(b'\n');
        out.resize(out.len() + indent, b'\t');
        out.push(b'}');
    }

    fn put_document(&mut self, statistics: &Statistics) -> Result<()> {
        self.out.text.extend_from_slice(b"{\n");
        put_meta(&mut self.out.text, &self.request);
        self.out.text.extend_from_slice(b"\t\"data\":\n\t{\n");
        self.put_columns(2)?;
        self.out.text.extend_from_slice(b"\t}");
        if let Some(totals) = self.totals.take() {
            self.out.text.extend_from_slice(b",\n\n\t\"totals\":\n");
            self.put_row(&totals, 0, 1);
        }
        if let Some(extremes) = self.extremes.take() {
            self.out.text.extend_from_slice(b",\n\n\t\"extremes\":\n\t{\n\t\t\"min\":\n");
            self.put_row(&extremes, 0, 2);
            self.out.text.extend_from_slice(b",\n\t\t\"max\":\n");
            self.put_row(&extremes, 1, 2);
            self.out.text.extend_from_slice(b"\n\t}");
        }
        let rows = self.blocks.iter().map(|b| b.n_rows() as u64).sum();
        put_end(&mut self.out.text, &self.request, rows, statistics);
        Ok(())
    }
}

impl BlockWriter for ColumnsWriter {
    fn write(&mut self, block: &Block) -> Result<()> {
        if !block.is_empty() {
            self.blocks.push(block.clone());
        }
        Ok(())
    }

    fn totals(&mut self, block: &Block) -> Result<()> {
        self.totals = Some(block.clone());
        Ok(())
    }

    fn extremes(&mut self, block: &Block) -> Result<()> {
        self.extremes = Some(block.clone());
        Ok(())
    }

    fn finish(&mut self, statistics: &Statistics) -> Result<()> {
        match self.layout {
            ColumnsLayout::WithMetadata => self.put_document(statistics)?,
            ColumnsLayout::Named => {
                self.out.text.extend_from_slice(b"{\n");
                self.put_columns(1)?;
                self.out.text.extend_from_slice(b"}\n");
            }
            ColumnsLayout::Bare => {
                self.out.text.extend_from_slice(b"[\n");
                self.put_columns(1)?;
                self.out.text.extend_from_slice(b"]\n");
            }
        }
        self.out.close()
    }
}
