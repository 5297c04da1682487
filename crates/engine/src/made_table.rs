//! Tables of a few rows that the engine itself makes.

use chalet_base::Result;
use chalet_columns::{Block, Builder, Column};
use chalet_storage::fixed::FixedTable;
use chalet_storage::{Table, TableSchema};
use chalet_types::{DataType, Value};
use std::sync::Arc;

/// A table of rows made now.
pub(crate) fn made(
    engine: &str,
    header: &[(&str, DataType)],
    rows: impl IntoIterator<Item = Vec<Value>>,
) -> Result<Arc<dyn Table>> {
    made_as(engine, TableSchema::of(header.iter().map(|(name, ty)| (*name, ty.clone()))), rows)
}

/// The same; rows have the values of stored columns only.
pub(crate) fn made_as(
    engine: &str,
    schema: TableSchema,
    rows: impl IntoIterator<Item = Vec<Value>>,
) -> Result<Arc<dyn Table>> {
    let stored = schema.columns.iter().filter(|c| c.is_stored());
    let mut builders: Vec<Builder> = stored.map(|c| Builder::new(&c.ty)).collect();
    let mut n_rows = 0;
    for row in rows {
        for (builder, value) in builders.iter_mut().zip(&row) {
            builder.push_value(value)?;
        }
        n_rows += 1;
    }
    let columns = builders.into_iter().map(|b| Column::Flat(b.finish())).collect();
    Ok(Arc::new(FixedTable::new(engine, schema, vec![Block::new(columns, n_rows)])))
}
