//! INSERT: from a query, from data in the statement, from a file.

use super::Output;
use crate::functions::FORMATS;
use crate::replacement_scan::DetachingInserter;
use crate::scope::Scope;
use crate::session::RunOptions;
use crate::table_functions::read_request;
use chalet_base::{Result, bail, ensure, err};
use chalet_binder::table_columns::{bind_constant, bind_default, bind_table_arguments, cast_column};
use chalet_binder::{BoundQuery, Environment, TableArgument, bind_query};
use chalet_columns::{Block, BooleanBuffer, Column, Vector};
use chalet_formats::input::{BlockReader, Evaluate};
use chalet_formats::{Compression, Input, Schema};
use chalet_plan::{Expr, Field, Plan, Project, Values};
use chalet_storage::{ColumnSchema, DefaultKind, Inserter, Table, TableSchema};
use chalet_syntax::ast;
use chalet_types::{DataType, TimeZone, Value};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};

/// Data that an INSERT gets from its caller.
pub enum InsertData {
    /// Bytes in the statement's format.
    Bytes(Box<dyn Read + Send>),
    /// Rows, made when the columns that the statement gives values to are known by name and type. Their types may be
    /// others: they are cast. The zone is that of date-times whose type names none.
    Rows(Box<MakeRows>),
}

pub type MakeRows = dyn FnOnce(&[(String, DataType)], &TimeZone) -> Result<GivenRows> + Send;

/// Rows and the types of their columns.
pub type GivenRows = (Vec<DataType>, Block);

pub(crate) fn run(insert: &ast::Insert, scope: &Arc<Scope>, output: &mut Output) -> Result<()> {
    let given = output.data.take();
    if let (ast::InsertSource::Inline { data, .. }, None) = (&insert.source, &given) {
        ensure!(!data.content.trim_ascii().is_empty(), NO_DATA_TO_INSERT, "No data to insert");
    }
    let (table, name) = target(insert, scope)?;
    ensure!(table.view_query().is_none(), NOT_IMPLEMENTED, "Method write is not supported by storage View");
    let columns = listed(insert, &*table, &name, scope)?;
    let (rows, bytes) = match (&insert.source, given) {
        (ast::InsertSource::Inline { format, .. }, Some(InsertData::Bytes(bytes))) => {
            from_data(&*table, &name, columns, &format.name, Input::stream(bytes), scope)?
        }
        (_, Some(InsertData::Bytes(_))) => bail!(BAD_ARGUMENTS, "The INSERT query has its own data"),
        (_, Some(InsertData::Rows(make))) => {
            let given = given_columns(&*table, columns.clone());
            let wanted: Vec<_> = given.iter().map(|c| (c.name.to_string(), c.ty.clone())).collect();
            let (types, block) = read_texts(make(&wanted, &scope.context().time_zone)?, &wanted, scope)?;
            let fields: Vec<Field> =
                given.iter().zip(types).map(|(c, ty)| scope.ids.field(c.name.clone(), ty)).collect();
            let plan = Plan::Values(Values { fields: fields.clone(), block });
            from_bound(&*table, &name, columns, BoundQuery { plan, fields }, scope)?
        }
        (ast::InsertSource::Query(query), None) => from_query(&*table, &name, columns, query, scope)?,
        (ast::InsertSource::Inline { format, data }, None) => {
            let input = Input::from(data.content.clone());
            from_data(&*table, &name, columns, &format.name, input, scope)?
        }
        (ast::InsertSource::Infile { path, compression, format }, None) => {
            let path = String::from_utf8_lossy(path).into_owned();
            let method = compression.as_ref().map(|c| String::from_utf8_lossy(c).into_owned());
            let compression = Compression::named(method.as_deref().unwrap_or("auto"), &path)?;
            let file = std::fs::File::open(&path)
                .map_err(|e| err!(CANNOT_OPEN_FILE, "Cannot open file {path}: {e}"))?;
            let format = match format {
                Some(format) => FORMATS.get(&format.name)?.name,
                None => FORMATS.of_path(&path).map_or("Values", |f| f.name),
            };
            let input = Input::stream(compression.reader(Box::new(file))?);
            from_data(&*table, &name, columns, format, input, scope)?
        }
    };
    output.rows_written += rows;
    output.bytes_written += bytes;
    Ok(())
}

