//! Tasks that all workers do together, and what comes of each.

use crate::pool;
use crate::{ExecContext, QueryControl};
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
    Team::of(ctx).collect_all(n, task)
}

/// Who does tasks of a query together.
#[derive(Clone)]
pub(crate) struct Team {
    threads: usize,
    control: Arc<QueryControl>,
}

impl Team {
    /// All workers of a query, for its main thread to begin with.
    pub fn of(ctx: &ExecContext) -> Team {
        Team { threads: ctx.settings.max_threads, control: ctx.control.clone() }
    }

    /// One worker alone.
    pub fn alone(control: &Arc<QueryControl>) -> Team {
        Team { threads: 1, control: control.clone() }
    }

    /// Is this one worker?
    pub fn is_alone(&self) -> bool {
        self.threads <= 1
    }

    /// Fails when the query is to end.
    pub fn check(&self) -> Result<()> {
        self.control.check_with_interrupt()
    }

    /// As [`collect_all`].
    pub fn collect_all<T: Send + 'static>(
        &self,
        n: usize,
        task: impl Fn(usize) -> Result<T> + Send + Sync + 'static,
    ) -> Result<Vec<T>> {
        let n_workers = self.threads.min(n);
        if n_workers <= 1 {
            let checked = |number| self.check().and_then(|()| task(number));
            return (0..n).map(checked).collect();
        }
        let done: Arc<Mutex<Vec<Option<T>>>> = Arc::new(Mutex::new((0..n).map(|_| None).collect()));
        let (results, queue, control) = (done.clone(), TaskQueue::default(), self.control.clone());
        let job = move |_| {
            let _span = profile::span_of_current(Phase::Task);
            while let Some(number) = queue.take(n) {
                let result = guarded(|| {
                    control.check()?;
                    task(number)
                });
                match result {
                    Ok(result) => {
                        results.lock().unwrap_or_else(PoisonError::into_inner)[number] = Some(result);
                    }
                    Err(error) => return control.fail(error),
                }
            }
        };
        pool::run(n_workers, Arc::new(job), &|| drop(self.check()));
        if let Some(error) = self.control.take_failure() {
            return Err(error);
        }
        self.check()?;
        let done = std::mem::take(&mut *done.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(done.into_iter().flatten().collect())
    }
}
