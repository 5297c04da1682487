//! Rows through the Arrow C stream interface, which pyarrow, polars, duckdb and pandas read without pyarrow in between.

use crate::arrow_types;
use crate::error::to_python;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchOptions, RecordBatchReader};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use chalet_base::{Result, bail};
use chalet_columns::{Block, Column, Data, Vector};
use chalet_engine::Rows;
use chalet_formats_arrow::{ExportOptions, StringsAs, field_of, to_arrow};
use chalet_memory::guarded;
use chalet_types::DataType;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::Arc;

/// How types are mapped to Arrow.
#[derive(Clone, Copy, PartialEq)]
pub enum Style {
    /// As ClickHouse's Arrow formats do: a DateTime and an Enum are their integers.
    ClickHouse,
    /// With their meaning: timestamps, dictionaries of names, addresses as text.
    Meaning,
    /// The same with strings as views into our memory; not every reader knows them.
    Views,
}

/// A capsule with a stream of its own: it can be asked for again.
pub fn stream<'py>(py: Python<'py>, rows: &Rows, style: Style) -> PyResult<Bound<'py, PyCapsule>> {
    let stream = crate::background::away(py, || exported(rows, style))?.map_err(|e| to_python(py, &e))?;
    // The capsule owns the struct and releases the stream that nobody has taken out of it.
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

fn exported(rows: &Rows, style: Style) -> Result<FFI_ArrowArrayStream> {
    Ok(FFI_ArrowArrayStream::new(reader(rows, style)?))
}

/// The rows as record batches.
pub fn reader(rows: &Rows, style: Style) -> Result<Box<dyn RecordBatchReader + Send + 'static>> {
    let is_text = |column: usize| rows.blocks.iter().all(|block| holds_text(&block.columns()[column]));
    let export = Export::new(rows, style, is_text)?;
    let schema = export.schema();
    // Blocks become arrays when the consumer comes to them.
    let batches = rows.blocks.clone().into_iter().map(move |block| export.batch(&block));
    Ok(Box::new(RecordBatchIterator::new(batches, schema)))
}

/// How the columns of a result become arrays.
pub struct Export {
    /// The columns' own types, and those that are exported.
    from: Vec<DataType>,
    types: Vec<DataType>,
    options: Vec<ExportOptions>,
    schema: SchemaRef,
    style: Style,
}

impl Export {
    /// A String may hold any bytes, Arrow's `string` may not, and its readers rely on that: a column that is no text is
    /// `binary`.
    pub fn new(rows: &Rows, style: Style, is_text: impl Fn(usize) -> bool) -> Result<Export> {
        let options_of = |column| ExportOptions {
            strings: match (is_text(column), style == Style::Views) {
                (true, false) => StringsAs::Utf8,
                (true, true) => StringsAs::Utf8View,
                (false, false) => StringsAs::Binary,
                (false, true) => StringsAs::BinaryView,
            },
            time_zone: rows.zone.name().into(),
            low_cardinality_as_dictionary: style != Style::ClickHouse,
            ..ExportOptions::default()
        };
        let options: Vec<_> = (0..rows.types.len()).map(options_of).collect();
        let arrow_type =
            |ty: &DataType| if style == Style::ClickHouse { ty.clone() } else { arrow_types::type_of(ty) };
        let types: Vec<DataType> = rows.types.iter().map(arrow_type).collect();
        let columns = rows.names.iter().zip(&types).zip(&options);
        let fields: Result<Vec<_>> =
            columns.map(|((name, ty), options)| field_of(name, ty, options)).collect();
        let schema = Arc::new(Schema::new(fields?));
        Ok(Export { from: rows.types.clone(), types, options, schema, style })
    }

    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// The block as a record batch. Its consumer is foreign code: no panic passes into that, nor memory that is not there.
    pub fn batch(&self, block: &Block) -> std::result::Result<RecordBatch, ArrowError> {
        let arrays = guarded(|| self.arrays(block)).map_err(|e| ArrowError::ExternalError(Box::new(e)))?;
        let rows = RecordBatchOptions::new().with_row_count(Some(block.n_rows()));
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &rows)
    }

    fn arrays(&self, block: &Block) -> Result<Vec<ArrayRef>> {
        let columns = block.columns().iter().zip(&self.from).zip(&self.types).zip(&self.options);
        let export = |(((column, from), ty), options): (((&Column, _), &DataType), &ExportOptions)| {
            // Where it was decided before the rows were seen, they may turn out not to be text.
            if matches!(options.strings, StringsAs::Utf8) && !holds_text(column) {
                bail!(
                    INCORRECT_DATA,
                    "A String is not UTF-8, which Arrow's strings must be: select hex() of it"
                );
            }
            match self.style {
                Style::ClickHouse => to_arrow(column, ty, options),
                _ => to_arrow(&arrow_types::column(column, from)?, ty, options),
            }
        };
        columns.map(export).collect()
    }
}

fn holds_text(column: &Column) -> bool {
    match column {
        Column::Flat(vector) | Column::Const { value: vector, .. } | Column::Dict { values: vector, .. } => {
            is_utf8(vector)
        }
    }
}

pub fn is_utf8(vector: &Vector) -> bool {
    match &vector.data {
        // ASCII is told sooner.
        Data::Str(strings) => {
            strings.iter().all(|bytes| bytes.is_ascii() || std::str::from_utf8(bytes).is_ok())
        }
        Data::List(list) => is_utf8(&list.values),
        Data::Struct(parts) => parts.fields.iter().all(is_utf8),
        _ => true,
    }
}
