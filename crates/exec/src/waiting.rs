//! Workers whose source has nothing for them yet: what they hold is put down, and their threads are free for other queries. The thread
//! that runs the query waits itself, because it looks whether the query is to end.

use crate::pool::{Recall, WAIT};
use chalet_storage::scan::Wake;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// What workers of one pipeline put down, `W` each.
pub(crate) struct Waiting<W> {
    state: Mutex<State<W>>,
    woken: Condvar,
    /// How often the source has called; changes while `state` is locked.
    calls: AtomicU64,
}

struct State<W> {
    put_down: Vec<W>,
    /// Threads that were asked for them and have not come yet.
    recalled: usize,
    /// The thread that runs the query waits, and nobody has called it.
    main_waits: bool,
    recall: Option<Recall>,
}

impl<W: Send + 'static> Waiting<W> {
    pub fn new() -> Arc<Waiting<W>> {
        let state = State { put_down: Vec::new(), recalled: 0, main_waits: false, recall: None };
        Arc::new(Waiting { state: Mutex::new(state), woken: Condvar::new(), calls: AtomicU64::new(0) })
    }

    fn lock(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For the source, which may outlive the workers.
    pub fn wake(self: &Arc<Self>) -> Wake {
        let waiting = Arc::downgrade(self);
        Arc::new(move || {
            if let Some(waiting) = waiting.upgrade() {
                waiting.call();
            }
        })
    }

    /// How a thread is found for what was put down.
    pub fn set_recall(&self, recall: Recall) {
        self.lock().recall = Some(recall);
    }

    /// One morsel, one worker: the main thread first, since it is there anyway.
    fn call(&self) {
        let mut state = self.lock();
        self.calls.fetch_add(1, SeqCst);
        let is_for_main = std::mem::take(&mut state.main_waits);
        let recall = state.recall.clone().filter(|_| !is_for_main && state.put_down.len() > state.recalled);
        state.recalled += usize::from(recall.is_some());
        drop(state);
        self.woken.notify_all();
        if let Some(recall) = recall {
            recall.one_more();
        }
    }

    /// To be asked before the source is.
    pub fn calls(&self) -> u64 {
        self.calls.load(SeqCst)
    }

    /// Puts a worker down, unless the source has called since; then it is given back.
    pub fn put_down(&self, worker: W, calls: u64) -> Option<W> {
        let mut state = self.lock();
        if self.calls() != calls {
            return Some(worker);
        }
        state.put_down.push(worker);
        None
    }

    /// A worker that was put down.
    pub fn take(&self) -> Option<W> {
        let mut state = self.lock();
        state.recalled = state.recalled.saturating_sub(1);
        state.put_down.pop()
    }

    /// Waits until the source calls, or a moment.
    pub fn wait(&self, calls: u64) {
        let mut state = self.lock();
        if self.calls() == calls {
            state.main_waits = true;
            let waited = self.woken.wait_timeout(state, WAIT);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.main_waits = false;
    }
}
