//! Reading the rows of one table of a dump.

use super::statements::Dump;
use crate::input::{BlockReader, ReadRequest};
use crate::row_reader::{Failures, Filling, RowParser, RowReader};
use crate::segments::{Rows, Unit};
use crate::text::text_settings;
use crate::values::expression_end;
use chalet_base::{Result, ensure};
use chalet_text::read::cursor::Cursor;
use chalet_text::read::{Reader, Readers, Syntax};
use std::sync::Arc;

pub struct DumpFile {
    request: ReadRequest,
}

impl DumpFile {
    pub fn new(request: ReadRequest) -> DumpFile {
        DumpFile { request }
    }
}

impl Rows for DumpFile {
    fn row_end(&self, _: &[u8], _: usize) -> Option<usize> {
        None
    }

    fn reader(self: Arc<Self>, unit: Unit) -> Box<dyn BlockReader> {
        let settings = text_settings(&self.request.settings, &self.request.time_zone);
        let wanted = self.request.wanted.iter();
        let readers = Readers::new(&settings);
        let readers = wanted.map(|&i| readers.of(&self.request.structure[i].1, Syntax::Quoted));
        let parser = DumpParser {
            dump: Dump::new(&self.request.settings.input_format_mysql_dump_table_name),
            readers: readers.collect(),
            columns: (0, Vec::new()),
            request: self.request.clone(),
        };
        let request = self.request.clone();
        Box::new(RowReader::new(parser, self, unit, &request, Arc::new(Failures::default())))
    }
}

struct DumpParser {
    dump: Dump,
    /// Of the wanted columns.
    readers: Vec<Reader>,
    /// The number of an INSERT, and which wanted column each value of its rows is of.
    columns: (usize, Vec<Option<usize>>),
    request: ReadRequest,
}

impl DumpParser {
    /// Which wanted column each value of a row is of.
    fn columns(&self) -> Vec<Option<usize>> {
        let wanted = |place: usize| self.request.wanted.iter().position(|&at| at == place);
        match self.places() {
            Some(places) => places.into_iter().map(|place| place.and_then(wanted)).collect(),
            None => (0..self.request.structure.len()).map(wanted).collect(),
        }
    }

    /// The column of the structure that each value of a row is of; `None` where they come one after the other.
    fn places(&self) -> Option<Vec<Option<usize>>> {
        if !self.request.settings.input_format_mysql_dump_map_column_names {
            return None;
        }
        let made = self.dump.made.iter().map(|column| &column.name);
        let names: Vec<&String> = match &self.dump.names[..] {
            [] => made.collect(),
            names => names.iter().collect(),
        };
        let place = |name: &&String| self.request.structure.iter().position(|column| column.0 == **name);
        (!names.is_empty()).then(|| names.iter().map(place).collect())
    }
}

impl RowParser for DumpParser {
    fn skips_errors(&self) -> bool {
        false
    }

    fn read_row(&mut self, cur: &mut Cursor<'_>, to: &mut Filling) -> Result<bool> {
        if !self.dump.next_row(cur)? {
            ensure!(self.dump.inserts > 0, EMPTY_DATA_PASSED, "{}", self.dump.nothing());
            return Ok(false);
        }
        if self.columns.0 != self.dump.inserts {
            self.columns = (self.dump.inserts, self.columns());
        }
        cur.expect(b'(')?;
        let n = self.columns.1.len();
        for (index, column) in self.columns.1.iter().enumerate() {
            cur.skip_whitespace();
            match *column {
                Some(column) => {
                    if !self.readers[column].read(cur, &mut to.builders[column])? {
                        to.mark_omitted(column);
                    }
                }
                None => cur.advance(expression_end(cur.rest(), false)),
            }
            cur.skip_whitespace();
            cur.expect(if index + 1 < n { b',' } else { b')' })?;
        }
        Ok(true)
    }

    fn skip_row(&mut self, cur: &mut Cursor<'_>) {
        let end = expression_end(cur.rest(), true);
        cur.advance(end);
        cur.accept(b')');
    }
}
