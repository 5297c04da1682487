//! `system.functions` and `system.table_functions`: printed from the records of the functions.

use crate::functions::is_of_host;
use crate::made_table::made;
use crate::query_context::QueryContext;
use crate::table_functions;
use chalet_base::Result;
use chalet_storage::Table;
use chalet_types::{DataType, Value};
use std::sync::Arc;

pub(crate) fn functions(ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let text = DataType::String;
    let header = [
        ("name", text.clone()),
        ("is_aggregate", DataType::UInt8),
        ("case_insensitive", DataType::UInt8),
        ("alias_to", text.clone()),
        ("create_query", text.clone()),
        ("origin", text.clone()),
        ("description", text.clone()),
        ("syntax", text.clone()),
        ("examples", text),
    ];
    let row = |name: &str,
               aggregate: bool,
               any_case: bool,
               alias: &str,
               sql: &str,
               origin: &str,
               doc: [&str; 3]| {
        let mut cells = vec![Value::from(name), Value::from(aggregate), Value::from(any_case)];
        cells.extend([alias, sql, origin].into_iter().chain(doc).map(Value::from));
        cells
    };
    let mut rows = Vec::new();
    let registry = &ctx.registry;
    let origin_of = |name: &str| if is_of_host(name) { "ExecutableUserDefined" } else { "System" };
    for function in registry.scalars.all() {
        let r = function.record();
        let examples: Vec<&str> = r.examples.iter().map(|e| e.sql).collect();
        let doc = [r.summary, r.syntax, &examples.join("\n")];
        rows.push(row(r.name, false, r.case_insensitive, "", "", origin_of(r.name), doc));
        let aliases = r.aliases.iter();
        rows.extend(aliases.map(|a| row(a, false, r.case_insensitive, r.name, "", "System", doc)));
    }
    let aggregates = registry.aggregates.all().iter().map(|f| f.record());
    let windows = registry.windows.all().iter().map(|f| f.record());
    for r in aggregates.chain(windows) {
        let examples: Vec<&str> = r.examples.iter().map(|e| e.sql).collect();
        let doc = [r.summary, r.syntax, &examples.join("\n")];
        rows.push(row(r.name, true, r.case_insensitive, "", "", origin_of(r.name), doc));
        let aliases = r.aliases.iter();
        rows.extend(aliases.map(|a| row(a, true, r.case_insensitive, r.name, "", "System", doc)));
    }
    let own = ctx.database.shared.functions.all();
    rows.extend(
        own.iter().map(|(name, f)| row(name, false, false, "", &f.create_sql, "SQLUserDefined", [""; 3])),
    );
    made("SystemFunctions", &header, rows)
}

pub(crate) fn table_functions() -> Result<Arc<dyn Table>> {
    let rows = table_functions::NAMES.iter().map(|name| vec![Value::from(*name)]);
    made("SystemTableFunctions", &[("name", DataType::String)], rows)
}
