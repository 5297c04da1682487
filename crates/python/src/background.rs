//! Who is inside of the engine: threads of our own that run queries, and Python's. The interpreter's end stops and awaits them,
//! since a thread that wants the GIL later than that takes the process down.

use crate::watch::Watch;
use chalet_base::forks::{PerProcess, has_forked};
use pyo3::exceptions::PySystemExit;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{JoinHandle, ThreadId};
use std::time::{Duration, Instant};

/// What can be stopped from outside, for as long as somebody holds it.
pub trait Stop: Send + Sync {
    fn stop(&self);
}

/// A thread that is inside.
struct Running {
    number: u64,
    stop: Weak<dyn Stop>,
}

#[derive(Default)]
struct State {
    next: u64,
    running: Vec<Running>,
    /// The thread that ends the interpreter: nobody else comes in any more.
    ending: Option<ThreadId>,
}

struct Threads {
    state: Mutex<State>,
    ended: Condvar,
}

static THREADS: PerProcess<Threads> =
    PerProcess::new(|_| Threads { state: Mutex::default(), ended: Condvar::new() });

/// How long the interpreter's end waits for queries that were told to stop; they look up between blocks.
const PATIENCE: Duration = Duration::from_secs(5);

fn state() -> MutexGuard<'static, State> {
    THREADS.state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets the interpreter end threads before itself, and lets forked children know what they are.
fn prepare(py: Python<'_>) -> PyResult<()> {
    static DONE: PyOnceLock<()> = PyOnceLock::new();
    DONE.get_or_try_init(py, || {
        let at_exit = wrap_pyfunction!(end_all, py)?;
        py.import("atexit")?.call_method1("register", (at_exit,))?;
        if let Some(register) = py.import("os")?.getattr_opt("register_at_fork")? {
            let after = PyDict::new(py);
            after.set_item("after_in_child", wrap_pyfunction!(forked, py)?)?;
            register.call((), Some(&after))?;
        }
        Ok(())
    })
    .copied()
}

/// Marks this thread as inside until what is returned is dropped; both with the GIL.
pub fn enter(py: Python<'_>, stop: Weak<dyn Stop>) -> PyResult<Inside> {
    prepare(py)?;
    let mut state = state();
    if state.ends_here() {
        return Err(over());
    }
    Ok(state.begin(stop))
}

/// Does something that takes its time, but ends by itself, without the GIL.
pub fn away<T: Send>(py: Python<'_>, f: impl FnOnce() -> T + Send) -> PyResult<T> {
    let _inside = enter(py, Weak::<Watch>::new())?;
    Ok(py.detach(f))
}

/// Starts a thread.
pub fn spawn<T: Send + 'static>(
    name: &str,
    stop: Weak<dyn Stop>,
    run: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<JoinHandle<T>> {
    let inside = state().begin(stop);
    std::thread::Builder::new().name(name.into()).spawn(move || {
        let _inside = inside;
        run()
    })
}

/// What ends a thread that is inside when the interpreter ends: quietly, unlike an error that nobody is there to handle.
pub fn over() -> PyErr {
    // `chalet.aio` knows it by this text.
    PySystemExit::new_err("The interpreter is ending")
}

/// Does the interpreter end, on another thread than this one?
pub fn ends_here() -> bool {
    state().ends_here()
}

impl State {
    fn ends_here(&self) -> bool {
        self.ending.is_some_and(|ender| ender != std::thread::current().id())
    }

    fn begin(&mut self, stop: Weak<dyn Stop>) -> Inside {
        self.next += 1;
        self.running.push(Running { number: self.next, stop });
        Inside(self.next)
    }
}

/// Takes a thread off the list when it is over, however that comes.
pub struct Inside(u64);

impl Drop for Inside {
    fn drop(&mut self) {
        let mut state = state();
        state.running.retain(|running| running.number != self.0);
        if state.ending.is_some() {
            THREADS.ended.notify_all();
        }
    }
}

#[pyfunction]
fn forked() {
    has_forked();
}

/// Stops all threads and waits for them.
#[pyfunction]
fn end_all(py: Python<'_>) {
    let stops: Vec<_> = {
        let mut state = state();
        state.ending = Some(std::thread::current().id());
        state.running.iter().map(|running| running.stop.clone()).collect()
    };
    stops.iter().filter_map(Weak::upgrade).for_each(|stop| stop.stop());
    // They may want the GIL for their last steps.
    py.detach(|| {
        let until = Instant::now() + PATIENCE;
        let mut state = state();
        while !state.running.is_empty() && Instant::now() < until {
            let left = until.saturating_duration_since(Instant::now());
            state = THREADS.ended.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    });
}
