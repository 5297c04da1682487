//! ENGINE = ...: which engines there are, and the one that a statement means.

use super::columns::{schema_of, stored_schema};
use super::distributed;
use super::engine::{Engine, Found, New};
use super::external::{self, EXTERNAL, OBJECT_STORAGE};
use super::file;
use super::keyed;
use super::log::LOG;
use super::memory;
use super::merge_tree::FAMILY;
use super::merge_tree_settings;
use super::merged;
use super::over_dictionary;
use super::redirected;
use super::replicated;
use super::rocksdb;
use super::source_storage;
use crate::function_table::FunctionTable;
use crate::generate_random;
use crate::query_context::QueryContext;
use crate::settings;
use crate::written_settings::is_parameter;
use chalet_base::{Result, bail, ensure, err};
use chalet_binder::table_columns::bind_table_arguments;
use chalet_storage::Table;
use chalet_storage::merge_tree::MERGE_TREE;
use chalet_storage::null::NullTable;
use chalet_syntax::ast;
use std::sync::Arc;

/// Sorted by name.
pub(super) const ENGINES: &[Engine] = &[
    Engine { name: "AggregatingMergeTree", ..FAMILY },
    Engine {
        name: "Alias",
        takes_arguments: true,
        other_settings: &[],
        create: redirected::create_alias,
        open: redirected::open,
        ..LOG
    },
    Engine { name: "AzureBlobStorage", ..OBJECT_STORAGE },
    Engine {
        name: "Buffer",
        takes_arguments: true,
        other_settings: &[],
        create: redirected::create_buffer,
        open: redirected::open,
        ..LOG
    },
    Engine { name: "COSN", ..OBJECT_STORAGE },
    Engine { name: "CoalescingMergeTree", ..FAMILY },
    Engine { name: "CollapsingMergeTree", ..FAMILY },
    Engine {
        name: "Dictionary",
        takes_arguments: true,
        other_settings: &[],
        create: over_dictionary::create,
        open: over_dictionary::open,
        ..LOG
    },
    Engine {
        name: "Distributed",
        takes_arguments: true,
        other_settings: &[],
        create: distributed::create,
        open: distributed::open,
        ..LOG
    },
    Engine {
        name: "EmbeddedRocksDB",
        takes_arguments: true,
        takes_primary_key: true,
        other_settings: &["optimize_for_bulk_insert", "bulk_insert_block_size"],
        create: rocksdb::create,
        open: rocksdb::open,
        ..LOG
    },
    Engine { name: "Executable", ..EXTERNAL },
    Engine { name: "ExecutablePool", ..EXTERNAL },
    Engine { name: "File", takes_arguments: true, create: file::create, open: file::open, ..LOG },
    Engine { name: "GCS", ..OBJECT_STORAGE },
    Engine { name: "GraphiteMergeTree", ..FAMILY },
    Engine {
        name: "GenerateRandom",
        takes_arguments: true,
        other_settings: &[],
        create: |new| {
            let settings = random_settings(new.storage, new.ctx)?;
            let table = settings.table(schema_of(new.create, new.ctx)?);
            Ok((Arc::new(table), super::row_merging::shown(new.engine.name, arguments(new.storage))))
        },
        open: |_, found| {
            let settings = random_settings(&found.create.storage, found.ctx)?;
            Ok(Arc::new(settings.table(stored_schema(&found.create.definition)?)))
        },
        ..LOG
    },
    Engine { name: "HDFS", takes_partitions: true, ..EXTERNAL },
    Engine { name: "JDBC", ..EXTERNAL },
    Engine {
        name: "Join",
        takes_arguments: true,
        settings: keyed::JOIN_SETTINGS,
        other_settings: &[],
        create: keyed::create,
        open: keyed::open,
        ..LOG
    },
    Engine { name: "Kafka", settings: external::KAFKA_SETTINGS, ..EXTERNAL },
    Engine { name: "Log", ..LOG },
    Engine {
        name: "Memory",
        settings: memory::SETTINGS,
        other_settings: &[],
        create: memory::create,
        open: memory::open,
        ..LOG
    },
    Engine {
        name: "Merge",
        takes_arguments: true,
        other_settings: &[],
        create: merged::create,
        open: merged::open,
        ..LOG
    },
    Engine { name: MERGE_TREE, ..FAMILY },
    Engine { name: "MongoDB", ..EXTERNAL },
    Engine { name: "MySQL", settings: external::MYSQL_SETTINGS, ..EXTERNAL },
    Engine {
        name: "Null",
        other_settings: &[],
        create: |new| {
            // The name is a keyword too.
            let shown = format!("`{}`", new.engine.name);
            Ok((Arc::new(NullTable { schema: schema_of(new.create, new.ctx)? }), shown))
        },
        open: |_, found| Ok(Arc::new(NullTable { schema: stored_schema(&found.create.definition)? })),
        ..LOG
    },
    Engine { name: "ODBC", ..EXTERNAL },
    Engine { name: "OSS", ..OBJECT_STORAGE },
    Engine { name: "PostgreSQL", ..EXTERNAL },
    Engine { name: "Redis", takes_primary_key: true, ..EXTERNAL },
    Engine { name: "ReplacingMergeTree", ..FAMILY },
    Engine { name: "S3", ..OBJECT_STORAGE },
    Engine { name: "SQLite", ..EXTERNAL },
    Engine {
        name: "Set",
        settings: keyed::SETTINGS,
        other_settings: &[],
        create: keyed::create,
        open: keyed::open,
        ..LOG
    },
    Engine { name: "StripeLog", ..LOG },
    Engine { name: "SummingMergeTree", ..FAMILY },
    Engine { name: "TinyLog", ..LOG },
    Engine { name: "URL", ..EXTERNAL },
    Engine { name: "VersionedCollapsingMergeTree", ..FAMILY },
];

