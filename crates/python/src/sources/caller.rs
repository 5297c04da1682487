//! Names in the caller's frames: its local variables, then its global ones. No further: what a function sees is what its
//! statements see.

use super::borrowed::BorrowedMemory;
use super::described::{self, Made};
use super::objects::Types;
use super::raised;
use crate::call::{Seen, variable_of_any_frame, variables};
use chalet_base::{Result, err};
use chalet_engine::replacement_scan::{ReplacementScan, ReplacementTable, Table};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Objects by the names under which a connection knows them.
pub type Registered = Mutex<BTreeMap<String, Py<PyAny>>>;

/// Which variables of the caller are tables.
pub enum Sight {
    /// Those of its frame when a statement names one.
    Frames,
    /// As they were: local ones and global ones. For statements that run where the caller is not.
    Kept(Seen),
    Nothing,
}

impl Sight {
    /// The variables of now.
    pub fn kept(py: Python<'_>) -> PyResult<Sight> {
        Ok(match variables(py)? {
            Some(seen) => Sight::Kept(seen.keep()?),
            None => Sight::Nothing,
        })
    }
}

/// An object that a statement has named, and what table it is.
struct Named {
    name: String,
    object: Py<PyAny>,
    table: Made,
    /// Whether its types may come from samples.
    assumed: bool,
}

/// Who called: lives as long as the statements do.
pub struct Caller {
    /// `tables=` of the call.
    given: Option<Py<PyDict>>,
    registered: Arc<Registered>,
    borrowed: Arc<BorrowedMemory>,
    /// Every object is described once.
    made: Mutex<Vec<Named>>,
    /// Whether types may be taken from samples of values now.
    assumes: AtomicBool,
    sight: Sight,
}

impl Caller {
    pub fn new(
        given: Option<Py<PyDict>>,
        registered: Arc<Registered>,
        borrowed: Arc<BorrowedMemory>,
        sight: Sight,
    ) -> Caller {
        Caller { given, registered, borrowed, made: Mutex::default(), assumes: AtomicBool::new(false), sight }
    }

    /// The objects that statements have named, by name.
    pub fn used<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let used = PyDict::new(py);
        for made in &*self.made() {
            used.set_item(&made.name, &made.object)?;
        }
        Ok(used)
    }

    /// For objects that have further objects inside.
    pub fn borrowed(&self) -> &Arc<BorrowedMemory> {
        &self.borrowed
    }

    pub fn registered(&self) -> &Arc<Registered> {
        &self.registered
    }

    /// Whether types may be taken from samples now.
    pub fn assumes(&self) -> bool {
        self.assumes.load(Relaxed)
    }

    /// Who resolves the names in queries that have not run.
    fn relations(&self) -> Vec<Arc<Caller>> {
        let relation = |known: &Named| match &known.table {
            Made::Relation(_, inner) => Some(inner.clone()),
            Made::Rows(_) | Made::Answer(_) => None,
        };
        self.made().iter().filter_map(relation).collect()
    }

    fn made(&self) -> MutexGuard<'_, Vec<Named>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A variable of the innermost frame that is not of this package.
    fn variable<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let seen = match &self.sight {
            Sight::Frames => variables(py)?,
            Sight::Kept(seen) => Some(seen.variables(py)),
            Sight::Nothing => None,
        };
        let Some(seen) = seen else { return Ok(None) };
        if seen.locals.contains(name)? {
            return Ok(Some(seen.locals.get_item(name)?));
        }
        seen.globals.get_item(name)
    }

    fn given_object<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        if let Some(given) = &self.given
            && let Some(object) = given.bind(py).get_item(name)?
        {
            return Ok(Some(object));
        }
        let registered = self.registered.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(registered.get(name).map(|object| object.bind(py).clone()))
    }

    /// What a name was made, and whether its types may come from samples.
    fn known(&self, name: &str) -> Option<(Made, bool)> {
        let made = self.made();
        made.iter().find(|known| known.name == name).map(|known| (known.table.clone(), known.assumed))
    }

    /// The table of a name with the types of all values. Objects are looked at without the lock: they may let go of the GIL,
    /// and whoever takes it may wait for the lock.
    fn certain(&self, name: &str, table: &ReplacementTable) -> Result<Arc<dyn Table>> {
        let certain = Arc::new(table.certain()?);
        if let Some(known) = self.made().iter_mut().find(|known| known.name == name) {
            (known.table, known.assumed) = (Made::Rows(certain.clone()), false);
        }
        Ok(certain)
    }

    /// The table that an object is; none if it is no table.
    fn table(&self, py: Python<'_>, name: &str, object: &Bound<'_, PyAny>) -> Result<Option<Arc<dyn Table>>> {
        let assumed = self.assumes();
        if let Some(known) = self.known(name) {
            return match known {
                (Made::Rows(table), true) if !assumed => self.certain(name, &table).map(Some),
                (made, _) => Ok(Some(made.table())),
            };
        }
        let types = if assumed { Types::Assumed } else { Types::Certain };
        let made =
            described::table(py, object, self, types).map_err(|e| e.context(format!("in '{name}'")))?;
        Ok(made.map(|made| {
            let (name, object, table) = (name.to_owned(), object.clone().unbind(), made.table());
            self.made().push(Named { name, object, table: made, assumed });
            table
        }))
    }

    /// `a.b` is the attribute `b` of the variable `a`.
    fn found_object<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        if let Some(whole) = self.given_object(py, name)? {
            return Ok(Some(whole));
        }
        let mut parts = name.split('.');
        let Some(first) = parts.next() else { return Ok(None) };
        let mut object = self.given_object(py, first)?;
        if object.is_none() {
            object = self.variable(py, first)?;
        }
        // Whoever writes `Python(frame)` means a variable, wherever it is; a bare name may mean something else.
        if object.is_none() && matches!(self.sight, Sight::Frames) {
            object = variable_of_any_frame(py, first)?;
        }
        let Some(mut object) = object else { return Ok(None) };
        for part in parts {
            match object.getattr_opt(part)? {
                Some(found) => object = found,
                None => return Ok(None),
            }
        }
        Ok(Some(object))
    }
}

