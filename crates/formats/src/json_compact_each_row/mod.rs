//! JSONCompactEachRow: one JSON array a row.

mod writer;

use crate::header::Header;
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use crate::registry::{Capabilities, Format};
use crate::row_writer::RowWriter;
use chalet_base::Result;

struct JsonCompactEachRow {
    header: Header,
    as_strings: bool,
}

const fn format(name: &'static str, format: &'static JsonCompactEachRow) -> Format {
    Format {
        name,
        suffixes: &[],
        content_type: "text/plain; charset=UTF-8",
        capabilities: Capabilities {
            parallel_parsing: true,
            parallel_formatting: true,
            tty_friendly: true,
            schema_inference: true,
            subset_of_columns: !matches!(format.header, Header::None),
            ..Capabilities::NONE
        },
        input: None,
        output: Some(format),
    }
}

pub const FORMATS: &[Format] = &[
    format("JSONCompactEachRow", &JsonCompactEachRow { header: Header::None, as_strings: false }),
    format("JSONCompactEachRowWithNames", &JsonCompactEachRow { header: Header::Names, as_strings: false }),
    format(
        "JSONCompactEachRowWithNamesAndTypes",
        &JsonCompactEachRow { header: Header::NamesAndTypes, as_strings: false },
    ),
    format("JSONCompactStringsEachRow", &JsonCompactEachRow { header: Header::None, as_strings: true }),
    format(
        "JSONCompactStringsEachRowWithNames",
        &JsonCompactEachRow { header: Header::Names, as_strings: true },
    ),
    format(
        "JSONCompactStringsEachRowWithNamesAndTypes",
        &JsonCompactEachRow { header: Header::NamesAndTypes, as_strings: true },
    ),
];

impl OutputFormat for JsonCompactEachRow {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        let layout = writer::JsonCompactEachRowLayout::new(request, self.header, self.as_strings);
        Ok(RowWriter::boxed(layout, sink))
    }
}
