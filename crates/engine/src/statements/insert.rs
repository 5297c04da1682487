//! INSERT: from a query, from data in the statement, from a file.

use super::input_data;
use super::output::Output;
use super::partitioned::Partitioned;
use super::receiver::Receiver;
use super::structure_hint::with_structure;
use crate::binding::bind;
use crate::defaults::{complete, with_defaults};
use crate::formats::FORMATS;
use crate::insert_data::{GivenRows, InsertData};
use crate::materialized::{self, Destination};
use crate::merge_tree::deduplication;
use crate::plan_optimizer;
use crate::query_context::QueryContext;
use crate::reading::{caster, read_request};
use crate::remote;
use crate::replacement_scan::detached;
use chalet_base::{Result, bail, ensure, err};
use chalet_binder::table_columns::{bind_call_arguments, bind_default, cast_column};
use chalet_binder::{BoundQuery, Environment, TableArgument, matcher_regex};
use chalet_columns::{Block, Column, Vector};
use chalet_formats::{Compression, Input, Schema};
use chalet_plan::{Expr, Field, Plan, Values};
use chalet_storage::{ColumnSchema, DefaultKind, Table, TableSchema};
use chalet_syntax::ast;
use chalet_types::DataType;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) fn run(insert: &ast::Insert, ctx: &QueryContext, output: &mut Output) -> Result<()> {
    let given = output.data.take();
    if let (ast::InsertSource::Inline { data, .. }, None) = (&insert.source, &given)
        && data.content.trim_ascii().is_empty()
    {
        let may_be_none = ctx.state.settings.flag("throw_if_no_data_to_insert") == Some(false);
        ensure!(may_be_none, NO_DATA_TO_INSERT, "No data to insert");
        return Ok(());
    }
    let to = target(insert, ctx)?;
    ensure!(
        to.table.view_query().is_none(),
        NOT_IMPLEMENTED,
        "Method write is not supported by storage View"
    );
    let columns = listed(insert, &*to.table, &to.name)?.or_else(|| to.columns.clone());
    let (rows, bytes) = match (&insert.source, given) {
        (ast::InsertSource::Inline { query: Some(query), format, data }, given) => {
            let target = given_columns(&*to.table, columns.clone());
            let query = input_data::with_data(query, &format.name, &data.content, given, &target)?;
            from_bound(&to, columns, bind(&query, ctx)?, ctx)?
        }
        (ast::InsertSource::Inline { format, .. }, Some(InsertData::Bytes(bytes))) => {
            from_data(&to, columns, &format.name, Input::stream(bytes), ctx)?
        }
        (_, Some(InsertData::Bytes(_))) => bail!(BAD_ARGUMENTS, "The INSERT query has its own data"),
        (_, Some(InsertData::Rows(make))) => {
            let given = given_columns(&*to.table, columns.clone());
            let wanted: Vec<_> = given.iter().map(|c| (c.name.to_string(), c.ty.clone())).collect();
            let (types, block) = read_texts(make(&wanted, &ctx.functions.time_zone)?, &wanted, ctx)?;
            let fields: Vec<Field> =
                given.iter().zip(types).map(|(c, ty)| ctx.ids.field(c.name.clone(), ty)).collect();
            let plan = Plan::Values(Values { fields: fields.clone(), block });
            from_bound(&to, columns, BoundQuery { plan, fields }, ctx)?
        }
        (ast::InsertSource::Query(query), None) => {
            let query = match &insert.target {
                ast::InsertTarget::Table(_) => {
                    with_structure(query, &given_columns(&*to.table, columns.clone()), ctx)?
                }
                ast::InsertTarget::Function(_) => Cow::Borrowed(&**query),
            };
            let bound = bind(&query, ctx)?;
            from_bound(&to, columns, bound, &*deduplication::of_query(&*to.table, &query, ctx)?)?
        }
        (ast::InsertSource::Inline { format, data, .. }, None) => {
            let input = Input::from(data.content.clone());
            from_data(&to, columns, &format.name, input, ctx)?
        }
        (ast::InsertSource::Infile { path, compression, format }, None) => {
            let path = String::from_utf8_lossy(path).into_owned();
            let method = compression.as_ref().map(|c| String::from_utf8_lossy(c).into_owned());
            let compression = Compression::named(method.as_deref().unwrap_or("auto"), &path)?;
            let path = ctx.user_path(&path)?.into_owned();
            let file = std::fs::File::open(&path).map_err(|e| match e.kind() {
                std::io::ErrorKind::NotFound => err!(FILE_DOESNT_EXIST, "File {path} doesn't exist"),
                _ => err!(CANNOT_OPEN_FILE, "Cannot open file {path}: {e}"),
            })?;
            let format = match format {
                Some(format) => FORMATS.get(&format.name)?.name,
                None => FORMATS.of_path(&path).map_or("Values", |f| f.name),
            };
            let input = Input::stream(compression.reader(Box::new(file))?);
            from_data(&to, columns, format, input, ctx)?
        }
    };
    output.rows_written += rows;
    output.bytes_written += bytes;
    Ok(())
}

