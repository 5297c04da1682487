//! The reader of formats whose rows stand one after the other: they say how one row is read, the rest is here.

use crate::input::{BlockReader, ReadRequest};
use crate::segments::{Rows, Unit};
use chalet_base::{Error, Result, ensure};
use chalet_columns::{Block, BooleanBuffer, Builder, Column, Vector};
use chalet_text::read::cursor::Cursor;
use chalet_types::DataType;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The wanted columns, being appended to.
pub struct Filling {
    pub builders: Vec<Builder>,
    /// For each column the rows that the data left out.
    omitted: Vec<Vec<u32>>,
    n_rows: usize,
}

impl Filling {
    pub fn new(types: &[DataType]) -> Filling {
        Filling {
            builders: types.iter().map(Builder::new).collect(),
            omitted: vec![Vec::new(); types.len()],
            n_rows: 0,
        }
    }

    /// Rows read in full.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The default stands in for a value that the data does not have.
    pub fn omit(&mut self, column: usize) {
        self.builders[column].push_default();
        self.mark_omitted(column);
    }

    /// The value just appended is a default that the data did not give.
    pub fn mark_omitted(&mut self, column: usize) {
        self.omitted[column].push(self.n_rows as u32);
    }

    /// Was the column given a value in the row being read?
    pub fn has(&self, column: usize) -> bool {
        self.builders[column].len() > self.n_rows
    }

    fn close_row(&mut self) {
        self.n_rows += 1;
    }

    /// Takes back what a failed row has appended.
    fn undo_row(&mut self) {
        for (builder, omitted) in self.builders.iter_mut().zip(&mut self.omitted) {
            if builder.len() > self.n_rows {
                builder.truncate(self.n_rows);
            }
            while omitted.last().is_some_and(|row| *row as usize >= self.n_rows) {
                omitted.pop();
            }
        }
    }

    /// The block; columns that no row has are one default for all rows.
    fn finish(self, types: &[DataType], absent: &[usize]) -> (Block, Vec<Option<BooleanBuffer>>) {
        let n = self.n_rows;
        let mask = |(column, rows): (usize, Vec<u32>)| {
            if absent.contains(&column) {
                return Some(BooleanBuffer::new_set(n));
            }
            (!rows.is_empty()).then(|| {
                let mut bits = vec![false; n];
                rows.iter().for_each(|row| bits[*row as usize] = true);
                BooleanBuffer::from(bits)
            })
        };
        let omitted = self.omitted.into_iter().enumerate().map(mask).collect();
        let columns =
            self.builders.into_iter().enumerate().map(|(column, builder)| match absent.contains(&column) {
                true => Column::constant(Vector::defaults(&types[column], 1), n),
                false => Column::Flat(builder.finish()),
            });
        (Block::new(columns.collect(), n), omitted)
    }
}

