//! `system.constraints`.

use super::catalog::all_tables;
use super::structures::table;
use crate::query_context::QueryContext;
use chalet_base::Result;
use chalet_storage::Table;
use chalet_types::Value;
use std::sync::Arc;

pub(super) fn constraints(ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let mut rows = Vec::new();
    for (database, name, entry) in all_tables(ctx, &[])? {
        rows.extend(entry.table.schema().constraints.iter().map(|constraint| {
            vec![
                ("database", Value::from(database.as_str())),
                ("table", Value::from(name.as_str())),
                ("name", Value::from(&*constraint.name)),
                ("type", Value::Int(constraint.is_assumed.into())),
                ("expression", Value::from(&*constraint.expr)),
            ]
        }));
    }
    table("constraints", rows)
}
