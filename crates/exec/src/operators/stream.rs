//! Streams as a scan: the inputs of UNION ALL, one after the other, each through its own operators.

use crate::ExecContext;
use crate::pipeline::{Chain, Flow, Operator, Stream, chain_of, push_through};
use chalet_base::Result;
use chalet_columns::Block;
use chalet_storage::{Morsel, Scan, ScanWorker};
use std::collections::VecDeque;
use std::sync::Arc;

/// Task numbers of one stream stay below this; the bits above number the stream.
const TASK_BITS: u32 = 22;

struct OpenStream {
    scan: Arc<dyn Scan>,
    operators: Vec<Arc<dyn Operator>>,
}

/// Streams as a scan, one after the other: their sources are read and their operators run by the scan's workers.
pub struct StreamScan {
    streams: Arc<[OpenStream]>,
}

impl StreamScan {
    /// Opens the sources. Fails when a table cannot be read.
    pub fn open(streams: &[Stream], ctx: &ExecContext) -> Result<StreamScan> {
        let open =
            streams.iter().map(|s| Ok(OpenStream { scan: s.open(ctx)?, operators: s.operators.clone() }));
        Ok(StreamScan { streams: open.collect::<Result<_>>()? })
    }
}

impl Scan for StreamScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        Ok(Box::new(Worker { streams: self.streams.clone(), next: 0, current: None, ready: VecDeque::new() }))
    }

    fn parallelism(&self) -> usize {
        self.streams.iter().fold(0, |sum, s| sum.saturating_add(s.scan.parallelism()))
    }

    fn total_rows(&self) -> Option<u64> {
        self.streams.iter().map(|s| s.scan.total_rows()).sum()
    }
}

struct Worker {
    streams: Arc<[OpenStream]>,
    next: usize,
    current: Option<(Box<dyn ScanWorker>, Chain)>,
    ready: VecDeque<Morsel>,
}

impl ScanWorker for Worker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        loop {
            if let Some(morsel) = self.ready.pop_front() {
                return Ok(Some(morsel));
            }
            let Some((scan, chain)) = &mut self.current else {
                let Some(stream) = self.streams.get(self.next) else { return Ok(None) };
                self.next += 1;
                let chain = chain_of(&stream.operators)?;
                self.current = Some((stream.scan.worker()?, chain));
                continue;
            };
            let Some(morsel) = scan.next()? else {
                self.current = None;
                continue;
            };
            let task = ((self.next as u32 - 1) << TASK_BITS) | morsel.task.min((1 << TASK_BITS) - 1);
            let ready = &mut self.ready;
            let flow = push_through(chain, morsel.block, &mut |block: Block| {
                ready.push_back(Morsel { block, task, number: morsel.number });
                Ok(Flow::Continue)
            })?;
            if flow == Flow::Stop {
                self.current = None;
            }
        }
    }
}
