//! Writing CSV.

use crate::WriteRequest;
use crate::header::Header;
use crate::row_writer::RowLayout;
use crate::text::Cells;
use chalet_columns::Block;
use chalet_text::Style;
use chalet_text::write::escape::csv;
use chalet_types::DataType;

pub struct CsvLayout {
    request: WriteRequest,
    cells: Cells,
    header: Header,
    delimiter: u8,
    line_end: &'static [u8],
}

impl CsvLayout {
    pub fn new(request: WriteRequest, header: Header) -> CsvLayout {
        CsvLayout {
            cells: Cells::new(&request, Style::Csv),
            delimiter: request.settings.format_csv_delimiter.0,
            line_end: if request.settings.output_format_csv_crlf_end_of_line { b"\r\n" } else { b"\n" },
            header,
            request,
        }
    }

    /// Names and types of the columns as they stand in the file, where a tuple may be spread over several.
    fn columns(&self) -> Vec<(String, String)> {
        let settings = &self.request.settings;
        let spread = settings.output_format_csv_serialize_tuple_into_separate_columns
            && settings.output_format_csv_header_serialize_tuple_into_separate_columns;
        let mut columns = Vec::new();
        for (column, (name, ty)) in self.request.header.iter().enumerate() {
            match ty {
                DataType::Tuple(_) if spread => spread_tuple(name, ty, &mut columns),
                _ => columns.push((name.clone(), self.request.type_name(column))),
            }
        }
        columns
    }

    fn line<'a>(&self, out: &mut Vec<u8>, texts: impl Iterator<Item = &'a str>) {
        for (i, text) in texts.enumerate() {
            if i > 0 {
                out.push(self.delimiter);
            }
            csv(out, text.as_bytes());
        }
        out.extend_from_slice(self.line_end);
    }
}

/// The names and types of a tuple's elements as columns of the file.
pub fn spread_tuple(name: &str, ty: &DataType, columns: &mut Vec<(String, String)>) {
    match ty {
        DataType::Tuple(fields) if !fields.is_empty() => {
            for (i, field) in fields.iter().enumerate() {
                let part = field.name.as_deref().map_or_else(|| (i + 1).to_string(), str::to_string);
                spread_tuple(&format!("{name}.{part}"), &field.ty, columns);
            }
        }
        _ => columns.push((name.to_string(), ty.to_string())),
    }
}

impl RowLayout for CsvLayout {
    fn begin(&mut self, out: &mut Vec<u8>) {
        let columns = self.columns();
        if self.header.has_names() {
            self.line(out, columns.iter().map(|c| c.0.as_str()));
        }
        if self.header.has_types() {
            self.line(out, columns.iter().map(|c| c.1.as_str()));
        }
    }

    fn row(&mut self, out: &mut Vec<u8>, block: &Block, row: usize) {
        self.cells.write_row(out, block, row, &[self.delimiter]);
        out.extend_from_slice(self.line_end);
    }

    fn totals(&mut self, out: &mut Vec<u8>, block: &Block) {
        self.extremes(out, block);
    }

    fn extremes(&mut self, out: &mut Vec<u8>, block: &Block) {
        out.extend_from_slice(self.line_end);
        (0..block.n_rows()).for_each(|row| self.row(out, block, row));
    }
}
