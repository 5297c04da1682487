//! The columns of CREATE TABLE and VIEW: as they are declared, taken from elsewhere, and as SHOW CREATE prints them.

use crate::scope::Scope;
use chalet_base::{Result, bail, ensure};
use chalet_binder::table_columns::{bind_default, bind_table_arguments};
use chalet_binder::{Environment, bind_query};
use chalet_formats::Schema;
use chalet_plan::{Expr, IdSource};
use chalet_storage::catalog::quoted;
use chalet_storage::{ColumnSchema, Constraint, DefaultKind, TableSchema};
use chalet_syntax::ast::{self, CreateSource};
use chalet_types::{DataType, TupleField};
use std::collections::HashSet;
use std::sync::Arc;

pub(super) fn schema_of(create: &ast::CreateTable, scope: &Arc<Scope>) -> Result<TableSchema> {
    let definition = &create.definition;
    if !definition.columns.is_empty() {
        let schema = TableSchema::new_checked(columns(&definition.columns, scope)?)?;
        let schema = TableSchema { constraints: constraints(definition), ..schema };
        super::super::checked::validate(&schema, scope)?;
        return Ok(schema);
    }
    match &create.source {
        Some(CreateSource::Query { query, .. }) => {
            let bound = bind_query(query, &**scope, &scope.ids)?;
            TableSchema::new_checked(
                bound.fields.into_iter().map(|f| ColumnSchema::new(f.name, f.ty)).collect(),
            )
        }
        Some(CreateSource::Table { name, clone }) => {
            ensure!(!clone, NOT_IMPLEMENTED, "CREATE TABLE ... CLONE AS is not supported");
            Ok(super::super::drop::existing(name, scope)?.0.schema())
        }
        Some(CreateSource::Function(call)) => {
            let args = bind_table_arguments(&call.args, &**scope, &scope.ids)?;
            Ok(scope.table_function(&call.name, &args)?.schema())
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

/// The columns of a statement that [`columns_sql`] wrote: they were checked when the table was made.
pub(super) fn stored_schema(definition: &ast::TableDefinition) -> Result<TableSchema> {
    let mut columns = Vec::with_capacity(definition.columns.len());
    for def in &definition.columns {
        let name = &def.name.name;
        let Some(ty) = &def.ty else { bail!(INCORRECT_QUERY, "The stored column {name} has no type") };
        let (default, comment) = default_and_comment(def)?;
        columns.push(ColumnSchema { default, comment, ..ColumnSchema::new(name.as_str(), ty.text.parse()?) });
    }
    Ok(TableSchema { constraints: constraints(definition), ..TableSchema::new(columns) })
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

/// Nested columns become one array per element, as the kernel stores them.
pub(crate) fn columns(defs: &[ast::ColumnDef], scope: &Scope) -> Result<Vec<ColumnSchema>> {
    let mut columns: Vec<ColumnSchema> = Vec::with_capacity(defs.len());
    // A default may use columns that come later: types first, expressions when all names are known.
    let mut untyped = Vec::new();
    for def in defs {
        let name = &def.name.name;
        let (default, comment) = default_and_comment(def)?;
        let Some(ty) = &def.ty else {
            ensure!(
                default.is_some(),
                EMPTY_LIST_OF_COLUMNS_PASSED,
                "Column {name} has neither type nor default"
            );
            untyped.push(columns.len());
            let column =
                ColumnSchema { default, comment, ..ColumnSchema::new(name.as_str(), DataType::Nothing) };
            columns.push(column);
            continue;
        };
        let parsed: DataType = ty.text.parse()?;
        let parsed = if def.nullable == Some(true) { parsed.nullable() } else { parsed };
        if let Some(parts) = nested_parts(name, &ty.text, &parsed) {
            columns.extend(parts.into_iter().map(|(name, ty)| ColumnSchema::new(name, ty)));
            continue;
        }
        check_suspicious(&parsed, scope)?;
        columns.push(ColumnSchema { default, comment, ..ColumnSchema::new(name.as_str(), parsed) });
    }
    for index in untyped {
        columns[index].ty = type_of_default(&columns, index, scope)?;
    }
    check_defaults(&columns, scope)?;
    Ok(columns)
}

/// The columns that a Nested stands for: its elements, as arrays.
pub(crate) fn nested_parts(name: &str, written: &str, ty: &DataType) -> Option<Schema> {
    if !written.trim_start().to_ascii_lowercase().starts_with("nested") {
        return None;
    }
    let DataType::Array(inner) = ty else { return None };
    let DataType::Tuple(fields) = &**inner else { return None };
    let part = |field: &TupleField| {
        let element = field.name.as_deref().unwrap_or_default();
        (format!("{name}.{element}"), field.ty.clone().array())
    };
    Some(fields.iter().map(part).collect())
}

fn check_suspicious(ty: &DataType, scope: &Scope) -> Result<()> {
    if let DataType::LowCardinality(inner) = ty {
        let narrow = inner.bare().physical().width().is_some_and(|width| width < 8)
            || matches!(
                inner.bare(),
                DataType::Date | DataType::Float64 | DataType::Int64 | DataType::UInt64
            );
        let narrow = narrow && !inner.bare().is_string();
        let allowed = scope.context().settings.allow_suspicious_low_cardinality_types;
        ensure!(
            !narrow || allowed,
            SUSPICIOUS_TYPE_FOR_LOW_CARDINALITY,
            "Creating columns of type {ty} is prohibited by default due to expected negative impact on performance. It can be \
             enabled with the `allow_suspicious_low_cardinality_types` setting"
        );
    }
    Ok(())
}

type Default = Option<(DefaultKind, Arc<str>)>;

fn default_and_comment(def: &ast::ColumnDef) -> Result<(Default, Arc<str>)> {
    let default = def.default.as_ref().map(|d| default_of(d, &def.name.name)).transpose()?;
    Ok((default, super::text_of(def.comment.as_deref())))
}

fn default_of(default: &ast::ColumnDefault, name: &str) -> Result<(DefaultKind, Arc<str>)> {
    let kind = match default.kind {
        ast::DefaultKind::Default => DefaultKind::Default,
        ast::DefaultKind::Materialized => DefaultKind::Materialized,
        ast::DefaultKind::Alias => DefaultKind::Alias,
        ast::DefaultKind::Ephemeral => DefaultKind::Ephemeral,
        ast::DefaultKind::AutoIncrement => {
            bail!(SYNTAX_ERROR, "AUTO_INCREMENT is not supported (column {name})")
        }
    };
    let text = default.expr.as_ref().map_or(String::new(), |e| e.to_string());
    Ok((kind, text.into()))
}

/// Columns as expressions, for defaults that use them.
fn as_expressions(columns: &[ColumnSchema], ids: &IdSource) -> Vec<(String, Expr)> {
    let named = columns.iter().map(|c| (c.name.to_string(), Expr::Column(ids.next(), c.ty.clone())));
    named.collect()
}

fn type_of_default(columns: &[ColumnSchema], index: usize, scope: &Scope) -> Result<DataType> {
    let Some((_, text)) = &columns[index].default else { return Ok(DataType::Nothing) };
    if text.is_empty() {
        return Ok(DataType::String);
    }
    let known: Vec<ColumnSchema> = columns.iter().filter(|c| c.ty != DataType::Nothing).cloned().collect();
    let written = chalet_syntax::parse_expression(text)?;
    let named = as_expressions(&known, &scope.ids);
    Ok(chalet_binder::table_columns::bind_over(&written, &named, scope, &scope.ids)?.ty().clone())
}

/// Every default must be computable before a row ever asks for it.
fn check_defaults(columns: &[ColumnSchema], scope: &Scope) -> Result<()> {
    let named = as_expressions(columns, &scope.ids);
    for column in columns {
        if let Some((_, text)) = &column.default
            && !text.is_empty()
        {
            bind_default(text, &column.ty, &named, scope, &scope.ids)?;
        }
    }
    Ok(())
}

pub(super) fn columns_sql(schema: &TableSchema) -> String {
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
            let ty = c.ty.pretty().replace('\n', "\n    ");
            format!("    `{name}` {ty}{default}{comment}")
        })
        .collect();
    let constraints = schema.constraints.iter().map(|c| {
        let word = if c.is_assumed { "ASSUME" } else { "CHECK" };
        format!("    CONSTRAINT {} {word} {}", quoted(&c.name), c.expr)
    });
    lines.into_iter().chain(constraints).collect::<Vec<_>>().join(",\n")
}
