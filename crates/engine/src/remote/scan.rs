//! Reading from servers: each shard is a task; its blocks are handed on as they arrive.

use super::{Reach, RemoteTable, shard, sql};
use chalet_base::{Error, Result, bail};
use chalet_client::hosts::is_unreachable;
use chalet_client::{Connection, Hosts, Packet, Request, Rows};
use chalet_columns::{Block, Column};
use chalet_storage::scan::TaskQueue;
use chalet_storage::{Morsel, Scan, ScanRequest, ScanWorker, Summary};
use chalet_types::DataType;
use std::sync::Arc;

/// One query to every shard.
pub(super) struct RemoteScan(Arc<Shared>);

struct Shared {
    reach: Arc<Reach>,
    sql: String,
    /// Names and types of the blocks.
    columns: Vec<(Arc<str>, DataType)>,
    /// `SELECT count()`, where all rows count.
    count: Option<String>,
    max_block_size: usize,
    tasks: TaskQueue,
}

impl RemoteScan {
    pub fn new(table: &RemoteTable, request: &ScanRequest) -> RemoteScan {
        let schema = &table.schema;
        let columns = request.columns.iter().map(|&c| {
            let column = &schema.columns[c];
            (column.name.clone(), column.ty.clone())
        });
        let counts = request.filter.is_none() && request.limit.is_none();
        RemoteScan(Arc::new(Shared {
            reach: table.reach.clone(),
            sql: sql::select(&table.name, schema, request),
            columns: columns.collect(),
            count: counts.then(|| format!("SELECT count() FROM {}", table.name)),
            max_block_size: request.context.max_block_size.max(1),
            tasks: TaskQueue::default(),
        }))
    }
}

impl Scan for RemoteScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        Ok(Box::new(Worker { shared: self.0.clone(), current: None }))
    }

    fn parallelism(&self) -> usize {
        self.0.reach.shards.len()
    }

    /// `count()` is asked of the servers; where they do not say it, rows are read and counted, and fail as they do.
    fn summary(&self, columns: &[usize]) -> Option<Summary> {
        let Shared { reach, count, .. } = &*self.0;
        if !columns.is_empty() {
            return None;
        }
        let count = count.as_deref().filter(|_| !reach.skips_unavailable)?;
        let of_shard = |shard: &Hosts| {
            let rows = shard::query(shard, count, reach.watch.as_ref()).ok()?.block;
            if rows.n_rows() == 1 { rows.columns().first()?.value(0).as_u64() } else { None }
        };
        let rows = reach.shards.iter().try_fold(0u64, |sum, shard| sum.checked_add(of_shard(shard)?))?;
        Some(Summary { rows, extremes: Vec::new() })
    }

    fn describe(&self) -> Vec<(String, String)> {
        let hosts: Vec<String> = self.0.reach.shards.iter().map(Hosts::name).collect();
        vec![("Hosts".into(), hosts.join(", ")), ("Sent".into(), self.0.sql.clone())]
    }
}

struct Worker {
    shared: Arc<Shared>,
    current: Option<Running>,
}

/// The query of one shard.
struct Running {
    connection: Connection,
    task: u32,
    number: u32,
    /// Rows of a block that is larger than blocks are here.
    rest: Option<Block>,
}

impl ScanWorker for Worker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        loop {
            let Some(running) = &mut self.current else {
                match self.shared.begin()? {
                    Some(running) => self.current = Some(running),
                    None => return Ok(None),
                }
                continue;
            };
            let block = match running.rest.take() {
                Some(block) => block,
                None => match self.shared.next_block(running)? {
                    Some(block) => block,
                    None => {
                        self.current = None;
                        continue;
                    }
                },
            };
            let n = block.n_rows().min(self.shared.max_block_size);
            if n < block.n_rows() {
                running.rest = Some(block.slice(n, block.n_rows() - n));
            }
            let morsel = Morsel { block: block.slice(0, n), task: running.task, number: running.number };
            running.number += 1;
            return Ok(Some(morsel));
        }
    }
}

impl Shared {
    /// The query of the next shard, if there is one.
    fn begin(&self) -> Result<Option<Running>> {
        let Reach { shards, skips_unavailable, watch, .. } = &*self.reach;
        while let Some(task) = self.tasks.take(shards.len()) {
            let mut connection = match shards[task].connect(watch.as_ref()) {
                Err(error) if *skips_unavailable && is_unreachable(&error) => continue,
                connected => connected?,
            };
            connection.send(&Request::new(self.sql.clone()))?;
            return Ok(Some(Running { connection, task: task as u32, number: 0, rest: None }));
        }
        Ok(None)
    }

    /// The next rows of a shard; none at the end of its result.
    fn next_block(&self, running: &mut Running) -> Result<Option<Block>> {
        loop {
            match running.connection.receive()? {
                Packet::Data(rows) if !rows.block.is_empty() => {
                    let named = |e: Error| e.context(format!("from {}", running.connection.peer()));
                    return self.arranged(rows).map(Some).map_err(named);
                }
                Packet::EndOfStream => return Ok(None),
                _ => {}
            }
        }
    }

    /// The columns that were asked for, in the types that the server said they have.
    fn arranged(&self, rows: Rows) -> Result<Block> {
        let n_rows = rows.block.n_rows();
        if self.columns.is_empty() {
            return Ok(Block::new(Vec::new(), n_rows));
        }
        if rows.schema.len() != self.columns.len() {
            bail!(
                UNEXPECTED_PACKET_FROM_SERVER,
                "The server sent {} columns instead of {}",
                rows.schema.len(),
                self.columns.len()
            );
        }
        let columns = self.columns.iter().zip(&rows.schema).zip(rows.block.columns());
        let columns = columns.map(|(((name, ty), (_, sent)), column)| {
            let converted = chalet_formats::convert::column(column, sent, ty, &self.reach.request);
            converted.map_err(|e| e.context(format!("column {name}")))
        });
        Ok(Block::new(columns.collect::<Result<Vec<Column>>>()?, n_rows))
    }
}
