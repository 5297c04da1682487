//! The Arrow C interface: record batches and streams of them, read without a copy where our layout is Arrow's.

use super::borrowed::BorrowedMemory;
use super::columns::Values;
use super::raised;
use super::rows::distinct;
use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, from_ffi_and_data_type};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{Array, ArrayReader, ArrayRef, make_array};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType as Arrow, Field, FieldRef, Fields};
use chalet_base::{Error, Result, bail, ensure, err};
use chalet_columns::Column;
use chalet_engine::replacement_scan::{ColumnRange, HeldRows, Opened, RowStream, Source};
use chalet_formats_arrow::{Dictionary, from_arrow, type_of_field};
use chalet_types::{DataType, Value};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The name of the one column of a stream that is no stream of records.
const VALUE: &str = "value";

fn failed(error: &ArrowError) -> Error {
    err!(INCORRECT_DATA, "Error while reading Arrow data: {error}")
}

/// Arrays one after the other, of one field.
enum Arrays {
    Stream(ArrayStreamReader),
    One(FieldRef, Option<ArrayRef>),
}

// SAFETY: the C stream interface lets any thread call a stream, one at a time; who holds it by value is the only one.
unsafe impl Send for Arrays {}

impl Arrays {
    /// What an object with `__arrow_c_stream__` or `__arrow_c_array__` gives.
    fn of(object: &Bound<'_, PyAny>) -> Result<Arrays> {
        let py = object.py();
        let capsules = || -> PyResult<(Option<Bound<'_, PyAny>>, Option<Bound<'_, PyAny>>)> {
            if let Some(method) = object.getattr_opt(intern!(py, "__arrow_c_stream__"))? {
                return Ok((None, Some(method.call0()?)));
            }
            let method = object.getattr_opt(intern!(py, "__arrow_c_array__"))?;
            let method = method.ok_or_else(|| PyTypeError::new_err("the object exports no Arrow data"))?;
            let pair = method.call0()?.cast_into::<PyTuple>()?;
            Ok((Some(pair.get_item(0)?), Some(pair.get_item(1)?)))
        };
        match capsules().map_err(|e| raised(py, &e))? {
            (None, Some(stream)) => {
                let pointer = pointer(&stream, c"arrow_array_stream")?;
                // SAFETY: a capsule of this name holds a stream, which is moved out of it; the capsule's own destructor
                // sees that it was.
                let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.cast()) };
                // The producer may want the GIL.
                let reader = py.detach(|| ArrayStreamReader::try_new(stream)).map_err(|e| failed(&e))?;
                Ok(Arrays::Stream(reader))
            }
            (Some(schema), Some(array)) => {
                let field = Arc::new(field_of(&schema)?);
                let pointer = pointer(&array, c"arrow_array")?;
                // SAFETY: a capsule of this name holds an array, which is moved out of it; it is of the schema that
                // came with it.
                let data = unsafe {
                    let array = FFI_ArrowArray::from_raw(pointer.cast());
                    from_ffi_and_data_type(array, field.data_type().clone())
                };
                Ok(Arrays::One(field, Some(make_array(data.map_err(|e| failed(&e))?))))
            }
            _ => bail!(LOGICAL_ERROR, "The object exports no Arrow data"),
        }
    }

    fn field(&self) -> FieldRef {
        match self {
            Arrays::Stream(reader) => reader.field().clone(),
            Arrays::One(field, _) => field.clone(),
        }
    }

    /// The next array. The caller must not hold the GIL.
    fn next(&mut self) -> Result<Option<ArrayRef>> {
        match self {
            Arrays::Stream(reader) => reader.next().transpose().map_err(|e| failed(&e)),
            Arrays::One(_, array) => Ok(array.take()),
        }
    }
}

fn pointer(capsule: &Bound<'_, PyAny>, name: &std::ffi::CStr) -> Result<*mut std::ffi::c_void> {
    let py = capsule.py();
    let found = capsule.cast::<PyCapsule>().map_err(PyErr::from).and_then(|c| c.pointer_checked(Some(name)));
    Ok(found.map_err(|e| raised(py, &e))?.as_ptr())
}

fn field_of(schema: &Bound<'_, PyAny>) -> Result<Field> {
    let pointer = pointer(schema, c"arrow_schema")?.cast::<FFI_ArrowSchema>();
    // SAFETY: a capsule of this name holds a schema, which lives as long as the capsule.
    Field::try_from(unsafe { &*pointer }).map_err(|e| failed(&e))
}

