//! The functions that every session knows: ours, registered once per process, and those of the host.

use crate::host::{HostAggregate, HostScalar, HostedAggregate, HostedScalar};
use crate::own_functions;
use chalet_base::forks::PerProcess;
use chalet_base::{Result, ensure};
use chalet_function_api::Registry;
use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};

/// What statements that begin now find. Statements keep the one that they began with.
#[derive(Clone)]
struct Known {
    registry: Arc<Registry>,
    /// Names that the host added.
    of_host: BTreeSet<String>,
}

static KNOWN: PerProcess<RwLock<Known>> = PerProcess::new(|parent| {
    let inherited = parent.and_then(|known| known.try_read().ok().map(|known| known.clone()));
    let new = || Known { registry: Arc::new(builtin()), of_host: BTreeSet::new() };
    RwLock::new(inherited.unwrap_or_else(new))
});

fn builtin() -> Registry {
    let mut registry = Registry::default();
    chalet_functions::register(&mut registry);
    chalet_aggregates::register(&mut registry);
    own_functions::register(&mut registry);
    registry
}

/// All functions that are known now.
pub fn registry() -> Arc<Registry> {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner).registry.clone()
}

/// Did the host add a function of this name?
pub fn is_of_host(name: &str) -> bool {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner).of_host.contains(name)
}

/// Adds a scalar function of the host; it lasts until [`remove`], in all databases of the process. It may have the name of
/// a built-in scalar function, which calls by this name then do not reach.
pub fn add_scalar(name: &str, function: Arc<dyn HostScalar>) -> Result<()> {
    let function = HostedScalar::new(name, function);
    add(name, |registry| {
        if registry.scalars.get(name).is_some() {
            registry.hide_scalar(function);
        } else {
            ensure_free(registry, name)?;
            registry.add_scalar(function);
        }
        Ok(())
    })
}

/// Adds an aggregate function of the host.
pub fn add_aggregate(name: &str, function: Arc<dyn HostAggregate>) -> Result<()> {
    let function = HostedAggregate::new(name, function);
    add(name, |registry| {
        ensure_free(registry, name)?;
        registry.add_aggregate(function);
        Ok(())
    })
}

fn ensure_free(registry: &Registry, name: &str) -> Result<()> {
    let taken = registry.scalars.get(name).is_some()
        || registry.windows.get(name).is_some()
        || chalet_aggregates::resolve::exists(registry, name);
    ensure!(!taken, FUNCTION_ALREADY_EXISTS, "The function '{name}' already exists: it is built in");
    Ok(())
}

fn add(name: &str, to: impl FnOnce(&mut Registry) -> Result<()>) -> Result<()> {
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    ensure!(
        !known.of_host.contains(name),
        FUNCTION_ALREADY_EXISTS,
        "The function '{name}' is already registered"
    );
    let mut registry = Registry::clone(&known.registry);
    to(&mut registry)?;
    known.registry = Arc::new(registry);
    known.of_host.insert(name.to_owned());
    Ok(())
}

/// Takes a function of the host away; `false` when there is none of this name.
pub fn remove(name: &str) -> bool {
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    if !known.of_host.remove(name) {
        return false;
    }
    let mut registry = Registry::clone(&known.registry);
    registry.remove(name);
    known.registry = Arc::new(registry);
    true
}

#[cfg(test)]
mod tests {
    use super::registry;

    #[test]
    fn names_are_unambiguous() {
        let registry = registry();
        assert_eq!(registry.scalars.ambiguous(), [""; 0]);
        assert_eq!(registry.aggregates.ambiguous(), [""; 0]);
        assert_eq!(registry.windows.ambiguous(), [""; 0]);
    }
}
