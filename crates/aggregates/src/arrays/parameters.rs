//! The parameter that limits the size of an array.

use chalet_base::{Result, bail, ensure, err};
use chalet_types::Value;

/// A positive number.
pub fn positive(name: &str, value: &Value) -> Result<usize> {
    value.as_u64().filter(|&n| n > 0).map(|n| usize::try_from(n).unwrap_or(usize::MAX)).ok_or_else(|| {
        err!(BAD_ARGUMENTS, "Parameter for aggregate function {name} should be positive number")
    })
}

/// No parameter, or a limit.
pub fn optional_limit(name: &str, parameters: &[Value]) -> Result<Option<usize>> {
    match parameters {
        [] => Ok(None),
        [limit] => positive(name, limit).map(Some),
        _ => bail!(
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Incorrect number of parameters for aggregate function {name}, should be 0 or 1"
        ),
    }
}

/// A limit, and nothing else.
pub fn limit(name: &str, parameters: &[Value]) -> Result<usize> {
    ensure!(
        !parameters.is_empty(),
        BAD_ARGUMENTS,
        "Parameter for aggregate function {name} should have limit argument"
    );
    let limit = optional_limit(name, parameters)?;
    limit.ok_or_else(|| err!(LOGICAL_ERROR, "A parameter of {name} is gone"))
}