/// The field of all that an object exports, and the arrays where it has no schema apart from them.
fn schema(object: &Bound<'_, PyAny>) -> Result<(FieldRef, Option<Arrays>)> {
    let py = object.py();
    let method = object.getattr_opt(intern!(py, "__arrow_c_schema__")).map_err(|e| raised(py, &e))?;
    if let Some(method) = method {
        return Ok((Arc::new(field_of(&method.call0().map_err(|e| raised(py, &e))?)?), None));
    }
    let arrays = Arrays::of(object)?;
    Ok((arrays.field(), Some(arrays)))
}

/// Columns of a field: those of a struct, or the one that it is.
fn columns_of(field: &FieldRef) -> Fields {
    match field.data_type() {
        Arrow::Struct(fields) => fields.clone(),
        other => {
            let name = if field.name().is_empty() { VALUE } else { field.name() };
            Fields::from(vec![
                Field::new(name, other.clone(), field.is_nullable()).with_metadata(field.metadata().clone()),
            ])
        }
    }
}

/// The columns of an array of such a field.
fn parts(array: &ArrayRef) -> Result<Vec<ArrayRef>> {
    match array.as_struct_opt() {
        Some(records) => {
            ensure!(
                records.null_count() == 0,
                INCORRECT_DATA,
                "An Arrow record batch has NULL in place of rows"
            );
            Ok(records.columns().to_vec())
        }
        None => Ok(vec![array.clone()]),
    }
}

/// Notes the memory that columns of an array may share: a producer may have made it of an array that can be written to.
/// (Texts are always copies of somebody, offsets are converted.)
pub fn record_borrowed(array: &dyn Array, borrowed: &BorrowedMemory) {
    let mut left = vec![array.to_data()];
    while let Some(data) = left.pop() {
        if data.data_type().is_primitive() || matches!(data.data_type(), Arrow::FixedSizeBinary(_)) {
            data.buffers().iter().for_each(|bytes| borrowed.add(bytes.as_ptr() as usize, bytes.len()));
        }
        left.extend_from_slice(data.child_data());
    }
}

/// A field as we read it, or why we do not.
struct Exported {
    name: Arc<str>,
    field: FieldRef,
    ty: Result<DataType>,
}

/// An object that exports records.
pub struct Exporter {
    columns: Vec<Exported>,
    /// The arrays that came with the schema, where they are the only ones there are.
    first: Mutex<Option<Arrays>>,
    /// `open(names)` of the description; none where only `first` can be read.
    open: Option<Py<PyAny>>,
    /// All rows are in memory.
    held: bool,
    n_rows: Option<u64>,
    borrowed: Arc<BorrowedMemory>,
}

impl Exporter {
    pub fn new(
        schema_of: &Bound<'_, PyAny>,
        open: Option<Py<PyAny>>,
        held: bool,
        n_rows: Option<u64>,
        borrowed: Arc<BorrowedMemory>,
    ) -> Result<Exporter> {
        let (field, first) = schema(schema_of)?;
        let fields = columns_of(&field);
        let columns = distinct(fields.iter().map(|field| field.name()))
            .into_iter()
            .zip(fields.iter())
            .map(|(name, field)| Exported { name, field: field.clone(), ty: type_of_field(field) });
        Ok(Exporter {
            columns: columns.collect(),
            first: Mutex::new(first.filter(|_| open.is_none())),
            open,
            held,
            n_rows,
            borrowed,
        })
    }

    /// Arrays with the wanted columns, if not with all.
    fn arrays(&self, py: Python<'_>, wanted: &[usize], ranges: &[ColumnRange]) -> Result<Arrays> {
        // Names that occur twice cannot be chosen by name.
        let unique = self.columns.iter().all(|column| *column.name == **column.field.name());
        // Rows are counted by some column.
        let wanted = if wanted.is_empty() { &[0] } else { wanted };
        let names: Option<Vec<&str>> = (unique && wanted.len() < self.columns.len())
            .then(|| wanted.iter().map(|&c| &*self.columns[c].name).collect());
        if names.is_none() || self.open.is_none() {
            let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(first) = first {
                return Ok(first);
            }
        }
        let Some(open) = &self.open else {
            bail!(
                BAD_ARGUMENTS,
                "A stream can be read once, and this statement did: read it into a table first"
            )
        };
        let conditions: Vec<Condition> =
            ranges.iter().filter_map(|range| self.condition(wanted, range)).collect();
        let producer = open.bind(py).call1((names, conditions)).map_err(|e| raised(py, &e))?;
        Arrays::of(&producer)
    }
}

/// Name, low end and whether it is included, high end and whether it is included.
type Condition = (String, Option<End>, bool, Option<End>, bool);

