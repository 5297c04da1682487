//! What a forked child must not take over from its parent: a lock that another thread held when the process was forked stays
//! held in the child, which has no such thread.

use std::ops::Deref;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

static GENERATION: AtomicU32 = AtomicU32::new(0);

/// How many forks lie between the first process and this one, as far as it was told.
pub fn generation() -> u32 {
    GENERATION.load(SeqCst)
}

/// To be called in a forked child before anything else is asked of the engine there.
pub fn has_forked() {
    GENERATION.fetch_add(1, SeqCst);
}

/// A value with locks, of which each process has its own: a child makes a new one when it first asks.
pub struct PerProcess<T: 'static> {
    first: OnceLock<Link<T>>,
    /// Given is the parent's, whose locks may be held by nobody who is there: only `try_lock` and its like.
    make: fn(Option<&T>) -> T,
}

struct Link<T> {
    generation: u32,
    value: T,
    /// Of the next child that asked.
    next: OnceLock<Box<Link<T>>>,
}

impl<T> PerProcess<T> {
    pub const fn new(make: fn(Option<&T>) -> T) -> PerProcess<T> {
        PerProcess { first: OnceLock::new(), make }
    }
}

impl<T> Deref for PerProcess<T> {
    type Target = T;

    fn deref(&self) -> &T {
        let generation = generation();
        let link = |parent| Link { generation, value: (self.make)(parent), next: OnceLock::new() };
        let mut found = self.first.get_or_init(|| link(None));
        while found.generation != generation {
            found = found.next.get_or_init(|| Box::new(link(Some(&found.value))));
        }
        &found.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn a_child_inherits_what_is_not_locked() {
        static LIST: PerProcess<Mutex<Vec<u32>>> = PerProcess::new(|parent| {
            let inherited = parent.and_then(|list| list.try_lock().ok().map(|list| list.clone()));
            Mutex::new(inherited.unwrap_or_default())
        });
        LIST.lock().unwrap().push(1);
        has_forked();
        assert_eq!(*LIST.lock().unwrap(), [1]);
        let held = LIST.lock().unwrap();
        has_forked();
        assert_eq!(*LIST.lock().unwrap(), [0; 0]);
        drop(held);
    }
}
