//! States of aggregate functions: `state + state` merges them, `state * n` is the state of the same rows `n` times.

use super::operation::{Kind, Operation};
use crate::lanes::Operand;
use chalet_base::{Result, bail};
use chalet_columns::{StringBuilder, Vector};
use chalet_function_api::Argument;
use chalet_types::{AggregateType, DataType};

/// The type of the result, when one of the arguments is a state. Fails where states have no such operation.
pub fn result(operation: &Operation, a: &Argument, b: &Argument) -> Result<Option<DataType>> {
    use DataType::AggregateFunction;
    match (operation.kind, &a.ty, &b.ty) {
        (Kind::Plus, AggregateFunction(x), AggregateFunction(y)) => {
            if !x.has_same_states(y) {
                bail!(
                    CANNOT_ADD_DIFFERENT_AGGREGATE_STATES,
                    "Cannot add aggregate states of different functions: {} and {}",
                    a.ty,
                    b.ty
                );
            }
            Ok(Some(a.ty.clone()))
        }
        (Kind::Multiply, states @ AggregateFunction(_), n)
        | (Kind::Multiply, n, states @ AggregateFunction(_))
            if n.is_unsigned() && n.physical().width().is_some_and(|width| width <= 8) =>
        {
            Ok(Some(states.clone()))
        }
        (_, AggregateFunction(_), _) | (_, _, AggregateFunction(_)) => Err(operation.illegal(&a.ty, &b.ty)),
        _ => Ok(None),
    }
}

pub fn run(ty: &AggregateType, a: Operand, b: Operand, n_rows: usize) -> Result<Vector> {
    let is_state = |operand: &Operand| matches!(operand.ty, DataType::AggregateFunction(_));
    let mut out = StringBuilder::with_capacity(n_rows);
    for row in 0..n_rows {
        let (x, y) = (a.row(row), b.row(row));
        let state = match (is_state(&a), is_state(&b)) {
            (true, true) => ty.operations().merged(a.vector.strings()?.get(x), b.vector.strings()?.get(y))?,
            (true, false) => times(ty, a.vector.strings()?.get(x), b.vector.value(y).as_u64().unwrap_or(0))?,
            _ => times(ty, b.vector.strings()?.get(y), a.vector.value(x).as_u64().unwrap_or(0))?,
        };
        out.push(&state);
    }
    Ok(out.finish().into())
}

/// By doubling: as many merges as the number has binary digits, at most twice.
fn times(ty: &AggregateType, state: &[u8], mut n: u64) -> Result<Vec<u8>> {
    let mut total = ty.operations().empty().to_vec();
    let mut power = state.to_vec();
    while n > 0 {
        if n & 1 == 1 {
            total = ty.operations().merged(&total, &power)?;
        }
        n >>= 1;
        if n > 0 {
            power = ty.operations().merged(&power, &power)?;
        }
    }
    Ok(total)
}
