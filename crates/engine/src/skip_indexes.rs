//! The data skipping indexes of a table as programs over its stored columns, and as what scans may use.

use crate::projections::groups::GroupBy;
use crate::query_context::QueryContext;
use crate::stored_columns::bind_with_aliases;
use chalet_base::{Result, bail};
use chalet_binder::table_columns::bind_over;
use chalet_columns::Column;
use chalet_exec::expression::{Program, layout};
use chalet_formats::native::write_column;
use chalet_plan::{Expr, Plan, ScanIndex, ScanNode};
use chalet_storage::merge_tree::MergeTree;
use chalet_storage::merge_tree::columns::VersionColumn;
use chalet_storage::merge_tree::skip_index::{SkipIndexKind, SkipIndexProgram};
use chalet_storage::{DefaultKind, SkipIndex, Table};
use chalet_syntax::ast::{self, ExprKind};
use chalet_types::DataType;
use std::fmt::Write;
use std::sync::Arc;

/// How often a Bloom filter mistakes a value, where its type does not say.
const FALSE_POSITIVES: f64 = 0.025;

/// The type of an index; none for those that prune nothing.
pub(crate) fn kind_of(index: &SkipIndex) -> Result<Option<SkipIndexKind>> {
    let written = chalet_syntax::parse_expression(&index.kind)?;
    let args: &[ast::Expr] = match &written.kind {
        ExprKind::Call(call) => &call.args,
        _ => &[],
    };
    let number = |at: usize| args.get(at).and_then(|arg| arg.to_string().parse::<usize>().ok()).unwrap_or(0);
    let ratio = args.first().and_then(|arg| arg.to_string().parse().ok());
    Ok(Some(match index.kind_name().as_str() {
        "minmax" => SkipIndexKind::MinMax,
        "set" => SkipIndexKind::Set { most: number(0) },
        "bloom_filter" => SkipIndexKind::Bloom { false_positives: ratio.unwrap_or(FALSE_POSITIVES) },
        "tokenbf_v1" => SkipIndexKind::Tokens { bytes: number(0), hashes: number(1) },
        "ngrambf_v1" => SkipIndexKind::Ngrams { n: number(0), bytes: number(1), hashes: number(2) },
        _ => return Ok(None),
    }))
}

/// The expressions that an index is over.
pub(crate) fn expressions(expr: &str) -> Result<Vec<ast::Expr>> {
    let written = chalet_syntax::parse_expression(expr)?;
    Ok(match written.kind {
        ExprKind::Call(call) if call.name == "tuple" => call.args,
        _ => vec![written],
    })
}

/// The indexes of a table that its parts have files of.
pub(crate) fn programs(table: &MergeTree, ctx: &QueryContext) -> Result<Arc<[SkipIndexProgram]>> {
    let schema = table.schema();
    let made = schema.indexes.iter().map(|index| program(table, index, ctx));
    made.filter_map(Result::transpose).collect()
}

/// As [`programs`], of an INSERT: its settings leave some of them to merges.
pub(crate) fn programs_of_insert(
    table: &MergeTree,
    insert: &QueryContext,
    ctx: &QueryContext,
) -> Result<Arc<[SkipIndexProgram]>> {
    let settings = &insert.state.settings;
    if settings.flag("materialize_skip_indexes_on_insert") == Some(false) {
        return Ok(Arc::default());
    }
    let excluded = names(insert, "exclude_materialize_skip_indexes_on_insert")?;
    let all = programs(table, ctx)?;
    Ok(all.iter().filter(|program| !excluded.contains(&program.name)).cloned().collect())
}

/// One of the indexes of a table; none where no part can have it.
pub(crate) fn program(
    table: &MergeTree,
    index: &SkipIndex,
    ctx: &QueryContext,
) -> Result<Option<SkipIndexProgram>> {
    let Some(kind) = kind_of(index)? else { return Ok(None) };
    let texts: Vec<String> = expressions(&index.expr)?.iter().map(ToString::to_string).collect();
    let (fields, bound) = bind_with_aliases(texts.iter().map(String::as_str), &table.schema(), ctx)?;
    let types: Arc<[DataType]> = bound.iter().map(|expr| expr.ty().clone()).collect();
    if !kind.takes(&types) {
        return Ok(None);
    }
    let program = Program::new(&bound.iter().collect::<Vec<_>>(), &layout(&fields), &ctx.functions)?;
    let granule_rows = (table.definition().granularity as u64).saturating_mul(index.granularity);
    Ok(Some(SkipIndexProgram {
        name: index.name.clone(),
        kind,
        granule_rows: usize::try_from(granule_rows).unwrap_or(usize::MAX).max(1),
        identity: identity(table, index)?,
        types,
        evaluate: Arc::new(move |block| program.evaluate(block)),
    }))
}

