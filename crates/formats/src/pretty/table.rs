//! Drawing one table.

use super::grid::{Grid, Line, Shape};
use super::value::{BOLD, Colours, GREY, RED, put_tip};
use chalet_text::width::{cut, width};

/// The texts of a table's cells, and how it is drawn.
pub struct Table<'a> {
    pub shape: Shape,
    pub grid: &'a Grid,
    pub colours: Colours,
    pub names: Vec<String>,
    /// Numbers and dates stand to the right; digits of numbers may be marked.
    pub right: &'a [bool],
    pub number: &'a [bool],
    /// Rows by number (from 1) and texts; `None` stands for rows left out.
    pub rows: Vec<Option<(u64, Vec<Vec<u8>>)>>,
    /// Columns that row numbers take; 0 for none.
    pub number_width: usize,
    /// In terminal columns: a longer value is cut; the padding of others follows values up to the second.
    pub max_value_width: usize,
    pub max_pad_width: usize,
    pub multiline: bool,
    pub nbsp: bool,
    pub footer: bool,
    /// Above it, a number in the last column is put in words; 0 for never.
    pub tip_threshold: u64,
    /// The only value of a table is not cut.
    pub single_uncut: bool,
}

/// A value as it is drawn: its lines, of which each is cut by itself.
struct Cell<'a> {
    lines: Vec<CellLine<'a>>,
    /// The value ends in a line break: its last line is marked as if another followed.
    open: bool,
}

struct CellLine<'a> {
    text: &'a [u8],
    cut: bool,
}

