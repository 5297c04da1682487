//! Work on results by several threads, when there is enough of it.

use chalet_base::Result;
use chalet_memory::guarded;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Less is not worth a thread, which takes some 30 us to start.
const BYTES_A_THREAD: usize = 4 << 20;

/// Calls `work` once with each number below `n_tasks`, which together write so many bytes. The GIL must not be held.
pub fn each(n_tasks: usize, bytes: usize, work: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
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
    };
    let most = chalet_base::cores().min(n_tasks.max(1));
    let n_threads = (bytes / BYTES_A_THREAD).clamp(1, most);
    if n_threads == 1 {
        return run();
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = (1..n_threads).map(|_| scope.spawn(run)).collect();
        let mut done = run();
        for thread in threads {
            let other = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            done = done.and(other);
        }
        done
    })
}
