//! The rows that are bound to a statement: as a table of it, or row by row as parameters.

use super::failure::failed;
use crate::sources::arrow::record_borrowed;
use crate::sources::borrowed::BorrowedMemory;
use adbc_core::error::Result;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use chalet_base::{bail, ensure, err};
use chalet_columns::{Block, Column};
use chalet_engine::Rows;
use chalet_engine::replacement_scan::{
    ColumnRange, HeldRows, Opened, ReplacementScan, ReplacementTable, RowStream, Source, Table,
};
use chalet_formats_arrow::{from_arrow, type_of_field};
use chalet_types::{DataType, TimeZone};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// The name under which a statement finds them.
pub const NAME: &str = "_bound_rows";

type Reader = Box<dyn RecordBatchReader + Send>;

/// Rows that were bound; a stream is read once.
pub struct Bound {
    schema: SchemaRef,
    reader: Mutex<Option<Reader>>,
    borrowed: Arc<BorrowedMemory>,
}

impl Bound {
    pub fn new(reader: Reader) -> Bound {
        Bound { schema: reader.schema(), reader: Mutex::new(Some(reader)), borrowed: Arc::default() }
    }

    pub fn names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    pub fn types(&self) -> chalet_base::Result<Vec<DataType>> {
        self.schema.fields().iter().map(|field| type_of_field(field)).collect()
    }

    fn take(&self) -> chalet_base::Result<Reader> {
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take();
        reader.ok_or_else(|| err!(BAD_ARGUMENTS, "The bound rows were read already: bind them again"))
    }

    /// Each row as the texts of its values, escaped as the engine reads parameters.
    pub fn rows(&self) -> Result<Vec<Vec<String>>> {
        let mut rows = Vec::new();
        for batch in self.take().map_err(failed)? {
            rows.extend(self.texts(&batch?).map_err(failed)?);
        }
        Ok(rows)
    }

    /// The first row in the same way, which stays bound.
    pub fn first_row(&self) -> Result<Option<Vec<String>>> {
        let mut reader = self.take().map_err(failed)?;
        let first =
            reader.find(|batch| !batch.as_ref().is_ok_and(|batch| batch.num_rows() == 0)).transpose()?;
        let row = first.as_ref().map(|batch| self.texts(&batch.slice(0, 1))).transpose().map_err(failed)?;
        let whole = first.into_iter().map(Ok).chain(reader);
        let whole: Reader = Box::new(RecordBatchIterator::new(whole, self.schema.clone()));
        *self.reader.lock().unwrap_or_else(PoisonError::into_inner) = Some(whole);
        Ok(row.and_then(|mut rows| rows.pop()))
    }

    fn texts(&self, batch: &RecordBatch) -> chalet_base::Result<Vec<Vec<String>>> {
        let block = Block::new(self.columns(batch)?, batch.num_rows());
        let text = tab_separated(self.types()?, block)?;
        Ok(text.lines().map(|line| line.split('\t').map(String::from).collect()).collect())
    }

    fn columns(&self, batch: &RecordBatch) -> chalet_base::Result<Vec<Column>> {
        let arrays = batch.columns().iter().zip(self.schema.fields());
        arrays.map(|(array, field)| Ok(from_arrow(array, field)?.0)).collect()
    }
}

/// Rows in the format whose values are written as those of parameters are.
fn tab_separated(types: Vec<DataType>, block: Block) -> chalet_base::Result<String> {
    let rows = Rows {
        names: types.iter().map(|_| String::new()).collect(),
        types,
        shown: std::sync::Arc::default(),
        blocks: vec![block],
        totals: None,
        extremes: None,
        rows_before_limit: None,
        zone: TimeZone::utc(),
        formats: Arc::default(),
    };
    let bytes = rows.to_format("TabSeparated")?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| with_escapes(error.as_bytes())))
}

/// Bytes as text, in which those that are no UTF-8 are escapes. Strings alone have such bytes.
fn with_escapes(bytes: &[u8]) -> String {
    let mut made = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        made.push_str(chunk.valid());
        for byte in chunk.invalid() {
            made.push_str(&format!("\\x{byte:02x}"));
        }
    }
    made
}

fn broken(error: &ArrowError) -> chalet_base::Error {
    err!(INCORRECT_DATA, "Error while reading bound rows: {error}")
}

impl Source for Bound {
    fn columns(&self) -> Vec<(Arc<str>, DataType)> {
        let types = self.types().unwrap_or_default();
        self.schema.fields().iter().zip(types).map(|(field, ty)| (field.name().as_str().into(), ty)).collect()
    }

    fn open(&self, columns: &[usize], _ranges: &[ColumnRange]) -> chalet_base::Result<Opened> {
        let shape = Shape { schema: self.schema.clone(), columns: columns.to_vec(), types: self.types()? };
        Ok(Opened::Stream(Box::new(Batches {
            reader: self.take()?,
            shape: Arc::new(shape),
            borrowed: self.borrowed.clone(),
        })))
    }
}

/// What is read of each batch.
struct Shape {
    schema: SchemaRef,
    columns: Vec<usize>,
    types: Vec<DataType>,
}

struct Batches {
    reader: Reader,
    shape: Arc<Shape>,
    borrowed: Arc<BorrowedMemory>,
}

impl RowStream for Batches {
    fn next(&mut self) -> chalet_base::Result<Option<Arc<dyn HeldRows>>> {
        let Some(batch) = self.reader.next().transpose().map_err(|e| broken(&e))? else { return Ok(None) };
        let wanted = self.shape.columns.iter().map(|&column| batch.column(column).clone());
        let arrays: Vec<ArrayRef> = wanted.collect();
        arrays.iter().for_each(|array| record_borrowed(&**array, &self.borrowed));
        Ok(Some(Arc::new(Batch { runs: [batch.num_rows()], arrays, shape: self.shape.clone() })))
    }
}

struct Batch {
    runs: [usize; 1],
    arrays: Vec<ArrayRef>,
    shape: Arc<Shape>,
}

impl HeldRows for Batch {
    fn runs(&self) -> &[usize] {
        &self.runs
    }

    fn read(&self, _run: usize, rows: Range<usize>, columns: &[usize]) -> chalet_base::Result<Vec<Column>> {
        let one = |&column: &usize| {
            let at = self.shape.columns[column];
            let (field, ty) = (self.shape.schema.field(at), &self.shape.types[at]);
            let (made, found) = from_arrow(&self.arrays[column].slice(rows.start, rows.len()), field)?;
            ensure!(found == *ty, INCORRECT_DATA, "Column '{}' changed from {ty} to {found}", field.name());
            Ok(made)
        };
        columns.iter().map(one).collect()
    }
}

/// Resolves the name of the bound rows, and nothing else.
pub struct BoundRowsScan(pub Arc<Bound>);

impl ReplacementScan for BoundRowsScan {
    fn given(&self, name: &str) -> chalet_base::Result<Option<Arc<dyn Table>>> {
        if name != NAME {
            return Ok(None);
        }
        self.0.types()?;
        Ok(Some(Arc::new(ReplacementTable::new(self.0.clone()))))
    }

    fn found(&self, _name: &str) -> chalet_base::Result<Option<Arc<dyn Table>>> {
        Ok(None)
    }

    fn named(&self, name: &str) -> chalet_base::Result<Arc<dyn Table>> {
        bail!(PY_OBJECT_NOT_FOUND, "No Python program runs this statement: there is no object {name}")
    }

    fn hint(&self, _name: &str) -> Option<String> {
        None
    }

    fn borrowed(&self) -> Vec<Range<usize>> {
        self.0.borrowed.ranges()
    }
}
