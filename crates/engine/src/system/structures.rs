//! Columns of tables of the system database as the kernel has them, and the tables that tell of what there is none here.

use crate::made_table::made_as;
use chalet_base::{Error, Result, err};
use chalet_columns::Vector;
use chalet_storage::{ColumnSchema, DefaultKind, Table, TableSchema};
use chalet_types::Value;
use std::sync::Arc;

/// Tab-separated: a table and its engine; below, behind a tab each, its columns with type and, of an alias, expression.
const STRUCTURES: &str = include_str!("columns.tsv");

/// A row by the names of columns; what it does not name has the default of its type.
pub(super) type SparseRow = Vec<(&'static str, Value)>;

/// A table without rows; `None` where it is not known.
pub(super) fn empty(name: &str) -> Result<Option<Arc<dyn Table>>> {
    if structure(name).is_none() { Ok(None) } else { table(name, Vec::new()).map(Some) }
}

/// The columns of a table.
pub(super) fn schema(name: &str) -> Result<TableSchema> {
    let (_, columns) = structure(name).ok_or_else(|| unknown(name))?;
    Ok(TableSchema::new(columns.map(column).collect::<Result<_>>()?))
}

#[cold]
fn unknown(name: &str) -> Error {
    err!(LOGICAL_ERROR, "The columns of system.{name} are not known")
}

/// A table of these rows with all columns of the kernel's.
pub(super) fn table(name: &str, rows: Vec<SparseRow>) -> Result<Arc<dyn Table>> {
    let (engine, _) = structure(name).ok_or_else(|| unknown(name))?;
    let schema = schema(name)?;
    let defaults: Vec<(Arc<str>, Value)> = schema
        .columns
        .iter()
        .filter(|column| column.is_stored())
        .map(|column| (column.name.clone(), Vector::defaults(&column.ty, 1).value(0)))
        .collect();
    let full = |row: SparseRow| -> Vec<Value> {
        let mut full: Vec<Value> = defaults.iter().map(|(_, value)| value.clone()).collect();
        for (name, value) in row {
            if let Some(at) = defaults.iter().position(|(known, _)| **known == *name) {
                full[at] = value;
            }
        }
        full
    };
    made_as(engine, schema, rows.into_iter().map(full))
}

/// Engine and columns of a table.
fn structure(name: &str) -> Option<(&'static str, impl Iterator<Item = &'static str>)> {
    let mut lines = STRUCTURES.lines();
    let engine = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('\t'))?;
    Some((engine, lines.map_while(|line| line.strip_prefix('\t'))))
}

fn column(line: &str) -> Result<ColumnSchema> {
    let mut cells = line.split('\t');
    let (name, ty) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
    let default = cells.next().map(|expression| (DefaultKind::Alias, expression.into()));
    Ok(ColumnSchema { default, ..ColumnSchema::new(name, ty.parse()?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_types_are_known() {
        for name in
            STRUCTURES.lines().filter(|line| !line.starts_with('\t')).map(|line| line.split('\t').next())
        {
            let name = name.expect("a name");
            assert!(table(name, Vec::new()).is_ok(), "{name}");
        }
    }
}
