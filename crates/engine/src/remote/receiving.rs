//! What shards send, received by a thread for each: a socket that is silent holds no worker. Blocks wait in a queue that is short, so
//! that a server which is faster than who reads it waits.

use super::Reach;
use chalet_base::events;
use chalet_base::{Error, Result, bail, err};
use chalet_client::hosts::is_unreachable;
use chalet_client::{Packet, Request, Rows, Watch};
use chalet_columns::{Block, Column};
use chalet_memory::{guarded, thread};
use chalet_storage::Morsel;
use chalet_storage::scan::Wake;
use chalet_types::DataType;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

/// Blocks of one shard that wait at once.
pub(super) const BLOCKS: usize = 4;

/// How often who waits looks whether the query is to end.
const MOMENT: Duration = Duration::from_millis(50);

/// What is asked of each shard.
pub(super) struct Asked {
    pub reach: Arc<Reach>,
    pub sql: String,
    /// Names and types of the blocks.
    pub columns: Vec<(Arc<str>, DataType)>,
    pub max_block_size: usize,
}

/// The queries of all shards; dropped, it ends them.
pub(super) struct Receiving {
    pub asked: Arc<Asked>,
    queue: Arc<Queue>,
}

struct Queue {
    state: Mutex<State>,
    /// There are blocks, or the end.
    arrived: Condvar,
    /// A block was taken, or nobody wants more.
    taken: Condvar,
    is_over: AtomicBool,
    wake: OnceLock<Wake>,
    /// What the threads that receive count, for the query.
    counted: events::Shared,
}

struct State {
    /// With the numbers of their shards.
    blocks: VecDeque<(usize, Block)>,
    /// How many of them each shard has.
    of_shards: Vec<usize>,
    /// Since when each shard waits for room.
    full_since: Vec<Option<Instant>>,
    /// Rows and blocks that each shard has sent.
    received: Vec<(u64, u64)>,
    /// Shards that have not ended.
    running: usize,
    failure: Option<Error>,
    /// The task of the next block: they are numbered as they are taken.
    task: u32,
}

impl Receiving {
    /// Asks all shards.
    pub fn begin(asked: &Arc<Asked>, wake: Option<Wake>) -> Arc<Receiving> {
        let n = asked.reach.shards.len();
        let state = State {
            blocks: VecDeque::new(),
            of_shards: vec![0; n],
            full_since: vec![None; n],
            received: vec![(0, 0); n],
            running: n,
            failure: None,
            task: 0,
        };
        let queue = Arc::new(Queue {
            state: Mutex::new(state),
            arrived: Condvar::new(),
            taken: Condvar::new(),
            is_over: AtomicBool::new(false),
            wake: wake.map(OnceLock::from).unwrap_or_default(),
            counted: events::Shared::default(),
        });
        for shard in 0..n {
            let (asked, of_thread, tracker) = (asked.clone(), queue.clone(), thread::current());
            let receive = move || {
                let _charged = tracker.as_ref().map(thread::enter);
                let before = events::Counts::of_this_thread();
                let received = guarded(|| asked.receive(shard, &of_thread));
                of_thread.counted.add_since(&before);
                of_thread.end(received);
            };
            let started = std::thread::Builder::new().name("chalet-receive".into()).spawn(receive);
            if let Err(error) = started {
                queue.end(Err(err!(CANNOT_SCHEDULE_TASK, "Cannot start a thread that receives: {error}")));
            }
        }
        Arc::new(Receiving { asked: asked.clone(), queue })
    }

    /// Whom to tell of what comes from now on, who was not known before.
    pub fn set_wake(&self, wake: Wake) {
        if self.queue.wake.set(wake).is_ok() {
            self.queue.tell();
        }
    }

    /// For how long a shard has waited for who reads, if one does.
    pub fn held_back(&self) -> Option<Duration> {
        let since = self.queue.lock().full_since.iter().flatten().min().copied()?;
        Some(since.elapsed())
    }

    /// Has a shard failed?
    pub fn has_failed(&self) -> bool {
        self.queue.lock().failure.is_some()
    }

