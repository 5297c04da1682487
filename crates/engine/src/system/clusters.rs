//! `system.clusters`.

use super::structures;
use crate::query_context::QueryContext;
use crate::remote::cluster;
use chalet_base::Result;
use chalet_storage::Table;
use chalet_types::Value;
use std::sync::Arc;

pub(super) fn clusters(ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let mut rows = Vec::new();
    for cluster in cluster::all(ctx)? {
        for (shard, replicas) in cluster.shards.iter().enumerate() {
            for (replica, host) in replicas.iter().enumerate() {
                rows.push(vec![
                    ("cluster", Value::from(cluster.name.as_str())),
                    ("shard_num", Value::UInt(shard as u64 + 1)),
                    ("shard_weight", Value::UInt(1)),
                    ("replica_num", Value::UInt(replica as u64 + 1)),
                    ("host_name", Value::from(host.host.as_str())),
                    ("port", Value::UInt(host.port.into())),
                    ("user", Value::from(host.user.as_str())),
                    ("default_database", Value::from(host.database.as_str())),
                ]);
            }
        }
    }
    structures::table("clusters", rows)
}