/// Reads rows of one format. One per unit.
pub trait RowParser: Send {
    /// Appends one row; false at the end of the data, where nothing was appended. A column that the row does not
    /// mention may be left short: it is filled up.
    fn read_row(&mut self, cur: &mut Cursor<'_>, to: &mut Filling) -> Result<bool>;

    /// Steps to the next row after one that failed; the cursor stands where that row began.
    fn skip_row(&mut self, cur: &mut Cursor<'_>);

    /// Rows that fail may be passed over, as far as the settings allow it.
    fn skips_errors(&self) -> bool {
        true
    }

    /// Says more about a row that failed: its fields, and those of the row before.
    fn describe(&mut self, _before: Option<(u64, &[u8])>, _row: (u64, &[u8])) -> Option<String> {
        None
    }

    /// Wanted columns that no row of the file has.
    fn absent(&self) -> &[usize] {
        &[]
    }
}

/// Rows that failed and were passed over, in all units of a file.
#[derive(Default)]
pub struct Failures(AtomicU64);

pub struct RowReader<P> {
    parser: P,
    rows: Arc<dyn Rows>,
    unit: Unit,
    /// Of the wanted columns.
    types: Vec<DataType>,
    request: ReadRequest,
    failures: Arc<Failures>,
    at: usize,
    n_rows: u64,
    omitted: Vec<Option<BooleanBuffer>>,
    ended: bool,
}

impl<P: RowParser> RowReader<P> {
    pub fn new(
        parser: P,
        rows: Arc<dyn Rows>,
        unit: Unit,
        request: &ReadRequest,
        failures: Arc<Failures>,
    ) -> RowReader<P> {
        let types = request.wanted.iter().map(|&index| request.structure[index].1.clone()).collect();
        RowReader {
            parser,
            rows,
            unit,
            types,
            request: request.clone(),
            failures,
            at: 0,
            n_rows: 0,
            omitted: Vec::new(),
            ended: false,
        }
    }

    /// May one more row fail?
    fn tolerates(&self) -> bool {
        let settings = &self.request.settings;
        let (count, ratio) =
            (settings.input_format_allow_errors_num, settings.input_format_allow_errors_ratio);
        if count == 0 && ratio == 0.0 || !self.parser.skips_errors() {
            return false;
        }
        let failed = self.failures.0.fetch_add(1, Ordering::Relaxed) + 1;
        let seen = self.n_rows + 1;
        failed <= count || failed as f64 <= ratio * seen as f64
    }

    /// Fails for a column that cannot be NULL although the data has no value of it.
    fn check_nullable(&self, column: usize) -> Result<()> {
        let ty = &self.types[column];
        ensure!(
            ty.is_nullable(),
            TYPE_MISMATCH,
            "Cannot insert NULL value into a column `{}` of type '{ty}'",
            self.request.structure[self.request.wanted[column]].0
        );
        Ok(())
    }

    #[cold]
    fn locate(&mut self, error: Error, before: Option<usize>, start: usize) -> Error {
        let number = self.unit.rows_before(&*self.rows) + self.n_rows + 1;
        let bytes = &self.unit.bytes;
        let before = before.map(|at| (number - 1, &bytes[at..start]));
        let failed = self.failures.0.load(Ordering::Relaxed);
        let error = match failed {
            0 => error,
            n => error.context(format_args!(
                "(Already have {n} errors out of {number} rows, which is {} of all rows)",
                n as f64 / number as f64
            )),
        };
        let error = error.context(format_args!("(at row {number})\n"));
        match self.parser.describe(before, (number, &bytes[start..])) {
            Some(text) => error.context(text),
            None => error,
        }
    }
}

impl<P: RowParser> BlockReader for RowReader<P> {
    fn next_block(&mut self, max_rows: usize) -> Result<Option<Block>> {
        if self.ended {
            return Ok(None);
        }
        let mut filling = Filling::new(&self.types);
        let absent = self.parser.absent().to_vec();
        if self.request.settings.input_format_force_null_for_omitted_fields {
            absent.iter().try_for_each(|column| self.check_nullable(*column))?;
        }
        let bytes = self.unit.bytes.clone();
        let mut cur = Cursor::new(&bytes[self.at..]);
        let base = self.at;
        let mut previous: Option<usize> = None;
        while filling.n_rows < max_rows.max(1) {
            let start = base + cur.position();
            match self.parser.read_row(&mut cur, &mut filling) {
                Ok(true) => {
                    for column in 0..self.types.len() {
                        if filling.has(column) || absent.contains(&column) {
                            continue;
                        }
                        if self.request.settings.input_format_force_null_for_omitted_fields {
                            self.check_nullable(column)?;
                        }
                        filling.omit(column);
                    }
                    filling.close_row();
                    self.n_rows += 1;
                    previous = Some(start);
                }
                Ok(false) => {
                    self.ended = true;
                    break;
                }
                Err(error) => {
                    filling.undo_row();
                    if !self.tolerates() {
                        self.ended = true;
                        return Err(self.locate(error, previous, start));
                    }
                    self.n_rows += 1;
                    cur = Cursor::new(&bytes[start..]);
                    self.parser.skip_row(&mut cur);
                    // A row has a byte at least, or passing over it would never end.
                    self.at = (start + cur.position().max(1)).min(bytes.len());
                    return self.resume(filling, absent, max_rows);
                }
            }
        }
        self.at = base + cur.position();
        Ok(self.close(filling, &absent))
    }

    fn omitted(&self) -> &[Option<BooleanBuffer>] {
        &self.omitted
    }

    fn bytes_read(&self) -> u64 {
        self.at as u64
    }
}

impl<P: RowParser> RowReader<P> {
    /// After a row that was passed over: what was read so far, or the next block if that is nothing.
    fn resume(&mut self, filling: Filling, absent: Vec<usize>, max_rows: usize) -> Result<Option<Block>> {
        if filling.n_rows > 0 {
            return Ok(self.close(filling, &absent));
        }
        self.next_block(max_rows)
    }

    fn close(&mut self, filling: Filling, absent: &[usize]) -> Option<Block> {
        let n = filling.n_rows;
        if n == 0 {
            return None;
        }
        let (block, mut omitted) = filling.finish(&self.types, absent);
        let settings = &self.request.settings;
        if !settings.input_format_defaults_for_omitted_fields {
            omitted.clear();
        }
        self.omitted = omitted;
        Some(block)
    }
}