/// All that the content of an index depends on: columns go by their numbers, so that they may be renamed.
fn identity(table: &MergeTree, index: &SkipIndex) -> Result<Arc<str>> {
    let mut expr = chalet_syntax::parse_expression(&index.expr)?;
    let mut read = Vec::new();
    replace_aliases(table, &mut expr)?;
    number_columns(table, &mut expr, &mut read);
    let mut out = format!("{}\n{}\n{}\n{expr}", index.name, index.kind, index.granularity);
    write_columns(&mut read, &mut out)?;
    Ok(out.into())
}

/// Puts what ALIAS columns stand for in the place of their names.
fn replace_aliases(table: &MergeTree, expr: &mut ast::Expr) -> Result<()> {
    let schema = table.schema();
    let mut aliases = Vec::new();
    for column in schema.columns.iter() {
        if let Some((DefaultKind::Alias, text)) = &column.default {
            aliases.push((column.name.clone(), chalet_syntax::parse_expression(text)?));
        }
    }
    // They may use each other; none uses itself.
    for _ in 0..aliases.len() {
        let mut is_done = true;
        chalet_syntax::visit::walk_mut(expr, &mut |e| {
            if let ExprKind::Identifier(parts) = &e.kind
                && let [part] = &parts[..]
                && let Some((_, value)) = aliases.iter().find(|(name, _)| **name == *part.name)
            {
                e.kind = value.kind.clone();
                is_done = false;
            }
        });
        if is_done {
            break;
        }
    }
    Ok(())
}

/// Puts numbers in the place of the names of stored columns, and adds these to `read`.
pub(crate) fn number_columns<'a>(
    table: &'a MergeTree,
    expr: &mut ast::Expr,
    read: &mut Vec<&'a VersionColumn>,
) {
    let columns = &table.definition().columns.columns;
    chalet_syntax::visit::walk_mut(expr, &mut |e| {
        if let ExprKind::Identifier(parts) = &mut e.kind {
            let whole = parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join(".");
            let found = columns.iter().find(|c| *c.name == *whole).map(|column| (column, true));
            let found = found
                .or_else(|| columns.iter().find(|c| *c.name == *parts[0].name).map(|column| (column, false)));
            if let Some((column, is_whole)) = found {
                if is_whole {
                    parts.truncate(1);
                }
                parts[0].name = format!("#{}", column.id);
                read.push(column);
            }
        }
    });
}

/// Appends numbers, types and defaults of columns.
pub(crate) fn write_columns(read: &mut Vec<&VersionColumn>, out: &mut String) -> Result<()> {
    read.sort_by_key(|column| column.id);
    read.dedup_by_key(|column| column.id);
    for column in read {
        let mut fill = Vec::new();
        write_column(&mut fill, &column.ty, &Column::Flat(column.fill.clone()))?;
        // Writing to a String cannot fail.
        let _ = write!(out, "\n#{} {} {fill:?}", column.id, column.ty);
    }
    Ok(())
}

/// The names that a setting lists, separated by commas.
pub(crate) fn names(ctx: &QueryContext, setting: &str) -> Result<Vec<Arc<str>>> {
    let settings = &ctx.state.settings;
    let Some(text) = settings.get(setting) else { return Ok(Vec::new()) };
    let kind = if setting == "force_data_skipping_indices" { "vector" } else { "set" };
    let parsed = || {
        let mut rest = text.trim();
        let mut found = Vec::new();
        loop {
            let (name, behind) = identifier(rest)?;
            found.push(name);
            rest = match behind.trim_start().strip_prefix(',') {
                Some(next) => next.trim_start(),
                None => return Some(found),
            };
        }
    };
    match parsed() {
        Some(names) => Ok(names),
        None if text.is_empty() && !settings.is_changed(setting) => Ok(Vec::new()),
        None => bail!(CANNOT_PARSE_TEXT, "Cannot parse string ('{text}') into {kind} of identifiers."),
    }
}

