//! Sequences of events: `retention`, `windowFunnel`, `sequenceMatch`, `sequenceCount`, `sequenceMatchEvents`, `sequenceNextNode`.

pub mod funnel;
pub mod next_node;
pub mod pattern;
pub mod retention;
pub mod sequence;

use crate::check::illegal_type;
use chalet_base::{Result, ensure};
use chalet_columns::Vector;
use chalet_function_api::Argument;
use chalet_types::DataType;

/// Conditions of one call, as in the kernel.
const MAX_CONDITIONS: usize = 32;

/// Fails unless all arguments from `first` on are conditions.
fn check_conditions(name: &str, args: &[Argument], first: usize) -> Result<()> {
    ensure!(
        args.len() <= first + MAX_CONDITIONS,
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Too many event arguments for aggregate function {name}"
    );
    match args[first..].iter().find(|arg| !matches!(arg.ty, DataType::UInt8 | DataType::Bool)) {
        Some(arg) => Err(illegal_type(name, &arg.ty)),
        None => Ok(()),
    }
}

/// Time is unsigned and of at most 64 bits, a Date or a DateTime.
fn check_time(name: &str, ty: &DataType) -> Result<()> {
    let number = ty.is_unsigned() && ty.physical().width().is_some_and(|w| w <= 8);
    if number || matches!(ty, DataType::Date | DataType::DateTime(_)) {
        Ok(())
    } else {
        Err(illegal_type(name, ty))
    }
}

/// Which conditions hold in a row, one bit each.
fn conditions(args: &[Vector], row: usize) -> Result<u32> {
    let mut bits = 0;
    for (i, arg) in args.iter().enumerate() {
        bits |= u32::from(arg.values::<u8>()?[row] != 0) << i;
    }
    Ok(bits)
}
