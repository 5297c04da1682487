//! Names in the caller's frames: its local variables, then its global ones. No further: what a function sees is what its
//! statements see.

use super::lent::Lent;
use super::{described, raised};
use chalet_base::{Result, err};
use chalet_engine::outside::{Outside, Table};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Objects by the names under which a connection knows them.
pub type Registered = Mutex<BTreeMap<String, Py<PyAny>>>;

/// Who called: lives as long as the statements do.
pub struct Caller {
    /// `tables=` of the call.
    given: Option<Py<PyDict>>,
    registered: Arc<Registered>,
    lent: Arc<Lent>,
    /// Every object is described once.
    made: Mutex<Vec<(String, Arc<dyn Table>)>>,
    /// Where the statements run on another thread: the caller's variables, local and global, as they were.
    seen: Option<(Py<PyAny>, Py<PyDict>)>,
}

impl Caller {
    pub fn new(given: Option<Py<PyDict>>, registered: Arc<Registered>) -> Caller {
        Caller { given, registered, lent: Arc::default(), made: Mutex::default(), seen: None }
    }

    /// The same for statements that run on another thread, which has none of the caller's frames.
    pub fn from_afar(
        py: Python<'_>,
        given: Option<Py<PyDict>>,
        registered: Arc<Registered>,
    ) -> PyResult<Caller> {
        let seen = variables(py)?.map(|(locals, globals)| (locals.unbind(), globals.unbind()));
        Ok(Caller { seen, ..Caller::new(given, registered) })
    }

    /// A variable of the innermost frame that is not of this package.
    fn variable<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let seen = match &self.seen {
            Some((locals, globals)) => Some((locals.bind(py).clone(), globals.bind(py).clone())),
            None => variables(py)?,
        };
        let Some((locals, globals)) = seen else { return Ok(None) };
        if locals.contains(name)? {
            return Ok(Some(locals.get_item(name)?));
        }
        globals.get_item(name)
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

    /// The table that an object is; none if it is no table.
    fn table(&self, py: Python<'_>, name: &str, object: &Bound<'_, PyAny>) -> Result<Option<Arc<dyn Table>>> {
        let known = |made: &[(String, Arc<dyn Table>)]| {
            made.iter().find(|(known, _)| known == name).map(|(_, table)| table.clone())
        };
        if let Some(table) = known(&self.made.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(Some(table));
        }
        let table =
            described::table(py, object, &self.lent).map_err(|e| e.context(format!("in '{name}'")))?;
        if let Some(table) = &table {
            let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
            made.push((name.to_owned(), table.clone()));
        }
        Ok(table)
    }

    /// `a.b` is the attribute `b` of the variable `a`.
    fn found_object<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut parts = name.split('.');
        let Some(first) = parts.next() else { return Ok(None) };
        let mut object = self.given_object(py, first)?;
        if object.is_none() {
            object = self.variable(py, first)?;
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

impl Outside for Caller {
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
            Some(format!("the Python variable of this name is a {kind}, which is no table"))
        })
    }

    fn lent(&self) -> Vec<Range<usize>> {
        self.lent.ranges()
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

/// Local and global variables.
type Variables<'py> = (Bound<'py, PyAny>, Bound<'py, PyDict>);

/// Those of the innermost frame that is not of this package.
fn variables(py: Python<'_>) -> PyResult<Option<Variables<'_>>> {
    // A thread of the engine has no frame.
    let Ok(mut frame) = py.import(intern!(py, "sys"))?.call_method0(intern!(py, "_getframe")) else {
        return Ok(None);
    };
    loop {
        let globals = frame.getattr(intern!(py, "f_globals"))?.cast_into::<PyDict>()?;
        let module = globals.get_item(intern!(py, "__name__"))?;
        let module = module.and_then(|name| name.extract::<String>().ok()).unwrap_or_default();
        if module == "chalet" || module.starts_with("chalet.") {
            frame = frame.getattr(intern!(py, "f_back"))?;
            if frame.is_none() {
                return Ok(None);
            }
            continue;
        }
        return Ok(Some((frame.getattr(intern!(py, "f_locals"))?, globals)));
    }
}
