//! `system.completions`: the words that a client may complete, with what they are and what they belong to.

use super::structures::{self, SparseRow};
use super::{catalog, others, rows};
use crate::formats::FORMATS;
use crate::query_context::QueryContext;
use crate::table_engines::TABLE_ENGINES;
use crate::{settings, table_functions};
use chalet_aggregates::combinators::suffixes;
use chalet_base::Result;
use chalet_storage::Table;
use chalet_types::{Value, families};
use std::collections::BTreeSet;
use std::sync::Arc;

pub(super) fn completions(ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let mut words: Vec<(String, &'static str, Option<String>)> = Vec::new();
    let mut databases = BTreeSet::new();
    for (database, name, entry) in catalog::all_tables(ctx, &others(ctx)?)? {
        for column in entry.table.schema().columns.iter().filter(|column| !column.is_virtual) {
            words.push((column.name.to_string(), "column", Some(name.clone())));
        }
        words.push((name, "table", Some(database.clone())));
        databases.insert(database);
    }
    words.extend(databases.into_iter().filter(|name| !name.is_empty()).map(|name| (name, "database", None)));
    let mut simple = |context: &'static str, names: &mut dyn Iterator<Item = &'static str>| {
        words.extend(names.map(|name| (name.to_owned(), context, None)));
    };
    let registry = &ctx.registry;
    simple("function", &mut registry.scalars.names());
    simple("function", &mut registry.windows.names());
    simple("function", &mut registry.aggregates.names());
    simple("table engine", &mut TABLE_ENGINES.iter().copied());
    simple("format", &mut FORMATS.list().into_iter().map(|format| format.name));
    simple("table function", &mut table_functions::NAMES.iter().copied());
    simple("data type", &mut families::FAMILIES.iter().map(|family| family.name));
    simple("setting", &mut settings::all().iter().map(|known| known.name));
    simple("merge tree setting", &mut settings::merge_tree::all().iter().map(|setting| setting.known.name));
    simple("policy", &mut std::iter::once("default"));
    simple("keyword", &mut rows::keywords());
    for name in registry.aggregates.all().iter().map(|function| function.record().name) {
        let pairs =
            suffixes().map(|suffix| (format!("{name}{suffix}"), "aggregate function combinator pair", None));
        words.extend(pairs);
    }
    let rows = words.into_iter().map(|(word, context, belongs)| -> SparseRow {
        let belongs = belongs.map_or(Value::Null, |name| Value::from(name.as_str()));
        vec![("word", Value::from(word.as_str())), ("context", Value::from(context)), ("belongs", belongs)]
    });
    structures::table("completions", rows.collect())
}
