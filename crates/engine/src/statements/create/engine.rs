//! ENGINE = ...: which engines there are, how they make a table and how they open one that is kept on disk.

use super::columns::{schema_of, stored_schema};
use super::merge_tree;
use crate::functions::FORMATS;
use crate::scope::Scope;
use chalet_base::{Result, bail, ensure, err};
use chalet_binder::Environment;
use chalet_binder::table_columns::bind_table_arguments;
use chalet_storage::disk::{Store, TableFolder};
use chalet_storage::file::FileContext;
use chalet_storage::file_engine::{FileEngine, FilePlace};
use chalet_storage::log::LogTable;
use chalet_storage::memory::MemoryTable;
use chalet_storage::merge_tree::MERGE_TREE;
use chalet_storage::null::NullTable;
use chalet_storage::{ColumnSchema, Table};
use chalet_syntax::ast;
use std::sync::Arc;

/// A kind of tables.
pub(super) struct Engine {
    name: &'static str,
    takes_arguments: bool,
    /// Whether PARTITION BY, PRIMARY KEY and ORDER BY may follow.
    takes_keys: bool,
    /// Settings that are supported.
    settings: &'static [&'static str],
    /// Settings of the kernel's engine that are not.
    other_settings: &'static [&'static str],
    /// Makes the table of CREATE, and says the engine as SHOW CREATE prints it. In a database on disk the table asks the
    /// store for a folder when it keeps rows.
    create: fn(&New) -> Result<(Arc<dyn Table>, String)>,
    /// Makes the table of a definition that was found on disk, over the folder that it had.
    open: fn(&'static Engine, Found) -> Result<Arc<dyn Table>>,
}

/// Sorted by name.
const ENGINES: &[Engine] = &[
    Engine { name: "File", takes_arguments: true, create: create_file, open: open_file, ..LOG },
    Engine { name: "Log", ..LOG },
    Engine {
        name: "Memory",
        other_settings: &[
            "compress",
            "min_rows_to_keep",
            "max_rows_to_keep",
            "min_bytes_to_keep",
            "max_bytes_to_keep",
        ],
        create: |new| {
            Ok((Arc::new(MemoryTable::new(schema_of(new.create, new.scope)?)), new.engine.name.into()))
        },
        open: |_, found| Ok(Arc::new(MemoryTable::new(stored_schema(&found.create.definition)?))),
        ..LOG
    },
    Engine {
        name: MERGE_TREE,
        takes_keys: true,
        settings: merge_tree::SETTINGS,
        other_settings: merge_tree::OTHER_SETTINGS,
        create: merge_tree::create,
        open: merge_tree::open,
        ..LOG
    },
    Engine {
        name: "Null",
        other_settings: &[],
        create: |new| {
            Ok((Arc::new(NullTable { schema: schema_of(new.create, new.scope)? }), new.engine.name.into()))
        },
        open: |_, found| Ok(Arc::new(NullTable { schema: stored_schema(&found.create.definition)? })),
        ..LOG
    },
    Engine { name: "StripeLog", ..LOG },
    Engine { name: "TinyLog", ..LOG },
];

const LOG: Engine = Engine {
    name: "",
    takes_arguments: false,
    takes_keys: false,
    settings: &[],
    other_settings: &["disk", "storage_policy"],
    create: create_log,
    open: open_log,
};

/// Engines of the kernel that are not here.
const OTHERS: [&str; 15] = [
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
    "Merge",
    "MySQL",
    "PostgreSQL",
    "S3",
    "Set",
];

/// A table that CREATE asks for.
pub(super) struct New<'a> {
    engine: &'static Engine,
    pub create: &'a ast::CreateTable,
    /// The engine and its clauses, which CREATE TABLE ... AS takes from another table.
    pub storage: &'a ast::Storage,
    pub scope: &'a Arc<Scope>,
    /// Where it is kept; `None` for temporary tables and databases in memory.
    pub store: Option<&'a Arc<Store>>,
}

/// A table that was found on disk.
pub(crate) struct Found<'a> {
    pub create: &'a ast::CreateTable,
    pub scope: &'a Arc<Scope>,
    /// `database.table`, for messages.
    pub name: String,
    /// `None` for tables that keep nothing.
    pub folder: Option<Arc<TableFolder>>,
    /// Takes what the user should know.
    pub warnings: &'a mut Vec<String>,
}

