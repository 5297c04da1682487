//! Writing Template.

use super::format_string::{FormatString, source};
use crate::WriteRequest;
use crate::escaping::style;
use crate::output::Statistics;
use crate::row_writer::RowLayout;
use crate::settings::EscapingRule;
use crate::text::text_settings;
use chalet_base::{Result, ensure, err};
use chalet_columns::{Block, Column};
use chalet_text::{TextSettings, Writer};
use chalet_types::{DataType, Value};

/// What may stand in the format of the result, in the order of their numbers.
const PARTS: [&str; 9] =
    ["data", "totals", "min", "max", "rows", "rows_before_limit", "time", "rows_read", "bytes_read"];
/// Those before this one are rows.
const FIRST_NUMBER: usize = 4;

pub struct TemplateLayout {
    settings: TextSettings,
    between: Vec<u8>,
    row: FormatString,
    writers: Vec<Writer>,
    result: FormatString,
    n_rows: u64,
    /// The rows of `totals`, `min` and `max`.
    extra: [Vec<u8>; 3],
}

impl TemplateLayout {
    pub fn new(request: WriteRequest) -> Result<TemplateLayout> {
        let s = &request.settings;
        let column = |name: &str| {
            let found = request.header.iter().position(|c| c.0 == name);
            let number = || name.parse().ok().filter(|at| *at < request.header.len());
            found.or_else(number).map(Some).ok_or_else(|| {
                let names: Vec<&str> = request.header.iter().map(|c| c.0.as_str()).collect();
                err!(
                    NOT_FOUND_COLUMN_IN_BLOCK,
                    "Not found column {name} in block. There are only columns: {}",
                    names.join(", ")
                )
            })
        };
        let text =
            source(&s.format_template_row_format, &s.format_template_row, &s.paths)?.unwrap_or_default();
        let row = FormatString::parse(&text, column)?;
        if row.parts.is_empty() {
            return Err(row.invalid("No columns specified"));
        }
        if row.parts.iter().any(|part| part.rule == EscapingRule::None || part.column.is_none()) {
            return Err(row.invalid("Serialization type for file column is not specified"));
        }
        let text = source(&s.format_template_resultset_format, &s.format_template_resultset, &s.paths)?;
        let text = text.unwrap_or_else(|| "${data}".to_string());
        let result = FormatString::parse(&text, |name| {
            let part = PARTS.iter().position(|part| *part == name);
            part.map(Some).ok_or_else(|| err!(SYNTAX_ERROR, "Unknown output part {name}"))
        })?;
        if result.parts.first().is_none_or(|part| part.column != Some(0)) {
            return Err(result.invalid("${data} must be the first output part"));
        }
        for part in &result.parts {
            let is_rows = part.column.is_some_and(|column| column < FIRST_NUMBER);
            if is_rows && part.rule != EscapingRule::None {
                return Err(
                    result.invalid("Serialization type for data, totals, min and max must be empty or None")
                );
            }
            if !is_rows && part.rule == EscapingRule::None {
                return Err(result.invalid(
                    "Serialization type for output part rows, rows, time, rows_read or bytes_read is not specified",
                ));
            }
        }
        let settings = text_settings(s, &request.time_zone);
        let mut writers = Vec::with_capacity(row.parts.len());
        for part in &row.parts {
            let Some(column) = part.column else { continue };
            writers.push(Writer::new(&request.header[column].1, style(part.rule)?, &settings));
        }
        ensure!(writers.len() == row.parts.len(), LOGICAL_ERROR, "A part of a template has no column");
        let between = s.format_template_rows_between_delimiter.clone().into_bytes();
        Ok(TemplateLayout { settings, between, row, writers, result, n_rows: 0, extra: Default::default() })
    }

    fn write_row(&self, out: &mut Vec<u8>, block: &Block, row: usize) {
        for ((delimiter, part), writer) in self.row.delimiters.iter().zip(&self.row.parts).zip(&self.writers)
        {
            out.extend_from_slice(delimiter);
            let Some(column) = part.column else { continue };
            let (vector, row) = block.column(column).locate(row);
            writer.write(out, vector, row);
        }
        out.extend_from_slice(&self.row.delimiters[self.row.parts.len()]);
    }

    fn number(&self, out: &mut Vec<u8>, value: &Value, ty: DataType, rule: EscapingRule) {
        let (Ok(column), Ok(style)) = (Column::of_value(value, &ty, 1), style(rule)) else { return };
        let (vector, row) = column.locate(0);
        Writer::new(&ty, style, &self.settings).write(out, vector, row);
    }
}

impl RowLayout for TemplateLayout {
    fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.result.delimiters[0]);
    }

    fn row(&mut self, out: &mut Vec<u8>, block: &Block, row: usize) {
        if self.n_rows > 0 {
            out.extend_from_slice(&self.between);
        }
        self.n_rows += 1;
        self.write_row(out, block, row);
    }

    fn totals(&mut self, _: &mut Vec<u8>, block: &Block) {
        let mut text = Vec::new();
        (0..block.n_rows().min(1)).for_each(|row| self.write_row(&mut text, block, row));
        self.extra[0] = text;
    }

    fn extremes(&mut self, _: &mut Vec<u8>, block: &Block) {
        for row in 0..block.n_rows().min(2) {
            let mut text = Vec::new();
            self.write_row(&mut text, block, row);
            self.extra[row + 1] = text;
        }
    }

    fn end(&mut self, out: &mut Vec<u8>, statistics: &Statistics) {
        for (at, part) in self.result.parts.iter().enumerate() {
            let unsigned = |n: u64| (Value::UInt(n), DataType::UInt64);
            let number = match part.column {
                Some(4) => unsigned(self.n_rows),
                Some(5) => unsigned(statistics.rows_before_limit.unwrap_or(0)),
                Some(6) => (Value::Float(statistics.elapsed_seconds), DataType::Float64),
                Some(7) => unsigned(statistics.rows_read),
                Some(8) => unsigned(statistics.bytes_read),
                Some(extra @ 1..=3) => {
                    out.extend_from_slice(&self.extra[extra - 1]);
                    out.extend_from_slice(&self.result.delimiters[at + 1]);
                    continue;
                }
                _ => {
                    out.extend_from_slice(&self.result.delimiters[at + 1]);
                    continue;
                }
            };
            self.number(out, &number.0, number.1, part.rule);
            out.extend_from_slice(&self.result.delimiters[at + 1]);
        }
    }
}
