//! CREATE TABLE, VIEW, DATABASE, FUNCTION.

use super::Output;
use super::show::quoted;
use crate::database::SqlFunction;
use crate::functions::FORMATS;
use crate::scope::Scope;
use crate::session::Session;
use crate::system;
use chalet_base::{Result, bail, ensure, err};
use chalet_binder::table_columns::{bind_default, bind_table_arguments};
use chalet_binder::{Environment, bind_query, bind_view};
use chalet_formats::Schema;
use chalet_plan::{Expr, IdSource};
use chalet_storage::catalog::Entry;
use chalet_storage::file::FileContext;
use chalet_storage::file_engine::FileEngine;
use chalet_storage::memory::MemoryTable;
use chalet_storage::null::NullTable;
use chalet_storage::view::View;
use chalet_storage::{ColumnSchema, Constraint, DefaultKind, Table, TableSchema};
use chalet_syntax::ast::{self, CreateSource, ExprKind};
use chalet_types::{DataType, TupleField};
use std::sync::{Arc, PoisonError};

pub(crate) fn table(
    create: &ast::CreateTable,
    scope: &Arc<Scope>,
    session: &Session,
    output: &mut Output,
) -> Result<()> {
    ensure!(!create.attach, NOT_IMPLEMENTED, "ATTACH TABLE is not supported");
    let database = create.name.database.as_ref().map_or(scope.state.database.as_str(), |d| &d.name);
    let name = &create.name.name.name;
    let catalog = &scope.database.shared.catalog;
    if !create.temporary {
        writable(database, scope)?;
        if create.if_not_exists && catalog.find(database, name).is_some() {
            return Ok(());
        }
    } else if create.if_not_exists && scope.state.temporary.contains_key(name) {
        return Ok(());
    }
    let (table, engine) = make(create, scope)?;
    let schema = table.schema();
    let shown =
        if create.temporary { quoted(name) } else { format!("{}.{}", quoted(database), quoted(name)) };
    let words = if create.temporary { "TEMPORARY TABLE" } else { "TABLE" };
    let comment = create.comment.as_ref().map_or(String::new(), |c| {
        let mut text = String::from("\nCOMMENT ");
        chalet_syntax::print::write_string(&mut text, c);
        text
    });
    let create_sql =
        format!("CREATE {words} {shown}\n(\n{}\n)\nENGINE = {engine}{comment}", columns_sql(&schema));
    let comment = text_of(create.comment.as_deref());
    let entry = Entry { table: table.clone(), create_sql: create_sql.into(), comment };
    // Filled before it is seen: a failing query leaves no table behind.
    if let Some(CreateSource::Query { empty: false, query }) = &create.source {
        let (rows, bytes) = super::insert::from_query(&*table, name, None, query, scope)?;
        output.rows_written += rows;
        output.bytes_written += bytes;
    }
    if create.temporary {
        let mut state = session.state();
        ensure!(
            create.or_replace || !state.temporary.contains_key(name),
            TABLE_ALREADY_EXISTS,
            "Temporary table {name} already exists"
        );
        state.temporary.insert(name.clone(), entry);
        return Ok(());
    }
    catalog.create_table(database, name, entry, create.if_not_exists, create.or_replace)
}

fn text_of(bytes: Option<&[u8]>) -> Arc<str> {
    String::from_utf8_lossy(bytes.unwrap_or_default()).into()
}

fn writable(database: &str, scope: &Scope) -> Result<()> {
    ensure!(!system::is_system(database), ACCESS_DENIED, "Database {database} cannot be changed");
    ensure!(
        scope.database.shared.catalog.database_exists(database),
        UNKNOWN_DATABASE,
        "Database {database} does not exist"
    );
    Ok(())
}

/// The table of an engine, and the engine as SHOW CREATE prints it.
fn make(create: &ast::CreateTable, scope: &Arc<Scope>) -> Result<(Arc<dyn Table>, String)> {
    let storage = &create.storage;
    let name = storage.engine.as_ref().map_or("Memory", |e| e.name.as_str());
    let clauses = storage.partition_by.is_some()
        || storage.primary_key.is_some()
        || storage.order_by.is_some()
        || storage.sample_by.is_some()
        || !storage.ttl.is_empty();
    let args = storage.engine.as_ref().and_then(|e| e.args.as_ref()).is_some_and(|args| !args.is_empty());
    let made: (Arc<dyn Table>, String) = match name {
        "Memory" => (Arc::new(MemoryTable::new(schema_of(create, scope)?)), name.into()),
        "Null" => (Arc::new(NullTable { schema: schema_of(create, scope)? }), name.into()),
        "File" => {
            let args = storage.engine.as_ref().and_then(|e| e.args.as_deref()).unwrap_or_default();
            file(create, args, scope)?
        }
        known if is_known_engine(known) => {
            bail!(NOT_IMPLEMENTED, "Table engine {known} is not supported yet. Use Memory")
        }
        _ => bail!(UNKNOWN_STORAGE, "Unknown table engine {name}"),
    };
    for setting in &storage.settings {
        let name = &setting.name.name;
        let known =
            ["compress", "min_rows_to_keep", "max_rows_to_keep", "min_bytes_to_keep", "max_bytes_to_keep"];
        if storage.engine.is_none() {
            continue;
        }
        ensure!(
            known.contains(&name.as_str()),
            UNKNOWN_SETTING,
            "Unknown setting '{name}': for storage {}",
            made.1
        );
        bail!(NOT_IMPLEMENTED, "Setting {name} of storage {} is not supported", made.1);
    }
    // Without ENGINE the clauses of a MergeTree may stand there: they change no answer of a table in memory.
    if storage.engine.is_some() {
        ensure!(
            !clauses,
            BAD_ARGUMENTS,
            "Engine {name} doesn't support PARTITION_BY, PRIMARY_KEY, ORDER_BY, SAMPLE_BY or TTL clauses. Currently only the \
             following engines have support for the feature: [MergeTree]"
        );
        ensure!(
            !args || name == "File",
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Engine {name} doesn't support any arguments"
        );
    }
    Ok(made)
}

