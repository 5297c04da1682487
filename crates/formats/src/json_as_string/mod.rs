//! JSONAsString and JSONAsObject: each JSON object of the input as the text it stands in, or as a value of type JSON.

use crate::FormatSettings;
use crate::format::{Capabilities, Format};
use crate::input::{BlockReader, FileScan, Input, InputFormat, ReadRequest, Schema};
use crate::json_rows::{find_row_end, skip_row};
use crate::line_as_string::check_single_string;
use crate::row_reader::{Failures, Filling, RowParser, RowReader};
use crate::segments::{Rows, SegmentScan, Unit};
use crate::text::text_settings;
use chalet_base::{Result, ensure};
use chalet_columns::builder::Values;
use chalet_text::read::cursor::Cursor;
use chalet_text::read::{Reader, Syntax, string};
use chalet_types::DataType;
use std::sync::Arc;

struct JsonAsString;
struct JsonAsObject;

pub const FORMATS: &[Format] = &[
    Format {
        name: "JSONAsString",
        suffixes: &[],
        content_type: "",
        capabilities: Capabilities {
            parallel_parsing: true,
            tty_friendly: true,
            external_schema: true,
            ..Capabilities::NONE
        },
        input: Some(&JsonAsString),
        output: None,
    },
    Format {
        name: "JSONAsObject",
        suffixes: &[],
        content_type: "",
        capabilities: Capabilities {
            parallel_parsing: true,
            tty_friendly: true,
            external_schema: true,
            ..Capabilities::NONE
        },
        input: Some(&JsonAsObject),
        output: None,
    },
];

impl InputFormat for JsonAsObject {
    fn infer_schema(&self, _: &mut Input, _: &FormatSettings) -> Result<Option<Schema>> {
        Ok(Some(vec![("json".to_string(), DataType::Json(Arc::default()))]))
    }

    fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        ensure!(
            matches!(&*request.structure, [(_, DataType::Json(_))]),
            BAD_ARGUMENTS,
            "Input format JSONAsObject is only suitable for tables with a single column of type JSON"
        );
        Ok(Box::new(SegmentScan::new(JsonFile { request }, input, 0)?))
    }
}

impl InputFormat for JsonAsString {
    fn infer_schema(&self, _: &mut Input, _: &FormatSettings) -> Result<Option<Schema>> {
        Ok(Some(vec![("json".to_string(), DataType::String)]))
    }

    fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        check_single_string(&request)?;
        Ok(Box::new(SegmentScan::new(JsonFile { request }, input, 0)?))
    }
}

struct JsonFile {
    request: ReadRequest,
}

impl Rows for JsonFile {
    fn row_end(&self, bytes: &[u8], at_least: usize) -> Option<usize> {
        find_row_end(bytes, at_least, true)
    }

    fn reader(self: Arc<Self>, unit: Unit) -> Box<dyn BlockReader> {
        let request = self.request.clone();
        let object = match &*request.structure {
            [(_, ty @ DataType::Json(_))] => {
                let settings = text_settings(&request.settings, &request.time_zone);
                Some(Reader::new(ty, Syntax::Json, &settings))
            }
            _ => None,
        };
        let parser = JsonParser { first: true, object };
        Box::new(RowReader::new(parser, self, unit, &request, Arc::new(Failures::default())))
    }
}

struct JsonParser {
    first: bool,
    /// Of values of type JSON.
    object: Option<Reader>,
}

impl RowParser for JsonParser {
    fn read_row(&mut self, cur: &mut Cursor<'_>, to: &mut Filling) -> Result<bool> {
        let is_first = std::mem::replace(&mut self.first, false);
        cur.skip_whitespace();
        if is_first && cur.peek() == Some(b'[') || !is_first && matches!(cur.peek(), Some(b',' | b';')) {
            cur.advance(1);
            cur.skip_whitespace();
        }
        if cur.peek() == Some(b']') {
            cur.advance(1);
            cur.skip_whitespace();
        }
        if cur.is_at_end() {
            return Ok(false);
        }
        ensure!(cur.peek() == Some(b'{'), INCORRECT_DATA, "JSON object must begin with '{{'");
        if let Some(reader) = &self.object {
            return match to.builders.first_mut() {
                Some(builder) => reader.read(cur, builder).map(|_| true),
                None => string::json_value(cur).map(|_| true),
            };
        }
        let text = string::json_value(cur)?;
        for builder in &mut to.builders {
            if let Values::Str(strings) = &mut builder.values {
                strings.push(text);
            }
            builder.mark_valid();
        }
        Ok(true)
    }

    fn skip_row(&mut self, cur: &mut Cursor<'_>) {
        skip_row(cur);
    }
}
