//! Checks of argument counts, parameters and types that many aggregates share, in the kernel's words.

use chalet_base::{Error, Result, bail, err};
use chalet_function_api::Argument;
use chalet_types::{DataType, Value};

/// Exactly one argument.
pub fn one_argument(name: &str, args: &[Argument]) -> Result<()> {
    if args.len() != 1 {
        bail!(NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "Aggregate function {name} requires single argument");
    }
    Ok(())
}

/// Exactly two arguments.
pub fn two_arguments(name: &str, args: &[Argument]) -> Result<()> {
    if args.len() != 2 {
        bail!(NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "Aggregate function {name} requires two arguments");
    }
    Ok(())
}

/// At least one argument.
pub fn some_arguments(name: &str, args: &[Argument]) -> Result<()> {
    if args.is_empty() {
        bail!(
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Incorrect number of arguments for aggregate function {name}"
        );
    }
    Ok(())
}

/// No parameters in the first pair of parentheses.
pub fn no_parameters(name: &str, parameters: &[Value]) -> Result<()> {
    if !parameters.is_empty() {
        bail!(AGGREGATE_FUNCTION_DOESNT_ALLOW_PARAMETERS, "Aggregate function {name} cannot have parameters");
    }
    Ok(())
}

/// Values of several types have no order to speak of.
pub fn ordered(name: &str, ty: &DataType) -> Result<()> {
    if ty.is_or_contains(&DataType::is_of_several_types) {
        bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {ty} of argument of aggregate function {name} because the values of that data type can contain values \
             with different data types. Consider using typed subcolumns or cast column to a specific data type"
        );
    }
    Ok(())
}

#[cold]
pub fn illegal_type(name: &str, ty: &DataType) -> Error {
    err!(ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {ty} of argument for aggregate function {name}")
}

/// Values of the type have no order.
#[cold]
pub fn not_comparable(name: &str, ty: &DataType) -> Error {
    err!(
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {ty} of argument of aggregate function {name} because the values of that data type are not comparable"
    )
}
