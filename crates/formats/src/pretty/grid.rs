//! The characters that tables are drawn with.

/// How a table is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Lines around every cell.
    Full,
    /// Names in the upper line, no lines between rows.
    Compact,
    /// No lines.
    Space,
}

/// A horizontal line: its beginning, what it is made of, what stands between columns, its end.
pub struct Line {
    pub left: &'static str,
    pub dash: &'static str,
    pub between: &'static str,
    pub right: &'static str,
}

pub struct Grid {
    /// Above the names, below them, above the names of the footer, below those.
    pub header_top: Line,
    pub header_bottom: Line,
    pub footer_top: Line,
    pub footer_bottom: Line,
    /// Between names of a header with lines around them.
    pub header_bar: &'static str,
    pub bar: &'static str,
    /// Above the rows of a compact table, between rows, below the last one.
    pub top: Line,
    pub between: Line,
    pub bottom: Line,
    /// Of the line that stands for rows left out.
    pub dash: &'static str,
    /// Before a line of a value that the line above goes on with, behind what was cut, and behind a line that goes on below.
    pub goes_on: &'static str,
    pub cut: &'static str,
    pub breaks: &'static str,
}

const fn line(left: &'static str, dash: &'static str, between: &'static str, right: &'static str) -> Line {
    Line { left, dash, between, right }
}

pub const UNICODE: Grid = Grid {
    header_top: line("┏", "━", "┳", "┓"),
    header_bottom: line("┡", "━", "╇", "┩"),
    footer_top: line("┢", "━", "╈", "┪"),
    footer_bottom: line("┗", "━", "┻", "┛"),
    header_bar: "┃",
    bar: "│",
    top: line("┌", "─", "┬", "┐"),
    between: line("├", "─", "┼", "┤"),
    bottom: line("└", "─", "┴", "┘"),
    dash: "─",
    goes_on: "↳",
    cut: "⋯",
    breaks: "↴",
};

pub const ASCII: Grid = Grid {
    header_top: line("+", "-", "+", "+"),
    header_bottom: line("+", "-", "+", "+"),
    footer_top: line("+", "-", "+", "+"),
    footer_bottom: line("+", "-", "+", "+"),
    header_bar: "|",
    bar: "|",
    top: line("+", "-", "+", "+"),
    between: line("+", "-", "+", "+"),
    bottom: line("+", "-", "+", "+"),
    dash: "-",
    goes_on: ">",
    cut: "~",
    breaks: "\\",
};
