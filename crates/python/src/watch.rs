//! How a query is stopped from outside: by Ctrl-C, by `interrupt()` from another thread, or when its time is over.
//!
//! Python runs signal handlers on its main thread only, between two of its own instructions, so a native call must
//! come back regularly to let it. The engine asks [`Watch::should_stop`] on the calling thread between blocks; that
//! takes the GIL for a moment and lets pending handlers run. No handler is installed and no thread is started.
//! (The other way, a helper thread that works while the caller waits, was measured at 44 us a query on 2 busy cores,
//! 2026-11-20: too much for a query that takes 50.)

use crate::background::{self, Inside, Stop};
use crate::call;
use crate::error::to_python;
use chalet_base::{Error, Result, codes, err};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// That something is to stop, now or from some time on.
#[derive(Default)]
pub struct Order {
    stopped: AtomicBool,
    deadline: Option<Deadline>,
}

struct Deadline {
    at: Instant,
    timeout: Duration,
}

impl Order {
    /// `timeout` in seconds.
    pub fn within(timeout: Option<f64>) -> PyResult<Order> {
        let Some(seconds) = timeout else { return Ok(Order::default()) };
        if seconds.is_nan() || seconds < 0.0 {
            return Err(PyValueError::new_err(format!("timeout must be seconds, not {seconds}")));
        }
        // What does not fit is as good as never.
        let timeout = Duration::try_from_secs_f64(seconds).ok();
        let ends = timeout.and_then(|timeout| Some((Instant::now().checked_add(timeout)?, timeout)));
        let deadline = ends.map(|(at, timeout)| Deadline { at, timeout });
        Ok(Order { stopped: AtomicBool::new(false), deadline })
    }

    /// Called from any thread.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    pub fn is_given(&self) -> bool {
        self.stopped.load(Ordering::Relaxed) || self.is_late()
    }

    /// Is its time over?
    fn is_late(&self) -> bool {
        self.deadline.as_ref().is_some_and(|deadline| Instant::now() >= deadline.at)
    }

    /// What is said of what this order stopped.
    pub fn error(&self) -> Error {
        if self.is_late() && !self.stopped.load(Ordering::Relaxed) {
            return self.overdue();
        }
        err!(QUERY_WAS_CANCELLED, "Query was cancelled")
    }

    /// What is said when its time is over.
    pub fn overdue(&self) -> Error {
        let timeout = self.deadline.as_ref().map_or(0, |deadline| deadline.timeout.as_millis());
        err!(TIMEOUT_EXCEEDED, "Timeout exceeded: maximum: {timeout} ms")
    }
}

/// Shared by the query and by those who may stop it.
#[derive(Default)]
pub struct Watch {
    own: Order,
    /// Of the call that the query is part of.
    of_call: Option<Arc<Order>>,
    /// What a signal handler raised, for the caller to raise when the query has stopped.
    raised: Mutex<Option<PyErr>>,
}

impl Stop for Watch {
    fn stop(&self) {
        self.own.stop();
    }
}

impl Watch {
    /// Of a query that this thread is about to run; `timeout` in seconds.
    pub fn begin(timeout: Option<f64>) -> PyResult<Arc<Watch>> {
        Ok(Arc::new(Watch { own: Order::within(timeout)?, of_call: call::order(), raised: Mutex::default() }))
    }

    /// Marks this thread as inside of the engine, see [`background::enter`]. Fails where it is to stop already.
    pub fn enter(self: &Arc<Watch>, py: Python<'_>) -> PyResult<Inside> {
        if self.is_told() {
            return Err(to_python(py, &self.error()));
        }
        let stop: Weak<Watch> = Arc::downgrade(self);
        background::enter(py, stop)
    }

    fn is_told(&self) -> bool {
        self.own.is_given() || self.of_call.as_ref().is_some_and(|order| order.is_given())
    }

    /// Called by the engine on the thread that runs the query, which holds no GIL then.
    pub fn should_stop(&self) -> bool {
        if self.is_told() {
            return true;
        }
        match Python::attach(|py| py.check_signals()) {
            Ok(()) => false,
            Err(error) => {
                self.raise(error);
                true
            }
        }
    }

    /// Stops the query; this is what its caller raises.
    pub fn raise(&self, error: PyErr) {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.own.stop();
    }

    /// What is said of a query that was stopped.
    pub fn error(&self) -> Error {
        match &self.of_call {
            Some(order) if order.is_given() => order.error(),
            _ => self.own.error(),
        }
    }

    /// What is to be raised whatever the query did.
    pub fn take_raised(&self) -> Option<PyErr> {
        let raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner).take();
        raised.or_else(|| background::ends_here().then(background::over))
    }

    /// The answer, or what is to be raised.
    pub fn outcome<T>(&self, py: Python<'_>, answer: Result<T>) -> PyResult<T> {
        match self.take_raised() {
            Some(raised) => Err(raised),
            None => answer.map_err(|e| to_python(py, &self.told(e))),
        }
    }

    fn told(&self, error: Error) -> Error {
        if error.code() == codes::QUERY_WAS_CANCELLED { self.error() } else { error }
    }
}
