//! Work that is divided among threads for the while it takes.

use crate::{guarded, thread};
use chalet_base::Result;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Calls `work` once with each number below `n_tasks`, on at most so many threads, of which this one is one: the others are
/// charged to the query that it is charged to. What panics or gets no memory is an error, as in [`guarded`]; after an error
/// no more tasks are begun.
pub fn each(n_tasks: usize, n_threads: usize, work: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
    let next = AtomicUsize::new(0);
    let run = || {
        guarded(|| {
            loop {
                let task = next.fetch_add(1, Relaxed);
                if task >= n_tasks {
                    return Ok(());
                }
                work(task)?;
            }
        })
        .inspect_err(|_| next.store(n_tasks, Relaxed))
    };
    if n_threads.min(n_tasks) <= 1 {
        return run();
    }
    let tracker = thread::current();
    let other = || {
        let _charged = tracker.as_ref().map(thread::enter);
        run()
    };
    std::thread::scope(|scope| {
        // A thread that the system does not start is one less: this one does its work.
        let spawn = |_| std::thread::Builder::new().spawn_scoped(scope, other).ok();
        let others: Vec<_> = (1..n_threads.min(n_tasks)).filter_map(spawn).collect();
        let mut done = run();
        for other in others {
            let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            done = done.and(other);
        }
        done
    })
}

/// The same for work that makes something: what each task has made, in their order.
pub fn map<T: Send>(
    n_tasks: usize,
    n_threads: usize,
    work: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    if n_threads.min(n_tasks) <= 1 {
        return guarded(|| (0..n_tasks).map(&work).collect());
    }
    let made: Vec<Mutex<Option<T>>> = (0..n_tasks).map(|_| Mutex::new(None)).collect();
    each(n_tasks, n_threads, |task| {
        *made[task].lock().unwrap_or_else(PoisonError::into_inner) = Some(work(task)?);
        Ok(())
    })?;
    let taken = made.into_iter().filter_map(|made| made.into_inner().unwrap_or_else(PoisonError::into_inner));
    Ok(taken.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use chalet_base::err;

    #[test]
    fn every_task_is_done_once_and_in_place() {
        for n_threads in [0, 1, 2, 7] {
            for n_tasks in [0, 1, 3, 100] {
                let made = map(n_tasks, n_threads, |task| Ok(task * task)).unwrap();
                assert_eq!(made, (0..n_tasks).map(|task| task * task).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn an_error_or_a_panic_of_one_is_that_of_all_and_ends_them() {
        for n_threads in [1, 4] {
            let begun = AtomicUsize::new(0);
            let failed = each(1_000_000, n_threads, |task| {
                begun.fetch_add(1, Relaxed);
                if task == 10 { Err(err!(BAD_ARGUMENTS, "the tenth")) } else { Ok(()) }
            });
            assert_eq!(failed.unwrap_err().code().name, "BAD_ARGUMENTS");
            assert!(begun.into_inner() < 1_000_000);
            let panicked = each(8, n_threads, |task| if task == 5 { panic!("the fifth") } else { Ok(()) });
            assert_eq!(panicked.unwrap_err().code().name, "LOGICAL_ERROR");
        }
    }
}
