//! SYSTEM: commands about what works in the background.

use super::refresh;
use crate::dictionaries::attached::Attached;
use crate::dictionaries::source::attached;
use crate::dictionaries::table::Dictionary;
use crate::merge_tree::background;
use crate::query_context::QueryContext;
use crate::tables::{existing, find};
use chalet_base::{Result, bail, ensure};
use chalet_storage::Table;
use chalet_storage::merge_tree::MergeTree;
use chalet_syntax::ast;
use std::sync::Arc;

/// About what there is not here, or is never behind: replicas, queues, logs in tables, caches that the process does not keep.
const WITHOUT_EFFECT: &[&str] = &[
    "STOP MOVES",
    "START MOVES",
    "STOP FETCHES",
    "START FETCHES",
    "STOP REPLICATED SENDS",
    "START REPLICATED SENDS",
    "STOP REPLICATION QUEUES",
    "START REPLICATION QUEUES",
    "STOP PULLING REPLICATION LOG",
    "START PULLING REPLICATION LOG",
    "STOP DISTRIBUTED SENDS",
    "START DISTRIBUTED SENDS",
    "STOP CLEANUP",
    "START CLEANUP",
    "STOP THREAD FUZZER",
    "START THREAD FUZZER",
    "RESTART REPLICAS",
    "RELOAD EMBEDDED DICTIONARIES",
    "RELOAD USERS",
    "RELOAD FUNCTIONS",
    "RELOAD ASYNCHRONOUS METRICS",
    "RESET COVERAGE",
    "JEMALLOC PURGE",
    "SYNC FILE CACHE",
    "RECONNECT ZOOKEEPER",
    "SET COVERAGE TEST",
    "DROP TEXT INDEX CACHES",
];

/// What the kernel's grammar has, and an engine in a process nothing to do with.
const UNKNOWN: &[&str] = &[
    "STOP REDUCE BLOCKING PARTS",
    "START REDUCE BLOCKING PARTS",
    "STOP VIRTUAL PARTS UPDATE",
    "START VIRTUAL PARTS UPDATE",
    "STOP REPLICATED DDL QUERIES",
    "START REPLICATED DDL QUERIES",
    "JEMALLOC DISABLE PROFILE",
    "UNLOCK SNAPSHOT",
    "DROP CATALOG REPLICA",
    "DROP DISTRIBUTED CACHE",
];

/// Logs of the kernel that may be named, whether or not they are kept.
const LOGS: &[&str] = &[
    "aggregated_zookeeper_log",
    "asynchronous_insert_log",
    "asynchronous_metric_log",
    "azure_queue_log",
    "background_schedule_pool_log",
    "backup_log",
    "blob_storage_log",
    "crash_log",
    "dead_letter_queue",
    "delta_lake_metadata_log",
    "error_log",
    "filesystem_cache_log",
    "filesystem_read_prefetches_log",
    "iceberg_metadata_log",
    "metric_log",
    "opentelemetry_span_log",
    "part_log",
    "predicate_statistics_log",
    "processors_profile_log",
    "query_log",
    "query_metric_log",
    "query_thread_log",
    "query_views_log",
    "s3_queue_log",
    "s3queue_log",
    "session_log",
    "text_log",
    "trace_log",
    "transactions_info_log",
    "transposed_metric_log",
    "zookeeper_connection_log",
    "zookeeper_log",
];

/// The one disk.
const DISK: &str = "default";

