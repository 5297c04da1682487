//! CSV: rows on lines, fields between commas, quoted by double quotes.

mod writer;

use crate::header::Header;
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use crate::registry::{Capabilities, Format};
use crate::row_writer::RowWriter;
use chalet_base::Result;

struct Csv(Header);

const fn format(name: &'static str, format: &'static Csv) -> Format {
    let named = !matches!(format.0, Header::None);
    Format {
        name,
        suffixes: &[],
        content_type: if named {
            "text/csv; charset=UTF-8; header=present"
        } else {
            "text/csv; charset=UTF-8; header=absent"
        },
        capabilities: Capabilities {
            parallel_parsing: true,
            parallel_formatting: true,
            tty_friendly: true,
            schema_inference: true,
            subset_of_columns: named,
            ..Capabilities::NONE
        },
        input: None,
        output: Some(format),
    }
}

pub const FORMATS: &[Format] = &[
    Format { suffixes: &["csv"], ..format("CSV", &Csv(Header::None)) },
    format("CSVWithNames", &Csv(Header::Names)),
    format("CSVWithNamesAndTypes", &Csv(Header::NamesAndTypes)),
];

impl OutputFormat for Csv {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        Ok(RowWriter::boxed(writer::CsvLayout::new(request, self.0), sink))
    }
}