/// `File(format[, path[, compression]])`, and the engine as SHOW CREATE prints it.
fn file(
    create: &ast::CreateTable,
    args: &[ast::Expr],
    scope: &Arc<Scope>,
) -> Result<(Arc<dyn Table>, String)> {
    ensure!(
        (1..=3).contains(&args.len()),
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Storage File requires from 1 to 3 arguments: name of used format, source and compression_method"
    );
    let mut words = Vec::with_capacity(args.len());
    for arg in bind_table_arguments(args, &**scope, &scope.ids)? {
        let word = crate::table_functions::text(&arg);
        words.push(word.ok_or_else(|| err!(BAD_ARGUMENTS, "Arguments of storage File must be strings"))?);
    }
    let format = FORMATS.get(&words[0])?;
    let is_described = !create.definition.columns.is_empty() || create.source.is_some();
    let schema = if is_described || words.len() == 1 { Some(schema_of(create, scope)?) } else { None };
    ensure!(
        schema.iter().flat_map(|s| s.columns.iter()).all(ColumnSchema::in_star),
        BAD_ARGUMENTS,
        "Table engine File doesn't support special columns like MATERIALIZED, ALIAS or EPHEMERAL"
    );
    let context = FileContext {
        // It would hold the database that holds the table.
        evaluate: None,
        ..crate::table_functions::file_context(scope)
    };
    let (path, compression) = (words.get(1).cloned(), words.get(2).cloned());
    let table = FileEngine::create(schema, format, path, compression, context)?;
    let shown = words.iter().map(|word| {
        let mut text = String::new();
        chalet_syntax::print::write_string(&mut text, word.as_bytes());
        text
    });
    let engine = format!("File({})", shown.collect::<Vec<_>>().join(", "));
    Ok((Arc::new(table), engine))
}

fn is_known_engine(name: &str) -> bool {
    const OTHERS: [&str; 18] = [
        "Buffer",
        "Dictionary",
        "Distributed",
        "EmbeddedRocksDB",
        "FileLog",
        "GenerateRandom",
        "Iceberg",
        "Join",
        "Kafka",
        "KeeperMap",
        "Log",
        "Merge",
        "MySQL",
        "PostgreSQL",
        "S3",
        "Set",
        "StripeLog",
        "TinyLog",
    ];
    name.ends_with("MergeTree") || OTHERS.contains(&name)
}

