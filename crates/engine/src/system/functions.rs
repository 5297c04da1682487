//! `system.functions`: the functions that are here, with what the kernel says of them and what their records do.

use super::structures::{self, SparseRow};
use crate::functions::is_of_host;
use crate::query_context::QueryContext;
use chalet_base::Result;
use chalet_base::hash::HashSet;
use chalet_function_api::Registry;
use chalet_storage::Table;
use chalet_types::Value;
use std::sync::Arc;

/// Tab-separated: name, the function that it is an alias of, whether it is an aggregate and is found in any case, since which version
/// there is one, category, whether equal arguments give equal results and whether it takes lambdas; the last two may be unknown.
const FACTS: &str = include_str!("functions.tsv");

/// What the binder makes something else of.
const FORMS: [&str; 10] = [
    "arrayJoin",
    "unnest",
    "in",
    "notIn",
    "nullIn",
    "notNullIn",
    "globalIn",
    "globalNotIn",
    "globalNullIn",
    "globalNotNullIn",
];

/// What a record says for people to read.
#[derive(Default)]
struct Documentation {
    summary: &'static str,
    syntax: &'static str,
    examples: String,
}

/// The documentation of a function of any kind by its name; `None` where there is no such function.
fn documentation(name: &str, registry: &Registry) -> Option<Documentation> {
    let of_aggregate = |record: &'static chalet_function_api::AggregateRecord| Documentation {
        summary: record.summary,
        syntax: record.syntax,
        examples: record.examples.iter().map(|e| e.sql).collect::<Vec<_>>().join("\n"),
    };
    if let Some(function) = registry.scalars.get(name) {
        let record = function.record();
        let examples: Vec<&str> = record.examples.iter().map(|e| e.sql).collect();
        let (summary, syntax) = (record.summary, record.syntax);
        return Some(Documentation { summary, syntax, examples: examples.join("\n") });
    }
    let aggregate = registry.aggregates.get(name).map(|function| function.record());
    aggregate.or_else(|| registry.windows.get(name).map(|function| function.record())).map(of_aggregate)
}

pub(crate) fn functions(ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let registry = &ctx.registry;
    let mut rows = Vec::new();
    let mut listed: HashSet<&str> = HashSet::default();
    for line in FACTS.lines() {
        let mut cells = line.split('\t');
        let mut cell = || cells.next().unwrap_or_default();
        let (name, alias, aggregate, any_case) = (cell(), cell(), cell() == "1", cell() == "1");
        let found = documentation(name, registry);
        let Some(doc) = found.or_else(|| FORMS.contains(&name).then(Documentation::default)) else {
            continue;
        };
        listed.insert(name);
        let mut row = described(name, aggregate, any_case, alias, &doc);
        row.push(("introduced_in", Value::from(cell())));
        row.push(("categories", Value::from(cell())));
        row.push(("deterministic", flag(cell())));
        row.push(("higher_order", flag(cell())));
        rows.push(row);
    }
    // Functions of our own, and those of the host.
    for name in registry.scalars.names().chain(registry.aggregates.names()).chain(registry.windows.names()) {
        if !listed.insert(name) || listed_in_other_case(name, registry, &listed) {
            continue;
        }
        let doc = documentation(name, registry).unwrap_or_default();
        let is_aggregate = registry.scalars.get(name).is_none();
        let mut row = described(name, is_aggregate, false, "", &doc);
        if is_of_host(name) {
            row.push(("origin", Value::Int(2)));
        }
        rows.push(row);
    }
    let own = ctx.database.shared.functions.all();
    rows.extend(own.iter().map(|(name, function)| -> SparseRow {
        vec![
            ("name", Value::from(name.as_str())),
            ("create_query", Value::from(&*function.create_sql)),
            ("origin", Value::Int(1)),
            ("deterministic", Value::Null),
            ("higher_order", Value::Null),
        ]
    }));
    structures::table("functions", rows)
}

/// Is it only the spelling of ours for a name that is found in any case and listed in another one?
fn listed_in_other_case(name: &str, registry: &Registry, listed: &HashSet<&str>) -> bool {
    let mut others = listed.iter().filter(|known| **known != name && known.eq_ignore_ascii_case(name));
    let same = |other: &str| {
        let scalars = registry.scalars.get(name).zip(registry.scalars.get(other));
        let aggregates = registry.aggregates.get(name).zip(registry.aggregates.get(other));
        scalars.is_some_and(|(a, b)| Arc::ptr_eq(a, b)) || aggregates.is_some_and(|(a, b)| Arc::ptr_eq(a, b))
    };
    others.any(|other| same(other))
}

fn flag(cell: &str) -> Value {
    if cell.is_empty() { Value::Null } else { Value::from(cell == "1") }
}

fn described(name: &str, aggregate: bool, any_case: bool, alias: &str, doc: &Documentation) -> SparseRow {
    vec![
        ("name", Value::from(name)),
        ("is_aggregate", Value::from(aggregate)),
        ("case_insensitive", Value::from(any_case)),
        ("alias_to", Value::from(alias)),
        ("description", Value::from(doc.summary)),
        ("syntax", Value::from(doc.syntax)),
        ("examples", Value::from(doc.examples.as_str())),
        ("deterministic", Value::Null),
        ("higher_order", Value::Null),
    ]
}
