//! `system.projections`, `system.projection_parts` and `system.projection_parts_columns`: the projections of tables of the MergeTree
//! family, and what parts have of them.

use super::catalog::all_tables;
use super::parts::{kind_of, row as part_row};
use super::structures::{SparseRow, table as with_all_columns};
use crate::made_table::made;
use crate::projections::{declared, program, write};
use crate::query_context::QueryContext;
use chalet_base::Result;
use chalet_storage::merge_tree::part::Part;
use chalet_storage::merge_tree::{MergeTree, projection::ProjectionDefinition};
use chalet_storage::{Projection, Table, TableSchema};
use chalet_types::{DataType, EnumValues, Value};
use std::sync::Arc;

pub(crate) fn projections(ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let text = DataType::String;
    let kinds = EnumValues::new(vec![("Normal".into(), 0), ("Aggregate".into(), 1)])?;
    let header = [
        ("database", text.clone()),
        ("table", text.clone()),
        ("name", text.clone()),
        ("type", DataType::Enum8(Arc::new(kinds))),
        ("sorting_key", text.clone().array()),
        ("query", text.clone()),
        ("settings", DataType::map(text.clone(), text)),
    ];
    let mut rows = Vec::new();
    for (database, table, entry) in all_tables(ctx, &[])? {
        let schema = entry.table.schema();
        for one in schema.projections.iter() {
            rows.push(row(&database, &table, &schema, one, ctx)?);
        }
    }
    made("SystemProjections", &header, rows)
}

fn row(
    database: &str,
    table: &str,
    schema: &TableSchema,
    one: &Projection,
    ctx: &QueryContext,
) -> Result<Vec<Value>> {
    let written = declared::parsed(one)?;
    let aggregates = declared::aggregates(&written, ctx);
    let sorted = program::sorting_key(&written, schema);
    Ok(vec![
        Value::from(database),
        Value::from(table),
        Value::from(&*one.name),
        Value::Int(aggregates.into()),
        Value::Array(sorted.iter().map(|key| Value::from(key.as_str())).collect()),
        Value::from(&*one.query),
        Value::Map(Vec::new()),
    ])
}

pub(crate) fn projection_parts(ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let mut rows = Vec::new();
    each(ctx, |row, _| rows.push(row))?;
    with_all_columns("projection_parts", rows)
}

/// A row for each column of the rows that a part has of a projection.
pub(crate) fn projection_parts_columns(ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let mut rows = Vec::new();
    each(ctx, |row, projection| {
        for (at, column) in projection.definition.columns.columns.iter().enumerate() {
            let mut row = row.clone();
            row.extend([
                ("remove_time", Value::UInt(u32::MAX.into())),
                ("column", Value::from(&*column.name)),
                ("type", Value::from(column.ty.to_string().as_str())),
                ("column_position", Value::UInt(at as u64 + 1)),
            ]);
            rows.push(row);
        }
    })?;
    with_all_columns("projection_parts_columns", rows)
}

/// What each part has of each projection, but for the columns.
fn each(ctx: &QueryContext, mut take: impl FnMut(SparseRow, &ProjectionDefinition)) -> Result<()> {
    for (database, name, entry) in all_tables(ctx, &[])? {
        let Some(of) = entry.table.as_any().downcast_ref::<MergeTree>() else { continue };
        // The error of a damaged table comes when it is used.
        let (false, Ok(state)) = (of.schema().projections.is_empty(), of.parts().snapshot()) else {
            continue;
        };
        for program in program::programs(of, ctx)?.iter() {
            let projection = &program.stored;
            for part in state.parts.iter().filter(|part| part.has_projection(projection.key())) {
                for rows in write::rows(of, std::slice::from_ref(part), program, ctx)? {
                    take(projection_row(&database, &name, of, part, &rows, projection), projection);
                }
            }
        }
    }
    Ok(())
}

fn projection_row(
    database: &str,
    name: &str,
    of: &MergeTree,
    part: &Arc<Part>,
    rows: &Arc<Part>,
    projection: &ProjectionDefinition,
) -> SparseRow {
    let parent = part_row(database, name, of, part);
    let of_parent = |name: &str| parent.iter().find(|(known, _)| *known == name).map(|(_, v)| v.clone());
    let mut row = part_row(database, name, of, rows);
    row.extend([
        ("name", Value::from(&*projection.name)),
        ("parent_name", Value::from(part.info.name().as_str())),
        ("parent_part_type", Value::from(kind_of(part).0)),
        ("parent_rows", Value::UInt(part.info.rows)),
        ("parent_marks", of_parent("marks").unwrap_or(Value::UInt(0))),
        ("parent_bytes_on_disk", Value::UInt(part.info.bytes)),
        ("parent_data_compressed_bytes", Value::UInt(part.info.bytes)),
        ("parent_data_uncompressed_bytes", Value::UInt(part.info.raw_bytes)),
    ]);
    row
}
