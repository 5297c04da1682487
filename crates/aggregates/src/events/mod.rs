//! Sequences of events: `retention`, `windowFunnel`, `sequenceMatch`, `sequenceCount`, `sequenceMatchEvents`, `sequenceNextNode`.

pub mod funnel;
pub mod next_node;
pub mod pattern;
pub mod retention;
pub mod sequence;

use crate::check::illegal_type;
use chalet_base::{Result, ensure};
use chalet_columns::rows::RowCodec;
use chalet_columns::wire::take_u64;
use chalet_columns::{Builder, Vector};
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
/// Appends the bytes of a time of this type.
fn put_time(time: u64, ty: &DataType, out: &mut Vec<u8>) {
    out.extend_from_slice(&time.to_le_bytes()[..ty.physical().width().unwrap_or(8)]);
}

/// A row at the time whose bytes come next, which meets the conditions that are read behind them.
fn take_event(
    ty: &DataType,
    bytes: &mut &[u8],
    args: &mut [Builder],
    met: impl FnOnce(&mut &[u8]) -> Result<u64>,
) -> Result<()> {
    let [time, conditions @ ..] = args else { return Ok(()) };
    RowCodec::new(ty).take(bytes, time)?;
    let met = met(bytes)?;
    for (i, condition) in conditions.iter_mut().enumerate() {
        condition.natives::<u8>()?.push((met >> i & 1) as u8);
    }
    Ok(())
}

/// How many events of at least so many bytes a state says that it has.
fn take_n_events(bytes: &mut &[u8], size: usize) -> Result<usize> {
    let n = take_u64(bytes)?;
    ensure!(
        n <= (bytes.len() / size) as u64,
        CANNOT_READ_ALL_DATA,
        "Aggregate state has {n} events in {} bytes",
        bytes.len()
    );
    Ok(n as usize)
}

fn conditions(args: &[Vector], row: usize) -> Result<u32> {
    let mut bits = 0;
    for (i, arg) in args.iter().enumerate() {
        bits |= u32::from(arg.values::<u8>()?[row] != 0) << i;
    }
    Ok(bits)
}