/// Fails where the table or a listed column does not exist.
pub(crate) fn check(insert: &ast::Insert, scope: &Arc<Scope>) -> Result<()> {
    let (table, name) = target(insert, scope)?;
    listed(insert, &*table, &name, scope).map(drop)
}

fn target(insert: &ast::Insert, scope: &Arc<Scope>) -> Result<(Arc<dyn Table>, Arc<str>)> {
    match &insert.target {
        ast::InsertTarget::Table(name) => super::drop::existing(name, scope),
        ast::InsertTarget::Function(call) => {
            let mut args = bind_table_arguments(&call.args, &**scope, &scope.ids)?;
            // Without a structure a file is written with the columns of the query.
            let says_auto = |arg: &TableArgument| match arg {
                TableArgument::Word(word) => word == "auto",
                TableArgument::Value(value, _) => value.as_str() == Some("auto"),
                TableArgument::Named(..) => false,
            };
            if call.name == "file"
                && args.get(2).is_none_or(says_auto)
                && let ast::InsertSource::Query(query) = &insert.source
            {
                let bound = bind_query(query, &**scope, &scope.ids)?;
                let structure = TableArgument::Word(structure_text(&bound.fields));
                match args.get_mut(2) {
                    Some(auto) => *auto = structure,
                    None => {
                        args.resize(2, TableArgument::Word("auto".into()));
                        args.push(structure);
                    }
                }
            }
            Ok((scope.table_function(&call.name, &args)?, call.name.as_str().into()))
        }
    }
}

fn structure_text(fields: &[Field]) -> String {
    let columns =
        fields.iter().map(|f| format!("`{}` {}", f.name.replace('\\', "\\\\").replace('`', "\\`"), f.ty));
    columns.collect::<Vec<_>>().join(", ")
}

