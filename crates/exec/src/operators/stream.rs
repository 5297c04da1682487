//! Streams as a scan: the inputs of UNION ALL, one after the other, each through its own operators.

use crate::ExecContext;
use crate::pipeline::{
    Chain, Flow, Operator, Position, READ, Stream, chain_of, counted, end_chain, push_through,
};
use chalet_base::Result;
use chalet_columns::Block;
use chalet_memory::profile::{self, Kind};
use chalet_storage::scan::Wake;
use chalet_storage::{Morsel, Scan, ScanWorker};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::Poll;

/// Task numbers of one stream stay below this; the bits above number the stream.
const TASK_BITS: u32 = 22;
/// The task of rows that operators held back: behind all others of their stream.
const REST: u32 = (1 << TASK_BITS) - 1;

struct OpenStream {
    scan: Arc<dyn Scan>,
    /// In a profile.
    source_id: usize,
    operators: Vec<Arc<dyn Operator>>,
    /// Workers that push blocks of the scan now. When the last has ended, all of its blocks are in.
    active: AtomicUsize,
    /// A worker sees to what the operators held back.
    rest_is_taken: AtomicBool,
}

/// Streams as a scan, one after the other: their sources are read and their operators run by the scan's workers.
pub struct StreamScan {
    streams: Arc<[OpenStream]>,
    ctx: ExecContext,
}

impl StreamScan {
    /// Opens the sources. Fails when a table cannot be read.
    pub fn open(streams: &[Stream], ctx: &ExecContext) -> Result<StreamScan> {
        let open = streams.iter().map(|s| {
            Ok(OpenStream {
                scan: s.open(ctx)?,
                source_id: s.source.id(),
                operators: s.operators.clone(),
                active: AtomicUsize::new(0),
                rest_is_taken: AtomicBool::new(false),
            })
        });
        Ok(StreamScan { streams: open.collect::<Result<_>>()?, ctx: ctx.clone() })
    }
}

impl Scan for StreamScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        Ok(Box::new(Worker {
            streams: self.streams.clone(),
            ctx: self.ctx.clone(),
            next: 0,
            current: None,
            ready: VecDeque::new(),
            n_rest: 0,
        }))
    }

    fn parallelism(&self) -> usize {
        self.streams.iter().fold(0, |sum, s| sum.saturating_add(s.scan.parallelism()))
    }

    fn set_wake(&self, wake: Wake) {
        self.streams.iter().for_each(|stream| stream.scan.set_wake(wake.clone()));
    }

    fn total_rows(&self) -> Option<u64> {
        self.streams.iter().map(|s| s.scan.total_rows()).sum()
    }
}

struct Worker {
    streams: Arc<[OpenStream]>,
    ctx: ExecContext,
    /// The number of the next stream; the one before is read now.
    next: usize,
    current: Option<Reading>,
    ready: VecDeque<Morsel>,
    /// Morsels that came of what operators held back.
    n_rest: u32,
}

/// What a worker reads: a stream, or what an operator of it held back.
struct Reading {
    source: Box<dyn ScanWorker>,
    chain: Chain,
    /// Operators of the stream that the chain leaves out, because the rows have passed them.
    passed: usize,
}

impl ScanWorker for Worker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        match self.advance(true)? {
            Poll::Ready(morsel) => Ok(morsel),
            Poll::Pending => Ok(None),
        }
    }

    fn poll_next(&mut self) -> Result<Poll<Option<Morsel>>> {
        self.advance(false)
    }
}

impl Worker {
    /// The next morsel; pending only where it is not to be waited for.
    fn advance(&mut self, waits: bool) -> Result<Poll<Option<Morsel>>> {
        loop {
            if let Some(morsel) = self.ready.pop_front() {
                return Ok(Poll::Ready(Some(morsel)));
            }
            let Some(Reading { source, chain, passed }) = &mut self.current else {
                let Some(stream) = self.streams.get(self.next) else { return Ok(Poll::Ready(None)) };
                self.next += 1;
                stream.active.fetch_add(1, SeqCst);
                let chain = chain_of(&stream.operators)?;
                self.current = Some(Reading { source: stream.scan.worker()?, chain, passed: 0 });
                continue;
            };
            let next = {
                let id = if *passed == 0 { self.streams[self.next - 1].source_id } else { 0 };
                let _read = profile::enter(Kind::Operator, READ, id);
                let next = if waits { Poll::Ready(source.next()?) } else { source.poll_next()? };
                let Poll::Ready(next) = next else { return Ok(Poll::Pending) };
                counted(next)
            };
            let Some(Morsel { block, task, number }) = next else {
                self.end_reading()?;
                continue;
            };
            let position = Position { round: *passed as u32, task, number };
            chain.iter_mut().for_each(|link| link.worker.begin(position));
            let stream = (self.next as u32 - 1) << TASK_BITS;
            let (task, number) = match *passed {
                0 => (stream | task.min(REST - 1), number),
                _ => {
                    self.n_rest += 1;
                    (stream | REST, self.n_rest)
                }
            };
            let ready = &mut self.ready;
            let flow = push_through(chain, block, &mut |block: Block| {
                ready.push_back(Morsel { block, task, number });
                Ok(Flow::Continue)
            })?;
            if flow == Flow::Stop {
                self.end_reading()?;
            }
        }
    }

    /// Ends what is read. The last worker of a stream goes on with what its operators held back.
    fn end_reading(&mut self) -> Result<()> {
        let Some(mut reading) = self.current.take() else { return Ok(()) };
        let stream = &self.streams[self.next - 1];
        end_chain(&mut reading.chain)?;
        // A worker that comes late finds no blocks: it may be the last too, when the rest is taken.
        let goes_on = reading.passed > 0
            || stream.active.fetch_sub(1, SeqCst) == 1 && !stream.rest_is_taken.swap(true, SeqCst);
        if !goes_on {
            return Ok(());
        }
        for at in reading.passed..stream.operators.len() {
            if let Some(rest) = stream.operators[at].rest(&self.ctx)? {
                let chain = chain_of(&stream.operators[at + 1..])?;
                self.current = Some(Reading { source: rest.worker()?, chain, passed: at + 1 });
                break;
            }
        }
        Ok(())
    }
}
