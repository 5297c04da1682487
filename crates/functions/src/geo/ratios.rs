//! What `mortonEncode`, `hilbertEncode` and their inverses share: coordinates, and the numbers given for each of them.

use crate::lanes::{Operand, unary};
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Data, Struct, Vector};
use chalet_function_api::{Argument, Call};
use chalet_types::{DataType, Value};

/// UInt8 to UInt64.
fn is_native(ty: &DataType) -> bool {
    ty.is_unsigned() && *ty != DataType::Bool && ty.physical().width().unwrap_or(16) <= 8
}

/// The numbers of a tuple that is constant.
pub fn numbers(value: Option<&Value>) -> Option<Vec<u64>> {
    match value? {
        Value::Tuple(items) => items.iter().map(Value::as_u64).collect(),
        _ => None,
    }
}

fn check_tuple(name: &str, ty: &DataType) -> Result<usize> {
    let DataType::Tuple(fields) = ty else { return Ok(0) };
    for field in fields.iter() {
        ensure!(
            is_native(&field.ty),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of argument in tuple for function {name}, should be a native UInt",
            field.ty
        );
    }
    Ok(fields.len())
}

/// Checks the arguments of an encoder: coordinates, perhaps behind a tuple with a number for each; gives how many
/// coordinates there are.
pub fn check_encoder(name: &str, args: &[Argument], most: usize, too_many: &str) -> Result<usize> {
    let has_tuple = args.first().is_some_and(|arg| matches!(arg.ty, DataType::Tuple(_)));
    let coordinates = &args[usize::from(has_tuple)..];
    if has_tuple {
        ensure!(
            check_tuple(name, &args[0].ty)? == coordinates.len(),
            ARGUMENT_OUT_OF_BOUND,
            "Illegal argument {} for function {name}, tuple size should be equal to number of UInt arguments",
            args[0].ty
        );
    }
    ensure!(
        !coordinates.is_empty(),
        TOO_FEW_ARGUMENTS_FOR_FUNCTION,
        "At least one UInt argument is required for function {name}"
    );
    ensure!(
        coordinates.len() <= most,
        TOO_MANY_ARGUMENTS_FOR_FUNCTION,
        "Illegal number of UInt arguments of function {name}{too_many}"
    );
    for arg in coordinates {
        ensure!(
            is_native(&arg.ty) || arg.ty == DataType::Bool,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of argument for function {name}, should be a native UInt",
            arg.ty
        );
    }
    Ok(coordinates.len())
}

/// The numbers for each coordinate and the coordinates of a call of an encoder.
pub fn encoder_values(
    call: &Call,
    allowed: std::ops::RangeInclusive<u64>,
) -> Result<(Vec<u64>, Vec<Vec<u64>>)> {
    let tuple = match call.args[0].ty {
        DataType::Tuple(fields) => Some((fields, call.vector(0).structure()?)),
        _ => None,
    };
    let mut given = Vec::new();
    if let Some((fields, tuple)) = tuple
        && call.n_rows > 0
    {
        for (vector, field) in tuple.fields.iter().zip(fields.iter()) {
            let operand = Operand { ty: &field.ty, vector: &vector.slice(0, 1), constant: false };
            let number = unary::<u64, u64>(operand, 1, |x| x)?[0];
            ensure!(
                allowed.contains(&number),
                ARGUMENT_OUT_OF_BOUND,
                "Illegal argument {} in tuple, should be a number in range {}-{}",
                number,
                allowed.start(),
                allowed.end()
            );
            given.push(number);
        }
    }
    let first = usize::from(tuple.is_some());
    let coordinates =
        (first..call.args.len()).map(|index| unary::<u64, u64>(Operand::of(call, index), call.n_rows, |x| x));
    Ok((given, coordinates.collect::<Result<_>>()?))
}

/// Checks the arguments of a decoder: a number of coordinates, or a tuple with a number for each, and a code.
pub fn check_decoder(
    name: &str,
    args: &[Argument],
    most: usize,
    allowed: std::ops::RangeInclusive<u64>,
) -> Result<(DataType, Vec<Option<u64>>)> {
    let wrong_first = "should be a number in range 1- or a Tuple of such size";
    let given: Vec<Option<u64>> = match &args[0].ty {
        ty @ DataType::Tuple(_) => {
            let size = check_tuple(name, ty)?;
            let Some(numbers) = numbers(args[0].constant.as_ref()) else {
                bail!(
                    ILLEGAL_COLUMN,
                    "Illegal column type {ty} for function {name}, should be a constant (UInt or Tuple)"
                );
            };
            ensure!(
                (1..=most).contains(&size),
                ARGUMENT_OUT_OF_BOUND,
                "Illegal first argument for function {name}, {wrong_first}"
            );
            for number in &numbers {
                ensure!(
                    allowed.contains(number),
                    ARGUMENT_OUT_OF_BOUND,
                    "Illegal argument {number} in tuple for function {name}, should be a number in range {}-{}",
                    allowed.start(),
                    allowed.end()
                );
            }
            numbers.into_iter().map(Some).collect()
        }
        ty if is_native(ty) => {
            let Some(size) = args[0].constant.as_ref().and_then(Value::as_u64) else {
                bail!(
                    ILLEGAL_COLUMN,
                    "Illegal column type {ty} for function {name}, should be a constant (UInt or Tuple)"
                );
            };
            ensure!(
                (1..=most as u64).contains(&size),
                ARGUMENT_OUT_OF_BOUND,
                "Illegal first argument for function {name}, {wrong_first}"
            );
            vec![None; size as usize]
        }
        ty => bail!(ILLEGAL_COLUMN, "Illegal column type {ty} for function {name}, should be UInt or Tuple"),
    };
    ensure!(
        is_native(&args[1].ty) || args[1].ty == DataType::Bool,
        ILLEGAL_COLUMN,
        "Illegal column type {} for function {name}, should be a native UInt",
        args[1].ty
    );
    Ok((DataType::tuple(vec![DataType::UInt64; given.len()]), given))
}

/// A column of tuples, whose fields `decode` computes from each code.
pub fn decoded(call: &Call, size: usize, decode: impl Fn(u64, &mut [u64])) -> Result<Column> {
    let codes = unary::<u64, u64>(Operand::of(call, 1), call.n_rows, |x| x)?;
    let mut fields = vec![Vec::with_capacity(codes.len()); size];
    let mut values = vec![0; size];
    for code in codes {
        decode(code, &mut values);
        fields.iter_mut().zip(&values).for_each(|(field, &value)| field.push(value));
    }
    let fields = fields.into_iter().map(Vector::from).collect();
    Ok(Vector::from(Data::Struct(Struct { fields, len: call.n_rows })).into())
}
