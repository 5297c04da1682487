//! CSV: rows on lines, fields between commas, quoted by double quotes.

mod reader;
mod writer;

use crate::FormatSettings;
use crate::format::{Capabilities, Format};
use crate::header::Header;
use crate::infer;
use crate::input::{FileScan, Input, InputFormat, ReadRequest, Schema};
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use crate::positional::{self, FoundHeader, PositionalFormat};
use crate::row_writer::RowWriter;
use chalet_base::{Result, ensure};
use chalet_text::read::cursor::Cursor;
use chalet_types::DataType;
use reader::CsvSyntax;

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
        input: Some(format),
        output: Some(format),
    }
}

pub const FORMATS: &[Format] = &[
    Format { suffixes: &["csv"], ..format("CSV", &Csv(Header::None)) },
    format("CSVWithNames", &Csv(Header::Names)),
    format("CSVWithNamesAndTypes", &Csv(Header::NamesAndTypes)),
];

/// Bytes that values begin with or are made of.
const DOUBTFUL_DELIMITERS: &[u8] = b"\"'.UL";

impl OutputFormat for Csv {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        Ok(RowWriter::boxed(writer::CsvLayout::new(request, self.0), sink))
    }
}

impl PositionalFormat for Csv {
    type Syntax = CsvSyntax;

    fn syntax(&self, settings: &FormatSettings) -> CsvSyntax {
        CsvSyntax::new(settings)
    }

    fn header(&self) -> Header {
        self.0
    }

    /// The elements of a tuple are columns of the file, each named behind the tuple's name.
    fn fold_header(&self, header: &mut FoundHeader, request: &ReadRequest) {
        if !request.settings.input_format_csv_deserialize_separate_columns_into_tuple {
            return;
        }
        let Some(names) = &mut header.names else { return };
        for (name, ty) in request.structure.iter().filter(|c| matches!(c.1, DataType::Tuple(_))) {
            let mut spread = Vec::new();
            writer::spread_tuple(name, ty, &mut spread);
            let parts: Vec<&String> = spread.iter().map(|s| &s.0).collect();
            let found = names.windows(parts.len()).position(|window| window.iter().eq(parts.iter().copied()));
            if let Some(at) = found {
                names.splice(at..at + parts.len(), [name.clone()]);
                if let Some(types) = header.types.as_mut().filter(|types| types.len() >= at + parts.len()) {
                    types.splice(at..at + parts.len(), [ty.to_string()]);
                }
            }
        }
    }

    fn detects_header(&self, settings: &FormatSettings) -> bool {
        settings.input_format_csv_detect_header
    }

    fn skipped_lines(&self, settings: &FormatSettings) -> u64 {
        settings.input_format_csv_skip_first_lines
    }

    fn text(&self, syntax: &CsvSyntax, cur: &mut Cursor<'_>) -> Result<String> {
        syntax.text(cur)
    }
}

impl InputFormat for Csv {
    fn infer_schema(&self, input: &mut Input, settings: &FormatSettings) -> Result<Option<Schema>> {
        infer::positional(self, input, settings, |syntax, cur| {
            let field = syntax.raw_field(cur)?;
            Ok(infer::csv_field(field, settings))
        })
    }

    fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        let delimiter = request.settings.format_csv_delimiter.0;
        let blank = matches!(delimiter, b' ' | b'\t');
        let allowed = blank && request.settings.input_format_csv_allow_whitespace_or_tab_as_delimiter;
        ensure!(
            allowed || !blank && !DOUBTFUL_DELIMITERS.contains(&delimiter),
            BAD_ARGUMENTS,
            "CSV format may not work correctly with delimiter '{}'. Try use CustomSeparated format instead",
            char::from(delimiter)
        );
        positional::open(self, input, request)
    }
}
