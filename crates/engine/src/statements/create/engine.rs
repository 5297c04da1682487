//! ENGINE = ...: which engines there are, how they make a table and how they open one that is kept on disk.

use super::columns::{schema_of, stored_schema};
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
use chalet_storage::null::NullTable;
use chalet_storage::{ColumnSchema, Table};
use chalet_syntax::ast;
use std::sync::Arc;

/// A kind of tables.
struct Engine {
    name: &'static str,
    takes_arguments: bool,
    /// Settings of the kernel's engine, none of which is supported.
    settings: &'static [&'static str],
    /// Makes the table of CREATE, and says the engine as SHOW CREATE prints it. In a database on disk the table asks the
    /// store for a folder when it keeps rows.
    create: fn(&New) -> Result<(Arc<dyn Table>, String)>,
    /// Makes the table of a definition that was found on disk, over the folder that it had.
    open: fn(&'static Engine, Found) -> Result<Arc<dyn Table>>,
}

/// Sorted by name.
const ENGINES: &[Engine] = &[
    Engine { name: "File", takes_arguments: true, settings: &[], create: create_file, open: open_file },
    Engine { name: "Log", takes_arguments: false, settings: OF_LOGS, create: create_log, open: open_log },
    Engine {
        name: "Memory",
        takes_arguments: false,
        settings: &[
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
    },
    Engine {
        name: "Null",
        takes_arguments: false,
        settings: &[],
        create: |new| {
            Ok((Arc::new(NullTable { schema: schema_of(new.create, new.scope)? }), new.engine.name.into()))
        },
        open: |_, found| Ok(Arc::new(NullTable { schema: stored_schema(&found.create.definition)? })),
    },
    Engine {
        name: "StripeLog",
        takes_arguments: false,
        settings: OF_LOGS,
        create: create_log,
        open: open_log,
    },
    Engine { name: "TinyLog", takes_arguments: false, settings: OF_LOGS, create: create_log, open: open_log },
];

const OF_LOGS: &[&str] = &["disk", "storage_policy"];

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
struct New<'a> {
    engine: &'static Engine,
    create: &'a ast::CreateTable,
    scope: &'a Arc<Scope>,
    /// Where it is kept; `None` for temporary tables and databases in memory.
    store: Option<&'a Arc<Store>>,
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
    let storage = &create.storage;
    let store = scope.database.shared.catalog.store().filter(|_| !create.temporary);
    let clauses = storage.partition_by.is_some()
        || storage.primary_key.is_some()
        || storage.order_by.is_some()
        || storage.sample_by.is_some()
        || !storage.ttl.is_empty();
    let name = match &storage.engine {
        Some(engine) => engine.name.clone(),
        None => default_engine(create, store.is_some(), scope)?,
    };
    let Some(engine) = ENGINES.iter().find(|known| known.name == name) else {
        let known = name.ends_with("MergeTree") || OTHERS.contains(&name.as_str());
        ensure!(known, UNKNOWN_STORAGE, "Unknown table engine {name}");
        let instead = if store.is_some() { "Log" } else { "Memory" };
        bail!(NOT_IMPLEMENTED, "Table engine {name} is not supported yet. Use {instead}");
    };
    if let Some(written) = &storage.engine {
        check_clauses(engine, written, storage, clauses)?;
    }
    (engine.create)(&New { engine, create, scope, store })
}

/// Fails for what stands behind ENGINE and the engine does not know.
fn check_clauses(
    engine: &Engine,
    written: &ast::Engine,
    storage: &ast::Storage,
    clauses: bool,
) -> Result<()> {
    let name = engine.name;
    if let Some(setting) = storage.settings.first() {
        let setting = &setting.name.name;
        let known = engine.settings.contains(&setting.as_str());
        ensure!(known, UNKNOWN_SETTING, "Unknown setting '{setting}': for storage {name}");
        bail!(NOT_IMPLEMENTED, "Setting {setting} of storage {name} is not supported");
    }
    ensure!(
        !clauses,
        BAD_ARGUMENTS,
        "Engine {name} doesn't support PARTITION_BY, PRIMARY_KEY, ORDER_BY, SAMPLE_BY or TTL clauses. Currently only the \
         following engines have support for the feature: [MergeTree]"
    );
    let arguments = written.args.as_ref().map_or(0, Vec::len);
    ensure!(
        arguments == 0 || engine.takes_arguments,
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Engine {name} doesn't support any arguments ({arguments} given)"
    );
    Ok(())
}

/// What a table without ENGINE is. The kernel makes a MergeTree of it.
fn default_engine(create: &ast::CreateTable, is_on_disk: bool, scope: &Scope) -> Result<String> {
    let setting = if create.temporary { "default_temporary_table_engine" } else { "default_table_engine" };
    let settings = &scope.state.settings;
    if let Some(named) = settings.get(setting).filter(|_| settings.is_changed(setting)) {
        ensure!(named != "None", ENGINE_REQUIRED, "Table engine is not specified in CREATE query");
        return Ok(named);
    }
    // The clauses of a MergeTree may stand there: its order and its parts change no answer. On disk a table keeps its rows.
    Ok(if is_on_disk { "Log" } else { "Memory" }.into())
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

fn open_log(engine: &'static Engine, found: Found) -> Result<Arc<dyn Table>> {
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
