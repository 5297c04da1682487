//! What the current thread works for: the tracker that it is charged to, the operator and the function that run.
//!
//! The allocator counts what each thread allocates and frees. A thread that works for a query reads these two counters now
//! and then and charges the difference to the query, so an allocation costs nothing more than before. Memory that one thread
//! of a query allocates and another one frees is right in their sum.

use crate::exceeded::Level;
use crate::{Exceeded, Tracker, allocator, process};
use chalet_base::Result;
use std::cell::Cell;
use std::ptr::null;
use std::sync::Arc;

/// The names that an error shows: empty for none.
#[derive(Clone, Copy, Default)]
pub struct Activity {
    pub operator: &'static str,
    pub function: &'static str,
}

/// All of it plain cells without a destructor: the allocator looks here while threads end.
struct State {
    tracker: Cell<*const Tracker>,
    /// Where the allocator counts the bytes of this thread; null until first asked for.
    allocated: Cell<*const u64>,
    freed: Cell<*const u64>,
    /// Allocated less freed, when the tracker was last charged.
    charged: Cell<i64>,
    /// Bytes charged since the process's own limits were looked at.
    unchecked: Cell<i64>,
    activity: Cell<Activity>,
    refused: Cell<Option<Exceeded>>,
}

thread_local! {
    static STATE: State = const {
        State {
            tracker: Cell::new(null()),
            allocated: Cell::new(null()),
            freed: Cell::new(null()),
            charged: Cell::new(0),
            unchecked: Cell::new(0),
            activity: Cell::new(Activity { operator: "", function: "" }),
            refused: Cell::new(None),
        }
    };
}

/// How many bytes more a thread may use before it looks at the limits of the process, which takes a system call.
const PROCESS_CHECK_BYTES: i64 = 16 << 20;

impl State {
    fn net(&self) -> i64 {
        if self.allocated.get().is_null() {
            // Once a thread; without it all works, only slower.
            #[cfg(target_os = "linux")]
            let _ = crate::extents::hook_arena();
            let (allocated, freed) = allocator::thread_counters();
            self.allocated.set(allocated);
            self.freed.set(freed);
        }
        if self.allocated.get().is_null() {
            return 0;
        }
        // SAFETY: the allocator keeps both counters as long as the thread, and only the thread itself changes them.
        unsafe { (*self.allocated.get()).wrapping_sub(*self.freed.get()) as i64 }
    }

    fn sync(&self) {
        // SAFETY: whoever set the tracker holds it until it is taken away again, see `Scope`.
        let Some(tracker) = (unsafe { self.tracker.get().as_ref() }) else { return };
        let net = self.net();
        let change = net - self.charged.replace(net);
        if change != 0 {
            tracker.add(change);
            self.unchecked.set(self.unchecked.get() + change);
        }
    }

    /// Of the process `for_now` bytes more are asked, which are given back at once.
    fn exceeded(&self, tracker: &Tracker, chunk: u64, for_now: u64) -> Option<Exceeded> {
        if let Some(exceeded) = tracker.exceeded_by(chunk) {
            return Some(exceeded);
        }
        let both = chunk + for_now;
        if self.unchecked.get() + both as i64 >= PROCESS_CHECK_BYTES {
            self.unchecked.set(0);
            return process::exceeded_by(both);
        }
        None
    }

    fn named(&self, exceeded: Exceeded, query: u64) -> Exceeded {
        let Activity { operator, function } = self.activity.get();
        Exceeded { operator, function, query, resident: process::resident(), ..exceeded }
    }

    /// See [`admits`].
    fn admits(&self, chunk: u64, for_now: u64) -> bool {
        // What cleans up after a refusal must not be refused.
        if std::thread::panicking() {
            return true;
        }
        // SAFETY: as in `sync`.
        let (exceeded, used) = match unsafe { self.tracker.get().as_ref() } {
            Some(tracker) => {
                self.sync();
                let exceeded = self.exceeded(tracker, chunk, for_now);
                if exceeded.is_none() {
                    tracker.note_peak(chunk);
                }
                (exceeded, tracker.current())
            }
            // Results become objects of the host when no query runs any more.
            None if chunk as i64 >= PROCESS_CHECK_BYTES => (process::exceeded_by(chunk + for_now), 0),
            None => return true,
        };
        self.refused.set(exceeded.map(|exceeded| self.named(exceeded, used)));
        exceeded.is_none()
    }
}

/// While it lives, the thread is charged to a tracker; then to the one before.
pub struct Scope {
    /// Keeps it alive.
    _tracker: Arc<Tracker>,
    before: *const Tracker,
    activity: Activity,
}

