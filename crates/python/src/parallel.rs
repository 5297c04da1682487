//! Work on results by several threads, when there is enough of it.

use chalet_base::Result;
use chalet_memory::parallel;

/// Less is not worth a thread, which takes some 30 us to start.
const BYTES_A_THREAD: usize = 4 << 20;

/// Calls `work` once with each number below `n_tasks`, which together write so many bytes. The GIL must not be held.
pub fn each(n_tasks: usize, bytes: usize, work: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
    let n_threads = (bytes / BYTES_A_THREAD).clamp(1, chalet_base::cores());
    parallel::each(n_tasks, n_threads, work)
}
