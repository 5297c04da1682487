//! Clusters: lists of servers under names, which the setting `chalet_clusters` gives, `{'main': 'clickhouse://user@h1|h2,h3'}`: shards
//! divided by commas, replicas by bars, as `remote` takes them, and what a URL says of all of them.

use super::{Servers, named_table, over};
use crate::query_context::QueryContext;
use crate::table_argument::text;
use chalet_base::{Result, bail, ensure};
use chalet_binder::TableArgument;
use chalet_client::{Hosts, Options, Url};
use chalet_storage::{ColumnSchema, Table, TableSchema};
use std::sync::Arc;

/// The setting that has them.
const SETTING: &str = "chalet_clusters";

/// Servers under a name.
pub(crate) struct Cluster {
    pub name: String,
    pub shards: Vec<Vec<Options>>,
}

/// All that are known.
pub(crate) fn all(ctx: &QueryContext) -> Result<Vec<Cluster>> {
    let written = ctx.state.settings.entries(SETTING);
    let clusters = written.into_iter().map(|(name, url)| {
        let shards = Url::shards(&url).map_err(|e| e.context(format!("cluster {name}")))?;
        Ok(Cluster { name, shards })
    });
    clusters.collect()
}

/// Fails unless there is a cluster of the name.
pub(crate) fn check(name: &str, ctx: &QueryContext) -> Result<()> {
    if !all(ctx)?.iter().any(|cluster| cluster.name == name) {
        bail!(CLUSTER_DOESNT_EXIST, "Requested cluster '{name}' not found");
    }
    Ok(())
}

/// `cluster('name'[, db, table | db.table[, sharding_key]])`, and `clusterAllReplicas`, of which each replica is a shard.
pub(crate) fn table(function: &str, args: &[TableArgument], ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let words: Option<Vec<String>> = args.iter().map(text).collect();
    let Some(words) = words.filter(|words| words.len() <= 4) else {
        bail!(
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Table function '{function}' requires from 0 to 4 parameters: [<cluster name or default if not specified>, \
             [<database.table> | [<name of remote database>, <name of remote table>] | <table function>]] [, sharding_key]"
        );
    };
    let name = words.first().map_or("default", String::as_str);
    let cluster = named(name, ctx)?;
    let named = words.len().min(1);
    let (database, table, rest) = named_table(&words[named..], &args[named..])?;
    ensure!(
        rest.is_empty(),
        NOT_IMPLEMENTED,
        "A sharding key of table function '{function}' is not supported"
    );
    let shards: Vec<Vec<Options>> = if function == "clusterAllReplicas" {
        cluster.shards.into_iter().flatten().map(|replica| vec![replica]).collect()
    } else {
        cluster.shards
    };
    over(hosts(shards, ctx), &database, &table, ctx)
}

fn named(name: &str, ctx: &QueryContext) -> Result<Cluster> {
    let Some(cluster) = all(ctx)?.into_iter().find(|cluster| cluster.name == name) else {
        bail!(CLUSTER_DOESNT_EXIST, "Requested cluster '{name}' not found")
    };
    Ok(cluster)
}

/// Servers as a statement speaks to them.
fn hosts(shards: Vec<Vec<Options>>, ctx: &QueryContext) -> Vec<Hosts> {
    let limits = Servers::of(ctx);
    let shards = shards
        .into_iter()
        .map(|replicas| Hosts::new(replicas.into_iter().map(|replica| limits.limit(replica)).collect()));
    shards.collect()
}

/// The shards of a cluster.
pub(crate) fn shards(name: &str, ctx: &QueryContext) -> Result<Vec<Hosts>> {
    Ok(hosts(named(name, ctx)?.shards, ctx))
}

/// What the servers of a cluster say that the columns of a table are.
pub(crate) fn schema(name: &str, database: &str, table: &str, ctx: &QueryContext) -> Result<TableSchema> {
    let described = over(shards(name, ctx)?, database, table, ctx)?.schema();
    let own = described.columns.iter().filter(|column| column.in_star());
    Ok(TableSchema::new(
        own.map(|column| ColumnSchema::new(column.name.clone(), column.ty.clone())).collect(),
    ))
}