impl Table<'_> {
    /// Widths of the columns: of the widest value or name.
    pub fn widths(&self) -> Vec<usize> {
        let mut start = self.first_column();
        let widths = self.names.iter().enumerate().map(|(column, name)| {
            let values = self.rows.iter().flatten().map(|(_, texts)| self.value_width(&texts[column], start));
            let of_name = width(name.as_bytes(), start).min(self.max_pad_width);
            let widest = values.max().unwrap_or(0).max(of_name);
            start += widest + 3;
            widest
        });
        widths.collect()
    }

    /// The width of the widest value of a column, before it is drawn.
    pub fn values_width(&self, column: usize) -> usize {
        let values = self.rows.iter().flatten();
        values.map(|(_, texts)| self.value_width(&texts[column], 0)).max().unwrap_or(0)
    }

    /// Where the first value of a row begins.
    fn first_column(&self) -> usize {
        self.number_width + if self.shape == Shape::Space { 1 } else { 2 }
    }

    fn value_width(&self, text: &[u8], start: usize) -> usize {
        let whole = match self.multiline {
            true => text.split(|b| *b == b'\n').map(|line| width(line, start)).max().unwrap_or(0),
            false => width(text, start),
        };
        whole.min(self.max_value_width).min(self.max_pad_width)
    }

    pub fn draw(&self, out: &mut Vec<u8>) {
        let widths = self.widths();
        self.draw_header(out, &widths);
        for (i, row) in self.rows.iter().enumerate() {
            if i > 0 && self.shape == Shape::Full {
                self.draw_line(out, &widths, &self.grid.between);
            }
            match row {
                Some((number, texts)) => self.draw_row(out, &widths, *number, texts),
                None => self.draw_gap(out, &widths),
            }
        }
        self.draw_footer(out, &widths);
    }

    fn indent(&self, out: &mut Vec<u8>) {
        self.spaces(out, self.number_width);
    }

    fn spaces(&self, out: &mut Vec<u8>, n: usize) {
        match self.nbsp {
            false => out.resize(out.len() + n, b' '),
            true => (0..n).for_each(|_| out.extend_from_slice("\u{a0}".as_bytes())),
        }
    }

    fn draw_line(&self, out: &mut Vec<u8>, widths: &[usize], line: &Line) {
        self.indent(out);
        out.extend_from_slice(line.left.as_bytes());
        for (i, width) in widths.iter().enumerate() {
            if i > 0 {
                out.extend_from_slice(line.between.as_bytes());
            }
            out.extend_from_slice(line.dash.repeat(width + 2).as_bytes());
        }
        out.extend_from_slice(line.right.as_bytes());
        out.push(b'\n');
    }

    /// Names between bars, or inside a line.
    fn draw_names(
        &self,
        out: &mut Vec<u8>,
        widths: &[usize],
        left: &str,
        pad: &str,
        between: &str,
        right: &str,
    ) {
        self.indent(out);
        out.extend_from_slice(left.as_bytes());
        for (i, (name, column_width)) in self.names.iter().zip(widths).enumerate() {
            if i > 0 {
                out.extend_from_slice(between.as_bytes());
            }
            let padding = pad.repeat(column_width.saturating_sub(width(name.as_bytes(), 0)));
            out.extend_from_slice(pad.as_bytes());
            if self.right[i] {
                out.extend_from_slice(padding.as_bytes());
            }
            self.colours.put(out, BOLD, name.as_bytes());
            if !self.right[i] {
                out.extend_from_slice(padding.as_bytes());
            }
            // Without lines there is nothing behind the last name.
            if self.shape != Shape::Space || i + 1 < widths.len() {
                out.extend_from_slice(pad.as_bytes());
            }
        }
        out.extend_from_slice(right.as_bytes());
        out.push(b'\n');
    }

    fn draw_header(&self, out: &mut Vec<u8>, widths: &[usize]) {
        let (grid, space) = (self.grid, if self.nbsp { "\u{a0}" } else { " " });
        match self.shape {
            Shape::Full => {
                self.draw_line(out, widths, &grid.header_top);
                self.draw_names(out, widths, grid.header_bar, space, grid.header_bar, grid.header_bar);
                self.draw_line(out, widths, &grid.header_bottom);
            }
            Shape::Compact => {
                let Line { left, dash, between, right } = grid.top;
                self.draw_names(out, widths, left, dash, between, right);
            }
            Shape::Space => {
                self.draw_names(out, widths, "", space, space, "");
                out.push(b'\n');
            }
        }
    }

    fn draw_footer(&self, out: &mut Vec<u8>, widths: &[usize]) {
        let (grid, space) = (self.grid, if self.nbsp { "\u{a0}" } else { " " });
        match (self.shape, self.footer) {
            (Shape::Full, true) => {
                self.draw_line(out, widths, &grid.footer_top);
                self.draw_names(out, widths, grid.header_bar, space, grid.header_bar, grid.header_bar);
                self.draw_line(out, widths, &grid.footer_bottom);
            }
            (Shape::Compact, true) => {
                let Line { left, dash, between, right } = grid.bottom;
                self.draw_names(out, widths, left, dash, between, right);
            }
            (Shape::Space, true) => {
                out.push(b'\n');
                self.draw_names(out, widths, "", space, space, "");
                out.push(b'\n');
            }
            (Shape::Full | Shape::Compact, false) => self.draw_line(out, widths, &grid.bottom),
            (Shape::Space, false) => {}
        }
    }

    /// The line that stands for rows left out.
    fn draw_gap(&self, out: &mut Vec<u8>, widths: &[usize]) {
        self.indent(out);
        let total = match self.shape {
            Shape::Space => widths.iter().sum::<usize>() + 3 * widths.len() - 2,
            _ => widths.iter().sum::<usize>() + 3 * widths.len() + 1,
        };
        (0..total)
            .for_each(|i| out.extend_from_slice(if i % 2 == 0 { self.grid.dash } else { " " }.as_bytes()));
        out.push(b'\n');
    }

    fn cell<'t>(&self, text: &'t [u8]) -> Cell<'t> {
        let line = |text: &'t [u8]| {
            let cuts = !self.single_uncut && width(text, 0) > self.max_value_width;
            CellLine { text: if cuts { cut(text, self.max_value_width) } else { text }, cut: cuts }
        };
        if !self.multiline {
            return Cell { lines: vec![line(text)], open: false };
        }
        let (text, open) = match text.strip_suffix(b"\n") {
            Some(lines) => (lines, true),
            None => (text, false),
        };
        Cell { lines: text.split(|b| *b == b'\n').map(line).collect(), open }
    }

    fn draw_row(&self, out: &mut Vec<u8>, widths: &[usize], number: u64, texts: &[Vec<u8>]) {
        let cells: Vec<Cell> = texts.iter().map(|text| self.cell(text)).collect();
        let height = cells.iter().map(|c| c.lines.len()).max().unwrap_or(1);
        let (bar, between) = match self.shape {
            Shape::Space => ("", if self.nbsp { "\u{a0}" } else { " " }),
            _ => (self.grid.bar, self.grid.bar),
        };
        for line in 0..height {
            if self.number_width > 0 && line == 0 {
                let text = format!("{number}. ");
                self.spaces(out, self.number_width.saturating_sub(text.len()));
                self.colours.put(out, GREY, text.as_bytes());
            } else {
                self.indent(out);
            }
            out.extend_from_slice(bar.as_bytes());
            for (column, cell) in cells.iter().enumerate() {
                if column > 0 {
                    out.extend_from_slice(between.as_bytes());
                }
                self.draw_cell(out, cell, line, column, widths[column]);
            }
            out.extend_from_slice(bar.as_bytes());
            let last = texts.len() - 1;
            if self.tip_threshold > 0 && self.number[last] {
                put_tip(out, &texts[last], self.tip_threshold, self.colours);
            }
            out.push(b'\n');
        }
    }

    /// One line of a cell with what stands before and behind it.
    fn draw_cell(&self, out: &mut Vec<u8>, cell: &Cell, line: usize, column: usize, column_width: usize) {
        let shown = cell.lines.get(line);
        let text = shown.map_or(&[][..], |l| l.text);
        // The mark of a line break stands behind each line but the last.
        let breaks = line + 1 < cell.lines.len() || (line + 1 == cell.lines.len() && cell.open);
        if line > 0 && shown.is_some() {
            self.colours.put(out, GREY, self.grid.goes_on.as_bytes());
        } else {
            self.spaces(out, 1);
        }
        // As in the kernel, tabs are measured as if each value were the first of its row.
        let padding = column_width.saturating_sub(width(text, self.first_column()));
        if self.right[column] {
            self.spaces(out, padding);
        }
        self.colours.put_value(out, text, self.number[column]);
        let cut = shown.is_some_and(|l| l.cut);
        if cut {
            self.colours.put(out, RED, self.grid.cut.as_bytes());
        }
        if !self.right[column] {
            self.spaces(out, padding);
        }
        if breaks {
            self.colours.put(out, GREY, self.grid.breaks.as_bytes());
        } else if !cut {
            self.spaces(out, 1);
        }
    }
}