/// The columns in parentheses, by name.
fn listed(
    insert: &ast::Insert,
    table: &dyn Table,
    name: &str,
    scope: &Arc<Scope>,
) -> Result<Option<Vec<String>>> {
    let schema = table.schema();
    let all = || schema.columns.iter().filter(|c| c.in_star()).map(|c| c.name.to_string());
    match &insert.columns {
        None => Ok(None),
        Some(ast::InsertColumns::List(list)) => {
            let mut names: Vec<String> = Vec::with_capacity(list.len());
            let places = places(&schema);
            let mut seen = HashSet::new();
            for ident in list {
                let known = places.get(&*ident.name).map(|&i| &schema.columns[i]);
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
                    seen.insert(&*ident.name),
                    DUPLICATE_COLUMN,
                    "Column {} specified more than once",
                    ident.name
                );
                names.push(ident.name.clone());
            }
            Ok(Some(names))
        }
        Some(ast::InsertColumns::Exprs(exprs)) => {
            let text: Vec<String> = exprs.iter().map(|e| e.to_string()).collect();
            let mut names: Vec<String> = Vec::new();
            for e in exprs {
                match &e.kind {
                    ast::ExprKind::Star(transformers) => {
                        let mut left: Vec<String> = all().collect();
                        for transformer in transformers {
                            let ast::Transformer::Except { columns, .. } = transformer else {
                                bail!(
                                    NOT_IMPLEMENTED,
                                    "INSERT INTO ... ({}) is not supported",
                                    text.join(", ")
                                );
                            };
                            left.retain(|n| !columns.iter().any(|c| c.name == *n));
                        }
                        names.extend(left);
                    }
                    ast::ExprKind::Identifier(parts) if parts.len() == 1 => names.push(parts[0].name.clone()),
                    _ => bail!(NOT_IMPLEMENTED, "INSERT INTO ... ({}) is not supported", text.join(", ")),
                }
            }
            let _ = scope;
            Ok(Some(names))
        }
    }
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
fn read_texts(given: GivenRows, wanted: &[(String, DataType)], scope: &Scope) -> Result<GivenRows> {
    let (mut types, block) = given;
    let n_rows = block.n_rows();
    let cast = crate::table_functions::caster(scope);
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
type Written = (u64, u64);

/// Inserts the rows of a query; returns how many.
pub(crate) fn from_query(
    table: &dyn Table,
    name: &str,
    listed: Option<Vec<String>>,
    query: &ast::Query,
    scope: &Arc<Scope>,
) -> Result<Written> {
    let bound = bind_query(query, &**scope, &scope.ids)?;
    from_bound(table, name, listed, bound, scope)
}

/// The same of a bound query.
fn from_bound(
    table: &dyn Table,
    name: &str,
    listed: Option<Vec<String>>,
    bound: BoundQuery,
    scope: &Arc<Scope>,
) -> Result<Written> {
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
    let null_as_default = scope.state.settings.flag("insert_null_as_default").unwrap_or(true);
    for (field, column) in bound.fields.iter().zip(&given) {
        let takes_default = null_as_default
            && field.ty.is_nullable()
            && !column.ty.is_nullable()
            && column.ty.can_be_nullable();
        let value = if takes_default {
            let source = ("source".to_string(), Expr::Column(field.id, field.ty.clone()));
            let is_null = ("isNull(source)", DataType::UInt8);
            let mask = bind_default(is_null.0, &is_null.1, &[source], &**scope, &scope.ids)?;
            nulls.push((column.name.to_string(), mask));
            or_zero(field, &column.ty, scope)?
        } else {
            cast_column(field, &column.ty, &**scope)?
        };
        cast.push((column.name.to_string(), value));
    }
    let plan = complete(bound, cast, &nulls, &table.schema(), scope)?;
    let inserter = super::checked::inserter(table, name, scope)?;
    let rows = write(plan, inserter, scope)?;
    Ok(rows)
}

/// The column as a type without NULL: the type's own default in place of NULL.
fn or_zero(field: &Field, ty: &DataType, scope: &Scope) -> Result<Expr> {
    let given = cast_column(field, &ty.clone().nullable(), scope)?;
    let zero = Vector::defaults(ty, 1);
    let zero = Expr::Literal(chalet_plan::Literal { value: Arc::new(zero), ty: ty.clone() });
    let columns = [("given".to_string(), given), ("zero".to_string(), zero)];
    bind_default("ifNull(given, zero)", ty, &columns, scope, &scope.ids)
}

/// The plan whose columns are those that the table stores: given ones, and defaults of the others.
fn complete(
    source: BoundQuery,
    given: Vec<(String, Expr)>,
    omitted: &[(String, Expr)],
    schema: &TableSchema,
    scope: &Scope,
) -> Result<Plan> {
    let mut known = Known::default();
    for (name, expr) in given {
        // Of a name that is given twice the first counts.
        if known.get(&name).is_none() {
            known.set(name, expr);
        }
    }
    let omitted: HashMap<&str, &Expr> = omitted.iter().map(|(name, mask)| (&**name, mask)).collect();
    let mut waiting: Vec<&ColumnSchema> = Vec::new();
    for column in schema.columns.iter().filter(|c| !c.is_virtual) {
        let is_given = known.get(&column.name).is_some();
        let may_be_omitted = omitted.contains_key(&*column.name);
        if !is_given || (may_be_omitted && column.default.is_some()) {
            waiting.push(column);
        }
    }
    while !waiting.is_empty() {
        let before = waiting.len();
        let mut later = Vec::new();
        let mut failure = None;
        for column in waiting {
            match default_expr(column, &known, scope) {
                Ok(default) => add_default(column, default, &omitted, &mut known, scope)?,
                Err(error) => {
                    failure = Some(error);
                    later.push(column);
                }
            }
        }
        if later.len() == before
            && let Some(error) = failure
        {
            return Err(error);
        }
        waiting = later;
    }
    let mut exprs: Vec<(Field, Expr)> = Vec::new();
    for column in schema.columns.iter().filter(|c| c.is_stored() && !c.is_virtual) {
        let Some(expr) = known.get(&column.name).cloned() else {
            bail!(LOGICAL_ERROR, "Column {} has no value", column.name)
        };
        exprs.push((scope.ids.field(column.name.clone(), column.ty.clone()), expr));
    }
    Ok(Plan::Project(Project { input: Box::new(source.plan), exprs }))
}

/// What a default sees: the given columns, and the defaults of those that are not.
#[derive(Default)]
struct Known {
    columns: Vec<(String, Expr)>,
    places: HashMap<String, usize>,
}

impl Known {
    fn get(&self, name: &str) -> Option<&Expr> {
        self.places.get(name).map(|&place| &self.columns[place].1)
    }

    fn set(&mut self, name: String, expr: Expr) {
        match self.places.get(&name) {
            Some(&place) => self.columns[place].1 = expr,
            None => {
                self.places.insert(name.clone(), self.columns.len());
                self.columns.push((name, expr));
            }
        }
    }

    fn without(&self, name: &str) -> Cow<'_, [(String, Expr)]> {
        if !self.places.contains_key(name) {
            return Cow::Borrowed(&self.columns);
        }
        self.columns.iter().filter(|(known, _)| known != name).cloned().collect()
    }
}

