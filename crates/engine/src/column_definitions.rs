//! Columns as statements and structures declare them: types, Nested, defaults.

use crate::column_checks::{check_circles, check_matchers, check_type, settings, statistics, with_modifiers};
use crate::column_codecs;
use crate::query_context::QueryContext;
use crate::stored_columns::check_rows_stay;
use crate::structure_text::nested_parts;
use chalet_base::{Result, bail, ensure, err};
use chalet_binder::Environment;
use chalet_binder::row_rule::check_simple_aggregate;
use chalet_binder::table_columns::{bind_default, bind_over};
use chalet_columns::Block;
use chalet_plan::{Expr, IdSource, Plan, Project, Values};
use chalet_storage::{ColumnSchema, DefaultKind};
use chalet_syntax::ast;
use chalet_types::DataType;
use chalet_types::simple_aggregate::simple_aggregate;
use std::sync::Arc;

/// Nested columns become one array per element, as the kernel stores them, unless `flatten_nested` is off.
pub(crate) fn columns(defs: &[ast::ColumnDef], ctx: &QueryContext) -> Result<Vec<ColumnSchema>> {
    let mut columns: Vec<ColumnSchema> = Vec::with_capacity(defs.len());
    // A default may use columns that come later: types first, expressions when all names are known.
    let mut untyped = Vec::new();
    check_circles(defs)?;
    let flattens = ctx.state.settings.flag("flatten_nested") != Some(false);
    for def in defs {
        let name = &def.name.name;
        let (default, comment) = default_and_comment(def)?;
        let ttl: Option<Arc<str>> = def.ttl.as_ref().map(|ttl| ttl.to_string().into());
        let Some(ty) = &def.ty else {
            ensure!(
                default.is_some(),
                EMPTY_LIST_OF_COLUMNS_PASSED,
                "Column {name} has neither type nor default"
            );
            untyped.push(columns.len());
            let column =
                ColumnSchema { default, comment, ttl, ..ColumnSchema::new(name.as_str(), DataType::Nothing) };
            let column =
                ColumnSchema { statistics: statistics(def)?, settings: settings(&def.settings), ..column };
            columns.push(column);
            continue;
        };
        let (simple_aggregate, parsed) = declared_type(&ty.text)?;
        if let Some(function) = &simple_aggregate {
            check_simple_aggregate(function, &parsed, ctx)?;
        }
        let parsed = with_modifiers(def, parsed, ctx)?;
        let codec = column_codecs::declared(&def.codec, &parsed, ctx)?;
        if let Some(parts) = nested_parts(name, &ty.text, &parsed).filter(|_| flattens) {
            let part = |(name, ty): (String, DataType)| ColumnSchema {
                ttl: ttl.clone(),
                codec: codec.clone(),
                ..ColumnSchema::new(name, ty)
            };
            columns.extend(parts.into_iter().map(part));
            continue;
        }
        check_suspicious(&parsed, ctx)?;
        let column = ColumnSchema::new(name.as_str(), parsed);
        let (statistics, settings) = (statistics(def)?, settings(&def.settings));
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
    // One may use another that comes later.
    while !untyped.is_empty() {
        let typed =
            untyped.iter().enumerate().map(|(at, &index)| (at, index, type_of_default(&columns, index, ctx)));
        let mut failed = None;
        let mut found = None;
        for (at, index, ty) in typed {
            match ty {
                Ok(ty) => {
                    found = Some((at, index, ty));
                    break;
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match (found, failed) {
            (Some((at, index, ty)), _) => {
                let def = defs.iter().find(|def| *def.name.name == *columns[index].name);
                let codecs = def.map_or(&[][..], |def| &def.codec);
                columns[index].codec = column_codecs::declared(codecs, &ty, ctx)?;
                columns[index].ty = ty;
                untyped.remove(at);
            }
            (None, Some(error)) => return Err(error),
            (None, None) => break,
        }
    }
    check_defaults(&columns, ctx)?;
    Ok(columns)
}

/// The type of a column, and the function of one that is declared as `SimpleAggregateFunction`.
pub(crate) fn declared_type(text: &str) -> Result<(Option<Arc<str>>, DataType)> {
    Ok(match simple_aggregate(text) {
        Some((function, ty)) => (Some(function.into()), ty.parse()?),
        None => (None, text.parse()?),
    })
}

fn check_suspicious(ty: &DataType, ctx: &QueryContext) -> Result<()> {
    check_type(ty, ctx)?;
    if !ctx.functions.settings.allow_suspicious_variant_types {
        ty.check_suspicious_variants()?;
    }
    if let DataType::LowCardinality(inner) = ty {
        let narrow = inner.bare().physical().width().is_some_and(|width| width < 8)
            || matches!(
                inner.bare(),
                DataType::Date | DataType::Float64 | DataType::Int64 | DataType::UInt64
            );
        let narrow = narrow && !inner.bare().is_string();
        let allowed = ctx.functions.settings.allow_suspicious_low_cardinality_types;
        ensure!(
            !narrow || allowed,
            SUSPICIOUS_TYPE_FOR_LOW_CARDINALITY,
            "Creating columns of type {ty} is prohibited by default due to expected negative impact on performance. It can be \
             enabled with the `allow_suspicious_low_cardinality_types` setting"
        );
    }
    Ok(())
}

/// The kind of a column's default and its expression, as DESCRIBE and `system.columns` show them.
pub(crate) fn shown_default(column: &ColumnSchema) -> (&'static str, String) {
    match &column.default {
        // What an INSERT may leave out begins with the type's own default.
        Some((kind, text)) if text.is_empty() => {
            let ty = chalet_syntax::print::string_literal(column.ty.to_string());
            (kind.name(), format!("defaultValueOfTypeName({ty})"))
        }
        Some((kind, text)) => (kind.name(), text.to_string()),
        None => ("", String::new()),
    }
}

type Default = Option<(DefaultKind, Arc<str>)>;

pub(crate) fn default_and_comment(def: &ast::ColumnDef) -> Result<(Default, Arc<str>)> {
    let default = def.default.as_ref().map(|d| default_of(d, &def.name.name)).transpose()?;
    Ok((default, comment_of(def.comment.as_deref())))
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
    if let Some(expr) = &default.expr {
        check_matchers(expr)?;
        check_rows_stay(expr, || {
            err!(
                THERE_IS_NO_DEFAULT_VALUE,
                "Unsupported default value that requires ARRAY JOIN action: default expression and column type are incompatible"
            )
        })?;
    }
    let text = default.expr.as_ref().map_or(String::new(), |e| e.to_string());
    Ok((kind, text.into()))
}

/// Columns as expressions, for defaults that use them.
fn as_expressions(columns: &[ColumnSchema], ids: &IdSource) -> Vec<(String, Expr)> {
    let named = columns.iter().map(|c| (c.name.to_string(), Expr::Column(ids.next(), c.ty.clone())));
    named.collect()
}

fn type_of_default(columns: &[ColumnSchema], index: usize, ctx: &QueryContext) -> Result<DataType> {
    let Some((_, text)) = &columns[index].default else { return Ok(DataType::Nothing) };
    if text.is_empty() {
        return Ok(DataType::String);
    }
    let known: Vec<ColumnSchema> = columns.iter().filter(|c| c.ty != DataType::Nothing).cloned().collect();
    let written = chalet_syntax::parse_expression(text)?;
    let named = as_expressions(&known, &ctx.ids);
    Ok(bind_over(&written, &named, ctx, &ctx.ids)?.ty().clone())
}

/// Every default must be computable before a row ever asks for it.
fn check_defaults(columns: &[ColumnSchema], ctx: &QueryContext) -> Result<()> {
    let named = as_expressions(columns, &ctx.ids);
    for column in columns {
        if let Some((_, text)) = &column.default
            && !text.is_empty()
        {
            let bound = bind_default(text, &column.ty, &named, ctx, &ctx.ids)?;
            // A constant that cannot be computed fails now, not with the first row.
            let is_written = || chalet_syntax::parse_expression(text).is_ok_and(|e| is_literal(&e));
            if !bound.is_literal() && bound.columns().is_empty() && is_written() {
                ctx.run(constant(bound, &ctx.ids))?;
            }
        }
    }
    Ok(())
}

fn is_literal(e: &ast::Expr) -> bool {
    matches!(e.kind, ast::ExprKind::Literal(_))
}

/// The plan of the one row that an expression is.
fn constant(expr: Expr, ids: &IdSource) -> Plan {
    let one = Plan::Values(Values { fields: Vec::new(), block: Block::new(Vec::new(), 1) });
    let field = ids.field("constant", expr.ty().clone());
    Plan::Project(Project { input: Box::new(one), exprs: vec![(field, expr)] })
}

/// The text of a comment; empty without one.
pub(crate) fn comment_of(written: Option<&[u8]>) -> Arc<str> {
    String::from_utf8_lossy(written.unwrap_or_default()).into()
}