impl ReplacementScan for Caller {
    fn given(&self, name: &str) -> Result<Option<Arc<dyn Table>>> {
        let nothing = || self.registered.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        if self.given.is_none() && nothing() {
            return Ok(None);
        }
        Python::attach(|py| match self.given_object(py, name).map_err(|e| raised(py, &e))? {
            Some(object) => Ok(Some(self.table(py, name, &object)?.ok_or_else(|| no_table(name, &object))?)),
            None => Ok(None),
        })
    }

    fn found(&self, name: &str) -> Result<Option<Arc<dyn Table>>> {
        Python::attach(|py| match self.variable(py, name).map_err(|e| raised(py, &e))? {
            Some(object) => self.table(py, name, &object),
            None => Ok(None),
        })
    }

    fn named(&self, name: &str) -> Result<Arc<dyn Table>> {
        Python::attach(|py| {
            let object = self.found_object(py, name).map_err(|e| raised(py, &e))?.ok_or_else(|| {
                err!(
                    PY_OBJECT_NOT_FOUND,
                    "Python object {name} not found: it is neither in tables=, nor registered, nor a local or global \
                     variable of the caller"
                )
            })?;
            self.table(py, name, &object)?.ok_or_else(|| no_table(name, &object))
        })
    }

    fn hint(&self, name: &str) -> Option<String> {
        Python::attach(|py| {
            let object = self.variable(py, name).ok().flatten()?;
            let kind = object.get_type().name().ok()?;
            Some(match described::is_table(&object) {
                // Found it is by its name alone.
                Ok(true) => {
                    format!("the Python variable of this name, a {kind}, is in no database: write {name}")
                }
                _ => format!("the Python variable of this name is a {kind}, which is no table"),
            })
        })
    }

    fn assume(&self, assumes: bool) {
        self.assumes.store(assumes, Relaxed);
        self.relations().iter().for_each(|inner| inner.assume(assumes));
    }

    fn settle(&self) -> Result<bool> {
        // As in `certain`, without the lock.
        let assumed = |known: &Named| match &known.table {
            Made::Rows(table) if known.assumed => Some(table.clone()),
            _ => None,
        };
        let tables: Vec<_> = self.made().iter().filter_map(assumed).collect();
        let mut any = false;
        for table in tables {
            any |= table.settle()?;
        }
        for inner in self.relations() {
            any |= inner.settle()?;
        }
        Ok(any)
    }

    fn has_assumed(&self) -> bool {
        let own = self.made().iter().any(|known| known.assumed && matches!(known.table, Made::Rows(_)));
        own || self.relations().iter().any(|inner| inner.has_assumed())
    }

    fn borrowed(&self) -> Vec<Range<usize>> {
        self.borrowed.ranges()
    }
}

fn no_table(name: &str, object: &Bound<'_, PyAny>) -> chalet_base::Error {
    let kind = object.get_type().name().map_or_else(|_| "object".into(), |name| name.to_string());
    err!(
        PY_OBJECT_NOT_FOUND,
        "Python object {name} is a {kind}, which is no table: a DataFrame, an Arrow table or stream, a dict of arrays, a \
         list of dicts and a reader with read() and get_schema() are"
    )
}
