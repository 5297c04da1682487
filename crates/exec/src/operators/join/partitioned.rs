//! A join whose sides are on disk, both partitioned by the hash of the keys (a grace hash join): partitions are joined one by
//! one, each worker another. Rows come out in the order of the partitions. Holds the right side of a partition per worker.

use super::probe::{LeftBlock, Probe};
use super::table::JoinTable;
use crate::spill::partitions::{Partition, PartitionWriter, partitions};
use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_columns::Block;
use chalet_memory::thread;
use chalet_storage::{Morsel, Scan, ScanWorker};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// The result as a table.
pub(super) struct PartitionedJoin(Arc<Shared>);

struct Shared {
    probe: Probe,
    /// Partitions that no worker has taken yet, with the number of the next.
    waiting: Mutex<(u32, VecDeque<Pair>)>,
}

/// Rows of both sides whose keys have a part of the hash in common.
struct Pair {
    left: Option<Partition>,
    right: Partition,
}

impl PartitionedJoin {
    /// The join of left rows that were written to disk with the right side.
    pub fn open(probe: Probe, left: Vec<PartitionWriter>, right: Vec<Partition>) -> Arc<dyn Scan> {
        events::count(Event::ExternalJoinMerge);
        let mut left = partitions(left).into_iter();
        let pairs = right.into_iter().map(|right| Pair { left: left.next(), right }).collect();
        Arc::new(PartitionedJoin(Arc::new(Shared { probe, waiting: Mutex::new((0, pairs)) })))
    }
}

impl Scan for PartitionedJoin {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        let shared = self.0.clone();
        Ok(Box::new(Worker { shared, task: 0, number: 0, pairs: Vec::new(), current: None }))
    }

    fn parallelism(&self) -> usize {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner).1.len()
    }
}

struct Worker {
    shared: Arc<Shared>,
    task: u32,
    number: u32,
    /// What is left of the partition that was taken last, where it was too large to be joined at once; the next comes last.
    pairs: Vec<Pair>,
    current: Option<Current>,
}

/// The partition that is joined now.
struct Current {
    table: JoinTable,
    left: Option<Partition>,
    /// The number of the next block of the left side.
    next_block: usize,
    block: Option<LeftBlock>,
    /// Right rows without a partner, when the left side is through.
    unmatched: Option<std::vec::IntoIter<Block>>,
}

impl ScanWorker for Worker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        let before = thread::set_operator("Join");
        let block = self.next_block();
        thread::set_operator(before);
        self.number += 1;
        Ok(block?.map(|block| Morsel { block, task: self.task, number: self.number }))
    }
}

impl Worker {
    fn next_block(&mut self) -> Result<Option<Block>> {
        let shared = self.shared.clone();
        let probe = &shared.probe;
        loop {
            probe.control.check_with_interrupt()?;
            if let Some(current) = &mut self.current {
                match current.next(probe)? {
                    Some(block) => return Ok(Some(block)),
                    None => self.current = None,
                }
            }
            let pair = match self.pairs.pop() {
                Some(pair) => pair,
                None => {
                    let mut waiting = shared.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                    let Some(pair) = waiting.1.pop_front() else { return Ok(None) };
                    (self.task, self.number) = (waiting.0, 0);
                    waiting.0 += 1;
                    pair
                }
            };
            self.open(pair)?;
        }
    }

    fn open(&mut self, Pair { left, right }: Pair) -> Result<()> {
        let probe = &self.shared.probe;
        if left.as_ref().is_none_or(Partition::is_empty) && !probe.keeps_unmatched() {
            return Ok(());
        }
        if right.is_too_large() {
            let right = right.divided(&probe.control, &|block| probe.build.hashes(block))?;
            let left =
                left.map(|left| left.divided(&probe.control, &|block| probe.hashes(block))).transpose()?;
            let mut left = left.into_iter().flatten();
            let mut parts: Vec<Pair> =
                right.into_iter().map(|right| Pair { left: left.next(), right }).collect();
            parts.reverse();
            self.pairs.append(&mut parts);
            return Ok(());
        }
        let table = probe.build.index_partition(&right, &probe.control)?;
        self.current = Some(Current { table, left, next_block: 0, block: None, unmatched: None });
        Ok(())
    }
}

impl Current {
    fn next(&mut self, probe: &Probe) -> Result<Option<Block>> {
        loop {
            if let Some(unmatched) = &mut self.unmatched {
                return Ok(unmatched.next());
            }
            if let Some(block) = &mut self.block {
                match block.next(probe, &self.table)? {
                    Some(out) => return Ok(Some(out)),
                    None => self.block = None,
                }
            }
            let next = self.left.as_ref().map(|left| left.block_at(self.next_block)).transpose()?.flatten();
            self.next_block += 1;
            match next {
                Some(block) => self.block = Some(LeftBlock::new(probe, &self.table, block)?),
                None => {
                    let unmatched = match probe.keeps_unmatched() {
                        true => self.table.unmatched(&probe.left_types, probe.max_block_size),
                        false => Vec::new(),
                    };
                    self.unmatched = Some(unmatched.into_iter());
                }
            }
        }
    }
}
