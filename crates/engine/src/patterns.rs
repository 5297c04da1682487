//! Names and patterns, as the functions of patterns see them.

use crate::functions::registry;
use chalet_base::{Result, err};
use chalet_columns::Column;
use chalet_function_api::call::{BoundFunction, Input};
use chalet_function_api::{Argument, Context};
use chalet_types::{DataType, Value};

/// Whether `function(name, pattern)` holds.
pub(crate) fn passes_pattern(function: &str, name: &str, pattern: &[u8], ctx: &Context) -> Result<bool> {
    let registry = registry();
    let found = registry.scalars.get(function);
    let found =
        found.ok_or_else(|| err!(UNKNOWN_FUNCTION, "Function with name `{function}` does not exist"))?;
    let values = [Value::from(name), Value::string(pattern)];
    let mut arguments = values.each_ref().map(|_| Argument::of_type(DataType::String));
    arguments[1].constant = Some(values[1].clone());
    let bound = BoundFunction::bind(found.clone(), &arguments, ctx)?;
    let inputs = values.iter().map(|v| Ok(Input::Column(Column::of_value(v, &DataType::String, 1)?)));
    let result = bound.execute(inputs.collect::<Result<_>>()?, 1, ctx)?;
    Ok(result.value(0).as_u64() == Some(1))
}