pub(crate) fn run(
    command: &str,
    target: Option<&ast::ObjectName>,
    rest: &str,
    ctx: &QueryContext,
) -> Result<()> {
    match command {
        "STOP MERGES" => {
            let check = || ctx.control.check_with_interrupt();
            merges(target, ctx, &|table| table.parts().set_merges_stopped(true, &check))
        }
        "START MERGES" => merges(target, ctx, &|table| {
            table.parts().set_merges_stopped(false, &|| Ok(()))?;
            background::wake(table, ctx);
            Ok(())
        }),
        "STOP TTL MERGES" => merges(target, ctx, &|table| {
            table.parts().set_ttl_merges_stopped(true);
            Ok(())
        }),
        "START TTL MERGES" => merges(target, ctx, &|table| {
            table.parts().set_ttl_merges_stopped(false);
            Ok(())
        }),
        "STOP MERGES ON VOLUME" | "START MERGES ON VOLUME" => of_volume(command, rest, ctx),
        "RELOAD DICTIONARY" => reload(target, rest, ctx),
        "RELOAD DICTIONARIES" => reload_all(ctx),
        "UNLOAD DICTIONARY" => unload(target, rest, ctx),
        "UNLOAD DICTIONARIES" => unload_all(ctx),
        "FLUSH LOGS" => rest.split(',').map(str::trim).filter(|log| !log.is_empty()).try_for_each(|log| {
            let name = log.strip_prefix("system.").unwrap_or(log).trim_matches('`');
            ensure!(LOGS.contains(&name), BAD_ARGUMENTS, "Log name '{log}' does not exist");
            Ok(())
        }),
        "DROP QUERY CONDITION CACHE" => {
            chalet_storage::condition_cache::clear();
            Ok(())
        }
        "DROP PARQUET METADATA CACHE" => {
            chalet_formats_parquet::cache::clear();
            Ok(())
        }
        "DROP UNCOMPRESSED CACHE" => {
            chalet_formats_parquet::dictionaries::clear();
            Ok(())
        }
        "STOP VIEWS" | "START VIEWS" | "PAUSE VIEWS" => {
            refresh::system_all(command, ctx);
            Ok(())
        }
        "STOP ALL BACKGROUND" => run("STOP VIEWS", None, "", ctx),
        "START ALL BACKGROUND" => run("START VIEWS", None, "", ctx),
        // There is none.
        "SYNC FILESYSTEM CACHE" | "DROP FILESYSTEM CACHE" if rest.is_empty() => Ok(()),
        "SYNC FILESYSTEM CACHE" | "DROP FILESYSTEM CACHE" => {
            let name = rest.split_whitespace().next().unwrap_or_default();
            bail!(BAD_ARGUMENTS, "There is no cache by name: {}", unquoted(name))
        }
        "DROP DISK METADATA CACHE" | "RESTART DISK" | "WAIT BLOBS CLEANUP" => of_disk(command, rest),
        _ if UNKNOWN.contains(&command) => bail!(BAD_ARGUMENTS, "Unknown type of SYSTEM query"),
        _ if WITHOUT_EFFECT.contains(&command) => Ok(()),
        _ if command.starts_with("DROP ") && command.ends_with(" CACHE") => Ok(()),
        _ => match target {
            Some(target) => of_table(command, target, rest, ctx),
            None => of_server(command, rest, ctx),
        },
    }
}

/// A name that may be a string or quoted.
fn unquoted(name: &str) -> &str {
    name.trim().trim_matches(['\'', '`', '"'])
}

