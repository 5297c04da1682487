//! DESCRIBE: columns of a table, a table function or a query.

use super::output::{Output, print_rows};
use crate::binding::bind;
use crate::column_definitions::shown_default;
use crate::materialized;
use crate::query_context::QueryContext;
use crate::stored_columns::bind_stored;
use crate::tables;
use chalet_base::{Result, bail, ensure};
use chalet_binder::table_columns::bind_call_arguments;
use chalet_binder::{Environment, has_parameters};
use chalet_functions::several::subcolumn;
use chalet_storage::merge_tree::PERSISTED;
use chalet_storage::{ColumnSchema, TableSchema};
use chalet_syntax::ast::{self, TableKind};
use chalet_types::{DataType, TupleField, Value};

const HEADER: [&str; 7] =
    ["name", "type", "default_type", "default_expression", "comment", "codec_expression", "ttl_expression"];

pub(crate) fn run(
    describe: &ast::Describe,
    statement: &ast::Statement,
    ctx: &QueryContext,
    output: &mut Output,
) -> Result<()> {
    let schema = schema_of(&describe.target, ctx)?;
    let mut header: Vec<(&str, DataType)> = HEADER.iter().map(|name| (*name, DataType::String)).collect();
    let is_set = |name| ctx.state.settings.flag(name) == Some(true);
    let (with_parts, with_virtual) =
        (is_set("describe_include_subcolumns"), is_set("describe_include_virtual_columns"));
    let is_compact = is_set("describe_compact_output");
    if is_compact {
        header.truncate(2);
    }
    let own = schema.columns.iter().filter(|c| !c.is_virtual).cloned();
    let mut listed: Vec<(ColumnSchema, bool)> = own.map(|column| (column, false)).collect();
    if with_virtual {
        let found = virtual_columns(&schema, &describe.target, ctx)?;
        listed.extend(found.into_iter().map(|column| (column, false)));
    }
    if with_parts {
        header.push(("is_subcolumn", DataType::UInt8));
        for column in schema.columns.iter().filter(|c| !c.is_virtual) {
            let parts = subcolumn::names(&column.ty).into_iter();
            let part = |(name, ty)| ColumnSchema {
                ty,
                name: format!("{}.{name}", column.name).into(),
                default: None,
                codec: "".into(),
                ttl: None,
                simple_aggregate: None,
                ..column.clone()
            };
            listed.extend(parts.map(|named| (part(named), true)));
        }
    }
    if with_virtual {
        header.push(("is_virtual", DataType::UInt8));
    }
    let rows = listed.iter().map(|(column, is_part)| {
        let mut cells = row(column, ctx);
        if is_compact {
            cells.truncate(2);
        }
        cells.extend(with_parts.then_some(Value::UInt((*is_part).into())));
        cells.extend(with_virtual.then_some(Value::UInt(column.is_virtual.into())));
        cells
    });
    print_rows(&header, rows.collect(), statement, ctx, output)
}

/// What a table has beside its own columns, in the order of the kernel: those that parts may keep are the last.
fn virtual_columns(
    schema: &TableSchema,
    target: &ast::TableExpr,
    ctx: &QueryContext,
) -> Result<Vec<ColumnSchema>> {
    if matches!(target.kind, TableKind::Query(_)) {
        return Ok(Vec::new());
    }
    let own = schema.columns.iter().filter(|c| c.is_virtual).cloned();
    let (kept, mut made): (Vec<_>, Vec<_>) = own.partition(|c| PERSISTED.contains(&&*c.name));
    for name in ["_table", "_database"] {
        if schema.index_of(name).is_none() {
            made.push(ColumnSchema::virtual_column(name, DataType::String.low_cardinality()));
        }
    }
    if let TableKind::Name(name) = &target.kind
        && let Some((table, _)) =
            tables::find(ctx, name.database.as_ref().map(|d| &*d.name), &name.name.name)?
        && let Some(partition) = table.keys().map(|keys| &*keys.partition).filter(|text| !text.is_empty())
    {
        let (_, bound) = bind_stored([partition], schema, ctx)?;
        let ty = match bound[0].ty() {
            tuple @ DataType::Tuple(_) => tuple.clone(),
            one => DataType::Tuple([TupleField { name: None, ty: one.clone() }].into()),
        };
        let column = ColumnSchema::virtual_column("_partition_value", ty);
        made.push(ColumnSchema { comment: "Value (a tuple) of a PARTITION BY expression".into(), ..column });
    }
    made.extend(kept);
    Ok(made)
}

fn row(column: &ColumnSchema, ctx: &QueryContext) -> Vec<Value> {
    let (kind, expression) = shown_default(column);
    let pretty = ctx.state.settings.flag("print_pretty_type_names") != Some(false);
    let ty = match pretty && column.simple_aggregate.is_none() {
        true => column.ty.pretty(),
        false => column.declared_type(),
    };
    let ttl = column.ttl.as_deref().unwrap_or_default();
    [&*column.name, &ty, kind, &expression, &column.comment, &column.codec, ttl].map(Value::from).to_vec()
}

fn schema_of(target: &ast::TableExpr, ctx: &QueryContext) -> Result<TableSchema> {
    Ok(match &target.kind {
        TableKind::Name(name) => {
            let database = name.database.as_ref().map(|d| d.name.as_str());
            if let Some(view) = materialized::view(name, ctx) {
                return Ok(view.schema());
            }
            let table = match ctx.table(database, &name.name.name)? {
                Some((table, _)) => table,
                None => tables::existing(name, ctx)?.0,
            };
            ensure!(
                !has_parameters(&*table),
                UNSUPPORTED_METHOD,
                "Cannot infer table schema for the parameterized view when no query parameters are provided"
            );
            table.schema()
        }
        TableKind::Query(query) => {
            let bound = bind(query, ctx)?;
            TableSchema::new(ctx.columns_of(&bound))
        }
        TableKind::Function(call)
            if call.name.eq_ignore_ascii_case("view")
                && let [ast::Expr { kind: ast::ExprKind::Subquery(query), .. }] = &call.args[..] =>
        {
            let bound = bind(query, ctx)?;
            TableSchema::new(ctx.columns_of(&bound))
        }
        TableKind::Function(call)
            if tables::find(ctx, None, &call.name)?.is_some_and(|(table, _)| has_parameters(&*table)) =>
        {
            // As the query that reads it sees it.
            let kind = ast::ExprKind::Call(call.clone());
            let written = ast::Expr { kind, alias: None, span: ast::Span::default() };
            let parsed = chalet_syntax::parse_statements(&format!("SELECT * FROM {written}"))?;
            let Some(ast::StatementKind::Query(query)) = parsed.first().map(|s| &s.kind) else {
                bail!(LOGICAL_ERROR, "Cannot describe {written}")
            };
            let bound = bind(query, ctx)?;
            TableSchema::new(ctx.columns_of(&bound))
        }
        TableKind::Function(call) => {
            let args = bind_call_arguments(call, ctx, &ctx.ids)?;
            ctx.table_function(&call.name, &args)?.schema()
        }
        TableKind::File(path) => {
            let path = Value::string(path);
            let args = [chalet_binder::TableArgument::Value(path, DataType::String)];
            ctx.table_function("file", &args)?.schema()
        }
    })
}
