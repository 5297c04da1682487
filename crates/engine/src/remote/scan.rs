//! Reading from servers: all shards are asked when the first worker begins, and any worker takes the next block of any of them.

use super::receiving::{Asked, Receiving};
use super::together::Member;
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
    /// Where other tables are asked at the same time.
    together: Option<Member>,
    /// `SELECT count()`, where all rows count.
    count: Option<String>,
    receiving: OnceLock<Arc<Receiving>>,
    wake: OnceLock<Wake>,
}

impl RemoteScan {
    pub fn new(table: &RemoteTable, request: &ScanRequest) -> RemoteScan {
        let counts = request.filter.is_none()
            && request.limit.is_none()
            && table.made.is_none()
            && table.narrowing.is_empty();
        RemoteScan {
            asked: match &table.together {
                Some(member) => member.asked().clone(),
                None => Arc::new(asked(table, request)),
            },
            together: table.together.clone(),
            count: counts.then(|| format!("SELECT count() FROM {}", table.name)),
            receiving: OnceLock::new(),
            wake: OnceLock::new(),
        }
    }

    fn begin(&self) -> Arc<Receiving> {
        let wake = self.wake.get().cloned();
        let begun = self.together.as_ref().and_then(|member| member.receiving(wake.clone()));
        begun.unwrap_or_else(|| Receiving::begin(&self.asked, wake))
    }
}

/// The query of a scan.
pub(super) fn asked(table: &RemoteTable, request: &ScanRequest) -> Asked {
    let schema = &table.schema;
    let columns = request.columns.iter().map(|&c| {
        let column = &schema.columns[c];
        (column.name.clone(), column.ty.clone())
    });
    Asked {
        reach: table.reach.clone(),
        sql: sql::select(&table.name, schema, table.made.as_deref(), &table.narrowing, request),
        columns: columns.collect(),
        max_block_size: request.context.max_block_size.max(1),
    }
}

impl Scan for RemoteScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        let receiving = self.receiving.get_or_init(|| self.begin());
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
        let shards = &self.asked.reach.shards;
        let hosts: Vec<String> = shards.iter().map(Hosts::name).collect();
        let mut lines = vec![("Hosts".into(), hosts.join(", ")), ("Sent".into(), self.asked.sql.clone())];
        if let Some(receiving) = self.receiving.get() {
            let of_shards = hosts.iter().zip(receiving.received());
            let received: Vec<String> = of_shards
                .map(|(host, (rows, blocks))| format!("{host} {rows} rows in {blocks} blocks"))
                .collect();
            lines.push(("Received".into(), received.join(", ")));
        }
        lines
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