/// Commands of one table, which are about what no table here has, and those that cannot be done.
fn of_table(command: &str, target: &ast::ObjectName, rest: &str, ctx: &QueryContext) -> Result<()> {
    let name = target.name.name.clone();
    let table = || Ok(existing(target, ctx)?.0);
    match command {
        // A table that need not be there.
        "SYNC REPLICA"
            if rest.to_ascii_uppercase().starts_with("IF EXISTS") && find_target(target, ctx)?.is_none() =>
        {
            Ok(())
        }
        "SYNC REPLICA" | "RESTART REPLICA" | "RESTORE REPLICA" => {
            table()?;
            bail!(BAD_ARGUMENTS, "Table {name} is not replicated")
        }
        "FLUSH DISTRIBUTED" => {
            table()?;
            bail!(BAD_ARGUMENTS, "Table {name} is not distributed")
        }
        "FLUSH OBJECT STORAGE QUEUE" => {
            table()?;
            bail!(BAD_ARGUMENTS, "Table {name} is not an S3Queue or AzureQueue table")
        }
        "LOAD PRIMARY KEY" | "UNLOAD PRIMARY KEY" | "WAIT LOADING PARTS" | "PREWARM MARK CACHE" => {
            ensure!(
                table()?.as_any().is::<MergeTree>(),
                BAD_ARGUMENTS,
                "Command {command} is supported only for MergeTree tables, but got {name}"
            );
            Ok(())
        }
        "PREWARM PRIMARY INDEX CACHE" => {
            table()?;
            bail!(BAD_ARGUMENTS, "Primary index cache is not configured or is not enabled for table {name}")
        }
        "WAIT QUERY RUNNER" => {
            let engine = table()?.engine().to_string();
            bail!(
                BAD_ARGUMENTS,
                "Command WAIT QUERY RUNNER is supported only for QueryRunner table, but got: {engine}"
            )
        }
        "REFRESH VIEW" | "CANCEL VIEW" | "WAIT VIEW" | "TEST VIEW" | "STOP VIEW" | "START VIEW"
        | "PAUSE VIEW" => refresh::system(command, target, rest, ctx),
        "STOP" | "START" | "PAUSE" | "CANCEL" | "REFRESH" => {
            table()?;
            ensure!(
                refresh::is_refreshed(target, ctx)?,
                BAD_ARGUMENTS,
                "Table {name} has no controllable background activity"
            );
            refresh::system(&format!("{command} VIEW"), target, rest, ctx)
        }
        "STOP REPLICATED VIEW" | "START REPLICATED VIEW" => {
            ensure!(
                refresh::is_refreshed(target, ctx)?,
                BAD_ARGUMENTS,
                "Refreshable view {name} doesn't exist"
            );
            bail!(INCORRECT_QUERY, "Refreshable materialized view is not coordinated")
        }
        "SYNC MERGES" | "SCHEDULE MERGE" => {
            table()?;
            bail!(BAD_ARGUMENTS, "Command {command} requires merge_selector_algorithm = 'manual'")
        }
        _ => bail!(NOT_IMPLEMENTED, "SYSTEM {command} is not supported"),
    }
}

/// Commands of no table.
fn of_server(command: &str, rest: &str, ctx: &QueryContext) -> Result<()> {
    match command {
        "LOAD PRIMARY KEY" | "UNLOAD PRIMARY KEY" => Ok(()),
        "SYNC MERGES" => bail!(UNKNOWN_TABLE, "Both table name and UUID are empty"),
        "DROP REPLICA" | "DROP DATABASE REPLICA" => drop_replica(command, rest, ctx),
        "SYNC DATABASE REPLICA" | "RESTORE DATABASE REPLICA" => {
            let name = known_database(rest.split_whitespace().next().unwrap_or_default(), ctx)?;
            bail!(BAD_ARGUMENTS, "Database {name} is not Replicated")
        }
        // A server has one, which is empty: inserts are done when their statements return.
        "FLUSH ASYNC INSERT QUEUE" if ctx.state.identity.is_of_client() => Ok(()),
        "FLUSH ASYNC INSERT QUEUE" => {
            bail!(BAD_ARGUMENTS, "Cannot flush asynchronous insert queue because it is not initialized")
        }
        "SYNC TRANSACTION LOG" => bail!(NOT_IMPLEMENTED, "Transactions are not supported"),
        "RELOAD FUNCTION" => {
            bail!(BAD_ARGUMENTS, "external user defined function '{}' not found", unquoted(rest))
        }
        "RELOAD CONFIG" => {
            bail!(UNSUPPORTED_METHOD, "SYSTEM RELOAD CONFIG query is not supported in a process")
        }
        "RELOAD DELTA KERNEL TRACING" => {
            let is_level = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR"].contains(&rest);
            ensure!(is_level, BAD_ARGUMENTS, "Invalid delta kernel tracing level: {rest}");
            Ok(())
        }
        "RESET DDL WORKER" => {
            bail!(NO_ELEMENTS_IN_CONFIG, "There is no Zookeeper configuration in server config")
        }
        "REPLICA READY" | "REPLICA UNREADY" => bail!(SUPPORT_IS_DISABLED, "Not implemented"),
        "INSTRUMENT ADD" | "INSTRUMENT REMOVE" => {
            bail!(SUPPORT_IS_DISABLED, "The server was compiled without XRay support")
        }
        "JEMALLOC ENABLE PROFILE" => bail!(
            SUPPORT_IS_DISABLED,
            "Queries for enabling/disabling global profiler are deprecated. Please use config 'jemalloc_enable_global_profiler' \
             or enable it per query using setting 'jemalloc_enable_profiler'"
        ),
        "JEMALLOC FLUSH PROFILE" => bail!(FILE_DOESNT_EXIST, "Cannot open file: there is no profile"),
        "UNFREEZE" => bail!(SUPPORT_IS_DISABLED, "Support for SYSTEM UNFREEZE query is disabled"),
        "ENABLE FAILPOINT" | "DISABLE FAILPOINT" | "NOTIFY FAILPOINT" | "WAIT FAILPOINT" => {
            let name = rest.split_whitespace().next().unwrap_or_default();
            bail!(BAD_ARGUMENTS, "Cannot find fail point {name}")
        }
        "ALLOCATE MEMORY" | "FREE MEMORY" => {
            bail!(BAD_ARGUMENTS, "SYSTEM ALLOCATE MEMORY is not enabled")
        }
        _ => bail!(NOT_IMPLEMENTED, "SYSTEM {command} is not supported"),
    }
}

