//! Guards a database against use in a forked child where that would hang: where threads that the child has not were inside
//! when the process was forked, what they had locked stays locked.

use chalet_base::forks;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};

/// How many are inside of a database, in all its sessions. Only the host can count them right: nobody may fork the process
/// between [`begin`](Self::begin) and the first lock, nor [`end`](Self::end) come before the last is given back.
#[derive(Default)]
pub struct ForkGuard {
    users: AtomicUsize,
    /// Of forks, when it was last used.
    generation: AtomicU32,
}

impl ForkGuard {
    /// Counts one more. False where it was in use when this process was forked.
    pub fn begin(&self) -> bool {
        let now = forks::generation();
        if self.generation.load(SeqCst) != now {
            if self.users.load(SeqCst) != 0 {
                return false;
            }
            self.generation.store(now, SeqCst);
        }
        self.users.fetch_add(1, SeqCst);
        true
    }

    /// One less.
    pub fn end(&self) {
        self.users.fetch_sub(1, SeqCst);
    }
}
