//! `system.projections`: the projections of tables of the MergeTree family.

use super::catalog::all_tables;
use crate::made_table::made;
use crate::query_context::QueryContext;
use crate::statements::create::projection;
use chalet_base::Result;
use chalet_storage::{Projection, Table};
use chalet_syntax::ast::GroupBy;
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
        for one in entry.table.schema().projections.iter() {
            rows.push(row(&database, &table, one, ctx)?);
        }
    }
    made("SystemProjections", &header, rows)
}

fn row(database: &str, table: &str, one: &Projection, ctx: &QueryContext) -> Result<Vec<Value>> {
    let written = projection::parsed(one)?;
    let aggregates = projection::aggregates(&written, ctx);
    let sorted: Vec<String> = match (&written.query.group_by, aggregates) {
        (Some(GroupBy::Exprs(keys)), _) => keys.iter().map(ToString::to_string).collect(),
        _ => written.query.order_by.iter().map(|item| item.expr.to_string()).collect(),
    };
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