fn of_disk(command: &str, rest: &str) -> Result<()> {
    let name = unquoted(rest);
    ensure!(name == DISK, UNKNOWN_DISK, "Unknown disk {name}");
    match command {
        "RESTART DISK" => Ok(()),
        "WAIT BLOBS CLEANUP" => bail!(BAD_ARGUMENTS, "Disk '{name}' is not an object storage disk"),
        _ => bail!(NOT_IMPLEMENTED, "Method getMetadataStorage is not implemented for disk type: local"),
    }
}

/// Stops or starts the merges of all tables: there is one volume.
fn of_volume(command: &str, rest: &str, ctx: &QueryContext) -> Result<()> {
    let (policy, volume) = rest.split_once('.').unwrap_or((rest, DISK));
    let (policy, volume) = (unquoted(policy), unquoted(volume));
    ensure!(policy == DISK, UNKNOWN_POLICY, "Unknown storage policy `{policy}`");
    ensure!(volume == DISK, UNKNOWN_VOLUME, "No such volume `{volume}` in storage policy `{policy}`");
    run(command.trim_end_matches(" ON VOLUME"), None, "", ctx)
}

/// The name of a database that there is.
fn known_database<'n>(written: &'n str, ctx: &QueryContext) -> Result<&'n str> {
    let name = unquoted(written);
    ensure!(
        ctx.database.shared.catalog.database_exists(name),
        UNKNOWN_DATABASE,
        "Database {name} does not exist"
    );
    Ok(name)
}

/// `DROP [DATABASE] REPLICA 'name' [FROM ...]`: there are none.
fn drop_replica(command: &str, rest: &str, ctx: &QueryContext) -> Result<()> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [.., what, name] = words[..] else { return Ok(()) };
    match what.to_ascii_uppercase().as_str() {
        "TABLE" => {
            let (database, name) =
                name.split_once('.').map_or((None, name), |(database, name)| (Some(database), name));
            let (database, name) = (database.map(unquoted), unquoted(name));
            let shown = database.unwrap_or(&ctx.state.database);
            ensure!(
                find(ctx, database, name)?.is_some(),
                UNKNOWN_TABLE,
                "Table {shown}.{name} does not exist"
            );
            bail!(BAD_ARGUMENTS, "Table {shown}.{name} is not replicated")
        }
        "DATABASE" => {
            let name = known_database(name, ctx)?;
            ensure!(
                command == "DROP REPLICA",
                BAD_ARGUMENTS,
                "Database {name} is not Replicated, cannot drop replica"
            );
            Ok(())
        }
        "ZKPATH" => bail!(NO_ELEMENTS_IN_CONFIG, "There is no Zookeeper configuration in server config"),
        _ => Ok(()),
    }
}