fn default_expr(column: &ColumnSchema, known: &Known, scope: &Scope) -> Result<Expr> {
    match &column.default {
        Some((_, text)) if !text.is_empty() => {
            bind_default(text, &column.ty, &known.without(&column.name), scope, &scope.ids)
        }
        _ => {
            let default = Vector::defaults(&column.ty, 1);
            let literal = chalet_plan::Literal { value: Arc::new(default), ty: column.ty.clone() };
            let default = Expr::Literal(literal);
            match nested_sibling(column, known) {
                // An array of a Nested is as long as its siblings.
                Some(sibling) => {
                    let columns = [("empty".to_string(), default), ("sibling".to_string(), sibling.clone())];
                    let text = "arrayResize(empty, length(sibling))";
                    bind_default(text, &column.ty, &columns, scope, &scope.ids)
                }
                None => Ok(default),
            }
        }
    }
}

/// A given array of the same Nested.
fn nested_sibling<'e>(column: &ColumnSchema, known: &'e Known) -> Option<&'e Expr> {
    if !matches!(column.ty, DataType::Array(_)) {
        return None;
    }
    let prefix = super::checked::nested_prefix(&column.name)?;
    let is_sibling = |(name, expr): &&(String, Expr)| {
        let is_other = **name != *column.name;
        is_other
            && super::checked::nested_prefix(name) == Some(prefix)
            && matches!(expr.ty(), DataType::Array(_))
    };
    known.columns.iter().find(is_sibling).map(|(_, expr)| expr)
}

/// The default for a column that is not given at all, or for the rows that left it out.
fn add_default(
    column: &ColumnSchema,
    default: Expr,
    omitted: &HashMap<&str, &Expr>,
    known: &mut Known,
    scope: &Scope,
) -> Result<()> {
    let chosen = match (omitted.get(&*column.name), known.get(&column.name)) {
        (Some(&mask), Some(given)) => {
            let columns = [
                ("mask".to_string(), mask.clone()),
                ("default".to_string(), default),
                ("given".to_string(), given.clone()),
            ];
            bind_default("if(mask, default, given)", &column.ty, &columns, scope, &scope.ids)?
        }
        _ => default,
    };
    known.set(column.name.to_string(), chosen);
    Ok(())
}

/// Runs the plan into the table.
fn write(plan: Plan, inserter: Box<dyn Inserter>, scope: &Arc<Scope>) -> Result<Written> {
    let plan = scope.optimize(plan)?;
    let inserter: Box<dyn Inserter> = match scope.replacement_scan {
        Some(_) => Box::new(DetachingInserter { inner: inserter, scope: scope.clone() }),
        None => inserter,
    };
    let state = Arc::new(Mutex::new((inserter, (0, 0))));
    let target = state.clone();
    let consumer = Box::new(move |block: Block| {
        let mut state = target.lock().unwrap_or_else(PoisonError::into_inner);
        state.1.0 += block.n_rows() as u64;
        state.1.1 += block.memory() as u64;
        state.0.write(block)
    });
    chalet_exec::result::execute_unlimited(&plan, consumer, scope.exec())?;
    let Some(state) = Arc::into_inner(state) else {
        bail!(LOGICAL_ERROR, "The result of INSERT is still being written");
    };
    let (inserter, written) = state.into_inner().unwrap_or_else(PoisonError::into_inner);
    inserter.finish()?;
    Ok(written)
}

