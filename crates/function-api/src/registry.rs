//! Finding functions by name: exact first, then in any case for those that allow it.

use crate::{AggregateFunction, ScalarFunction, WindowFunction};
use chalet_base::hash::HashMap;
use std::sync::Arc;

/// All functions of one kind.
pub struct Names<F: ?Sized> {
    exact: HashMap<&'static str, Arc<F>>,
    lower: HashMap<String, Arc<F>>,
    /// One entry per function, in order of registration.
    all: Vec<Arc<F>>,
    /// Names that were given more than once: a mistake, which a test looks for.
    twice: Vec<&'static str>,
}

impl<F: ?Sized> Default for Names<F> {
    fn default() -> Self {
        Names { exact: HashMap::default(), lower: HashMap::default(), all: Vec::new(), twice: Vec::new() }
    }
}

// Not derived: that would ask for functions that can be copied.
impl<F: ?Sized> Clone for Names<F> {
    fn clone(&self) -> Self {
        let Names { exact, lower, all, twice } = self;
        Names { exact: exact.clone(), lower: lower.clone(), all: all.clone(), twice: twice.clone() }
    }
}

impl<F: ?Sized> Names<F> {
    /// Takes a function that has this name and no alias away.
    fn remove(&mut self, name: &str) {
        if let Some(function) = self.exact.remove(name) {
            self.all.retain(|known| !Arc::ptr_eq(known, &function));
            self.lower.retain(|_, known| !Arc::ptr_eq(known, &function));
        }
    }

    /// Is the name one that is found in any case?
    fn is_any_case(&self, name: &str) -> bool {
        self.lower.contains_key(&name.to_ascii_lowercase())
    }

    fn add(
        &mut self,
        function: Arc<F>,
        name: &'static str,
        aliases: &'static [&'static str],
        any_case: bool,
    ) {
        for &name in std::iter::once(&name).chain(aliases) {
            if self.exact.insert(name, function.clone()).is_some() {
                self.twice.push(name);
            }
            if any_case {
                self.lower.insert(name.to_ascii_lowercase(), function.clone());
            }
        }
        self.all.push(function);
    }

    /// Names that match in any case.
    fn alias(&mut self, function: &Arc<F>, names: &'static [&'static str]) {
        for &name in names {
            self.exact.insert(name, function.clone());
            self.lower.insert(name.to_ascii_lowercase(), function.clone());
        }
    }

    /// The function of this name or alias; in any case where its record allows that.
    pub fn get(&self, name: &str) -> Option<&Arc<F>> {
        self.exact.get(name).or_else(|| self.lower.get(&name.to_ascii_lowercase()))
    }

    /// All functions, in the order in which they were added.
    pub fn all(&self) -> &[Arc<F>] {
        &self.all
    }

    /// Names that more than one function claims; empty unless somebody made a mistake.
    pub fn ambiguous(&self) -> &[&'static str] {
        &self.twice
    }

    /// Every name and alias.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.exact.keys().copied()
    }
}

/// All functions that a session knows.
#[derive(Clone, Default)]
pub struct Registry {
    pub scalars: Names<dyn ScalarFunction>,
    /// Of the host, under names of built-in ones, which they hide from who writes the name: see [`Registry::called`].
    hiding: Names<dyn ScalarFunction>,
    pub aggregates: Names<dyn AggregateFunction>,
    pub windows: Names<dyn WindowFunction>,
}

impl Registry {
    /// Adds a scalar function under its name and aliases.
    pub fn add_scalar(&mut self, function: impl ScalarFunction + 'static) {
        let record = function.record();
        let function: Arc<dyn ScalarFunction> = Arc::new(function);
        self.scalars.alias(&function, record.any_case_aliases);
        self.scalars.add(function, record.name, record.aliases, record.case_insensitive);
    }

    /// Lets a function have the name of a built-in one, for calls that are written with this name. Operators, and what the
    /// engine itself calls by the name, stay what they are.
    pub fn hide_scalar(&mut self, function: impl ScalarFunction + 'static) {
        let name = function.record().name;
        let any_case = self.scalars.is_any_case(name);
        self.hiding.add(Arc::new(function), name, &[], any_case);
    }

    /// What a call means that is written with this name.
    pub fn called(&self, name: &str) -> Option<&Arc<dyn ScalarFunction>> {
        self.hiding.get(name).or_else(|| self.scalars.get(name))
    }

    /// Takes a function away that was added under one name only; one that it hid is seen again.
    pub fn remove(&mut self, name: &str) {
        if self.hiding.exact.contains_key(name) {
            return self.hiding.remove(name);
        }
        self.scalars.remove(name);
        self.aggregates.remove(name);
    }

    /// Adds an aggregate function under its name and aliases.
    pub fn add_aggregate(&mut self, function: impl AggregateFunction + 'static) {
        let record = function.record();
        let function: Arc<dyn AggregateFunction> = Arc::new(function);
        self.aggregates.alias(&function, record.any_case_aliases);
        self.aggregates.add(function, record.name, record.aliases, record.case_insensitive);
    }

    /// Adds a window function under its name and aliases.
    pub fn add_window(&mut self, function: impl WindowFunction + 'static) {
        let record = function.record();
        let function: Arc<dyn WindowFunction> = Arc::new(function);
        self.windows.alias(&function, record.any_case_aliases);
        self.windows.add(function, record.name, record.aliases, record.case_insensitive);
    }
}
