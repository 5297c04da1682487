//! Gathering the rows of a result for one table, or one a block, and leaving out the middle of a long one.

use super::grid::{ASCII, Shape, UNICODE};
use super::names::shown_above;
use super::table::Table;
use super::value::{Colours, ValueTexts};
use crate::output::{BlockWriter, Out, Sink, Statistics, WriteRequest};
use crate::text::stands_right;
use crate::vertical::Vertical;
use chalet_base::Result;
use chalet_columns::Block;
use chalet_types::DataType;
use std::collections::VecDeque;

pub struct PrettyWriter {
    request: WriteRequest,
    shape: Shape,
    colours: Colours,
    names: Vec<String>,
    right: Vec<bool>,
    number: Vec<bool>,
    texts: ValueTexts,
    out: Out,
    /// One table for all blocks.
    mono: bool,
    /// The first rows, and the last ones, of the table being gathered.
    head: Vec<Block>,
    tail: VecDeque<Block>,
    head_rows: usize,
    tail_rows: usize,
    /// Rows of the table being gathered, also those that are not kept.
    gathered: usize,
    /// Rows of finished tables: seen, and counted against the limit.
    total: usize,
}

impl PrettyWriter {
    pub fn new(request: WriteRequest, sink: Box<dyn Sink>, shape: Shape, escapes: bool, mono: bool) -> Self {
        let settings = &request.settings;
        let is_number = |ty: &DataType| ty.bare().is_number() && *ty.bare() != DataType::Bool;
        PrettyWriter {
            shape,
            colours: Colours::new(settings, request.terminal, escapes),
            names: request.header.iter().map(|c| c.0.clone()).collect(),
            right: request.header.iter().map(|c| stands_right(&c.1)).collect(),
            number: request.header.iter().map(|c| is_number(&c.1)).collect(),
            texts: ValueTexts::new(&request, settings.output_format_pretty_named_tuples_as_json),
            out: Out::new(sink),
            mono: mono || settings.output_format_pretty_squash_consecutive_ms > 0,
            head: Vec::new(),
            tail: VecDeque::new(),
            head_rows: 0,
            tail_rows: 0,
            gathered: 0,
            total: 0,
            request,
        }
    }

    fn max_rows(&self) -> usize {
        self.request.settings.output_format_pretty_max_rows.min(u32::MAX.into()) as usize
    }

    /// Keeps what may be shown of a block.
    fn gather(&mut self, block: &Block) {
        let max_rows = self.max_rows();
        self.gathered += block.n_rows();
        if self.head_rows < max_rows {
            let taken = block.n_rows().min(max_rows - self.head_rows);
            self.head.push(block.slice(0, taken));
            self.head_rows += taken;
        }
        self.tail.push_back(block.clone());
        self.tail_rows += block.n_rows();
        while let Some(first) = self.tail.front().filter(|b| self.tail_rows - b.n_rows() >= max_rows / 2) {
            self.tail_rows -= first.n_rows();
            self.tail.pop_front();
        }
    }

    /// Draws the rows gathered.
    fn draw_gathered(&mut self) -> Result<()> {
        let (head, tail) = (std::mem::take(&mut self.head), std::mem::take(&mut self.tail));
        let (gathered, tail_rows) = (self.gathered, self.tail_rows);
        (self.head_rows, self.tail_rows, self.gathered) = (0, 0, 0);
        let room = self.max_rows().saturating_sub(self.total);
        let before = self.total;
        self.total += gathered;
        if gathered == 0 || room == 0 {
            return Ok(());
        }
        let mut rows = Rows::default();
        if gathered <= room {
            rows.take(&head, 0, gathered, before);
        } else {
            let (first, last) = (room.div_ceil(2), room / 2);
            rows.take(&head, 0, first, before);
            if last > 0 {
                rows.blocks.push(None);
                let tail: Vec<Block> = tail.into_iter().collect();
                rows.take(&tail, tail_rows - last, last, before + gathered - tail_rows);
            }
        }
        let width = digits(before + gathered) + 2;
        self.draw(rows, gathered, width);
        self.out.settle()
    }

