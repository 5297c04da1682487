//! Clusters: lists of servers under names, which the setting `chalet_clusters` gives, `{'main': 'clickhouse://user@h1|h2,h3'}`: shards
//! divided by commas, replicas by bars, as `remote` takes them, and what a URL says of all of them.

use super::arguments::{Source, sharding_key};
use super::{Servers, over};
use crate::macros;
use crate::query_context::QueryContext;
use crate::table_argument::text;
use chalet_base::{Result, bail, ensure, err};
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

/// Fails for a name with macros: none is known.
pub(crate) fn check_macros(name: &str) -> Result<()> {
    match macros::expand(name, &[]) {
        Ok(_) => Ok(()),
        Err(error) => bail!(BAD_ARGUMENTS, "Failed to expand macros in cluster name: {}", error.message()),
    }
}

/// Fails unless there is a cluster of the name.
pub(crate) fn check(name: &str, ctx: &QueryContext) -> Result<()> {
    if !all(ctx)?.iter().any(|cluster| cluster.name == name) {
        check_macros(name)?;
        bail!(CLUSTER_DOESNT_EXIST, "Requested cluster '{name}' not found");
    }
    Ok(())
}

/// `cluster('name'[, db, table | db.table[, sharding_key]])`, and `clusterAllReplicas`, of which each replica is a shard.
pub(crate) fn table(function: &str, args: &[TableArgument], ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let wrong_number = || {
        err!(
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Table function '{function}' requires from 0 to 4 parameters: [<cluster name or default if not specified>, \
             [<database.table> | [<name of remote database>, <name of remote table>] | <table function>]] [, sharding_key]"
        )
    };
    ensure!(args.len() <= 4, NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "{}", wrong_number().message());
    let (name, rest) = match args.split_first() {
        Some((name, rest)) => (text(name).ok_or_else(wrong_number)?, rest),
        None => ("default".into(), args),
    };
    let cluster = named(&name, ctx)?;
    let (source, rest) = Source::of(rest).ok_or_else(wrong_number)?;
    let key = sharding_key(rest, wrong_number)?;
    let shards: Vec<Vec<Options>> = if function == "clusterAllReplicas" {
        cluster.shards.into_iter().flatten().map(|replica| vec![replica]).collect()
    } else {
        cluster.shards
    };
    over(hosts(shards, ctx), &source, key.as_deref(), ctx)
}

fn named(name: &str, ctx: &QueryContext) -> Result<Cluster> {
    let Some(cluster) = all(ctx)?.into_iter().find(|cluster| cluster.name == name) else {
        check_macros(name)?;
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
    let source = Source::Table(database.into(), table.into());
    let described = over(shards(name, ctx)?, &source, None, ctx)?.schema();
    let own = described.columns.iter().filter(|column| column.in_star());
    Ok(TableSchema::new(
        own.map(|column| ColumnSchema::new(column.name.clone(), column.ty.clone())).collect(),
    ))
}
