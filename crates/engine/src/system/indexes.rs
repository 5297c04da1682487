//! `system.data_skipping_indices`: the indexes of tables of the MergeTree family.

use super::catalog::all_tables;
use crate::made_table::made;
use crate::query_context::QueryContext;
use chalet_base::Result;
use chalet_storage::{SkipIndex, Table};
use chalet_syntax::ast::ExprKind;
use chalet_types::{DataType, EnumValues, Value};
use std::sync::Arc;

pub(crate) fn data_skipping_indices(ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let (text, number) = (DataType::String, DataType::UInt64);
    let creation = EnumValues::new(vec![("Explicit".into(), 0), ("Implicit".into(), 1)])?;
    let header = [
        ("database", text.clone()),
        ("table", text.clone()),
        ("name", text.clone()),
        ("type", text.clone()),
        ("type_full", text.clone()),
        ("expr", text),
        ("creation", DataType::Enum8(Arc::new(creation))),
        ("granularity", number.clone()),
        ("data_compressed_bytes", number.clone()),
        ("data_uncompressed_bytes", number.clone()),
        ("marks_bytes", number),
    ];
    let mut rows = Vec::new();
    for (database, table, entry) in all_tables(ctx, &[])? {
        rows.extend(entry.table.schema().indexes.iter().map(|index| row(&database, &table, index)));
    }
    made("SystemDataSkippingIndices", &header, rows)
}

fn row(database: &str, table: &str, index: &SkipIndex) -> Vec<Value> {
    vec![
        Value::from(database),
        Value::from(table),
        Value::from(&*index.name),
        Value::from(index.kind_name().as_str()),
        Value::from(&*index.kind),
        Value::from(listed(&index.expr).as_str()),
        Value::Int(0),
        Value::UInt(index.granularity),
        Value::UInt(0),
        Value::UInt(0),
        Value::UInt(0),
    ]
}

/// The expressions of a tuple without its parentheses.
fn listed(expr: &str) -> String {
    match chalet_syntax::parse_expression(expr).map(|parsed| parsed.kind) {
        Ok(ExprKind::Call(call)) if call.name == "tuple" => {
            call.args.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        }
        _ => expr.into(),
    }
}