/// Engines of the kernel that are not here.
const OTHERS: &[&str] = &[
    "ArrowStream",
    "AzureQueue",
    "BigQuery",
    "DeltaLake",
    "DeltaLakeAzure",
    "DeltaLakeLocal",
    "DeltaLakeS3",
    "FuzzJSON",
    "FuzzQuery",
    "Hudi",
    "Iceberg",
    "IcebergAzure",
    "IcebergHDFS",
    "IcebergLocal",
    "IcebergS3",
    "Paimon",
    "PaimonAzure",
    "PaimonHDFS",
    "PaimonLocal",
    "PaimonS3",
    "QueryRunner",
    "Remote",
    "RemoteSecure",
];

/// What the kernel says of engines that it refuses as it stands alone.
fn refused(name: &str, create: &ast::CreateTable, storage: &ast::Storage, ctx: &QueryContext) -> Result<()> {
    match name {
        "FileLog" => {
            ensure!(
                arguments(storage).len() == 2,
                NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                "Arguments size of StorageFileLog should be 2, path and format name"
            );
            bail!(
                BAD_ARGUMENTS,
                "Table engine FileLog follows files below `user_files_path` alone, and there is none"
            )
        }
        "S3Queue" => {
            ensure!(
                !arguments(storage).is_empty(),
                BAD_ARGUMENTS,
                "External data source must have arguments"
            );
            bail!(NO_ELEMENTS_IN_CONFIG, "Table engine S3Queue needs a Keeper, and there is none")
        }
        "KeeperMap" => bail!(
            BAD_ARGUMENTS,
            "KeeperMap is disabled because 'keeper_map_path_prefix' config is not defined"
        ),
        "Loop" => bail!(
            INCORRECT_QUERY,
            "Direct creation of tables with ENGINE Loop is not supported, use Loop as a table function only"
        ),
        "MaterializedPostgreSQL" => bail!(
            BAD_ARGUMENTS,
            "MaterializedPostgreSQL is an experimental table engine. You can enable it with the \
             `enable_materialized_postgresql_table` setting"
        ),
        "TimeSeries" => bail!(
            SUPPORT_IS_DISABLED,
            "TimeSeries table engine is not enabled (the setting 'enable_time_series_table')"
        ),
        "YTsaurus" => bail!(
            UNKNOWN_STORAGE,
            "Table engine YTsaurus is experimental. Set `allow_experimental_ytsaurus_table_engine` setting to enable it"
        ),
        _ => {}
    }
    let Some(local) = name.strip_prefix("Replicated") else { return Ok(()) };
    if !ENGINES.iter().any(|engine| engine.takes_keys && engine.name == local) {
        return Ok(());
    }
    replicated::refused(local, create, storage, ctx)
}

/// Where `chalet_local_replicas` is set: the engine of a table that is to be replicated, for a table that is not.
fn local_replica(
    storage: &ast::Storage,
    create: &ast::CreateTable,
    ctx: &QueryContext,
) -> Option<ast::Storage> {
    let written = storage.engine.as_ref()?;
    let local = match written.name.strip_prefix("Replicated") {
        Some(local) => ENGINES.iter().find(|engine| engine.takes_keys && engine.name == local)?.name,
        None if written.name == "KeeperMap" => "EmbeddedRocksDB",
        None => return None,
    };
    if ctx.state.settings.flag("chalet_local_replicas") != Some(true) {
        return None;
    }
    let is_text = |arg: &ast::Expr| matches!(&arg.kind, ast::ExprKind::Literal(ast::Literal::String(_)));
    // The path in Keeper and the name of the replica say nothing here.
    let args = written.args.iter().flatten().skip_while(|arg| is_text(arg)).cloned();
    let args: Vec<ast::Expr> = if written.name == "KeeperMap" { Vec::new() } else { args.collect() };
    let mut storage = storage.clone();
    if let Some(engine) = &mut storage.engine {
        (engine.name, engine.args) = (local.into(), (!args.is_empty()).then_some(args));
    }
    let name = &create.name.name.name;
    ctx.database.shared.warnings.add(vec![format!(
        "Table {name}: its engine {} is replicated by ClickHouse Keeper. Here it is a {local} of this database alone",
        written.name
    )]);
    Some(storage)
}

