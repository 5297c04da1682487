//! Reading the source of a dictionary: a query, under settings that are not the session's.

use super::attached::Attached;
use super::definition::{Definition, Source};
use super::loaded::Loaded;
use super::table::Dictionary;
use crate::query_context::QueryContext;
use crate::settings::Settings;
use chalet_base::{Result, bail, ensure};
use chalet_binder::table_columns::cast_column;
use chalet_binder::{BoundQuery, Environment, bind_query};
use chalet_columns::{Block, Vector};
use chalet_plan::{Field, Plan, Project};
use chalet_storage::catalog::quoted;
use chalet_syntax::ast;
use chalet_syntax::print::string_literal;
use chalet_types::{DataType, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A dictionary that the statement of this context can load.
pub(crate) fn attached(dictionary: &Dictionary, ctx: &QueryContext) -> Attached {
    let (of_load, of_keys) = (ctx.clone(), ctx.clone());
    let load =
        move |definition: &Arc<Definition>| Loaded::new(definition.clone(), &read(definition, &of_load)?);
    let keys = move |definition: &Definition, keys: &[Vector]| read_keys(definition, keys, &of_keys);
    Attached::new(dictionary.clone(), Box::new(load), Box::new(keys))
}

/// The rows of the source, with the columns of the definition.
fn read(definition: &Definition, ctx: &QueryContext) -> Result<Vec<Block>> {
    let sql = match &definition.source {
        Source::Null => return Ok(Vec::new()),
        Source::Other(name) => bail!(NOT_IMPLEMENTED, "Dictionary source of type {name} is not supported"),
        Source::Query { sql, .. } => sql.clone()?,
    };
    let ctx = own_context(ctx)?;
    let bound = bound(&sql, &ctx)?;
    run(definition, bound, &ctx)
}

/// The rows that the source has for keys, and perhaps others; none where it cannot be asked for them.
fn read_keys(definition: &Definition, keys: &[Vector], ctx: &QueryContext) -> Result<Option<Vec<Block>>> {
    let Source::Query { sql, .. } = &definition.source else { return Ok(None) };
    let sql = sql.clone()?;
    let ctx = own_context(ctx)?;
    let all = bound(&sql, &ctx)?;
    let fields = of_columns(definition, &all)?;
    let conditions = fields.iter().zip(keys).zip(definition.keys());
    let conditions = conditions.map(|((field, values), key)| is_one_of(field, values, &key.ty));
    let Some(conditions) = conditions.collect::<Option<Vec<_>>>() else { return Ok(None) };
    let is_clear = |name: &str| all.fields.iter().filter(|field| *field.name == *name).count() == 1;
    if !fields.iter().all(|field| is_clear(&field.name)) {
        return Ok(None);
    }
    let asked = format!("SELECT * FROM ({sql}) WHERE {}", conditions.join(" AND "));
    // A query with clauses that a sub-query cannot have.
    let Ok(bound) = bound(&asked, &ctx) else { return Ok(None) };
    run(definition, bound, &ctx).map(Some)
}

/// The condition that a field of the source has one of these values; none for types whose values are not written as they are.
fn is_one_of(field: &Field, values: &Vector, ty: &DataType) -> Option<String> {
    let of_source = field.ty.bare();
    let is_alike = match ty {
        DataType::String => *of_source == DataType::String,
        _ => ty.is_integer() && of_source.is_integer(),
    };
    let literal = |row| match values.value(row) {
        Value::UInt(number) => Some(number.to_string()),
        Value::Int(number) => Some(number.to_string()),
        Value::Bytes(text) if is_alike => std::str::from_utf8(&text).ok().map(string_literal),
        _ => None,
    };
    let literals = (0..values.len()).map(literal).collect::<Option<Vec<_>>>()?;
    is_alike.then(|| format!("{} IN ({})", quoted(&field.name), literals.join(", ")))
}

/// The context of a query that the dictionary makes: nothing of the session but its database.
fn own_context(ctx: &QueryContext) -> Result<QueryContext> {
    let mut ctx = ctx.with_settings(Settings::default())?;
    ctx.state.temporary = BTreeMap::new();
    ctx.replacement_scan = None;
    Ok(ctx)
}

fn bound(sql: &str, ctx: &QueryContext) -> Result<BoundQuery> {
    let parsed = chalet_syntax::parse_statements(sql)?;
    let Some(ast::StatementKind::Query(query)) = parsed.first().map(|statement| &statement.kind) else {
        bail!(BAD_ARGUMENTS, "The source of a dictionary is a query, not {sql}");
    };
    bind_query(query, ctx, &ctx.ids)
}

/// The fields of a query that the columns of a dictionary are made of.
fn of_columns(definition: &Definition, bound: &BoundQuery) -> Result<Vec<Field>> {
    let columns = &definition.source_columns();
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
    Ok(fields.into_iter().cloned().collect())
}

/// The rows of a query, with the columns of the definition.
fn run(definition: &Definition, bound: BoundQuery, ctx: &QueryContext) -> Result<Vec<Block>> {
    let columns = &definition.source_columns();
    let fields = of_columns(definition, &bound)?;
    let mut exprs = Vec::with_capacity(columns.len());
    for (field, column) in fields.iter().zip(columns.iter()) {
        let target = ctx.ids.field(column.name.clone(), column.ty.clone());
        exprs.push((target, cast_column(field, &column.ty, ctx)?));
    }
    ctx.run(Plan::Project(Project { input: Box::new(bound.plan), exprs }))
}
