//! The result of a partitioned aggregation as a table: whoever reads it merges one partition after the other, so that
//! the merge is as parallel as what follows, and what a LIMIT does not need is never merged.

use super::PartitionedGroups;
use super::Shape;
use super::groups::Groups;
use super::partitions::{PARTITIONS, Part, Sharing};
use super::spill::Spilled;
use super::split;
use chalet_base::Result;
use chalet_base::events;
use chalet_columns::Block;
use chalet_memory::Reservation;
use chalet_storage::scan::TaskQueue;
use chalet_storage::{Morsel, Scan, ScanWorker};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) struct MergeScan(Arc<Shared>);

struct Shared {
    shape: Arc<Shape>,
    /// By partition, the parts of all workers in their order.
    parts: Vec<Mutex<Vec<Part>>>,
    /// Of all workers; these parts come before.
    spilled: Vec<Spilled>,
    queue: TaskQueue,
    max_block_size: usize,
    memory: Mutex<Reservation>,
    sharing: Sharing,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MergeScan {
    /// The result of these workers' partitioned groups; `memory` holds their reservation until they are merged.
    pub fn new(
        shape: Arc<Shape>,
        workers: Vec<PartitionedGroups>,
        memory: Reservation,
        max_block_size: usize,
    ) -> MergeScan {
        let mut parts: Vec<Vec<Part>> = (0..PARTITIONS).map(|_| Vec::new()).collect();
        let mut spilled = Vec::new();
        for mut worker in workers {
            for (parts, of_worker) in parts.iter_mut().zip(worker.partitions.take_all()) {
                parts.extend(of_worker);
            }
            spilled.extend(worker.spilled);
        }
        if let Some(first) = spilled.first() {
            events::count(first.purpose.counters().merge);
        }
        MergeScan(Arc::new(Shared {
            shape,
            parts: parts.into_iter().map(Mutex::new).collect(),
            spilled,
            queue: TaskQueue::default(),
            max_block_size,
            memory: Mutex::new(memory),
            sharing: Sharing::default(),
        }))
    }
}

impl Scan for MergeScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        Ok(Box::new(Worker { shared: self.0.clone(), task: 0, number: 0, blocks: Vec::new().into_iter() }))
    }

    fn parallelism(&self) -> usize {
        PARTITIONS
    }
}

struct Worker {
    shared: Arc<Shared>,
    task: u32,
    number: u32,
    /// Of the partition that was merged last.
    blocks: std::vec::IntoIter<Block>,
}

impl ScanWorker for Worker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        loop {
            if let Some(block) = self.blocks.next() {
                self.number += 1;
                return Ok(Some(Morsel { block, task: self.task, number: self.number }));
            }
            let Some(task) = self.shared.queue.take(PARTITIONS) else { return Ok(None) };
            (self.task, self.number) = (task as u32, 0);
            let parts = std::mem::take(&mut *lock(&self.shared.parts[task]));
            self.blocks = self.shared.merge(task, parts)?.into_iter();
        }
    }
}

impl Shared {
    fn merge(&self, partition: usize, parts: Vec<Part>) -> Result<Vec<Block>> {
        let any_on_disk = self.spilled.iter().any(|spilled| !spilled.places(partition).is_empty());
        if parts.is_empty() && !any_on_disk {
            return Ok(Vec::new());
        }
        let shape = &self.shape;
        let mut n_keys = parts.iter().map(|part| part.keys.len()).sum::<usize>();
        let mut groups = Groups::with_room(&shape.layout, &shape.calls, self.sharing.groups_of(n_keys));
        for spilled in &self.spilled {
            for place in spilled.places(partition) {
                for part in spilled.read(place, &shape.layout, &shape.calls)? {
                    n_keys += part.keys.len();
                    part.merge_into(&mut groups)?;
                }
            }
        }
        for part in parts {
            let held = part.memory();
            part.merge_into(&mut groups)?;
            let mut memory = lock(&self.memory);
            let bytes = memory.bytes().saturating_sub(held);
            memory.resize(bytes)?;
        }
        self.sharing.learn(n_keys, groups.len());
        Ok(split(shape.output(groups.finish()?), self.max_block_size))
    }
}