/// The table of a statement, and the engine as SHOW CREATE prints it.
pub(super) fn create(create: &ast::CreateTable, ctx: &QueryContext) -> Result<(Arc<dyn Table>, String)> {
    let takes_keys = |name: &str| ENGINES.iter().any(|engine| engine.takes_keys && engine.name == name);
    let completed = source_storage::completed(create, takes_keys, ctx)?;
    let storage = completed.as_ref().unwrap_or(&create.storage);
    let local = local_replica(storage, create, ctx);
    let storage = local.as_ref().unwrap_or(storage);
    let store = ctx.database.shared.catalog.store().filter(|_| !create.temporary);
    let name = match &storage.engine {
        Some(engine) => engine.name.clone(),
        None => default_engine(create, ctx)?,
    };
    let Some(engine) = ENGINES.iter().find(|known| known.name == name) else {
        refused(&name, create, storage, ctx)?;
        ensure!(OTHERS.contains(&name.as_str()), UNKNOWN_STORAGE, "Unknown table engine {name}");
        let instead = if store.is_some() { "Log" } else { "Memory" };
        bail!(NOT_IMPLEMENTED, "Table engine {name} is not supported yet. Use {instead}");
    };
    check_clauses(engine, create, storage)?;
    (engine.create)(&New { engine, create, storage, ctx, store })
}

/// The table of a definition that another database kept, new and without rows.
pub(crate) fn create_stored(written: &ast::CreateTable, ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    Ok(create(written, ctx)?.0)
}

fn arguments(storage: &ast::Storage) -> &[ast::Expr] {
    storage.engine.as_ref().and_then(|engine| engine.args.as_deref()).unwrap_or_default()
}

/// The arguments of GenerateRandom.
fn random_settings(storage: &ast::Storage, ctx: &QueryContext) -> Result<generate_random::Settings> {
    let args = arguments(storage);
    ensure!(
        args.len() <= 3,
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Storage GenerateRandom requires at most three arguments: random_seed, max_string_length, max_array_length"
    );
    generate_random::Settings::of(&bind_table_arguments(args, ctx, &ctx.ids)?)
}

/// Fails for what stands behind ENGINE and the engine does not know.
fn check_clauses(engine: &Engine, create: &ast::CreateTable, storage: &ast::Storage) -> Result<()> {
    let name = engine.name;
    for setting in storage.settings.iter().map(|setting| setting.name.name.as_str()) {
        // One of the session holds for the statement alone.
        let is_of_session = is_parameter(setting)
            || settings::find(setting).is_some() && !engine.other_settings.contains(&setting);
        if engine.settings.contains(&setting) || is_of_session {
            continue;
        }
        if engine.takes_keys {
            merge_tree_settings::check_name(setting, name)?;
            continue;
        }
        let known = engine.other_settings.contains(&setting);
        ensure!(known || engine.name != "Join", BAD_ARGUMENTS, "Unknown setting {setting} for storage Join");
        ensure!(known, UNKNOWN_SETTING, "Unknown setting '{setting}': for storage {name}");
        bail!(NOT_IMPLEMENTED, "Setting {setting} of storage {name} is not supported");
    }
    let columns = &create.definition.columns;
    let has_primary_key = storage.primary_key.is_some()
        || create.definition.primary_key.is_some()
        || columns.iter().any(|column| column.primary_key);
    let clauses = storage.partition_by.is_some() && !engine.takes_partitions
        || has_primary_key && !engine.takes_primary_key
        || storage.order_by.is_some() && !engine.takes_primary_key
        || storage.sample_by.is_some()
        || !storage.ttl.is_empty()
        || columns.iter().any(|column| column.ttl.is_some());
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
fn default_engine(create: &ast::CreateTable, ctx: &QueryContext) -> Result<String> {
    let setting = if create.temporary { "default_temporary_table_engine" } else { "default_table_engine" };
    let named = ctx.state.settings.get(setting).unwrap_or_default();
    ensure!(named != "None", ENGINE_REQUIRED, "Table engine is not specified in CREATE query");
    Ok(named)
}

/// The table of a statement that was found on disk.
pub(crate) fn open(found: Found) -> Result<Arc<dyn Table>> {
    if let Some(ast::CreateSource::Function(call)) = &found.create.source {
        let schema = stored_schema(&found.create.definition)?;
        return Ok(Arc::new(FunctionTable::new(schema, (**call).clone(), found.ctx)));
    }
    let name = found.create.storage.engine.as_ref().map_or("", |engine| engine.name.as_str());
    let engine = ENGINES.iter().find(|known| known.name == name);
    let engine = engine.ok_or_else(|| {
        err!(UNKNOWN_STORAGE, "Table {} on disk has the engine {name}, which is not known", found.name)
    })?;
    (engine.open)(engine, found)
}

#[cfg(test)]
mod tests {
    use super::ENGINES;
    use crate::table_engines::TABLE_ENGINES;

    #[test]
    fn all_are_listed() {
        let engines: Vec<&str> = ENGINES.iter().map(|engine| engine.name).collect();
        assert_eq!(engines, TABLE_ENGINES);
    }
}
