//! ENGINE = Distributed: a table of the shards of a cluster.

use super::columns::{schema_of, stored_schema};
use super::engine::{Engine, Found, New};
use crate::query_context::QueryContext;
use crate::remote::cluster;
use crate::remote::distributed::Distributed;
use chalet_base::{Result, ensure};
use chalet_binder::TableArgument;
use chalet_binder::table_columns::bind_table_arguments;
use chalet_storage::{Table, TableSchema};
use chalet_syntax::ast;
use chalet_syntax::print::string_literal;
use std::sync::Arc;

/// `Distributed(cluster, database, table[, sharding_key])`; without columns they are those of the servers' table.
pub(super) fn create(new: &New) -> Result<(Arc<dyn Table>, String)> {
    let mut table = described(new.storage, TableSchema::default(), new.ctx)?;
    let is_described = !new.create.definition.columns.is_empty() || new.create.source.is_some();
    cluster::check_macros(&table.cluster)?;
    table.schema = if is_described {
        let schema = schema_of(new.create, new.ctx)?;
        // CREATE ... AS another table brings what its scans make up.
        let own = schema.columns.iter().filter(|column| !column.is_virtual).cloned().collect();
        TableSchema { columns: own, ..schema }
    } else {
        cluster::schema(&table.cluster, &table.database, &table.table, new.ctx)?
    };
    table.validate(new.ctx)?;
    if is_described {
        cluster::shards(&table.cluster, new.ctx)?;
    }
    let names = [&table.cluster, &table.database, &table.table].map(string_literal).join(", ");
    let key = table.sharding_key.as_ref().map_or(String::new(), |key| format!(", {key}"));
    let shown = format!("Distributed({names}{key})");
    Ok((Arc::new(table), shown))
}

pub(super) fn open(_: &'static Engine, found: Found) -> Result<Arc<dyn Table>> {
    let schema = stored_schema(&found.create.definition)?;
    Ok(Arc::new(described(&found.create.storage, schema, found.ctx)?))
}

fn described(storage: &ast::Storage, schema: TableSchema, ctx: &QueryContext) -> Result<Distributed> {
    let args = storage.engine.as_ref().and_then(|engine| engine.args.as_deref()).unwrap_or_default();
    ensure!(
        (3..=5).contains(&args.len()),
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Storage Distributed requires from 3 to 5 parameters - name of configuration section with list of remote servers, name of \
         remote database, name of remote table, sharding key expression (optional), policy to store data in (optional)"
    );
    if let Some(policy) = args.get(4) {
        let policy = policy.to_string();
        let name = policy.trim_matches('\'');
        ensure!(name == "default", UNKNOWN_POLICY, "Unknown storage policy `{name}`");
    }
    let mut names = bind_table_arguments(&args[..3], ctx, &ctx.ids)?.into_iter().map(|arg| match arg {
        TableArgument::Value(value, _) => value.as_str().unwrap_or_default().to_string(),
        TableArgument::Word(word) => word,
        _ => String::new(),
    });
    let mut name = || names.next().unwrap_or_default();
    let (cluster, database, table) = (name(), name(), name());
    let sharding_key = args.get(3).map(ToString::to_string);
    Ok(Distributed { schema, cluster, database, table, sharding_key })
}
