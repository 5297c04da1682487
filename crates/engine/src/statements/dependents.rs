//! What may not go because something that is kept needs it: the tables that dictionaries are filled from, and the
//! dictionaries that the defaults of tables look up.

use crate::dictionaries::definition::Source;
use crate::dictionaries::table::{Dictionary, OverDictionary};
use crate::query_context::QueryContext;
use chalet_base::{Result, ensure};
use chalet_storage::Entry;
use chalet_syntax::ast::{self, ExprKind, Literal, StatementKind, TableKind};

/// Fails where a table or dictionary that stays depends on this one.
pub(super) fn check(database: &str, name: &str, ctx: &QueryContext) -> Result<()> {
    if ctx.state.settings.flag("check_table_dependencies") == Some(false) {
        return Ok(());
    }
    let catalog = &ctx.database.shared.catalog;
    let mut dependents = Vec::new();
    for other in catalog.database_names() {
        for (table, entry) in catalog.tables(&other)? {
            let is_same = other == database && table == name;
            if !is_same && needed(&entry, &other, ctx).iter().any(|(d, n)| d == database && n == name) {
                dependents.push(format!("{other}.{table}"));
            }
        }
    }
    ensure!(
        dependents.is_empty(),
        HAVE_DEPENDENT_OBJECTS,
        "Cannot drop or rename {database}.{name}, because some tables depend on it: {}",
        dependents.join(", ")
    );
    Ok(())
}

/// The tables and dictionaries that something needs, with their databases.
fn needed(entry: &Entry, database: &str, ctx: &QueryContext) -> Vec<(String, String)> {
    let table = entry.table.as_any();
    if let Some(over) = table.downcast_ref::<OverDictionary>() {
        return vec![(over.database.clone(), over.name.clone())];
    }
    if let Some(dictionary) = table.downcast_ref::<Dictionary>() {
        return match &dictionary.definition.source {
            Source::Query { sql: Ok(sql), .. } => tables_of(sql, database),
            _ => Vec::new(),
        };
    }
    let defaults = entry.table.schema();
    let defaults = defaults.columns.iter().filter_map(|column| column.default.as_ref());
    defaults.flat_map(|(_, text)| looked_up(text, database, ctx)).collect()
}

/// The tables that a query reads.
fn tables_of(sql: &str, database: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let parsed = chalet_syntax::parse_statements(sql).unwrap_or_default();
    for statement in parsed {
        if let StatementKind::Query(mut query) = statement.kind {
            chalet_syntax::visit::for_each_table_mut(&mut query, &mut |table| {
                if let TableKind::Name(name) = &table.kind {
                    let database = name.database.as_ref().map_or(database, |database| &database.name);
                    found.push((database.to_owned(), name.name.name.clone()));
                }
            });
        }
    }
    found
}

/// The dictionaries and tables that functions of an expression name.
fn looked_up(text: &str, database: &str, ctx: &QueryContext) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let Ok(parsed) = chalet_syntax::parse_expression(text) else { return found };
    chalet_syntax::visit::walk(&parsed, &mut |expr| {
        if let ExprKind::Call(call) = &expr.kind
            && ctx.registry.called(&call.name).is_some_and(|function| function.record().takes_table_name)
            && let Some(name) = call.args.first().and_then(written_name)
        {
            let parts = name.split_once('.');
            let (database, name) = parts.unwrap_or((database, &name));
            found.push((database.to_owned(), name.to_owned()));
        }
        true
    });
    found
}

fn written_name(arg: &ast::Expr) -> Option<String> {
    match &arg.kind {
        ExprKind::Literal(Literal::String(text)) => Some(String::from_utf8_lossy(text).into_owned()),
        ExprKind::Identifier(parts) => {
            Some(parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join("."))
        }
        _ => None,
    }
}