/// Charges this thread to a tracker until the scope is dropped, which must happen on this thread.
#[must_use]
pub fn enter(tracker: &Arc<Tracker>) -> Scope {
    STATE.with(|state| {
        state.sync();
        state.charged.set(state.net());
        let before = state.tracker.replace(Arc::as_ptr(tracker));
        Scope { _tracker: tracker.clone(), before, activity: state.activity.replace(Activity::default()) }
    })
}

impl Drop for Scope {
    fn drop(&mut self) {
        STATE.with(|state| {
            state.sync();
            state.tracker.set(self.before);
            state.activity.set(self.activity);
        });
    }
}

/// The tracker that this thread is charged to, for threads that work for the same query.
pub fn current() -> Option<Arc<Tracker>> {
    STATE.with(|state| {
        let tracker = state.tracker.get();
        // SAFETY: it came from an `Arc` that the scope still holds; the count is raised for the one made here.
        (!tracker.is_null()).then(|| unsafe {
            Arc::increment_strong_count(tracker);
            Arc::from_raw(tracker)
        })
    })
}

/// Bytes that this thread has allocated and freed since it began, as the allocator counts them.
pub(crate) fn counters() -> (u64, u64) {
    STATE.with(|state| {
        let _ = state.net();
        if state.allocated.get().is_null() {
            return (0, 0);
        }
        // SAFETY: as in `net`.
        unsafe { (*state.allocated.get(), *state.freed.get()) }
    })
}

/// Charges the tracker for what this thread allocated since it last was.
pub fn sync() {
    STATE.with(State::sync);
}

/// Charges as [`sync`] does, then fails with `MEMORY_LIMIT_EXCEEDED` where a limit is exceeded. `tracker` is the query's.
pub fn check(tracker: &Tracker) -> Result<()> {
    STATE.with(|state| {
        state.sync();
        match state.exceeded(tracker, 0, 0) {
            None => Ok(()),
            Some(exceeded) => Err(state.named(exceeded, tracker.current()).into_error()),
        }
    })
}

/// May a request for `chunk` bytes be served, which takes `for_now` bytes more until it is? Where not, the reason is kept for the
/// error.
#[cold]
pub(crate) fn admits(chunk: usize, for_now: usize) -> bool {
    STATE.try_with(|state| state.admits(chunk as u64, for_now as u64)).unwrap_or(true)
}

/// Takes note that there were `more` bytes just now than there are.
#[cold]
pub(crate) fn note_peak(more: usize) {
    let _ = STATE.try_with(|state| {
        state.sync();
        // SAFETY: as in `sync`.
        if let Some(tracker) = unsafe { state.tracker.get().as_ref() } {
            tracker.note_peak(more as u64);
        }
    });
}

/// Keeps the size of a request that the system did not serve, unless a limit was the reason.
pub(crate) fn note_failure(chunk: usize) {
    let _ = STATE.try_with(|state| {
        if state.refused.get().is_none() {
            state.sync();
            // SAFETY: as in `sync`.
            let used = unsafe { state.tracker.get().as_ref() }.map_or(0, Tracker::current);
            state.refused.set(Some(state.named(of_system(chunk as u64), used)));
        }
    });
}

/// Why the last request was refused.
pub(crate) fn take_refused() -> Exceeded {
    STATE.with(|state| state.refused.take().unwrap_or_else(|| of_system(0)))
}

fn of_system(chunk: u64) -> Exceeded {
    let (operator, function) = ("", "");
    Exceeded {
        level: Level::System,
        would_use: 0,
        chunk,
        limit: 0,
        query: 0,
        resident: 0,
        operator,
        function,
    }
}

/// What runs on this thread.
pub fn activity() -> Activity {
    STATE.with(|state| state.activity.get())
}

/// Says what runs on this thread from now on.
pub fn set_activity(activity: Activity) {
    STATE.with(|state| state.activity.set(activity));
}

/// Names the function that runs, and gives the one before, which is to be named again afterwards.
#[inline]
pub fn set_function(name: &'static str) -> &'static str {
    STATE.with(|state| {
        let Activity { operator, function } = state.activity.get();
        state.activity.set(Activity { operator, function: name });
        function
    })
}

/// Names the operator that runs, and gives the one before, which is to be named again afterwards.
#[inline]
pub fn set_operator(name: &'static str) -> &'static str {
    STATE.with(|state| {
        let Activity { operator, function } = state.activity.get();
        state.activity.set(Activity { operator: name, function });
        operator
    })
}
