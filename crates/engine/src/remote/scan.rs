//! Reading from servers: all shards are asked when the first worker begins, and any worker takes the next block of any of them.

use super::receiving::{Asked, Receiving};
use super::together::Member;
use super::{RemoteTable, sql};
use chalet_base::Result;
use chalet_client::Hosts;
use chalet_storage::scan::Wake;
use chalet_storage::{Morsel, Scan, ScanRequest, ScanWorker, Summary};
use chalet_types::DataType;
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
            asked: Arc::new(asked(table, request)),
            together: table.together.clone(),
            count: counts.then(|| format!("SELECT count() FROM {}", table.name)),
            receiving: OnceLock::new(),
            wake: OnceLock::new(),
        }
    }

    fn begin(&self) -> Arc<Receiving> {
        let wake = self.wake.get().cloned();
        match &self.together {
            Some(member) => member.receiving(&self.asked, wake),
            None => Receiving::begin(&self.asked, wake),
        }
    }

    /// What the servers of all shards say that their tables have.
    fn counted(&self, count: &str) -> Result<Option<u64>> {
        let asked = Asked {
            reach: self.asked.reach.clone(),
            sql: count.to_owned(),
            columns: vec![("count()".into(), DataType::UInt64)],
            max_block_size: 1,
        };
        let receiving = Receiving::begin(&Arc::new(asked), None);
        let (mut sum, mut n_shards) = (Some(0u64), 0);
        while let Some(Morsel { block, .. }) = receiving.wait()? {
            n_shards += block.n_rows();
            let count = block.column(0).value(0).as_u64();
            sum = sum.zip(count).and_then(|(sum, count)| sum.checked_add(count));
        }
        Ok(sum.filter(|_| n_shards == self.asked.reach.shards.len()))
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
        if !columns.is_empty() || self.asked.reach.skips_unavailable {
            return None;
        }
        let rows = self.counted(self.count.as_deref()?).ok()??;
        Some(Summary { rows, extremes: Vec::new() })
    }

    fn describe(&self) -> Vec<(String, String)> {
        let shards = &self.asked.reach.shards;
        let hosts: Vec<String> = shards.iter().map(Hosts::name).collect();
        let receiving = self.receiving.get();
        let asked = receiving.map_or(&self.asked, |receiving| &receiving.asked);
        let mut lines = vec![("Hosts".into(), hosts.join(", ")), ("Sent".into(), asked.sql.clone())];
        if let Some(receiving) = receiving {
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
