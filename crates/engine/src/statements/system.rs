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
    "DROP TEXT INDEX CACHES",
    "CLEAR TEXT INDEX CACHES",
];

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
        "RELOAD DICTIONARY" => reload(target, rest, ctx),
        "RELOAD DICTIONARIES" => reload_all(ctx),
        "FLUSH LOGS" => match rest.trim() {
            "" | "query_log" | "query_thread_log" | "processors_profile_log" | "trace_log" => Ok(()),
            log => bail!(BAD_ARGUMENTS, "Log name '{log}' does not exist"),
        },
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
        // There is none.
        "SYNC FILESYSTEM CACHE" if rest.trim().is_empty() => Ok(()),
        _ if WITHOUT_EFFECT.contains(&command) => Ok(()),
        _ if command.starts_with("DROP ") && command.ends_with(" CACHE") => Ok(()),
        _ => of_table(command, target, rest, ctx),
    }
}

/// Commands of one table, which are about what no table here has, and those that cannot be done.
fn of_table(command: &str, target: Option<&ast::ObjectName>, rest: &str, ctx: &QueryContext) -> Result<()> {
    let table = |name: &ast::ObjectName| Ok(existing(name, ctx)?.0);
    let name = target.map_or(String::new(), |name| name.name.name.clone());
    match (command, target) {
        ("SYNC REPLICA" | "RESTART REPLICA" | "RESTORE REPLICA", Some(target)) => {
            table(target)?;
            bail!(BAD_ARGUMENTS, "Table {name} is not replicated")
        }
        ("FLUSH DISTRIBUTED", Some(target)) => {
            table(target)?;
            bail!(BAD_ARGUMENTS, "Table {name} is not distributed")
        }
        ("LOAD PRIMARY KEY" | "UNLOAD PRIMARY KEY", None) => Ok(()),
        (
            "LOAD PRIMARY KEY" | "UNLOAD PRIMARY KEY" | "WAIT LOADING PARTS" | "PREWARM MARK CACHE",
            Some(target),
        ) => {
            ensure!(
                table(target)?.as_any().is::<MergeTree>(),
                BAD_ARGUMENTS,
                "Command {command} is supported only for MergeTree tables, but got {name}"
            );
            Ok(())
        }
        ("PREWARM PRIMARY INDEX CACHE", Some(target)) => {
            table(target)?;
            bail!(BAD_ARGUMENTS, "Primary index cache is not configured or is not enabled for table {name}")
        }
        (
            "REFRESH VIEW" | "CANCEL VIEW" | "WAIT VIEW" | "TEST VIEW" | "STOP VIEW" | "START VIEW"
            | "PAUSE VIEW",
            Some(target),
        ) => refresh::system(command, target, rest, ctx),
        ("SYNC MERGES", None) => bail!(UNKNOWN_TABLE, "Both table name and UUID are empty"),
        ("SYNC MERGES", Some(target)) => {
            table(target)?;
            bail!(BAD_ARGUMENTS, "Command SYNC MERGES requires merge_selector_algorithm = 'manual'")
        }
        ("DROP REPLICA", _) => drop_replica(rest, ctx),
        // A server has one, which is empty: inserts are done when their statements return.
        ("FLUSH ASYNC INSERT QUEUE", _) if ctx.state.identity.is_of_client() => Ok(()),
        ("FLUSH ASYNC INSERT QUEUE", _) => {
            bail!(BAD_ARGUMENTS, "Cannot flush asynchronous insert queue because it is not initialized")
        }
        ("SYNC TRANSACTION LOG", _) => bail!(NOT_IMPLEMENTED, "Transactions are not supported"),
        ("RELOAD FUNCTION", _) => {
            bail!(BAD_ARGUMENTS, "external user defined function '{}' not found", rest.trim())
        }
        ("RELOAD CONFIG", _) => {
            bail!(UNSUPPORTED_METHOD, "SYSTEM RELOAD CONFIG query is not supported in a process")
        }
        ("REPLICA READY" | "REPLICA UNREADY", _) => bail!(SUPPORT_IS_DISABLED, "Not implemented"),
        ("UNFREEZE", _) => bail!(SUPPORT_IS_DISABLED, "Support for SYSTEM UNFREEZE query is disabled"),
        ("ENABLE FAILPOINT" | "DISABLE FAILPOINT" | "NOTIFY FAILPOINT" | "WAIT FAILPOINT", _) => {
            bail!(BAD_ARGUMENTS, "Cannot find fail point {}", rest.trim())
        }
        ("ALLOCATE MEMORY" | "FREE MEMORY", _) => {
            bail!(BAD_ARGUMENTS, "SYSTEM ALLOCATE MEMORY is not enabled")
        }
        _ => bail!(NOT_IMPLEMENTED, "SYSTEM {command} is not supported"),
    }
}

/// `DROP REPLICA 'name' [FROM TABLE t]`.
fn drop_replica(rest: &str, ctx: &QueryContext) -> Result<()> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    match words[..] {
        [_, from, table, name]
            if from.eq_ignore_ascii_case("FROM") && table.eq_ignore_ascii_case("TABLE") =>
        {
            let (database, name) =
                name.split_once('.').map_or((None, name), |(database, name)| (Some(database), name));
            let shown = database.unwrap_or(&ctx.state.database);
            ensure!(
                find(ctx, database, name)?.is_some(),
                UNKNOWN_TABLE,
                "Table {shown}.{name} does not exist"
            );
            bail!(BAD_ARGUMENTS, "Table {shown}.{name} is not replicated")
        }
        _ => bail!(NOT_IMPLEMENTED, "SYSTEM DROP REPLICA is supported with FROM TABLE only"),
    }
}

/// Stops or starts the merges of a table, or of all.
fn merges(
    target: Option<&ast::ObjectName>,
    ctx: &QueryContext,
    change: &dyn Fn(&MergeTree) -> Result<()>,
) -> Result<()> {
    let tables: Vec<Arc<dyn Table>> = match target {
        Some(name) => vec![existing(name, ctx)?.0],
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

/// Reads the source of a dictionary now; its name may be a string.
fn reload(target: Option<&ast::ObjectName>, rest: &str, ctx: &QueryContext) -> Result<()> {
    let (database, name) = match target {
        Some(name) => {
            (name.database.as_ref().map(|database| database.name.as_str()), name.name.name.as_str())
        }
        None => {
            let written = rest.trim().trim_matches('\'');
            written.split_once('.').map_or((None, written), |(database, name)| (Some(database), name))
        }
    };
    let found = find(ctx, database, name)?;
    match found.as_ref().and_then(|(table, _)| table.as_any().downcast_ref::<Attached>()) {
        Some(attached) if attached.dictionary.definition.layout.reads_through => {
            attached.dictionary.forget();
            Ok(())
        }
        Some(attached) => attached.reloaded().map(drop),
        None => bail!(BAD_ARGUMENTS, "Dictionary (`{name}`) not found"),
    }
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