/// Fails where the table or a listed column does not exist.
pub(crate) fn check(insert: &ast::Insert, ctx: &QueryContext) -> Result<()> {
    let to = target(insert, ctx)?;
    listed(insert, &*to.table, &to.name).map(drop)
}

fn target(insert: &ast::Insert, ctx: &QueryContext) -> Result<Destination> {
    match &insert.target {
        ast::InsertTarget::Table(name) => materialized::destination(name, ctx),
        ast::InsertTarget::Function(call) => {
            let mut args = bind_call_arguments(call, ctx, &ctx.ids)?;
            if let Some(name) = remote::own_table(&call.name, &args, ctx)? {
                return materialized::destination(&name, ctx);
            }
            // Without a structure rows have the columns of the query.
            let says_auto = |arg: &TableArgument| match arg {
                TableArgument::Word(word) => word == "auto",
                TableArgument::Value(value, _) => value.as_str() == Some("auto"),
                TableArgument::Named(..) | TableArgument::Table(_) | TableArgument::Written(_) => false,
            };
            let place = match call.name.as_str() {
                "file" => Some(2),
                "null" => Some(0),
                _ => None,
            };
            if let Some(place) = place
                && args.get(place).is_none_or(says_auto)
                && let ast::InsertSource::Query(query) = &insert.source
            {
                let bound = bind(query, ctx)?;
                let structure = TableArgument::Word(structure_text(&bound.fields, ctx));
                match args.get_mut(place) {
                    Some(auto) => *auto = structure,
                    None => {
                        args.resize(place, TableArgument::Word("auto".into()));
                        args.push(structure);
                    }
                }
            }
            let partitioned = match &insert.partition_by {
                Some(expr) => Partitioned::files(call, &args, expr, ctx)?,
                None => None,
            };
            let table = match partitioned {
                Some(table) => table,
                None => ctx.table_function(&call.name, &args)?,
            };
            Ok(Destination { table, name: call.name.as_str().into(), key: None, columns: None })
        }
    }
}

fn structure_text(fields: &[Field], ctx: &QueryContext) -> String {
    let quoted = |name: &str| name.replace('\\', "\\\\").replace('`', "\\`");
    let columns = fields.iter().map(|f| format!("`{}` {}", quoted(&f.name), ctx.ids.shown_type(f)));
    columns.collect::<Vec<_>>().join(", ")
}

/// The columns in parentheses, by name.
fn listed(insert: &ast::Insert, table: &dyn Table, name: &str) -> Result<Option<Vec<String>>> {
    let schema = table.schema();
    let all = || schema.columns.iter().filter(|c| c.in_star()).map(|c| c.name.to_string());
    match &insert.columns {
        None => Ok(None),
        Some(ast::InsertColumns::List(list)) => {
            let mut names: Vec<String> = Vec::with_capacity(list.len());
            let places = places(&schema);
            let mut seen = HashSet::new();
            for ident in list {
                // With the table's name in front, or without.
                let own = name.rsplit('.').next().unwrap_or(name);
                let bare = ident.name.strip_prefix(own).and_then(|rest| rest.strip_prefix('.'));
                let place = places.get(&*ident.name).or_else(|| places.get(bare?));
                let known = place.map(|&i| &schema.columns[i]);
                let is_alias = |c: &ColumnSchema| c.default_kind() == Some(DefaultKind::Alias);
                let Some(column) = known.filter(|c| !c.is_virtual && !is_alias(c)) else {
                    bail!(NO_SUCH_COLUMN_IN_TABLE, "No such column {} in table {name}", ident.name);
                };
                ensure!(
                    !matches!(column.default_kind(), Some(DefaultKind::Materialized)),
                    ILLEGAL_COLUMN,
                    "Cannot insert column {}, because it is {} column",
                    column.name,
                    column.default_kind().map_or("", DefaultKind::name)
                );
                ensure!(
                    seen.insert(&*column.name),
                    DUPLICATE_COLUMN,
                    "Column {} specified more than once",
                    ident.name
                );
                names.push(column.name.to_string());
            }
            Ok(Some(names))
        }
        Some(ast::InsertColumns::Exprs(exprs)) => {
            let mut names: Vec<String> = Vec::new();
            for e in exprs {
                names.extend(matched(e, all().collect(), name)?);
            }
            Ok(Some(names))
        }
    }
}

