//! Threads that run queries beside Python's own, and their end before the interpreter's: a thread that wants the GIL later
//! than that takes the process down.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What can be stopped from outside, for as long as somebody holds it.
pub trait Stop: Send + Sync {
    fn stop(&self);
}

/// A thread that runs.
struct Running {
    number: u64,
    /// A child that was forked has none of the threads.
    process: u32,
    stop: Weak<dyn Stop>,
}

#[derive(Default)]
struct State {
    next: u64,
    running: Vec<Running>,
}

static STATE: Mutex<State> = Mutex::new(State { next: 0, running: Vec::new() });
static ENDED: Condvar = Condvar::new();
/// How long the interpreter's end waits for queries that were told to stop; they look up between blocks.
const PATIENCE: Duration = Duration::from_secs(5);

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets the interpreter end threads before itself. Before the first [`spawn`], with the GIL.
pub fn prepare(py: Python<'_>) -> PyResult<()> {
    static DONE: PyOnceLock<()> = PyOnceLock::new();
    DONE.get_or_try_init(py, || {
        let at_exit = wrap_pyfunction!(end_all, py)?;
        py.import("atexit")?.call_method1("register", (at_exit,)).map(drop)
    })?;
    Ok(())
}

/// Starts a thread.
pub fn spawn<T: Send + 'static>(
    name: &str,
    stop: Weak<dyn Stop>,
    run: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<JoinHandle<T>> {
    let number = {
        let mut state = state();
        state.next += 1;
        let number = state.next;
        state.running.push(Running { number, process: std::process::id(), stop });
        number
    };
    let over = Over(number);
    std::thread::Builder::new().name(name.into()).spawn(move || {
        let _over = over;
        run()
    })
}

/// Takes a thread off the list when it ends, however it does.
struct Over(u64);

impl Drop for Over {
    fn drop(&mut self) {
        state().running.retain(|running| running.number != self.0);
        ENDED.notify_all();
    }
}

/// Stops all threads and waits for them.
#[pyfunction]
fn end_all(py: Python<'_>) {
    let process = std::process::id();
    let stops: Vec<_> =
        state().running.iter().filter(|r| r.process == process).map(|r| r.stop.clone()).collect();
    stops.iter().filter_map(Weak::upgrade).for_each(|stop| stop.stop());
    // They may want the GIL for their last steps.
    py.detach(|| {
        let until = Instant::now() + PATIENCE;
        let mut state = state();
        while state.running.iter().any(|running| running.process == process) && Instant::now() < until {
            let left = until.saturating_duration_since(Instant::now());
            state = ENDED.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    });
}