/// The table of a statement, and the engine as SHOW CREATE prints it.
pub(super) fn create(create: &ast::CreateTable, scope: &Arc<Scope>) -> Result<(Arc<dyn Table>, String)> {
    let copied = storage_of_source(create, scope)?;
    let storage = copied.as_ref().unwrap_or(&create.storage);
    let store = scope.database.shared.catalog.store().filter(|_| !create.temporary);
    let name = match &storage.engine {
        Some(engine) => engine.name.clone(),
        None => default_engine(create, scope)?,
    };
    let Some(engine) = ENGINES.iter().find(|known| known.name == name) else {
        let known = name.ends_with("MergeTree") || OTHERS.contains(&name.as_str());
        ensure!(known, UNKNOWN_STORAGE, "Unknown table engine {name}");
        let instead = if store.is_some() { "Log" } else { "Memory" };
        bail!(NOT_IMPLEMENTED, "Table engine {name} is not supported yet. Use {instead}");
    };
    check_clauses(engine, create, storage)?;
    (engine.create)(&New { engine, create, storage, scope, store })
}

/// Of CREATE TABLE ... AS another table, when it says nothing of an engine itself.
fn storage_of_source(create: &ast::CreateTable, scope: &Arc<Scope>) -> Result<Option<ast::Storage>> {
    let Some(ast::CreateSource::Table { name, .. }) = &create.source else { return Ok(None) };
    if create.storage != ast::Storage::default() || create.definition.primary_key.is_some() {
        return Ok(None);
    }
    let database = name.database.as_ref().map(|d| d.name.as_str());
    let Some(entry) = scope.entry(database, &name.name.name) else { return Ok(None) };
    let mut statements = chalet_syntax::parse_printed(&entry.create_sql(None, "t")).unwrap_or_default();
    Ok(match statements.pop().map(|statement| statement.kind) {
        Some(ast::StatementKind::CreateTable(source)) if source.storage.engine.is_some() => {
            Some(source.storage)
        }
        _ => None,
    })
}

/// Fails for what stands behind ENGINE and the engine does not know.
fn check_clauses(engine: &Engine, create: &ast::CreateTable, storage: &ast::Storage) -> Result<()> {
    let name = engine.name;
    for setting in storage.settings.iter().map(|setting| setting.name.name.as_str()) {
        if engine.settings.contains(&setting) {
            continue;
        }
        let known = engine.other_settings.contains(&setting);
        ensure!(known, UNKNOWN_SETTING, "Unknown setting '{setting}': for storage {name}");
        bail!(NOT_IMPLEMENTED, "Setting {setting} of storage {name} is not supported");
    }
    let clauses = storage.partition_by.is_some()
        || storage.primary_key.is_some()
        || storage.order_by.is_some()
        || storage.sample_by.is_some()
        || !storage.ttl.is_empty()
        || create.definition.primary_key.is_some()
        || create.definition.columns.iter().any(|column| column.primary_key || column.ttl.is_some());
    ensure!(
        !clauses || engine.takes_keys,
        BAD_ARGUMENTS,
        "Engine {name} doesn't support PARTITION_BY, PRIMARY_KEY, ORDER_BY, SAMPLE_BY or TTL clauses. Currently only the \
         following engines have support for the feature: [MergeTree]"
    );
    for (is_given, what) in [
        (!create.definition.indexes.is_empty(), "skipping indices"),
        (!create.definition.projections.is_empty(), "projections"),
    ] {
        ensure!(
            !is_given || engine.takes_keys,
            BAD_ARGUMENTS,
            "Engine {name} doesn't support {what}. Currently only the following engines have support for the feature: [MergeTree]"
        );
    }
    let arguments = storage.engine.as_ref().and_then(|written| written.args.as_ref()).map_or(0, Vec::len);
    ensure!(
        arguments == 0 || engine.takes_arguments,
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Engine {name} doesn't support any arguments ({arguments} given)"
    );
    Ok(())
}

/// What a table without ENGINE is.
fn default_engine(create: &ast::CreateTable, scope: &Scope) -> Result<String> {
    let setting = if create.temporary { "default_temporary_table_engine" } else { "default_table_engine" };
    let named = scope.state.settings.get(setting).unwrap_or_default();
    ensure!(named != "None", ENGINE_REQUIRED, "Table engine is not specified in CREATE query");
    Ok(named)
}