/// Those of the table's columns that a matcher of the list means.
fn matched(e: &ast::Expr, all: Vec<String>, table: &str) -> Result<Vec<String>> {
    let own = table.rsplit('.').next().unwrap_or(table);
    let unsupported = || err!(NOT_IMPLEMENTED, "INSERT INTO ... ({e}) is not supported");
    let check = |prefix: &[ast::Ident]| {
        let is_own = prefix.last().is_none_or(|last| last.name == own);
        let names: Vec<&str> = prefix.iter().map(|part| part.name.as_str()).collect();
        ensure!(is_own, UNKNOWN_IDENTIFIER, "Unknown qualified identifier: {}", names.join("."));
        Ok(())
    };
    let (mut left, transformers) = match &e.kind {
        ast::ExprKind::Star(transformers) => (all, transformers),
        ast::ExprKind::QualifiedStar { prefix, transformers } => {
            check(prefix)?;
            (all, transformers)
        }
        ast::ExprKind::Columns { prefix, matcher, transformers } => {
            check(prefix)?;
            let left = match matcher {
                ast::ColumnsMatcher::Regex(pattern) => {
                    let regex = matcher_regex(pattern)?;
                    all.into_iter().filter(|name| regex.is_match(name.as_bytes())).collect()
                }
                ast::ColumnsMatcher::List(list) => {
                    let one = |e: &ast::Expr| matched(e, all.clone(), table);
                    list.iter().map(one).collect::<Result<Vec<_>>>()?.concat()
                }
            };
            (left, transformers)
        }
        ast::ExprKind::Identifier(parts) => {
            let (column, prefix) = parts.split_last().ok_or_else(unsupported)?;
            check(prefix)?;
            return Ok(vec![column.name.clone()]);
        }
        _ => return Err(unsupported()),
    };
    for transformer in transformers {
        let ast::Transformer::Except { columns, .. } = transformer else { return Err(unsupported()) };
        left.retain(|name| !columns.iter().any(|column| column.name == *name));
    }
    Ok(left)
}

/// Where the columns of a table are, by name.
fn places(schema: &TableSchema) -> HashMap<&str, usize> {
    // Of a name that is there twice the first counts: files have columns of their own and others.
    schema.columns.iter().enumerate().rev().map(|(place, column)| (&*column.name, place)).collect()
}

/// The columns that the source gives, in its order.
fn given_columns(table: &dyn Table, listed: Option<Vec<String>>) -> Vec<ColumnSchema> {
    let schema = table.schema();
    match listed {
        Some(names) => {
            let places = places(&schema);
            names.iter().filter_map(|name| Some(schema.columns[*places.get(&**name)?].clone())).collect()
        }
        None => schema.columns.iter().filter(|c| c.in_star()).cloned().collect(),
    }
}

/// Columns of texts as the types of their columns: a text that is no value is an error, not NULL.
pub(super) fn read_texts(
    given: GivenRows,
    wanted: &[(String, DataType)],
    ctx: &QueryContext,
) -> Result<GivenRows> {
    let (mut types, block) = given;
    let n_rows = block.n_rows();
    let cast = caster(ctx);
    let mut columns = block.into_columns();
    for ((column, ty), (name, wanted)) in columns.iter_mut().zip(&mut types).zip(wanted) {
        if ty.bare() != &DataType::String || wanted.bare() == &DataType::String {
            continue;
        }
        let target = wanted.without_low_cardinality().without_nullable();
        let texts = column.flat().into_owned();
        let known: Vec<u32> = (0..n_rows as u32).filter(|&row| !texts.is_null(row as usize)).collect();
        let given = Column::Flat(texts.without_nulls().gather(&known));
        let read =
            cast(&given, &DataType::String, target).map_err(|e| e.context(format!("column {name}")))?;
        // NULLs stand for a default, put in front.
        let read = Column::concat(&[&Column::Flat(Vector::defaults(target, 1)), &read]).into_flat();
        let mut next = 0;
        let places = (0..n_rows).map(|row| {
            next += u32::from(!texts.is_null(row));
            if texts.is_null(row) { 0 } else { next }
        });
        let read = read.gather(&places.collect::<Vec<_>>());
        let open = target.can_be_nullable() && texts.null_count() > 0;
        *column = Column::Flat(if open { read.with_nulls(texts.validity.as_ref()) } else { read });
        *ty = if open { target.clone().nullable() } else { target.clone() };
    }
    Ok((types, Block::new(columns, n_rows)))
}

/// Rows and bytes that were written.
pub(crate) type Written = (u64, u64);

/// Fills a table that nobody sees yet with the rows of a query; returns how many.
pub(crate) fn from_query(
    table: Arc<dyn Table>,
    name: &str,
    query: &ast::Query,
    ctx: &QueryContext,
) -> Result<Written> {
    let to = Destination { table, name: name.into(), key: None, columns: None };
    from_bound(&to, None, bind(query, ctx)?, ctx)
}

