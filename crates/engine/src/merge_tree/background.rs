//! Merges that nobody waits for: one thread of the process, which begins with the first INSERT that leaves something to merge,
//! or with the opening of a database where an ended process has left something, and ends when there is nothing left to do.
//!
//! It holds no table and no database: one that is closed is not merged on, and its lock is free at once.

use super::merge::{MergeOptions, merge_parts};
use crate::database::{Database, Shared};
use crate::query_context::QueryContext;
use crate::run_options::RunOptions;
use crate::session_state::{Identity, SessionState};
use crate::stack::entered;
use chalet_base::forks::PerProcess;
use chalet_base::{Result, bail, codes};
use chalet_storage::merge_tree::parts::Parts;
use chalet_storage::merge_tree::{Definition, MergeTree};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

/// A table that has parts to merge.
struct Job {
    parts: Weak<Parts>,
    definition: Arc<Definition>,
    database: Weak<Shared>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    is_running: bool,
    /// Whose table is merged now.
    current: Option<Weak<Shared>>,
}

#[derive(Default)]
struct Worker {
    queue: Mutex<Queue>,
    idle: Condvar,
}

static WORKER: PerProcess<Worker> = PerProcess::new(|_| Worker::default());

fn lock() -> MutexGuard<'static, Queue> {
    WORKER.queue.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has a table merged, if it has parts that should be.
pub(crate) fn wake(table: &MergeTree, ctx: &QueryContext) {
    wake_in(table, &ctx.database);
}

/// Has the tables of a database that was just opened merged: an ended process may have left merges to be done.
pub(crate) fn resume(database: &Database) {
    let catalog = &database.shared.catalog;
    for name in catalog.database_names() {
        for (_, entry) in catalog.tables(&name).unwrap_or_default() {
            if let Some(table) = entry.table.as_any().downcast_ref::<MergeTree>() {
                wake_in(table, database);
            }
        }
    }
}

fn wake_in(table: &MergeTree, database: &Database) {
    if !matches!(table.choose_merge(), Ok(Some(_))) {
        return;
    }
    let mut queue = lock();
    let parts = Arc::downgrade(table.parts());
    if queue.jobs.iter().any(|job| job.parts.ptr_eq(&parts)) {
        return;
    }
    let database = database.downgrade();
    queue.jobs.push_back(Job { parts, definition: table.definition().clone(), database });
    if !queue.is_running {
        // Without a thread nothing is merged until the next INSERT, and nothing is wrong.
        queue.is_running = std::thread::Builder::new().name("chalet-merge".into()).spawn(run).is_ok();
    }
}

/// Called when the last session of a database is gone: its tables are not merged any more when this returns.
pub(crate) fn settle(database: *const Shared) {
    let mut queue = lock();
    queue.jobs.retain(|job| !std::ptr::eq(job.database.as_ptr(), database));
    while queue.current.as_ref().is_some_and(|current| std::ptr::eq(current.as_ptr(), database)) {
        queue = WORKER.idle.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
}

fn run() {
    loop {
        let job = {
            let mut queue = lock();
            let Some(job) = queue.jobs.pop_front() else {
                queue.is_running = false;
                return;
            };
            queue.current = Some(job.database.clone());
            job
        };
        // An error is told by whoever reads the parts; they are left as they are.
        let _ = entered(|| work(&job));
        let mut queue = lock();
        queue.current = None;
        WORKER.idle.notify_all();
    }
}

/// Merges until nothing is left to be merged, or the database is closed.
fn work(job: &Job) -> Result<()> {
    loop {
        let Some(parts) = job.parts.upgrade() else { return Ok(()) };
        let table = MergeTree::of(job.definition.clone(), parts);
        let Some((choice, _claim)) = table.choose_merge()? else { return Ok(()) };
        // Keys need functions, and neither tables nor files.
        let mut state = SessionState::new(Identity::of_user("default".into()));
        state.settings.set("max_threads", "1")?;
        let ctx = QueryContext::new(Database::default(), state, &RunOptions::default(), 0)?;
        let _charged = chalet_memory::thread::enter(&ctx.control.memory);
        let check = || match table.parts().should_give_up() || job.database.strong_count() == 0 {
            true => bail!(ABORTED, "Cancelled merging parts"),
            false => Ok(()),
        };
        match merge_parts(&table, &choice.parts, &MergeOptions::PLAIN, &ctx, &check) {
            Err(error) if error.code() == codes::ABORTED => return Ok(()),
            done => done?,
        }
    }
}