/// An end of a range, as a Python object.
#[derive(IntoPyObject)]
enum End {
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    Text(String),
}

impl Exporter {
    /// A range in words that the other side understands as we do, which may be a wider one; none elsewhere.
    fn condition(&self, wanted: &[usize], range: &ColumnRange) -> Option<Condition> {
        let column = &self.columns[*wanted.get(range.column)?];
        let ty = column.ty.as_ref().ok()?.without_nullable();
        let end = |end: &Option<(Value, bool)>| {
            let told = end.as_ref().and_then(|(value, included)| Some((bound(value, ty)?, *included)));
            told.map_or((None, true), |(end, included)| (Some(end), included))
        };
        let ((low, from), (high, to)) = (end(&range.low), end(&range.high));
        let unique =
            self.columns.iter().filter(|other| other.field.name() == column.field.name()).count() == 1;
        (unique && (low.is_some() || high.is_some()))
            .then(|| (column.field.name().clone(), low, from, high, to))
    }
}

/// None where there is no such value of the type.
fn bound(value: &Value, ty: &DataType) -> Option<End> {
    match value {
        _ if *ty == DataType::Bool => value.as_u64().filter(|&x| x <= 1).map(|x| End::Bool(x == 1)),
        _ if ty.is_unsigned() => Some(End::UInt(value.as_u64()?)),
        _ if ty.is_integer() => Some(End::Int(value.as_i64()?)),
        Value::Float(x) if ty.is_float() && x.is_finite() => Some(End::Float(*x)),
        Value::Bytes(bytes) if *ty == DataType::String => {
            Some(End::Text(std::str::from_utf8(bytes).ok()?.to_owned()))
        }
        _ => None,
    }
}

impl Source for Exporter {
    fn columns(&self) -> Vec<(Arc<str>, DataType)> {
        let shown = |c: &Exported| (c.name.clone(), c.ty.clone().unwrap_or(DataType::String));
        self.columns.iter().map(shown).collect()
    }

    fn n_rows(&self) -> Option<u64> {
        self.n_rows
    }

    fn open(&self, columns: &[usize], ranges: &[ColumnRange]) -> Result<Opened> {
        let mut wanted = Vec::with_capacity(columns.len());
        for &column in columns {
            let Exported { field, ty, .. } = &self.columns[column];
            wanted.push((column, field.clone(), ty.clone()?));
        }
        let mut arrays = Python::attach(|py| self.arrays(py, columns, ranges))?;
        let given = columns_of(&arrays.field());
        // Where each wanted column is among the given ones.
        let chosen = given.len() != self.columns.len();
        let mut shape = Shape { n_given: given.len(), wanted: Vec::with_capacity(wanted.len()) };
        for (column, field, ty) in wanted {
            let at = if chosen { given.iter().position(|g| g.name() == field.name()) } else { Some(column) };
            let at = at.ok_or_else(|| err!(INCORRECT_DATA, "Column '{}' is gone", field.name()))?;
            shape.wanted.push((at, given[at].clone(), ty));
        }
        let shape = Arc::new(shape);
        if !self.held {
            return Ok(Opened::Stream(Box::new(Batches { arrays, shape, borrowed: self.borrowed.clone() })));
        }
        let mut rows = Held { shape, runs: Vec::new(), arrays: Vec::new() };
        while let Some(array) = arrays.next()? {
            rows.push(&array, &self.borrowed)?;
        }
        Ok(Opened::Held(Arc::new(rows)))
    }
}

/// What is read of each array.
struct Shape {
    n_given: usize,
    /// Place among the given columns, field, and the type that the statement was bound to.
    wanted: Vec<(usize, FieldRef, DataType)>,
}

/// Arrays in memory.
struct Held {
    shape: Arc<Shape>,
    runs: Vec<usize>,
    /// Of each run the wanted columns.
    arrays: Vec<Vec<Part>>,
}

/// An array, and its values when it is a dictionary that was read.
struct Part {
    array: ArrayRef,
    dictionary: OnceLock<Option<Dictionary>>,
}

impl Part {
    fn new(array: ArrayRef) -> Part {
        Part { array, dictionary: OnceLock::new() }
    }

    fn read(&self, rows: Range<usize>, field: &Field, ty: &DataType) -> Result<Column> {
        let array = &self.array;
        let part =
            if rows.len() == array.len() { array.clone() } else { array.slice(rows.start, rows.len()) };
        if let Arrow::Dictionary(..) = field.data_type() {
            if self.dictionary.get().is_none() {
                // Two workers may both do it; one is kept.
                let _ = self.dictionary.set(Dictionary::of(array, field)?);
            }
            if let Some(Some(dictionary)) = self.dictionary.get() {
                return dictionary.column(&part);
            }
        }
        let (column, found) = from_arrow(&part, field)?;
        ensure!(found == *ty, INCORRECT_DATA, "Arrow column '{}' changed from {ty} to {found}", field.name());
        Ok(column)
    }
}