/// Inserts the rows of data in a format.
fn from_data(
    table: &dyn Table,
    name: &str,
    listed: Option<Vec<String>>,
    format: &str,
    input: Input,
    scope: &Arc<Scope>,
) -> Result<Written> {
    let given = given_columns(table, listed);
    let structure: Schema = given.iter().map(|c| (c.name.to_string(), c.ty.clone())).collect();
    let request = read_request(structure, scope);
    let mut scan = FORMATS.get(format)?.open(input, request)?;
    let mut inserter = super::checked::inserter(table, name, scope)?;
    let schema = table.schema();
    let (mut rows, mut bytes) = (0, 0);
    while let Some(mut unit) = scan.next_unit()? {
        while let Some(block) = unit.next_block(scope.exec().settings.max_block_size)? {
            scope.control.check_with_interrupt()?;
            rows += block.n_rows() as u64;
            bytes += block.memory() as u64;
            for block in with_defaults(&*unit, block, &given, &schema, scope)? {
                inserter.write(block)?;
            }
        }
    }
    inserter.finish()?;
    Ok((rows, bytes))
}

/// The block as the table stores it.
pub(crate) fn with_defaults(
    unit: &dyn BlockReader,
    block: Block,
    given: &[ColumnSchema],
    schema: &TableSchema,
    scope: &Scope,
) -> Result<Vec<Block>> {
    let omitted = unit.omitted();
    let stored: Vec<&ColumnSchema> =
        schema.columns.iter().filter(|c| c.is_stored() && !c.is_virtual).collect();
    let any_omitted = omitted.iter().any(Option::is_some) && given.iter().any(|c| c.default.is_some());
    let same = stored.len() == given.len() && stored.iter().zip(given).all(|(a, b)| a.name == b.name);
    if same && !any_omitted {
        return Ok(vec![block]);
    }
    let n_rows = block.n_rows();
    let mut fields: Vec<Field> =
        given.iter().map(|c| scope.ids.field(c.name.clone(), c.ty.clone())).collect();
    let named = fields.iter().map(|f| (f.name.to_string(), Expr::Column(f.id, f.ty.clone()))).collect();
    let mut columns = block.into_columns();
    let mut masks = Vec::new();
    for (column, rows) in given.iter().zip(omitted) {
        let Some(rows) = rows else { continue };
        let field = scope.ids.field("omitted", DataType::UInt8);
        masks.push((column.name.to_string(), Expr::Column(field.id, field.ty.clone())));
        columns.push(Column::Flat(mask_column(rows)));
        fields.push(field);
    }
    let values = Values { fields: fields.clone(), block: Block::new(columns, n_rows) };
    let source = BoundQuery { plan: Plan::Values(values), fields };
    let plan = complete(source, named, &masks, schema, scope)?;
    scope.run(plan)
}

fn mask_column(rows: &BooleanBuffer) -> Vector {
    Vector::from(rows.iter().map(u8::from).collect::<Vec<u8>>())
}

/// Expressions inside data (`VALUES (1 + 1)`), as constants of a type.
pub(crate) fn evaluator(scope: &Scope) -> Evaluate {
    // Data are read by any thread, after the statement's own scope may be gone: this one is of its own.
    let settings = scope.state.settings.clone();
    let made: Mutex<Option<Arc<Scope>>> = Mutex::new(None);
    let (database, state) = (scope.database.clone(), scope.state.clone());
    let params = scope.params().to_vec();
    Arc::new(move |text, ty| {
        let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
        let scope = match &*made {
            Some(scope) => scope.clone(),
            None => {
                let state = crate::session::State { settings: settings.clone(), ..state.clone() };
                let options = RunOptions { params: params.clone(), ..RunOptions::default() };
                let scope = Arc::new(Scope::new(database.clone(), state, &options, 0)?);
                *made = Some(scope.clone());
                scope
            }
        };
        let written = chalet_syntax::parse_expression(text)?;
        let literal = bind_constant(&written, &*scope, &scope.ids)?;
        // The reader knows what NULL means for a column that has none.
        if literal.value().is_null() {
            return Ok(Value::Null);
        }
        let column = Column::of_value(&literal.value(), &literal.ty, 1)?;
        let cast = crate::table_functions::caster(&scope);
        Ok(cast(&column, &literal.ty, ty)?.value(0))
    })
}
