//! TabSeparated: rows on lines, fields between tabs, escaped by backslashes or raw.

mod writer;

use crate::header::Header;
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use crate::registry::{Capabilities, Format};
use crate::row_writer::RowWriter;
use chalet_base::Result;

struct Tsv {
    header: Header,
    raw: bool,
}

const PLAIN: &Tsv = &Tsv { header: Header::None, raw: false };
const NAMES: &Tsv = &Tsv { header: Header::Names, raw: false };
const TYPES: &Tsv = &Tsv { header: Header::NamesAndTypes, raw: false };
const RAW: &Tsv = &Tsv { header: Header::None, raw: true };
const RAW_NAMES: &Tsv = &Tsv { header: Header::Names, raw: true };
const RAW_TYPES: &Tsv = &Tsv { header: Header::NamesAndTypes, raw: true };

const fn format(name: &'static str, format: &'static Tsv) -> Format {
    Format {
        name,
        suffixes: &[],
        content_type: "text/tab-separated-values; charset=UTF-8",
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
    Format { suffixes: &["tsv"], ..format("TSV", PLAIN) },
    format("TabSeparated", PLAIN),
    format("TSVWithNames", NAMES),
    format("TabSeparatedWithNames", NAMES),
    format("TSVWithNamesAndTypes", TYPES),
    format("TabSeparatedWithNamesAndTypes", TYPES),
    format("TSVRaw", RAW),
    format("TabSeparatedRaw", RAW),
    format("Raw", RAW),
    format("TSVRawWithNames", RAW_NAMES),
    format("TabSeparatedRawWithNames", RAW_NAMES),
    format("RawWithNames", RAW_NAMES),
    format("TSVRawWithNamesAndTypes", RAW_TYPES),
    format("TabSeparatedRawWithNamesAndTypes", RAW_TYPES),
    format("RawWithNamesAndTypes", RAW_TYPES),
];

impl OutputFormat for Tsv {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        Ok(RowWriter::boxed(writer::TsvLayout::new(request, self.header, self.raw), sink))
    }
}
