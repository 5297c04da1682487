//! Tasks that all workers do together, and what comes of each.

use crate::ExecContext;
use crate::pool;
use chalet_base::Result;
use chalet_memory::guarded;
use chalet_memory::profile::{self, Phase};
use chalet_storage::scan::TaskQueue;
use std::sync::{Arc, Mutex, PoisonError};

/// Does `n` tasks and gives their results in order. Fails with the first error of a task, or when the query is to end.
pub(crate) fn collect_all<T: Send + 'static>(
    n: usize,
    ctx: &ExecContext,
    task: impl Fn(usize) -> Result<T> + Send + Sync + 'static,
) -> Result<Vec<T>> {
    let done: Arc<Mutex<Vec<Option<T>>>> = Arc::new(Mutex::new((0..n).map(|_| None).collect()));
    let (results, queue, control) = (done.clone(), TaskQueue::default(), ctx.control.clone());
    let job = move |_| {
        let _span = profile::span_of_current(Phase::Task);
        while let Some(number) = queue.take(n) {
            let result = guarded(|| {
                control.check()?;
                task(number)
            });
            match result {
                Ok(result) => results.lock().unwrap_or_else(PoisonError::into_inner)[number] = Some(result),
                Err(error) => return control.fail(error),
            }
        }
    };
    let n_workers = ctx.settings.max_threads.min(n).max(1);
    pool::run(n_workers, Arc::new(job), &|| drop(ctx.control.check_with_interrupt()));
    if let Some(error) = ctx.control.take_failure() {
        return Err(error);
    }
    ctx.control.check_with_interrupt()?;
    let done = std::mem::take(&mut *done.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(done.into_iter().flatten().collect())
}