/// Inserts the rows of a bound query.
pub(crate) fn from_bound(
    to: &Destination,
    listed: Option<Vec<String>>,
    bound: BoundQuery,
    ctx: &QueryContext,
) -> Result<Written> {
    let plan = plan_into(to, listed, bound, ctx)?;
    let (receiver, written) = fill(plan, Receiver::new(to, ctx)?, ctx)?;
    receiver.finish(ctx)?;
    Ok(written)
}

/// The plan whose columns are those that the table stores.
pub(super) fn plan_into(
    to: &Destination,
    listed: Option<Vec<String>>,
    bound: BoundQuery,
    ctx: &QueryContext,
) -> Result<Plan> {
    let (table, name) = (&*to.table, &to.name);
    let given = given_columns(table, listed);
    ensure!(
        given.len() == bound.fields.len(),
        NUMBER_OF_COLUMNS_DOESNT_MATCH,
        "Number of columns doesn't match (source: {} and result: {}) for table {name}",
        bound.fields.len(),
        given.len()
    );
    let mut cast = Vec::with_capacity(given.len());
    let mut nulls = Vec::new();
    let null_as_default = ctx.state.settings.flag("insert_null_as_default").unwrap_or(true);
    for (field, column) in bound.fields.iter().zip(&given) {
        let takes_default = null_as_default
            && field.ty.without_low_cardinality().is_nullable()
            && !column.ty.without_low_cardinality().is_nullable()
            && column.ty.without_low_cardinality().can_be_nullable();
        let value = if takes_default {
            let source = ("source".to_string(), Expr::Column(field.id, field.ty.clone()));
            let is_null = ("isNull(source)", DataType::UInt8);
            let mask = bind_default(is_null.0, &is_null.1, &[source], ctx, &ctx.ids)?;
            nulls.push((column.name.to_string(), mask));
            or_zero(field, &column.ty, ctx)?
        } else {
            cast_column(field, &column.ty, ctx)?
        };
        cast.push((column.name.to_string(), value));
    }
    complete(bound, cast, &nulls, &table.schema(), ctx)
}

/// The column as a type without NULL: the type's own default in place of NULL.
fn or_zero(field: &Field, ty: &DataType, ctx: &QueryContext) -> Result<Expr> {
    let given = cast_column(field, &ty.without_low_cardinality().clone().nullable(), ctx)?;
    let zero = Vector::defaults(ty, 1);
    let zero = Expr::Literal(chalet_plan::Literal { value: Arc::new(zero), ty: ty.clone() });
    let columns = [("given".to_string(), given), ("zero".to_string(), zero)];
    bind_default("ifNull(given, zero)", ty, &columns, ctx, &ctx.ids)
}

/// Runs the plan into the receiver, which is still to be finished.
pub(super) fn fill(plan: Plan, receiver: Receiver, ctx: &QueryContext) -> Result<(Receiver, Written)> {
    let plan = plan_optimizer::optimized(plan, ctx)?;
    let replacement_scan = ctx.replacement_scan.clone();
    let state = Arc::new(Mutex::new((receiver, (0, 0))));
    let target = state.clone();
    let consumer = Box::new(move |block: Block| {
        let mut state = target.lock().unwrap_or_else(PoisonError::into_inner);
        state.1.0 += block.n_rows() as u64;
        state.1.1 += block.memory() as u64;
        // The table will outlive the statement, and what its caller lends.
        state.0.write(detached(block, replacement_scan.as_deref()))
    });
    chalet_exec::result::execute_unlimited(&plan, consumer, &ctx.exec)?;
    let Some(state) = Arc::into_inner(state) else {
        bail!(LOGICAL_ERROR, "The result of INSERT is still being written");
    };
    Ok(state.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Inserts the rows of data in a format.
fn from_data(
    to: &Destination,
    listed: Option<Vec<String>>,
    format: &str,
    input: Input,
    ctx: &QueryContext,
) -> Result<Written> {
    let given = given_columns(&*to.table, listed);
    let structure: Schema = given.iter().map(|c| (c.name.to_string(), c.ty.clone())).collect();
    let request = read_request(structure, ctx);
    let mut scan = FORMATS.get(format)?.open(input, request)?;
    let mut receiver = Receiver::new(to, ctx)?;
    let schema = to.table.schema();
    let (mut rows, mut bytes) = (0, 0);
    while let Some(mut unit) = scan.next_unit()? {
        while let Some(block) = unit.next_block(ctx.exec.settings.max_block_size)? {
            ctx.control.check_with_interrupt()?;
            rows += block.n_rows() as u64;
            bytes += block.memory() as u64;
            for block in with_defaults(&*unit, block, &given, &schema, ctx)? {
                receiver.write(block)?;
            }
        }
    }
    receiver.finish(ctx)?;
    Ok((rows, bytes))
}
