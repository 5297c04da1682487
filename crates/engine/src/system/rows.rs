//! Tables of facts about the dialect, which are the same in every database: their rows are kept as text.

use super::structures::{self, SparseRow};
use chalet_base::Result;
use chalet_storage::Table;
use chalet_types::{DataType, Value};
use std::sync::Arc;

/// Tab-separated, as all of these: the names of columns, then a line a row. The elements of arrays are separated by commas, `\N` is NULL.
const KEYWORDS: &str = include_str!("rows/keywords.tsv");
const PRIVILEGES: &str = include_str!("rows/privileges.tsv");
const COLLATIONS: &str = include_str!("rows/collations.tsv");
const CODECS: &str = include_str!("rows/codecs.tsv");
const TOKENIZERS: &str = include_str!("rows/tokenizers.tsv");
const TABLE_ENGINES: &str = include_str!("rows/table_engines.tsv");
const TABLE_FUNCTIONS: &str = include_str!("rows/table_functions.tsv");
const COMBINATORS: &str = include_str!("rows/aggregate_function_combinators.tsv");

/// A table that is known by its text alone.
pub(super) fn table(name: &str) -> Result<Option<Arc<dyn Table>>> {
    let text = match name {
        "keywords" => KEYWORDS,
        "privileges" => PRIVILEGES,
        "collations" => COLLATIONS,
        "codecs" => CODECS,
        "tokenizers" => TOKENIZERS,
        _ => return Ok(None),
    };
    made(name, text, |_| true).map(Some)
}

/// The engines of tables with these names.
pub(super) fn table_engines(is_here: impl Fn(&str) -> bool) -> Result<Arc<dyn Table>> {
    made("table_engines", TABLE_ENGINES, is_here)
}

/// The table functions with these names.
pub(super) fn table_functions(is_here: impl Fn(&str) -> bool) -> Result<Arc<dyn Table>> {
    made("table_functions", TABLE_FUNCTIONS, is_here)
}

/// The combinators with these suffixes. `Null` is what the engine does by itself.
pub(super) fn combinators(is_here: impl Fn(&str) -> bool) -> Result<Arc<dyn Table>> {
    made("aggregate_function_combinators", COMBINATORS, |name| name == "Null" || is_here(name))
}

/// The words of the dialect.
pub(super) fn keywords() -> impl Iterator<Item = &'static str> {
    KEYWORDS.lines().skip(1)
}

fn made(name: &str, text: &'static str, is_here: impl Fn(&str) -> bool) -> Result<Arc<dyn Table>> {
    let schema = structures::schema(name)?;
    let mut lines = text.lines();
    let header = lines.next().unwrap_or_default().split('\t');
    let columns: Vec<(&'static str, DataType)> = header
        .filter_map(|name| {
            Some((name, schema.columns.iter().find(|column| *column.name == *name)?.ty.clone()))
        })
        .collect();
    let rows = lines.filter(|line| is_here(line.split('\t').next().unwrap_or_default()));
    let row = |line: &str| -> SparseRow {
        columns.iter().zip(line.split('\t')).map(|((name, ty), cell)| (*name, value(cell, ty))).collect()
    };
    structures::table(name, rows.map(row).collect())
}

/// The value of a cell; of a text that is none, the default.
fn value(cell: &str, ty: &DataType) -> Value {
    if cell == "\\N" {
        return Value::Null;
    }
    match ty.bare() {
        DataType::Array(_) => {
            Value::Array(cell.split(',').filter(|word| !word.is_empty()).map(Value::from).collect())
        }
        DataType::Enum8(values) | DataType::Enum16(values) => {
            Value::Int(values.number_of(cell.as_bytes()).unwrap_or_default().into())
        }
        DataType::String => Value::from(cell),
        _ => Value::UInt(cell.parse().unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_the_tables() {
        for (name, text) in [
            ("keywords", KEYWORDS),
            ("privileges", PRIVILEGES),
            ("collations", COLLATIONS),
            ("codecs", CODECS),
            ("tokenizers", TOKENIZERS),
            ("table_engines", TABLE_ENGINES),
            ("table_functions", TABLE_FUNCTIONS),
            ("aggregate_function_combinators", COMBINATORS),
        ] {
            let schema = structures::schema(name).expect("a known table");
            let header = text.lines().next().unwrap_or_default();
            for column in header.split('\t') {
                assert!(schema.columns.iter().any(|known| *known.name == *column), "{name}.{column}");
            }
            for line in text.lines() {
                assert_eq!(line.split('\t').count(), header.split('\t').count(), "{name}: {line}");
            }
        }
    }
}
