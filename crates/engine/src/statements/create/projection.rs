//! PROJECTION in the definition of a MergeTree: what may be one.

use super::merge_tree::check_key_type;
use super::merge_tree_settings::check_name;
use crate::projections::declared::{aggregates, parsed};
use crate::query_context::QueryContext;
use crate::stored_columns::check_rows_stay;
use chalet_base::{Result, bail, ensure, err};
use chalet_binder::bind_query;
use chalet_storage::fixed::FixedTable;
use chalet_storage::merge_tree::MERGE_TREE;
use chalet_storage::{ColumnSchema, Entry, Projection, TableSchema};
use chalet_syntax::ast::{self, ProjectionDef, StatementKind};
use chalet_types::DataType;
use std::sync::Arc;

/// The table that the query of a projection is bound over.
const SOURCE: &str = "__rows_of_table";

/// The projections of a definition.
pub(super) fn all(definition: &ast::TableDefinition) -> Arc<[Projection]> {
    definition.projections.iter().map(declared).collect()
}

/// A projection as it is written.
pub(crate) fn declared(written: &ProjectionDef) -> Projection {
    Projection {
        name: written.name.name.as_str().into(),
        query: match &written.index {
            Some(index) => index.expr.to_string().into(),
            None => chalet_syntax::print::projection_query(written).into(),
        },
        shown: chalet_syntax::print::projection(written).into(),
    }
}

/// Fails where a table with these columns cannot have its projections.
pub(crate) fn check(schema: &TableSchema, ctx: &QueryContext) -> Result<()> {
    for (at, projection) in schema.projections.iter().enumerate() {
        let name = &projection.name;
        let is_first = schema.projections[..at].iter().all(|before| before.name != *name);
        ensure!(
            is_first,
            ILLEGAL_PROJECTION,
            "Cannot add projection {name}: projection with this name already exists"
        );
        let written = parsed(projection)?;
        if let Some(index) = &written.index {
            check_kind(&index.ty.name)?;
        }
        for setting in &written.settings {
            check_name(&setting.name.name, MERGE_TREE)?;
        }
        check_one(&written, schema, ctx)
            .map_err(|e| e.context(format!("When validating projection `{name}`")))?;
    }
    Ok(())
}

fn check_kind(name: &str) -> Result<()> {
    ensure!(
        name != "commit_order",
        NOT_IMPLEMENTED,
        "A projection INDEX of type commit_order is not supported"
    );
    ensure!(
        name == "basic",
        INCORRECT_QUERY,
        "Unknown projection index type '{name}'. Available projection index types: commit_order, basic"
    );
    Ok(())
}

fn check_one(written: &ProjectionDef, schema: &TableSchema, ctx: &QueryContext) -> Result<()> {
    let mut columns: Vec<ColumnSchema> = schema.columns.iter().filter(|c| !c.is_virtual).cloned().collect();
    columns.push(ColumnSchema::virtual_column("_part_offset", DataType::UInt64));
    let stored = TableSchema::new(columns);
    let source = Arc::new(FixedTable::new("Memory", stored, Vec::new()));
    let entry = Entry { table: source, kind: "TABLE", definition: "".into(), comment: "".into() };
    let mut ctx = ctx.with_settings(ctx.state.settings.clone())?;
    ctx.state.temporary.insert(SOURCE.into(), entry);
    let text = format!("SELECT 1 FROM {SOURCE}");
    let Some(StatementKind::Query(query)) = chalet_syntax::parse_printed(&text)?.pop().map(|s| s.kind) else {
        bail!(LOGICAL_ERROR, "A projection reads no rows: {text}")
    };
    let ast::SetExpr::Select(from) = query.body else {
        bail!(LOGICAL_ERROR, "A projection reads no rows: {text}")
    };
    let mut select = ast::Select { from: from.from, ..(*written.query).clone() };
    let sorted = std::mem::take(&mut select.order_by);
    let is_aggregate = aggregates(written, &ctx);
    if !is_aggregate {
        select.projection.extend(sorted.iter().map(|item| item.expr.clone()));
    }
    let query = ast::Query { body: ast::SetExpr::Select(Box::new(select)), span: query.span };
    let bound = bind_query(&query, &ctx, &ctx.ids)?;
    let keys = &bound.fields[bound.fields.len().saturating_sub(sorted.len())..];
    for key in keys.iter().filter(|_| !is_aggregate) {
        check_key_type(&key.ty)?;
    }
    ensure!(
        !is_aggregate || sorted.is_empty(),
        ILLEGAL_PROJECTION,
        "When aggregation is used in projection, ORDER BY cannot be specified"
    );
    ensure!(is_aggregate || !sorted.is_empty(), BAD_ARGUMENTS, "ORDER BY cannot be empty");
    for item in &sorted {
        check_rows_stay(&item.expr, || err!(ILLEGAL_COLUMN, "Sorting key cannot contain array joins"))?;
    }
    Ok(())
}
