//! How a query is stopped from outside: by Ctrl-C, or by `interrupt()` from another thread.
//!
//! Python runs signal handlers on its main thread only, between two of its own instructions, so a native call must
//! come back regularly to let it. The engine asks [`Watch::should_stop`] on the calling thread between blocks; that
//! takes the GIL for a moment and lets pending handlers run. No handler is installed and no thread is started.
//! (The other way, a helper thread that works while the caller waits, was measured at 44 us a query on 2 busy cores,
//! 2026-11-20: too much for a query that takes 50.)

use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Shared by the query and by those who may stop it.
#[derive(Default)]
pub struct Watch {
    stopped: AtomicBool,
    /// What a signal handler raised, for the caller to raise when the query has stopped.
    raised: Mutex<Option<PyErr>>,
}

impl Watch {
    /// Called from any thread.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Called by the engine on the thread that runs the query, which holds no GIL then.
    pub fn should_stop(&self) -> bool {
        if self.stopped.load(Ordering::Relaxed) {
            return true;
        }
        match Python::attach(|py| py.check_signals()) {
            Ok(()) => false,
            Err(error) => {
                *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                self.stop();
                true
            }
        }
    }

    pub fn take_raised(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