    fn draw(&mut self, rows: Rows, n_rows: usize, number_width: usize) {
        let settings = self.request.settings.clone();
        let texts_of = |block: &Block, row: usize| -> Vec<Vec<u8>> {
            let text = |column| {
                let mut text = Vec::new();
                self.texts.write(&mut text, block, column, row);
                text
            };
            (0..self.names.len()).map(text).collect()
        };
        let mut texts = Vec::new();
        for part in &rows.blocks {
            match part {
                None => texts.push(None),
                Some((block, first)) => {
                    let numbered = |row: usize| Some(((first + row + 1) as u64, texts_of(block, row)));
                    texts.extend((0..block.n_rows()).map(numbered));
                }
            }
        }
        let single_value = n_rows == 1 && self.names.len() == 1;
        let footer = settings.output_format_pretty_display_footer_column_names != 0
            && n_rows as u64 >= settings.output_format_pretty_display_footer_column_names_min_rows;
        let mut table = Table {
            shape: self.shape,
            grid: if settings.output_format_pretty_grid_charset == "ASCII" { &ASCII } else { &UNICODE },
            colours: self.colours,
            names: self.names.clone(),
            right: &self.right,
            number: &self.number,
            rows: texts,
            number_width: if settings.output_format_pretty_row_numbers { number_width } else { 0 },
            max_value_width: settings.output_format_pretty_max_value_width as usize,
            max_pad_width: settings.output_format_pretty_max_column_pad_width as usize,
            multiline: settings.output_format_pretty_multiline_fields,
            nbsp: settings.output_format_pretty_use_nbsp_for_padding,
            footer,
            tip_threshold: settings.output_format_pretty_single_large_number_tip_threshold,
            single_uncut: single_value
                && settings.output_format_pretty_max_value_width_apply_for_single_value == 0,
        };
        for (column, name) in self.names.iter().enumerate() {
            table.names[column] = shown_above(name, table.values_width(column), &settings);
        }
        if self.prefers_vertical(&table, n_rows) {
            // Rows below each other know nothing of a table without escape sequences.
            let terminal = self.request.terminal && self.colours.on;
            let colours = Colours::new(&self.request.settings, terminal, true);
            let vertical = Vertical::new(&self.request, colours);
            let numbered: Vec<(u64, Vec<Vec<u8>>)> = table.rows.into_iter().flatten().collect();
            for (i, (number, texts)) in numbered.iter().enumerate() {
                if i > 0 {
                    self.out.text.push(b'\n');
                }
                vertical.put_row(&mut self.out.text, *number, texts);
            }
        } else {
            table.draw(&mut self.out.text);
        }
    }

    /// Few rows of many wide columns, or of values of several lines, are easier to read one value a line.
    fn prefers_vertical(&self, table: &Table, n_rows: usize) -> bool {
        let settings = &self.request.settings;
        settings.output_format_pretty_fallback_to_vertical
            && n_rows as u64 <= settings.output_format_pretty_fallback_to_vertical_max_rows_per_chunk
            && self.names.len() as u64 >= settings.output_format_pretty_fallback_to_vertical_min_columns
            && (table.rows.iter().flatten().any(|(_, texts)| texts.iter().any(|t| t.contains(&b'\n')))
                || table.widths().iter().sum::<usize>() as u64
                    >= settings.output_format_pretty_fallback_to_vertical_min_table_width)
    }

    fn draw_apart(&mut self, title: &str, block: &Block) -> Result<()> {
        self.draw_gathered()?;
        self.out.text.extend_from_slice(format!("\n{title}:\n").as_bytes());
        let rows = Rows { blocks: vec![Some((block.clone(), 0))] };
        self.draw(rows, block.n_rows(), 3);
        Ok(())
    }
}

fn digits(n: usize) -> usize {
    n.max(1).ilog10() as usize + 1
}

/// Blocks to draw, each with the number of rows before it; `None` where rows are left out.
#[derive(Default)]
struct Rows {
    blocks: Vec<Option<(Block, usize)>>,
}

impl Rows {
    /// Adds `n` rows of `blocks` from row `skip` on; `before` rows precede the blocks.
    fn take(&mut self, blocks: &[Block], mut skip: usize, mut n: usize, mut before: usize) {
        for block in blocks {
            let rows = block.n_rows();
            let taken = rows.saturating_sub(skip).min(n);
            if taken > 0 {
                self.blocks.push(Some((block.slice(skip, taken), before + skip)));
            }
            n -= taken;
            skip = skip.saturating_sub(rows);
            before += rows;
        }
    }
}

impl BlockWriter for PrettyWriter {
    fn write(&mut self, block: &Block) -> Result<()> {
        if block.is_empty() || self.names.is_empty() {
            return Ok(());
        }
        self.gather(block);
        if self.mono { Ok(()) } else { self.draw_gathered() }
    }

    fn totals(&mut self, block: &Block) -> Result<()> {
        self.draw_apart("Totals", block)
    }

    fn extremes(&mut self, block: &Block) -> Result<()> {
        self.draw_apart("Extremes", block)
    }

    fn finish(&mut self, _: &Statistics) -> Result<()> {
        self.draw_gathered()?;
        let (total, shown) = (self.total, self.max_rows());
        if total > shown {
            let blank = if self.shape == Shape::Space { "\n" } else { "" };
            let text = format!("{blank}Showed {shown} out of {total} rows.\n");
            self.out.text.extend_from_slice(text.as_bytes());
        }
        self.out.close()
    }

    fn flush(&mut self) -> Result<()> {
        self.draw_gathered()?;
        self.out.flush()
    }
}
