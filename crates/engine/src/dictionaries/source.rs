//! Reading the source of a dictionary: a query, under settings that are not the session's.

use super::attached::Attached;
use super::definition::{Definition, Source};
use super::loaded::Loaded;
use super::table::Dictionary;
use crate::query_context::QueryContext;
use crate::settings::Settings;
use chalet_base::{Result, bail, ensure};
use chalet_binder::table_columns::cast_column;
use chalet_binder::{Environment, bind_query};
use chalet_columns::Block;
use chalet_plan::{Plan, Project};
use chalet_syntax::ast;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A dictionary that the statement of this context can load.
pub(crate) fn attached(dictionary: &Dictionary, ctx: &QueryContext) -> Attached {
    let ctx = ctx.clone();
    let load = move |definition: &Arc<Definition>| Loaded::new(definition.clone(), &read(definition, &ctx)?);
    Attached::new(dictionary.clone(), Box::new(load))
}

/// The rows of the source, with the columns of the definition.
fn read(definition: &Definition, ctx: &QueryContext) -> Result<Vec<Block>> {
    let sql = match &definition.source {
        Source::Null => return Ok(Vec::new()),
        Source::Other(name) => bail!(NOT_IMPLEMENTED, "Dictionary source of type {name} is not supported"),
        Source::Query { sql, .. } => sql.clone()?,
    };
    let mut ctx = ctx.with_settings(Settings::default())?;
    ctx.state.temporary = BTreeMap::new();
    ctx.replacement_scan = None;
    let parsed = chalet_syntax::parse_statements(&sql)?;
    let Some(ast::StatementKind::Query(query)) = parsed.first().map(|statement| &statement.kind) else {
        bail!(BAD_ARGUMENTS, "The source of a dictionary is a query, not {sql}");
    };
    let bound = bind_query(query, &ctx, &ctx.ids)?;
    let columns = &definition.schema.columns;
    ensure!(
        bound.fields.len() == columns.len(),
        NUMBER_OF_COLUMNS_DOESNT_MATCH,
        "Number of columns doesn't match (source: {} and result: {})",
        bound.fields.len(),
        columns.len()
    );
    // By name where all names are there, else in order.
    let by_name = columns.iter().map(|column| bound.fields.iter().find(|field| *field.name == *column.name));
    let fields = by_name.collect::<Option<Vec<_>>>().unwrap_or_else(|| bound.fields.iter().collect());
    let mut exprs = Vec::with_capacity(columns.len());
    for (field, column) in fields.into_iter().zip(columns.iter()) {
        let target = ctx.ids.field(column.name.clone(), column.ty.clone());
        exprs.push((target, cast_column(field, &column.ty, &ctx)?));
    }
    ctx.run(Plan::Project(Project { input: Box::new(bound.plan), exprs }))
}