/// The table of a statement that was found on disk.
pub(crate) fn open(found: Found) -> Result<Arc<dyn Table>> {
    let name = found.create.storage.engine.as_ref().map_or("", |engine| engine.name.as_str());
    let engine = ENGINES.iter().find(|known| known.name == name);
    let engine = engine.ok_or_else(|| {
        err!(UNKNOWN_STORAGE, "Table {} on disk has the engine {name}, which is not known", found.name)
    })?;
    (engine.open)(engine, found)
}

fn create_log(new: &New) -> Result<(Arc<dyn Table>, String)> {
    let (name, schema) = (new.engine.name, schema_of(new.create, new.scope)?);
    let table: Arc<dyn Table> = match new.store {
        None => Arc::new(MemoryTable::named(name, schema)),
        Some(store) => Arc::new(LogTable::create(name, schema, store.new_folder()?)?),
    };
    Ok((table, name.into()))
}

pub(super) fn open_log(engine: &'static Engine, found: Found) -> Result<Arc<dyn Table>> {
    let Some(folder) = found.folder else { bail!(CORRUPTED_DATA, "Table {} has no folder", found.name) };
    let (table, dropped) = LogTable::open(engine.name, stored_schema(&found.create.definition)?, folder)?;
    if dropped > 0 {
        found.warnings.push(format!(
            "Table {}: an INSERT was not finished when the database was last written. Its {dropped} bytes were dropped",
            found.name
        ));
    }
    Ok(Arc::new(table))
}

/// `File(format[, path[, compression]])`.
fn create_file(new: &New) -> Result<(Arc<dyn Table>, String)> {
    let (create, scope) = (new.create, new.scope);
    let words = file_arguments(create, scope)?;
    let is_described = !create.definition.columns.is_empty() || create.source.is_some();
    let schema = if is_described || words.len() == 1 { Some(schema_of(create, scope)?) } else { None };
    ensure!(
        schema.iter().flat_map(|s| s.columns.iter()).all(ColumnSchema::in_star),
        BAD_ARGUMENTS,
        "Table engine File doesn't support special columns like MATERIALIZED, ALIAS or EPHEMERAL"
    );
    let place = match (words.get(1), new.store) {
        (Some(path), _) => FilePlace::Path(path.clone()),
        (None, Some(store)) => FilePlace::Folder(Arc::new(store.new_folder()?)),
        (None, None) => FilePlace::Temporary,
    };
    let (format, compression) = (FORMATS.get(&words[0])?, words.get(2).cloned());
    let table = FileEngine::create(schema, format, place, compression, file_context(scope))?;
    let shown = words.iter().map(|word| {
        let mut text = String::new();
        chalet_syntax::print::write_string(&mut text, word.as_bytes());
        text
    });
    let engine = format!("File({})", shown.collect::<Vec<_>>().join(", "));
    Ok((Arc::new(table), engine))
}

fn open_file(_: &'static Engine, found: Found) -> Result<Arc<dyn Table>> {
    let words = file_arguments(found.create, found.scope)?;
    let place = match (words.get(1), found.folder) {
        (Some(path), _) => FilePlace::Path(path.clone()),
        (None, Some(folder)) => FilePlace::Folder(folder),
        (None, None) => bail!(CORRUPTED_DATA, "Table {} has no folder", found.name),
    };
    let (format, compression) = (FORMATS.get(&words[0])?, words.get(2).cloned());
    let schema = stored_schema(&found.create.definition)?;
    let table = FileEngine::create(Some(schema), format, place, compression, file_context(found.scope))?;
    Ok(Arc::new(table))
}

/// The arguments of `File(...)`, which are texts.
fn file_arguments(create: &ast::CreateTable, scope: &Arc<Scope>) -> Result<Vec<String>> {
    let args = create.storage.engine.as_ref().and_then(|e| e.args.as_deref()).unwrap_or_default();
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
    Ok(words)
}

/// What the reader of a table needs of a session, and nothing else: the table must not hold the database that holds it,
/// nor the statement that made it.
fn file_context(scope: &Arc<Scope>) -> FileContext {
    use chalet_function_api::{Context, Host, Interrupt};
    let context = Context { host: Host(None), interrupt: Interrupt(None), ..(**scope.context()).clone() };
    FileContext {
        evaluate: None,
        cast: Some(crate::table_functions::caster_in(Arc::new(context))),
        ..crate::table_functions::file_context(scope)
    }
}
