//! The levels of quantiles, from parameters; and the checks of their arguments.

use chalet_base::{Result, bail, ensure, err};
use chalet_function_api::Argument;
use chalet_types::{DataType, Value};

pub struct Levels {
    pub of: Vec<f64>,
    /// The result is an array.
    pub many: bool,
}

impl Levels {
    /// One level, 0.5 if not given; or at least one for the plural form.
    pub fn new(name: &str, many: bool, parameters: &[Value]) -> Result<Levels> {
        if many {
            ensure!(
                !parameters.is_empty(),
                NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                "Aggregate function for calculation of multiple quantiles require at least one parameter"
            );
        }
        let mut of = Vec::with_capacity(parameters.len().max(1));
        for parameter in parameters {
            let level = parameter.as_f64().ok_or_else(|| {
                let kind = if parameter.as_bytes().is_some() { "String" } else { "the parameter" };
                err!(CANNOT_CONVERT_TYPE, "Cannot convert {kind} to double")
            })?;
            ensure!(
                (0.0..=1.0).contains(&level),
                PARAMETER_OUT_OF_BOUND,
                "Quantile level is out of range [0..1]"
            );
            of.push(level);
        }
        ensure!(
            many || of.len() <= 1,
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function {name} requires one level parameter or less"
        );
        if of.is_empty() {
            of.push(0.5);
        }
        Ok(Levels { of, many })
    }
}

/// Which argument types a family of quantiles takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    /// Numbers but BFloat16, dates, DateTime, DateTime64.
    All,
    /// The same without integers above 64 bits.
    NoWideIntegers,
    /// All without decimals and DateTime64.
    NoDecimals,
    /// Numbers up to 64 bits, Date and DateTime.
    Narrow,
}

impl Domain {
    pub fn check(self, name: &str, ty: &DataType) -> Result<()> {
        let wide = ty.is_integer() && ty.physical().width().is_some_and(|w| w > 8);
        let decimal = ty.is_decimal() || matches!(ty, DataType::DateTime64(..));
        let known = ty.is_integer()
            || decimal
            || matches!(ty, DataType::Float32 | DataType::Float64 | DataType::Date | DataType::DateTime(_));
        let fits = match self {
            Domain::All => true,
            Domain::NoWideIntegers => !wide,
            Domain::NoDecimals => !decimal,
            Domain::Narrow => !wide && !decimal,
        };
        if known && fits { Ok(()) } else { Err(crate::check::illegal_type(name, ty)) }
    }
}

/// What is looked at before all else: that there is a value, and its type. Without one, the kernel says of some functions that the
/// number of arguments is wrong (`counted`), of the others that there are too few.
pub fn check_value(name: &str, args: &[Argument], domain: Domain, counted: bool) -> Result<()> {
    match args.first() {
        Some(value) => domain.check(name, &value.ty),
        None if counted => {
            bail!(
                NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                "Aggregate function {name} requires at least one argument"
            )
        }
        None => {
            bail!(TOO_FEW_ARGUMENTS_FOR_FUNCTION, "Aggregate function {name} requires at least one argument")
        }
    }
}

/// Exactly one argument, or a value and an unsigned weight (or determinator).
pub fn check_arguments(name: &str, args: &[Argument], weighted: bool) -> Result<()> {
    if !weighted {
        return crate::check::one_argument(name, args);
    }
    crate::check::two_arguments(name, args)?;
    let weight = &args[1].ty;
    ensure!(
        weight.is_unsigned() && weight.physical().width().is_some_and(|w| w <= 8),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Second argument (weight) for function {name} must be unsigned integer, but it has type {weight}"
    );
    Ok(())
}

/// The type of an interpolated quantile: Float64 for plain numbers, else the argument's.
pub fn interpolated_type(ty: &DataType) -> DataType {
    if ty.is_integer() || ty.is_float() { DataType::Float64 } else { ty.clone() }
}
