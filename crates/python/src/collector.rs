//! Keeps Python's cyclic collector from running while many rows are made: none of them is garbage yet.

use chalet_base::events::{self, Event};
use chalet_base::switches::{self, Switch};
use pyo3::{Python, ffi};

/// Suspends the collector until dropped; leaves it off where the caller had it off.
pub struct Suspended<'py> {
    was_on: bool,
    // The guard must not leave the section that holds the GIL.
    _py: Python<'py>,
}

impl<'py> Suspended<'py> {
    pub fn new(py: Python<'py>) -> Self {
        if !switches::is_on(Switch::SuspendedCollector) {
            return Suspended { was_on: false, _py: py };
        }
        events::count(Event::CollectorSuspensions);
        // SAFETY: the GIL is held, as `py` shows.
        let was_on = unsafe { ffi::PyGC_Disable() } == 1;
        Suspended { was_on, _py: py }
    }
}

impl Drop for Suspended<'_> {
    fn drop(&mut self) {
        if self.was_on {
            // SAFETY: the GIL is held, as `_py` shows.
            unsafe { ffi::PyGC_Enable() };
        }
    }
}
