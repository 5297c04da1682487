//! An aggregate by name, outside of a session: from a constant text with parameters in parentheses, and from a type of states.

use crate::resolve::{Resolved, resolve};
use crate::state_types::known;
use chalet_base::{Result, bail, err};
use chalet_function_api::{Argument, Context, Registry};
use chalet_types::aggregate_function::register_lookup;
use chalet_types::{AggregateType, DataType, Value};
use std::sync::LazyLock;

/// The aggregates of this crate: scalar functions, and types, cannot ask for the registry of a session.
static AGGREGATES: LazyLock<Registry> = LazyLock::new(|| {
    let mut registry = Registry::default();
    crate::register_aggregates(&mut registry);
    registry
});

/// Makes the functions known to `AggregateFunction` types.
pub fn register_types() {
    register_lookup(|name, parameters, types| {
        let found = find(name, parameters, types, &Context::default())?;
        Ok(known(&AGGREGATES, &found, parameters, types))
    });
}

/// The aggregate whose states a type has.
pub fn aggregate_of(ty: &AggregateType, ctx: &Context) -> Result<Resolved> {
    find(ty.function(), ty.parameters(), ty.arguments(), ctx)
}

fn find(name: &str, parameters: &[Value], types: &[DataType], ctx: &Context) -> Result<Resolved> {
    let args: Vec<Argument> = types.iter().cloned().map(Argument::of_type).collect();
    let found = resolve(&AGGREGATES, name, parameters, &args, ctx)?;
    found.ok_or_else(|| err!(UNKNOWN_AGGREGATE_FUNCTION, "Unknown aggregate function {name}"))
}

/// The aggregate that the first argument of `function` names, for arguments of the given types.
pub fn named(function: &str, text: &Argument, types: Vec<DataType>, ctx: &Context) -> Result<Resolved> {
    let plain = text.ty == DataType::String;
    let Some(text) = text.constant.as_ref().filter(|_| plain).and_then(Value::as_str) else {
        bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "First argument for function {function} must be constant string: name of aggregate function"
        );
    };
    if text.is_empty() {
        bail!(
            BAD_ARGUMENTS,
            "First argument for function {function} (name of aggregate function) cannot be empty"
        );
    }
    let (name, parameters) = match text.split_once('(') {
        None => (text, Vec::new()),
        Some((name, rest)) => match rest.trim_end().strip_suffix(')') {
            Some(inside) => (name, parse_parameters(inside, text)?),
            None => bail!(BAD_ARGUMENTS, "Incorrect parameters of aggregate function in '{text}'"),
        },
    };
    let args: Vec<Argument> = types.into_iter().map(Argument::of_type).collect();
    resolve(&AGGREGATES, name.trim(), &parameters, &args, ctx)?
        .ok_or_else(|| err!(UNKNOWN_AGGREGATE_FUNCTION, "Unknown aggregate function '{name}'"))
}

/// Numbers and quoted strings between commas.
fn parse_parameters(inside: &str, text: &str) -> Result<Vec<Value>> {
    let parts = inside.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let quoted = part.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
            Ok(match (quoted, part.parse::<u64>(), part.parse::<i64>(), part.parse::<f64>()) {
                (Some(string), ..) => Value::from(string),
                (_, Ok(number), ..) => Value::UInt(number),
                (_, _, Ok(number), _) => Value::Int(number),
                (_, _, _, Ok(number)) => Value::Float(number),
                _ => bail!(BAD_ARGUMENTS, "Incorrect parameters of aggregate function in '{text}'"),
            })
        })
        .collect()
}