fn schema_of(create: &ast::CreateTable, scope: &Arc<Scope>) -> Result<TableSchema> {
    let definition = &create.definition;
    if !definition.columns.is_empty() {
        let schema = TableSchema::new_checked(columns(&definition.columns, scope)?)?;
        let constraints = definition.constraints.iter().map(|c| Constraint {
            name: c.name.name.as_str().into(),
            expr: c.expr.to_string().into(),
            is_assumed: c.assume,
        });
        let schema = TableSchema { constraints: constraints.collect(), ..schema };
        super::checked::validate(&schema, scope)?;
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
            Ok(super::drop::existing(name, scope)?.0.schema())
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

trait Checked: Sized {
    fn new_checked(columns: Vec<ColumnSchema>) -> Result<Self>;
}

impl Checked for TableSchema {
    fn new_checked(columns: Vec<ColumnSchema>) -> Result<Self> {
        for (i, column) in columns.iter().enumerate() {
            let twice = columns[..i].iter().any(|c| c.name == column.name);
            ensure!(!twice, ILLEGAL_COLUMN, "Column {} already exists", column.name);
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
        let comment: Arc<str> =
            def.comment.as_ref().map_or("".into(), |c| String::from_utf8_lossy(c).into_owned().into());
        let default = def.default.as_ref().map(|d| default_of(d, name)).transpose()?;
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

fn columns_sql(schema: &TableSchema) -> String {
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

pub(crate) fn view(create: &ast::CreateView, scope: &Arc<Scope>) -> Result<()> {
    ensure!(!create.attach, NOT_IMPLEMENTED, "ATTACH VIEW is not supported");
    ensure!(!create.materialized, NOT_IMPLEMENTED, "CREATE MATERIALIZED VIEW is not supported");
    ensure!(!create.temporary, NOT_IMPLEMENTED, "CREATE TEMPORARY VIEW is not supported");
    let database = create.name.database.as_ref().map_or(scope.state.database.as_str(), |d| &d.name);
    let name = &create.name.name.name;
    writable(database, scope)?;
    let mut query = ast::Query::clone(&create.query);
    qualify(&mut query, database, scope);
    let bound = bind_view(&query, &**scope, &scope.ids)?;
    let schema = match (&create.columns, bound) {
        (_, None) => TableSchema::default(),
        (Some(definition), Some(bound)) if !definition.columns.is_empty() => {
            let declared = columns(&definition.columns, scope)?;
            ensure!(
                declared.len() == bound.fields.len(),
                THERE_IS_NO_COLUMN,
                "The view has {} columns, its query {}",
                declared.len(),
                bound.fields.len()
            );
            TableSchema::new_checked(declared)?
        }
        (_, Some(bound)) => TableSchema::new_checked(
            bound.fields.into_iter().map(|f| ColumnSchema::new(f.name, f.ty)).collect(),
        )?,
    };
    let create_sql = format!(
        "CREATE VIEW {}.{}{}\nAS {}",
        quoted(database),
        quoted(name),
        if schema.columns.is_empty() { String::new() } else { format!("\n(\n{}\n)", columns_sql(&schema)) },
        chalet_syntax::print::format_query(&query)
    );
    let view = Arc::new(View { schema, query: query.to_string() });
    let comment = text_of(create.comment.as_deref());
    let entry = Entry { table: view, create_sql: create_sql.into(), comment };
    scope.database.shared.catalog.create_table(database, name, entry, create.if_not_exists, create.or_replace)
}

/// Writes the database before the names of tables, so that the view means the same wherever it is read.
fn qualify(query: &mut ast::Query, database: &str, scope: &Scope) {
    let mut names: Vec<String> = Vec::new();
    collect_ctes(&query.body, &mut names);
    chalet_syntax::visit::for_each_table_mut(query, &mut |table| {
        if let ast::TableKind::Name(name) = &mut table.kind
            && name.database.is_none()
            && !names.contains(&name.name.name)
            && !scope.state.temporary.contains_key(&name.name.name)
        {
            name.database = Some(ast::Ident::new(database));
        }
    });
}

fn collect_ctes(body: &ast::SetExpr, names: &mut Vec<String>) {
    match body {
        ast::SetExpr::Select(select) => {
            for item in &select.with {
                if let ast::WithItem::Cte { name, query, .. } = item {
                    names.push(name.name.clone());
                    collect_ctes(&query.body, names);
                }
            }
        }
        ast::SetExpr::Query(query) => collect_ctes(&query.body, names),
        ast::SetExpr::SetOp { inputs, .. } => inputs.iter().for_each(|i| collect_ctes(i, names)),
    }
}

pub(crate) fn database(create: &ast::CreateDatabase, scope: &Arc<Scope>) -> Result<()> {
    ensure!(!create.attach, NOT_IMPLEMENTED, "ATTACH DATABASE is not supported");
    let engine = create.engine.as_ref().map_or("Memory", |e| e.name.as_str());
    ensure!(
        matches!(engine, "Memory" | "Atomic" | "Ordinary" | "Lazy"),
        UNKNOWN_DATABASE_ENGINE,
        "Unknown database engine: {engine}"
    );
    let name = &create.name.name;
    ensure!(!system::is_system(name), DATABASE_ALREADY_EXISTS, "Database {name} already exists");
    let comment = create.comment.as_ref().map_or(String::new(), |c| String::from_utf8_lossy(c).into_owned());
    scope.database.shared.catalog.create_database(name, create.if_not_exists, &comment)
}

pub(crate) fn function(create: &ast::CreateFunction, scope: &Arc<Scope>) -> Result<()> {
    let name = &create.name.name;
    let ExprKind::Lambda { params, body } = &create.body.kind else {
        bail!(UNSUPPORTED_METHOD, "A function is created as a lambda expression, got {}", create.body);
    };
    let registry = scope.registry();
    ensure!(
        registry.scalars.get(name).is_none() && registry.aggregates.get(name).is_none(),
        FUNCTION_ALREADY_EXISTS,
        "The function '{name}' already exists"
    );
    let made = SqlFunction {
        params: params.iter().map(|p| p.name.clone()).collect(),
        body: ast::Expr::clone(body),
        create_sql: format!("CREATE FUNCTION {} AS {}", quoted(name), create.body),
    };
    let mut functions = scope.database.shared.functions.write().unwrap_or_else(PoisonError::into_inner);
    if functions.contains_key(name) && !create.or_replace {
        ensure!(
            create.if_not_exists,
            FUNCTION_ALREADY_EXISTS,
            "User-defined function '{name}' already exists"
        );
        return Ok(());
    }
    functions.insert(name.clone(), made);
    Ok(())
}