/// A name, quoted or not, and what follows it.
fn identifier(text: &str) -> Option<(Arc<str>, &str)> {
    for quote in ['`', '"'] {
        if let Some(rest) = text.strip_prefix(quote) {
            let (name, behind) = rest.split_once(quote)?;
            return Some((name.into(), behind));
        }
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let is_name = text.starts_with(|c: char| c.is_alphabetic() || c == '_');
    (is_name && end > 0).then(|| (text[..end].into(), &text[end..]))
}

/// Gives the scans of a plan the indexes of their tables that the settings allow.
pub(crate) fn annotate(plan: &mut Plan, ctx: &QueryContext) -> Result<()> {
    if ctx.state.settings.flag("use_skip_indexes") == Some(false) {
        return Ok(());
    }
    below(plan, false, ctx)
}

fn below(plan: &mut Plan, is_final: bool, ctx: &QueryContext) -> Result<()> {
    match plan {
        Plan::Scan(node) => scan(node, is_final, ctx),
        other => {
            let is_final = is_final || matches!(other, Plan::MergeRows(_));
            let is_of_partitions = matches!(other, Plan::Aggregate(node) if GroupBy::of(node).is_some_and(|by| by.is_of_partitions()));
            for input in other.inputs_mut() {
                below(input, is_final, ctx)?;
                if is_of_partitions {
                    unforced(input);
                }
            }
            Ok(())
        }
    }
}

/// No index is needed where partitions alone answer.
fn unforced(plan: &mut Plan) {
    match plan {
        Plan::Scan(node) => node.forced_indexes = Arc::default(),
        other => other.inputs_mut().into_iter().for_each(unforced),
    }
}

fn scan(node: &mut ScanNode, is_final: bool, ctx: &QueryContext) -> Result<()> {
    let Some(table) = node.table.as_any().downcast_ref::<MergeTree>() else { return Ok(()) };
    let ignored = names(ctx, "ignore_data_skipping_indices")?;
    let forced = names(ctx, "force_data_skipping_indices")?;
    if node.filter.is_none()
        || is_final && ctx.state.settings.flag("use_skip_indexes_if_final") == Some(false)
    {
        return Ok(());
    }
    let schema = table.schema();
    let columns: Vec<(String, Expr)> = node
        .columns
        .iter()
        .map(|(at, field)| (schema.columns[*at].name.to_string(), Expr::Column(field.id, field.ty.clone())))
        .collect();
    let mut found = Vec::new();
    for index in schema.indexes.iter().filter(|index| !ignored.contains(&index.name)) {
        let Some(kind) = kind_of(index)? else { continue };
        let bind = |expr: &ast::Expr| bind_over(expr, &columns, ctx, &ctx.ids).ok();
        // An expression of columns that the scan does not read is not in its filter.
        let exprs: Vec<Option<Expr>> = expressions(&index.expr)?.iter().map(bind).collect();
        if let Some(exprs) = all_bound(exprs, table, index, ctx)? {
            let types: Vec<DataType> = exprs.iter().map(|expr| expr.ty().clone()).collect();
            if kind.takes(&types) {
                let (name, identity) = (index.name.clone(), identity(table, index)?);
                found.push(ScanIndex { name, kind, identity, exprs });
            }
        }
    }
    node.skip_indexes = found.into();
    let has_rows = table.total_rows() != Some(0);
    node.forced_indexes = if has_rows { forced.into() } else { Arc::default() };
    Ok(())
}

/// The expressions of an index, if the scan reads any of them; the others are of columns of their own.
fn all_bound(
    exprs: Vec<Option<Expr>>,
    table: &MergeTree,
    index: &SkipIndex,
    ctx: &QueryContext,
) -> Result<Option<Vec<Expr>>> {
    if exprs.iter().all(Option::is_none) {
        return Ok(None);
    }
    let texts: Vec<String> = expressions(&index.expr)?.iter().map(ToString::to_string).collect();
    let (_, elsewhere) = bind_with_aliases(texts.iter().map(String::as_str), &table.schema(), ctx)?;
    Ok(Some(exprs.into_iter().zip(elsewhere).map(|(own, other)| own.unwrap_or(other)).collect()))
}
