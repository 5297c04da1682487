//! What the driver says of itself, and the kinds of tables that there are.

use adbc_core::error::Result;
use adbc_core::options::InfoCode;
use adbc_core::schemas::{GET_INFO_SCHEMA, GET_TABLE_TYPES_SCHEMA};
use arrow_array::{
    ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchIterator, RecordBatchReader, StringArray,
    UInt32Array, UnionArray, new_empty_array,
};
use arrow_buffer::ScalarBuffer;
use arrow_schema::DataType;
use std::collections::HashSet;
use std::sync::Arc;

/// A table whose rows are stored, and one that is a query.
pub const TABLE: &str = "table";
pub const VIEW: &str = "view";

type Reader = Box<dyn RecordBatchReader + Send + 'static>;

/// 1.1.0 as ADBC writes it.
const ADBC_VERSION: i64 = 1_001_000;

enum Value {
    Text(&'static str),
    Bool(bool),
    Int(i64),
}

/// The answers to some codes, or to all.
pub fn info(codes: Option<HashSet<InfoCode>>) -> Result<Reader> {
    let version = env!("CARGO_PKG_VERSION");
    let all = [
        (InfoCode::VendorName, Value::Text("chalet")),
        (InfoCode::VendorVersion, Value::Text(version)),
        (InfoCode::VendorSql, Value::Bool(true)),
        (InfoCode::VendorSubstrait, Value::Bool(false)),
        (InfoCode::DriverName, Value::Text("chalet ADBC driver")),
        (InfoCode::DriverVersion, Value::Text(version)),
        (InfoCode::DriverAdbcVersion, Value::Int(ADBC_VERSION)),
    ];
    let wanted = all.iter().filter(|(code, _)| codes.as_ref().is_none_or(|codes| codes.contains(code)));
    let (mut names, mut kinds, mut places) = (Vec::new(), Vec::new(), Vec::new());
    let (mut texts, mut flags, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    for (code, value) in wanted {
        names.push(u32::from(code));
        let (kind, place) = match value {
            Value::Text(text) => (0, push(&mut texts, *text)),
            Value::Bool(flag) => (1, push(&mut flags, *flag)),
            Value::Int(number) => (2, push(&mut numbers, *number)),
        };
        kinds.push(kind);
        places.push(place);
    }
    let schema = GET_INFO_SCHEMA.clone();
    let DataType::Union(fields, _) = schema.field(1).data_type() else { return empty(schema.clone()) };
    let children = fields.iter().map(|(kind, field)| -> ArrayRef {
        match kind {
            0 => Arc::new(StringArray::from(texts.clone())),
            1 => Arc::new(BooleanArray::from(flags.clone())),
            2 => Arc::new(Int64Array::from(numbers.clone())),
            _ => new_empty_array(field.data_type()),
        }
    });
    let values = UnionArray::try_new(
        fields.clone(),
        ScalarBuffer::from(kinds),
        Some(ScalarBuffer::from(places)),
        children.collect(),
    )?;
    let columns: Vec<ArrayRef> = vec![Arc::new(UInt32Array::from(names)), Arc::new(values)];
    one(RecordBatch::try_new(schema.clone(), columns)?)
}

fn push<T>(list: &mut Vec<T>, value: T) -> i32 {
    list.push(value);
    list.len() as i32 - 1
}

/// The kinds of tables.
pub fn table_types() -> Result<Reader> {
    let kinds: ArrayRef = Arc::new(StringArray::from(vec![TABLE, VIEW]));
    one(RecordBatch::try_new(GET_TABLE_TYPES_SCHEMA.clone(), vec![kinds])?)
}

/// A reader of one batch.
pub fn one(batch: RecordBatch) -> Result<Reader> {
    let schema = batch.schema();
    Ok(Box::new(RecordBatchIterator::new([Ok(batch)], schema)))
}

/// A reader of nothing.
pub fn empty(schema: arrow_schema::SchemaRef) -> Result<Reader> {
    Ok(Box::new(RecordBatchIterator::new(Vec::new(), schema)))
}
