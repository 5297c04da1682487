//! CREATE VIEW.

use super::super::output::Output;
use super::clauses::{comment_sql, writable};
use super::columns::{Checked, columns_sql};
use super::materialized;
use super::stored::{self, check_table};
use crate::column_definitions::{columns, comment_of};
use crate::query_context::QueryContext;
use crate::statements::on_cluster;
use chalet_base::{Result, bail, ensure};
use chalet_binder::bind_view;
use chalet_storage::TableSchema;
use chalet_storage::catalog::Entry;
use chalet_storage::view::View;
use chalet_syntax::ast;
use std::sync::Arc;

pub(crate) fn view(create: &ast::CreateView, ctx: &QueryContext, output: &mut Output) -> Result<()> {
    ensure!(
        !create.attach,
        BAD_ARGUMENTS,
        "ATTACH applies the table definition from stored metadata and can't be changed in the query itself. \
         Use 'ATTACH TABLE {};' to re-attach with stored metadata",
        create.name.name.name
    );
    ensure!(
        !create.temporary || create.name.database.is_none(),
        BAD_DATABASE_FOR_TEMPORARY_TABLE,
        "Temporary objects (tables/views) cannot be inside a database. You should not specify a database for a temporary objects"
    );
    if create.materialized {
        return materialized::view(create, ctx, output);
    }
    let database = create.name.database.as_ref().map_or(ctx.state.database.as_str(), |d| &d.name);
    let name = &create.name.name.name;
    if create.temporary && create.if_not_exists && ctx.state.temporary.contains_key(name) {
        return Ok(());
    }
    let mut query = ast::Query::clone(&create.query);
    qualify(&mut query, &ctx.state.database, ctx);
    let bound = bind_view(&query, ctx, &ctx.ids)?;
    on_cluster::check_known(create.cluster.as_ref(), ctx)?;
    if !create.temporary {
        writable(database, ctx)?;
    }
    let schema = match (&create.columns, bound) {
        (_, None) => TableSchema::default(),
        (Some(definition), Some(_)) if !definition.columns.is_empty() => {
            TableSchema::new_checked(columns(&definition.columns, ctx)?)?
        }
        (_, Some(bound)) => TableSchema::new_checked(ctx.columns_of(&bound))?,
    };
    let definition = definition_of(&schema, create.comment.as_deref(), &query);
    let view = Arc::new(View { schema, query: query.to_string() });
    let comment = comment_of(create.comment.as_deref());
    let kind = if create.temporary { "TEMPORARY VIEW" } else { "VIEW" };
    let entry = Entry { table: view, kind, definition: definition.into(), comment };
    if create.temporary {
        return stored::keep_temporary(name, entry, create.or_replace, ctx, output);
    }
    check_table(&entry, database, name, ctx)?;
    ctx.database.shared.catalog.create_table(database, name, entry, create.if_not_exists, create.or_replace)
}

fn definition_of(schema: &TableSchema, comment: Option<&[u8]>, query: &ast::Query) -> String {
    let columns = match schema.columns.is_empty() {
        true => String::new(),
        false => format!("\n(\n{}\n)", columns_sql(schema)),
    };
    format!("{columns}{}\nAS {}", comment_sql(comment), chalet_syntax::print::format_query(query))
}

/// ALTER TABLE ... MODIFY COMMENT of a view that is a query. Is the table one?
pub(crate) fn comment_view(name: &ast::ObjectName, comment: &[u8], ctx: &QueryContext) -> Result<bool> {
    let database = name.database.as_ref().map_or(ctx.state.database.as_str(), |d| &d.name);
    let Some(entry) = ctx.database.shared.catalog.find(database, &name.name.name) else { return Ok(false) };
    let Some(view) = entry.table.as_any().downcast_ref::<View>() else { return Ok(false) };
    writable(database, ctx)?;
    let Some(ast::StatementKind::Query(query)) =
        chalet_syntax::parse_printed(&view.query)?.pop().map(|statement| statement.kind)
    else {
        bail!(LOGICAL_ERROR, "View {database}.{} reads no query", name.name.name)
    };
    let definition = definition_of(&view.schema, Some(comment).filter(|comment| !comment.is_empty()), &query);
    let commented = Entry {
        table: entry.table.clone(),
        definition: definition.into(),
        comment: comment_of(Some(comment)),
        ..entry
    };
    ctx.database.shared.catalog.create_table(database, &name.name.name, commented, false, true)?;
    Ok(true)
}

/// Writes the database before the names of tables, so that the view means the same wherever it is read.
pub(crate) fn qualify(query: &mut ast::Query, database: &str, ctx: &QueryContext) {
    let mut names: Vec<String> = Vec::new();
    collect_ctes(&query.body, &mut names);
    chalet_syntax::visit::for_each_table_mut(query, &mut |table| {
        if let ast::TableKind::Name(name) = &mut table.kind
            && name.database.is_none()
            && !names.contains(&name.name.name)
            && !ctx.state.temporary.contains_key(&name.name.name)
        {
            name.database = Some(ast::Ident::new(database));
        }
    });
}

fn collect_ctes(body: &ast::SetExpr, names: &mut Vec<String>) {
    match body {
        ast::SetExpr::Select(select) => {
            for item in &select.with {
                if let ast::WithItem::Cte { name, query, .. } = item {
                    names.push(name.name.clone());
                    collect_ctes(&query.body, names);
                }
            }
        }
        ast::SetExpr::Query(query) => collect_ctes(&query.body, names),
        ast::SetExpr::SetOp { inputs, .. } => inputs.iter().for_each(|i| collect_ctes(i, names)),
    }
}