impl Held {
    fn push(&mut self, array: &ArrayRef, borrowed: &BorrowedMemory) -> Result<()> {
        let parts = parts(array)?;
        ensure!(parts.len() == self.shape.n_given, INCORRECT_DATA, "An Arrow batch lacks columns");
        self.runs.push(array.len());
        self.shape.wanted.iter().for_each(|(at, ..)| record_borrowed(&parts[*at], borrowed));
        self.arrays.push(self.shape.wanted.iter().map(|(at, ..)| Part::new(parts[*at].clone())).collect());
        Ok(())
    }
}

impl HeldRows for Held {
    fn runs(&self) -> &[usize] {
        &self.runs
    }

    fn read(&self, run: usize, rows: Range<usize>, columns: &[usize]) -> Result<Vec<Column>> {
        let one = |&c: &usize| {
            let (_, field, ty) = &self.shape.wanted[c];
            self.arrays[run][c].read(rows.clone(), field, ty)
        };
        columns.iter().map(one).collect()
    }
}

/// Batches as they come.
struct Batches {
    arrays: Arrays,
    shape: Arc<Shape>,
    borrowed: Arc<BorrowedMemory>,
}

impl RowStream for Batches {
    fn next(&mut self) -> Result<Option<Arc<dyn HeldRows>>> {
        let Some(array) = self.arrays.next()? else { return Ok(None) };
        let mut rows = Held { shape: self.shape.clone(), runs: Vec::new(), arrays: Vec::new() };
        rows.push(&array, &self.borrowed)?;
        Ok(Some(Arc::new(rows)))
    }
}

/// One column in chunks: of a pandas column that Arrow holds, or an array in a dict.
pub struct Chunked {
    field: FieldRef,
    ty: DataType,
    chunks: Vec<Part>,
    /// The first row of each chunk, and the number of rows.
    starts: Vec<usize>,
    borrowed: Arc<BorrowedMemory>,
}

impl Chunked {
    /// Without a NULL among the values the type is not Nullable.
    pub fn new(object: &Bound<'_, PyAny>, borrowed: Arc<BorrowedMemory>) -> Result<Chunked> {
        let py = object.py();
        let mut arrays = Arrays::of(object)?;
        let field = arrays.field();
        let chunks: Result<Vec<ArrayRef>> =
            py.detach(|| std::iter::from_fn(|| arrays.next().transpose()).collect());
        let chunks = chunks?;
        let any_null = chunks.iter().any(|chunk| chunk.logical_null_count() > 0);
        let field = Arc::new(Field::clone(&field).with_nullable(any_null));
        let mut starts = vec![0];
        for chunk in &chunks {
            starts.push(starts[starts.len() - 1] + chunk.len());
        }
        let chunks = chunks.into_iter().map(Part::new).collect();
        Ok(Chunked { ty: type_of_field(&field)?, field, chunks, starts, borrowed })
    }

    pub fn len(&self) -> usize {
        self.starts[self.chunks.len()]
    }
}

impl Values for Chunked {
    fn ty(&self) -> DataType {
        self.ty.clone()
    }

    fn open(&self) -> Result<()> {
        self.chunks.iter().for_each(|chunk| record_borrowed(&chunk.array, &self.borrowed));
        Ok(())
    }

    fn read(&self, rows: Range<usize>) -> Result<Column> {
        if rows.is_empty() {
            return Ok(Column::Flat(chalet_columns::Vector::defaults(&self.ty, 0)));
        }
        let mut parts = Vec::new();
        let mut chunk = self.starts.partition_point(|&start| start <= rows.start) - 1;
        let mut at = rows.start;
        while at < rows.end {
            let Some(array) = self.chunks.get(chunk) else {
                bail!(INCORRECT_DATA, "A column has {} rows where {} are asked for", self.len(), rows.end)
            };
            let start = self.starts[chunk];
            let end = rows.end.min(self.starts[chunk + 1]);
            if end > at {
                parts.push(array.read(at - start..end - start, &self.field, &self.ty)?);
            }
            (at, chunk) = (end, chunk + 1);
        }
        Ok(match &parts[..] {
            [one] => one.clone(),
            many => Column::concat(&many.iter().collect::<Vec<_>>()),
        })
    }
}
