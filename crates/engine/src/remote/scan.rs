//! Reading from servers: all shards are asked when the first worker begins, and any worker takes the next block of any of them.

use super::receiving::{Asked, Receiving};
use super::{Reach, RemoteTable, shard, sql};
use chalet_base::Result;
use chalet_client::Hosts;
use chalet_storage::scan::Wake;
use chalet_storage::{Morsel, Scan, ScanRequest, ScanWorker, Summary};
use std::sync::{Arc, OnceLock};
use std::task::Poll;

/// One query to every shard.
pub(super) struct RemoteScan {
    asked: Arc<Asked>,
    /// `SELECT count()`, where all rows count.
    count: Option<String>,
    receiving: OnceLock<Arc<Receiving>>,
    wake: OnceLock<Wake>,
}

impl RemoteScan {
    pub fn new(table: &RemoteTable, request: &ScanRequest) -> RemoteScan {
        let schema = &table.schema;
        let columns = request.columns.iter().map(|&c| {
            let column = &schema.columns[c];
            (column.name.clone(), column.ty.clone())
        });
        let counts = request.filter.is_none() && request.limit.is_none() && table.made.is_none();
        RemoteScan {
            asked: Arc::new(Asked {
                reach: table.reach.clone(),
                sql: sql::select(&table.name, schema, table.made.as_ref(), request),
                columns: columns.collect(),
                max_block_size: request.context.max_block_size.max(1),
            }),
            count: counts.then(|| format!("SELECT count() FROM {}", table.name)),
            receiving: OnceLock::new(),
            wake: OnceLock::new(),
        }
    }
}

impl Scan for RemoteScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        let receiving =
            self.receiving.get_or_init(|| Receiving::begin(&self.asked, self.wake.get().cloned()));
        Ok(Box::new(Worker(receiving.clone())))
    }

    /// More blocks than these are never there at once.
    fn parallelism(&self) -> usize {
        self.asked.reach.shards.len() * super::receiving::BLOCKS
    }

    fn set_wake(&self, wake: Wake) {
        let _ = self.wake.set(wake);
    }

    /// `count()` is asked of the servers; where they do not say it, rows are read and counted, and fail as they do.
    fn summary(&self, columns: &[usize]) -> Option<Summary> {
        let reach: &Reach = &self.asked.reach;
        if !columns.is_empty() {
            return None;
        }
        let count = self.count.as_deref().filter(|_| !reach.skips_unavailable)?;
        let of_shard = |shard: &Hosts| {
            let rows = shard::query(shard, count, reach.watch.as_ref()).ok()?.block;
            if rows.n_rows() == 1 { rows.columns().first()?.value(0).as_u64() } else { None }
        };
        let rows = reach.shards.iter().try_fold(0u64, |sum, shard| sum.checked_add(of_shard(shard)?))?;
        Some(Summary { rows, extremes: Vec::new() })
    }

    fn describe(&self) -> Vec<(String, String)> {
        let hosts: Vec<String> = self.asked.reach.shards.iter().map(Hosts::name).collect();
        vec![("Hosts".into(), hosts.join(", ")), ("Sent".into(), self.asked.sql.clone())]
    }
}

struct Worker(Arc<Receiving>);

impl ScanWorker for Worker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        self.0.wait()
    }

    fn poll_next(&mut self) -> Result<Poll<Option<Morsel>>> {
        self.0.poll()
    }
}
