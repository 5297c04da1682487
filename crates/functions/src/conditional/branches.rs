//! What functions that choose between values share: the common type, and the choice made.

use crate::lanes::Operand;
use crate::select::{Branch, select};
use crate::ternary_logic::as_bools;
use crate::widen::widen;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::{Arg, Argument, Call, Context};
use chalet_types::supertype::common_supertype;
use chalet_types::{DataType, Value, variant};

/// The common type of values; what is only NULL makes it Nullable.
pub fn common(types: &[DataType]) -> Result<DataType> {
    let result = common_supertype(types)?;
    // The supertype of NULL and NULL alone is NULL's own type.
    Ok(if result == DataType::Nothing { result.nullable() } else { result })
}

/// The same, or where there is none the Variant of all types.
pub fn common_or_variant(types: &[DataType], ctx: &Context) -> Result<DataType> {
    let result = variant::common_or_variant(types, ctx.settings.use_variant_as_common_type)?;
    Ok(if result == DataType::Nothing { result.nullable() } else { result })
}

/// The types of arguments that are to get a common type. A positive number as it is written is UInt64 when it needs more than
/// 32 bits, but as good as an Int64 where it fits into one: beside negative ones it counts as that.
pub fn types_to_mix<'a>(args: impl Iterator<Item = &'a Argument>) -> Vec<DataType> {
    let (mut types, mut signed, mut any) = (Vec::new(), Vec::new(), false);
    for arg in args {
        let as_signed = arg.constant.as_ref().and_then(|value| signed_type(&arg.ty, value));
        any |= as_signed.is_some();
        signed.push(as_signed.unwrap_or_else(|| arg.ty.clone()));
        types.push(arg.ty.clone());
    }
    if any && common_supertype(&types).is_err() && common_supertype(&signed).is_ok() { signed } else { types }
}

/// The type with Int64 in place of UInt64, when the value is of numbers that both hold.
fn signed_type(ty: &DataType, value: &Value) -> Option<DataType> {
    match (ty, value) {
        (DataType::UInt64, _) => {
            let number = value.as_u64()?;
            (number > u64::from(u32::MAX) && i64::try_from(number).is_ok()).then_some(DataType::Int64)
        }
        (DataType::Array(element), Value::Array(values)) => {
            let is_small = |v: &Value| v.as_u64().is_some_and(|number| number <= u64::from(u32::MAX));
            let of_large = values.iter().filter(|v| **element != DataType::UInt64 || !is_small(v));
            let mut types = of_large.map(|v| signed_type(element, v));
            let first = types.next()??;
            types.all(|ty| ty.as_ref() == Some(&first)).then(|| first.array())
        }
        _ => None,
    }
}

/// A condition must be UInt8, Bool or NULL.
pub fn check_condition(arg: &Argument, function: &str, what: &str) -> Result<()> {
    ensure!(
        matches!(arg.ty.bare(), DataType::UInt8 | DataType::Bool | DataType::Nothing),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {} of {what} of function {function}. Must be UInt8",
        arg.ty
    );
    Ok(())
}

/// 1 where a condition is true; NULL is not.
pub fn condition(arg: &Arg, n: usize) -> Result<Vec<u8>> {
    let mut values = as_bools(Operand::from(arg), n)?;
    if let Some(validity) = &arg.vector.validity {
        if arg.constant {
            values.fill(0);
        } else {
            let is_valid = chalet_columns::bits::to_bytes(validity.inner());
            values.iter_mut().zip(is_valid).for_each(|(value, valid)| *value &= valid);
        }
    }
    Ok(values)
}

/// Whether a choice is between Decimals of different scales, also inside of tuples: the kernel does not make it row by row.
pub struct MixesScales(bool);

impl MixesScales {
    /// Of a choice that is not made once for all rows.
    pub fn of(a: &DataType, b: &DataType, by_row: bool) -> MixesScales {
        MixesScales(by_row && scales_differ(a, b))
    }

    pub fn check(call: &Call) -> Result<()> {
        let MixesScales(mixes) = call.state()?;
        ensure!(!mixes, NOT_IMPLEMENTED, "Conditional functions with different Decimal scales");
        Ok(())
    }
}

fn scales_differ(a: &DataType, b: &DataType) -> bool {
    match (a.bare(), b.bare()) {
        (DataType::Decimal { scale: a, .. }, DataType::Decimal { scale: b, .. }) => a != b,
        (DataType::Tuple(a), DataType::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).any(|(a, b)| scales_differ(&a.ty, &b.ty))
        }
        _ => false,
    }
}

/// Picks the value of argument `indices[choice[row]]` for each row, as the result type of the call.
pub fn pick(call: &Call, indices: &[usize], choice: &[u8]) -> Result<Column> {
    if let Some(&first) = choice.first()
        && choice.iter().all(|&c| c == first)
    {
        let arg = &call.args[indices[first as usize]];
        let vector = widen(&arg.vector, arg.ty, call.result, call.ctx)?;
        return Ok(if arg.constant { Column::constant(vector, call.n_rows) } else { vector.into() });
    }
    let vectors: Vec<Vector> = indices
        .iter()
        .map(|&i| widen(&call.args[i].vector, call.args[i].ty, call.result, call.ctx))
        .collect::<Result<_>>()?;
    let branches: Vec<Branch> = indices
        .iter()
        .zip(&vectors)
        .map(|(&i, vector)| Branch { vector, constant: call.args[i].constant })
        .collect();
    Ok(select(&branches, choice)?.into())
}
