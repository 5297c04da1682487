//! Reading lines.

use crate::input::{BlockReader, ReadRequest};
use crate::row_reader::{Failures, Filling, RowParser, RowReader};
use crate::segments::{Rows, Unit, line_end};
use chalet_base::{Result, ensure};
use chalet_columns::builder::Values;
use chalet_text::read::cursor::Cursor;
use chalet_types::DataType;
use std::sync::Arc;

pub struct LineFile {
    request: ReadRequest,
}

impl LineFile {
    pub fn new(request: ReadRequest) -> Result<LineFile> {
        check_single_string(&request)?;
        Ok(LineFile { request })
    }
}

/// Formats of one value a row fit tables of one String column.
pub fn check_single_string(request: &ReadRequest) -> Result<()> {
    let fits = request.structure.len() == 1 && *request.structure[0].1.bare() == DataType::String;
    ensure!(
        fits,
        INCORRECT_QUERY,
        "This input format is only suitable for tables with a single column of type String"
    );
    Ok(())
}

impl Rows for LineFile {
    fn row_end(&self, bytes: &[u8], at_least: usize) -> Option<usize> {
        line_end(bytes, at_least)
    }

    fn reader(self: Arc<Self>, unit: Unit) -> Box<dyn BlockReader> {
        let request = self.request.clone();
        Box::new(RowReader::new(LineParser, self, unit, &request, Arc::new(Failures::default())))
    }
}

struct LineParser;

impl RowParser for LineParser {
    fn read_row(&mut self, cur: &mut Cursor<'_>, to: &mut Filling) -> Result<bool> {
        if cur.is_at_end() {
            return Ok(false);
        }
        let rest = cur.rest();
        let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        for builder in &mut to.builders {
            if let Values::Str(strings) = &mut builder.values {
                strings.push(&rest[..length]);
            }
            builder.mark_valid();
        }
        cur.advance((length + 1).min(rest.len()));
        Ok(true)
    }

    fn skip_row(&mut self, cur: &mut Cursor<'_>) {
        cur.advance(cur.rest().len());
    }
}