fn find_target(name: &ast::ObjectName, ctx: &QueryContext) -> Result<Option<Arc<dyn Table>>> {
    let database = name.database.as_ref().map(|database| database.name.as_str());
    Ok(find(ctx, database, &name.name.name)?.map(|(table, _)| table))
}

/// Stops or starts the merges of a table, or of all.
fn merges(
    target: Option<&ast::ObjectName>,
    ctx: &QueryContext,
    change: &dyn Fn(&MergeTree) -> Result<()>,
) -> Result<()> {
    let tables: Vec<Arc<dyn Table>> = match target {
        // A table that is not there has none.
        Some(name) => match find_target(name, ctx)? {
            Some(table) => vec![table],
            None if name.database.is_some() => return existing(name, ctx).map(drop),
            None => Vec::new(),
        },
        None => {
            let catalog = &ctx.database.shared.catalog;
            let mut all = Vec::new();
            for database in catalog.database_names() {
                all.extend(catalog.tables(&database)?.into_iter().map(|(_, entry)| entry.table));
            }
            all
        }
    };
    for table in tables {
        if let Some(table) = table.as_any().downcast_ref::<MergeTree>() {
            change(table)?;
        }
    }
    Ok(())
}

/// The dictionary of a name, which may be a string.
fn dictionary(target: Option<&ast::ObjectName>, rest: &str, ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let (database, name) = match target {
        Some(name) => {
            (name.database.as_ref().map(|database| database.name.as_str()), name.name.name.as_str())
        }
        None => {
            let written = unquoted(rest);
            written.split_once('.').map_or((None, written), |(database, name)| (Some(database), name))
        }
    };
    match find(ctx, database, name)? {
        Some((table, _)) if table.as_any().is::<Attached>() => Ok(table),
        _ => bail!(BAD_ARGUMENTS, "Dictionary (`{name}`) not found"),
    }
}

/// Reads the source of a dictionary now.
fn reload(target: Option<&ast::ObjectName>, rest: &str, ctx: &QueryContext) -> Result<()> {
    let found = dictionary(target, rest, ctx)?;
    let Some(attached) = found.as_any().downcast_ref::<Attached>() else { return Ok(()) };
    if attached.dictionary.definition.layout.reads_through {
        attached.dictionary.forget();
        return Ok(());
    }
    attached.reloaded().map(drop)
}

/// Forgets the rows of a dictionary.
fn unload(target: Option<&ast::ObjectName>, rest: &str, ctx: &QueryContext) -> Result<()> {
    let found = dictionary(target, rest, ctx)?;
    if let Some(attached) = found.as_any().downcast_ref::<Attached>() {
        attached.dictionary.unload();
    }
    Ok(())
}

/// Forgets the rows of all dictionaries.
fn unload_all(ctx: &QueryContext) -> Result<()> {
    let catalog = &ctx.database.shared.catalog;
    for database in catalog.database_names() {
        for (_, entry) in catalog.tables(&database)? {
            if let Some(dictionary) = entry.table.as_any().downcast_ref::<Dictionary>() {
                dictionary.unload();
            }
        }
    }
    Ok(())
}

/// Reads the sources of all dictionaries that were loaded before.
fn reload_all(ctx: &QueryContext) -> Result<()> {
    let catalog = &ctx.database.shared.catalog;
    for database in catalog.database_names() {
        for (_, entry) in catalog.tables(&database)? {
            if let Some(dictionary) = entry.table.as_any().downcast_ref::<Dictionary>()
                && dictionary.status().started.is_some()
            {
                match dictionary.definition.layout.reads_through {
                    true => dictionary.forget(),
                    false => attached(dictionary, ctx).reloaded().map(drop)?,
                }
            }
        }
    }
    Ok(())
}
