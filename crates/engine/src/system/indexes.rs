//! `system.data_skipping_indices`: the indexes of tables of the MergeTree family.

use super::catalog::all_tables;
use crate::made_table::made;
use crate::query_context::QueryContext;
use crate::skip_indexes;
use chalet_base::Result;
use chalet_storage::merge_tree::MergeTree;
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
        for index in entry.table.schema().indexes.iter() {
            let bytes = entry.table.as_any().downcast_ref().map_or(0, |table| bytes(table, index, ctx));
            rows.push(row(&database, &table, index, bytes));
        }
    }
    made("SystemDataSkippingIndices", &header, rows)
}

/// Bytes of the files of an index; 0 where they are not known.
fn bytes(table: &MergeTree, index: &SkipIndex, ctx: &QueryContext) -> u64 {
    match (skip_indexes::program(table, index, ctx), table.parts().snapshot()) {
        (Ok(Some(program)), Ok(state)) => {
            state.parts.iter().map(|part| part.index_bytes(program.key())).sum()
        }
        _ => 0,
    }
}

fn row(database: &str, table: &str, index: &SkipIndex, bytes: u64) -> Vec<Value> {
    vec![
        Value::from(database),
        Value::from(table),
        Value::from(&*index.name),
        Value::from(index.kind_name().as_str()),
        Value::from(&*index.kind),
        Value::from(listed(&index.expr).as_str()),
        Value::Int(i64::from(index.is_implicit)),
        Value::UInt(index.granularity),
        Value::UInt(bytes),
        Value::UInt(bytes),
        Value::UInt(0),
    ]
}

/// The expressions of a tuple without its parentheses.
pub(crate) fn listed(expr: &str) -> String {
    match chalet_syntax::parse_expression(expr).map(|parsed| parsed.kind) {
        Ok(ExprKind::Call(call)) if call.name == "tuple" => {
            call.args.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        }
        _ => expr.into(),
    }
}
