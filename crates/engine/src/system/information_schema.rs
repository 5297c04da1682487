//! The databases `information_schema` and `INFORMATION_SCHEMA` of the SQL standard: views over the tables of `system`, which clients of
//! other databases read. Every table and every column is there in lower and in upper case.

use chalet_base::Result;
use chalet_storage::catalog::quoted;
use chalet_storage::view::View;
use chalet_storage::{ColumnSchema, Table, TableSchema};
use std::sync::Arc;

/// Tab-separated: a view and what it reads; below, behind a tab each, its columns: name, type, type under the name in upper case
/// if it is another one, expression. After a group of columns, which an empty line ends, come the same in upper case.
const VIEWS: &str = include_str!("information_schema.tsv");

/// Two spellings of every view.
const NAMES: [&str; 20] = [
    "CHARACTER_SETS",
    "COLLATIONS",
    "COLUMNS",
    "ENGINES",
    "KEY_COLUMN_USAGE",
    "REFERENTIAL_CONSTRAINTS",
    "SCHEMATA",
    "STATISTICS",
    "TABLES",
    "VIEWS",
    "character_sets",
    "collations",
    "columns",
    "engines",
    "key_column_usage",
    "referential_constraints",
    "schemata",
    "statistics",
    "tables",
    "views",
];

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter()
}

/// The view of a name, in either of its two spellings.
pub(super) fn view(name: &str) -> Result<Option<Arc<dyn Table>>> {
    if !NAMES.contains(&name) {
        return Ok(None);
    }
    let name = name.to_ascii_lowercase();
    let mut lines = VIEWS.lines();
    let Some(from) = lines.find_map(|line| line.strip_prefix(&*name)?.strip_prefix('\t')) else {
        return Ok(None);
    };
    let lines: Vec<&str> = lines.take_while(|line| line.is_empty() || line.starts_with('\t')).collect();
    let (mut columns, mut selected) = (Vec::new(), Vec::new());
    for group in lines.split(|line| line.is_empty()) {
        let cells = || group.iter().map(|line| line.split('\t').skip(1).collect::<Vec<_>>());
        for cells in cells() {
            let [name, ty, _, expression] = cells[..] else { continue };
            columns.push(ColumnSchema::new(name, ty.parse()?));
            selected.push(format!("{expression} AS {name}"));
        }
        for cells in cells() {
            let [name, ty, of_upper, expression] = cells[..] else { continue };
            let (name, ty) = (name.to_ascii_uppercase(), if of_upper.is_empty() { ty } else { of_upper });
            columns.push(ColumnSchema::new(name.as_str(), ty.parse()?));
            selected.push(format!("{expression} AS {name}"));
        }
    }
    let query = format!("SELECT {} {from}", selected.join(", "));
    Ok(Some(Arc::new(View { schema: TableSchema::new(columns), query })))
}

/// What stands behind the name in the statement that would make a view; empty for other tables.
pub(super) fn definition(table: &dyn Table) -> String {
    let Some(query) = table.view_query() else { return String::new() };
    let columns: Vec<String> =
        table.schema().columns.iter().map(|column| format!("    `{}` {}", column.name, column.ty)).collect();
    let query = chalet_syntax::parse_statements(query).ok().and_then(|mut statements| statements.pop());
    let query = query.map_or_else(String::new, |statement| chalet_syntax::print::format(&statement));
    format!("\n(\n{}\n)\nAS {query}", columns.join(",\n"))
}

/// What SHOW CREATE prints of a view.
pub(super) fn create_sql(database: &str, name: &str) -> Result<Option<String>> {
    let view = view(name)?;
    Ok(view.map(|view| format!("CREATE VIEW {}.{}{}", quoted(database), quoted(name), definition(&*view))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_view_can_be_read() {
        for name in names() {
            let view = view(name).expect("types are known").expect("a view");
            assert!(chalet_syntax::parse_statements(view.view_query().unwrap_or_default()).is_ok(), "{name}");
        }
    }
}