    /// Rows and blocks that each shard has sent so far.
    pub fn received(&self) -> Vec<(u64, u64)> {
        self.queue.lock().received.clone()
    }

    /// The next block of any shard.
    pub fn poll(&self) -> Result<Poll<Option<Morsel>>> {
        self.queue.poll(&mut self.queue.lock())
    }

    /// As [`poll`](Self::poll), once there is one.
    pub fn wait(&self) -> Result<Option<Morsel>> {
        let mut state = self.queue.lock();
        loop {
            if let Poll::Ready(morsel) = self.queue.poll(&mut state)? {
                return Ok(morsel);
            }
            state = self.queue.arrived.wait_timeout(state, MOMENT).unwrap_or_else(PoisonError::into_inner).0;
            if let Some(watch) = &self.asked.reach.watch {
                drop(state);
                watch()?;
                state = self.queue.lock();
            }
        }
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        self.queue.is_over.store(true, SeqCst);
        state.blocks.clear();
        drop(state);
        self.queue.taken.notify_all();
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn poll(&self, state: &mut State) -> Result<Poll<Option<Morsel>>> {
        if let Some(error) = state.failure.clone() {
            return Err(error);
        }
        let Some((shard, block)) = state.blocks.pop_front() else {
            if state.running > 0 {
                return Ok(Poll::Pending);
            }
            self.counted.adopt();
            return Ok(Poll::Ready(None));
        };
        state.of_shards[shard] -= 1;
        self.taken.notify_all();
        let task = state.task;
        state.task = task.saturating_add(1);
        Ok(Poll::Ready(Some(Morsel { block, task, number: 0 })))
    }

    /// A block of a shard, once there is room for it; `false` where nobody wants it.
    fn push(&self, shard: usize, block: Block) -> bool {
        let mut state = self.lock();
        while state.of_shards[shard] >= BLOCKS && !self.is_over.load(SeqCst) {
            state.full_since[shard].get_or_insert_with(Instant::now);
            state = self.taken.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.full_since[shard] = None;
        if self.is_over.load(SeqCst) {
            return false;
        }
        state.of_shards[shard] += 1;
        state.blocks.push_back((shard, block));
        drop(state);
        self.tell();
        true
    }

    /// A shard has sent rows.
    fn count(&self, shard: usize, rows: usize) {
        let received = &mut self.lock().received[shard];
        received.0 += rows as u64;
        received.1 += 1;
    }

    /// A shard has sent all.
    fn end(&self, received: Result<()>) {
        let mut state = self.lock();
        state.running -= 1;
        if let Err(error) = received {
            state.failure.get_or_insert(error);
        }
        let is_known = state.running == 0 || state.failure.is_some();
        drop(state);
        if is_known {
            self.tell();
        }
    }

    fn tell(&self) {
        self.arrived.notify_all();
        if let Some(wake) = self.wake.get() {
            wake();
        }
    }
}

impl Asked {
    /// All rows of a shard.
    fn receive(&self, shard: usize, queue: &Arc<Queue>) -> Result<()> {
        let Reach { shards, skips_unavailable, .. } = &*self.reach;
        let watched = queue.clone();
        let watch: Watch = Arc::new(move || {
            if watched.is_over.load(SeqCst) {
                bail!(QUERY_WAS_CANCELLED, "Query was cancelled");
            }
            Ok(())
        });
        let mut connection = match shards[shard].connect(Some(&watch)) {
            Err(error) if *skips_unavailable && is_unreachable(&error) => return Ok(()),
            connected => connected?,
        };
        connection.send(&Request::new(self.sql.clone()))?;
        loop {
            let block = match connection.receive()? {
                Packet::Data(rows) if !rows.block.is_empty() => {
                    let named = |e: Error| e.context(format!("from {}", connection.peer()));
                    self.arranged(rows).map_err(named)?
                }
                Packet::EndOfStream => return Ok(()),
                _ => continue,
            };
            let n_rows = block.n_rows();
            queue.count(shard, n_rows);
            for from in (0..n_rows).step_by(self.max_block_size) {
                if !queue.push(shard, block.slice(from, self.max_block_size.min(n_rows - from))) {
                    return Ok(());
                }
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
