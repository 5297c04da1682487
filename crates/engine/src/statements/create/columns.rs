//! The columns of CREATE TABLE and VIEW: as they are declared, taken from elsewhere, and as SHOW CREATE prints them.

use super::{projection, skip_index};
use crate::binding::bind;
use crate::column_checks::{check_stored, check_type};
use crate::column_definitions::{columns, declared_type, default_and_comment};
use crate::function_table::called;
use crate::query_context::QueryContext;
use crate::stored_columns::validate;
use crate::tables;
use chalet_base::{Result, bail, ensure};
use chalet_storage::catalog::quoted;
use chalet_storage::{ColumnSchema, Constraint, SkipIndex, TableSchema};
use chalet_syntax::ast::{self, CreateSource};
use std::collections::HashSet;
use std::sync::Arc;

/// The columns of a statement, and its constraints, which can be computed from them.
pub(super) fn schema_of(create: &ast::CreateTable, ctx: &QueryContext) -> Result<TableSchema> {
    let schema = declared_schema(create, ctx)?;
    validate(&schema, ctx)?;
    Ok(schema)
}

/// As [`schema_of`], where constraints are not looked at yet.
pub(super) fn declared_schema(create: &ast::CreateTable, ctx: &QueryContext) -> Result<TableSchema> {
    let definition = &create.definition;
    if !definition.columns.is_empty() {
        let schema = TableSchema::new_checked(columns(&definition.columns, ctx)?)?;
        check_stored(&schema.columns)?;
        return Ok(TableSchema {
            constraints: constraints(definition),
            indexes: indexes(definition)?,
            projections: projection::all(definition),
            ..schema
        });
    }
    match &create.source {
        Some(CreateSource::Query { query, .. }) => {
            let bound = bind(query, ctx)?;
            bound.fields.iter().try_for_each(|field| check_type(&field.ty, ctx))?;
            TableSchema::new_checked(ctx.columns_of(&bound))
        }
        Some(CreateSource::Table { name, .. }) => {
            let schema = tables::existing(name, ctx)?.0.schema();
            // An engine that has indexes and TTL takes them itself.
            let own = schema.columns.iter().filter(|column| !column.is_virtual);
            let columns = own.map(|c| ColumnSchema { ttl: None, ..c.clone() }).collect();
            Ok(TableSchema { indexes: Arc::default(), projections: Arc::default(), columns, ..schema })
        }
        Some(CreateSource::Function(call)) => {
            let schema = called(call, ctx)?.schema();
            let own = schema.columns.iter().filter(|column| !column.is_virtual).cloned().collect();
            Ok(TableSchema { columns: own, ..schema })
        }
        None => bail!(
            INCORRECT_QUERY,
            "Incorrect CREATE query: required list of column descriptions or AS section or SELECT"
        ),
    }
}

fn constraints(definition: &ast::TableDefinition) -> Arc<[Constraint]> {
    let constraints = definition.constraints.iter().map(|c| Constraint {
        name: c.name.name.as_str().into(),
        expr: c.expr.to_string().into(),
        is_assumed: c.assume,
    });
    constraints.collect()
}

fn indexes(definition: &ast::TableDefinition) -> Result<Arc<[SkipIndex]>> {
    definition.indexes.iter().map(skip_index::declared).collect()
}

/// The columns of a statement that [`columns_sql`] wrote: they were checked when the table was made.
pub(super) fn stored_schema(definition: &ast::TableDefinition) -> Result<TableSchema> {
    let mut columns = Vec::with_capacity(definition.columns.len());
    for def in &definition.columns {
        let name = &def.name.name;
        let Some(ty) = &def.ty else { bail!(INCORRECT_QUERY, "The stored column {name} has no type") };
        let (default, comment) = default_and_comment(def)?;
        let (simple_aggregate, ty) = declared_type(&ty.text)?;
        let column = ColumnSchema::new(name.as_str(), ty);
        let codec = crate::column_codecs::stored(&def.codec);
        let ttl = def.ttl.as_ref().map(|ttl| ttl.to_string().into());
        let statistics = crate::column_checks::statistics(def)?;
        let settings = crate::column_checks::settings(&def.settings);
        columns.push(ColumnSchema {
            default,
            comment,
            simple_aggregate,
            ttl,
            codec,
            statistics,
            settings,
            ..column
        });
    }
    Ok(TableSchema {
        constraints: constraints(definition),
        indexes: indexes(definition)?,
        projections: projection::all(definition),
        ..TableSchema::new(columns)
    })
}

pub(super) trait Checked: Sized {
    fn new_checked(columns: Vec<ColumnSchema>) -> Result<Self>;
}

impl Checked for TableSchema {
    fn new_checked(columns: Vec<ColumnSchema>) -> Result<Self> {
        let mut names = HashSet::with_capacity(columns.len());
        for column in &columns {
            ensure!(names.insert(&*column.name), ILLEGAL_COLUMN, "Column {} already exists", column.name);
        }
        Ok(TableSchema::new(columns))
    }
}

pub(crate) fn columns_sql(schema: &TableSchema) -> String {
    let lines: Vec<String> = schema
        .columns
        .iter()
        .filter(|c| !c.is_virtual)
        .map(|c| {
            let name = c.name.replace('\\', "\\\\").replace('`', "\\`");
            let default = c.default.as_ref().map_or(String::new(), |(kind, text)| {
                let space = if text.is_empty() { "" } else { " " };
                format!(" {}{space}{text}", kind.name())
            });
            let mut comment = String::new();
            if !c.comment.is_empty() {
                comment.push_str(" COMMENT ");
                chalet_syntax::print::write_string(&mut comment, c.comment.as_bytes());
            }
            let ty = match &c.simple_aggregate {
                None => c.ty.to_string(),
                Some(_) => c.declared_type(),
            };
            let ty = chalet_types::laid_out(&ty, 1);
            let ttl = c.ttl.as_ref().map_or(String::new(), |ttl| format!(" TTL {ttl}"));
            let codec = if c.codec.is_empty() { String::new() } else { format!(" CODEC({})", c.codec) };
            let within = |word: &str, list: &str| match list {
                "" => String::new(),
                list => format!(" {word}({list})"),
            };
            let statistics = within("STATISTICS", &c.statistics);
            let settings = within("SETTINGS ", &c.settings);
            format!("    `{name}` {ty}{default}{comment}{codec}{statistics}{ttl}{settings}")
        })
        .collect();
    let constraints = schema.constraints.iter().map(|c| {
        let word = if c.is_assumed { "ASSUME" } else { "CHECK" };
        format!("    CONSTRAINT {} {word} {}", quoted(&c.name), c.expr)
    });
    let indexes = schema.indexes.iter().filter(|index| !index.is_implicit).map(|index| {
        let SkipIndex { name, expr, kind, granularity, .. } = index;
        format!("    INDEX {} {expr} TYPE {kind} GRANULARITY {granularity}", quoted(name))
    });
    let projections = schema
        .projections
        .iter()
        .map(|projection| format!("    PROJECTION {}", projection.shown.replace('\n', "\n    ")));
    lines.into_iter().chain(indexes).chain(constraints).chain(projections).collect::<Vec<_>>().join(",\n")
}
