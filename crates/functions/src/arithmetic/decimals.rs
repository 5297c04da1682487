//! Arithmetic with a Decimal on a side: integers count as decimals of scale 0, overflow of the width fails.

use super::operation::{Kind, OnFault, Operation, convert};
use crate::lanes::{Operand, marked, try_binary, unary};
use crate::number::{Cast, Integer};
use crate::with_integer;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{NullBuffer, Vector};
use chalet_function_api::Context;
use chalet_types::decimal::{pow10, widest_of_same_width};
use chalet_types::{DataType, I256, promotion};

fn parts(ty: &DataType) -> Option<(u8, u8)> {
    match ty {
        DataType::Decimal { precision, scale } => Some((*precision, *scale)),
        _ => None,
    }
}

pub fn scale_of(ty: &DataType) -> u8 {
    parts(ty).map_or(0, |p| p.1)
}

/// The type of the result; none when the kernel has none.
pub fn result(op: &Operation, a: &DataType, b: &DataType) -> Result<Option<DataType>> {
    if matches!(op.kind, Kind::Gcd | Kind::Lcm) || op.on_fault == OnFault::Null {
        return Ok(None);
    }
    if op.on_fault == OnFault::Zero && op.kind == Kind::Modulo {
        return Ok(None);
    }
    if op.kind == Kind::IntDiv {
        let wide = |ty: &DataType| ty.physical().width().unwrap_or(0) >= 16;
        if a == &DataType::BFloat16 && wide(b) || b == &DataType::BFloat16 && wide(a) {
            return Ok(None);
        }
        return Ok(promotion::signed_of_bits(8 * a.physical().width().unwrap_or(8) as u32));
    }
    if a.is_float() || b.is_float() {
        let (float, decimal) = if a.is_float() { (a, b) } else { (b, a) };
        let illegal = *float == DataType::BFloat16 && decimal.physical().width().unwrap_or(0) >= 16;
        return Ok((!illegal).then_some(DataType::Float64));
    }
    Ok(Some(match (parts(a), parts(b)) {
        (Some((p1, s1)), Some((p2, s2))) => {
            let precision = widest_of_same_width(p1.max(p2));
            let scale = match op.kind {
                Kind::Plus | Kind::Minus => s1.max(s2),
                Kind::Multiply => s1 + s2,
                _ => s1,
            };
            ensure!(
                scale <= precision,
                ARGUMENT_OUT_OF_BOUND,
                "Scale {scale} is out of bounds (max scale: {precision})"
            );
            DataType::Decimal { precision, scale }
        }
        (Some(_), None) => a.clone(),
        _ => b.clone(),
    }))
}

/// Quotients and remainders of decimals have the scale of the dividend, which must do for both. The type of the result
/// is known all the same.
fn scale_fits(op: &Operation, a: &DataType, b: &DataType) -> Result<()> {
    let (Some((p1, s1)), Some((p2, s2))) = (parts(a), parts(b)) else {
        return Ok(());
    };
    if matches!(op.kind, Kind::Divide | Kind::IntDiv | Kind::Modulo | Kind::PositiveModulo) {
        ensure!(s1 >= s2, ARGUMENT_OUT_OF_BOUND, "Decimal result's scale is less than argument's one");
    }
    if matches!(op.kind, Kind::Divide | Kind::IntDiv) {
        ensure!(
            s1 + s2 <= widest_of_same_width(p1.max(p2)),
            DECIMAL_OVERFLOW,
            "Overflow during decimal division"
        );
    }
    Ok(())
}

/// The values as Float64.
pub fn to_floats(a: Operand, n: usize) -> Result<Vector> {
    let n = if a.constant { 1 } else { n };
    let divisor = pow10(scale_of(a.ty).into()).as_f64();
    let flat = Operand { constant: false, ..a };
    Ok(unary::<f64, f64>(flat, n, |x| x / divisor)?.into())
}

pub fn run(
    op: &Operation,
    a: Operand,
    b: Operand,
    result: &DataType,
    n: usize,
    ctx: &Context,
) -> Result<Vector> {
    let widest = match (parts(a.ty), parts(b.ty)) {
        (Some((p, _)), Some((q, _))) => p.max(q),
        (Some((p, _)), None) | (None, Some((p, _))) => p,
        _ => bail!(LOGICAL_ERROR, "Neither {} nor {} is a Decimal", a.ty, b.ty),
    };
    scale_fits(op, a.ty, b.ty)?;
    let computed = DataType::Decimal { precision: widest, scale: 0 };
    let checked = ctx.settings.decimal_check_overflow;
    let vector = with_integer!(computed.physical(), C => compute::<C>(op, a, b, result, n, checked)?,
        _ => bail!(LOGICAL_ERROR, "Decimals of precision {widest}"));
    if op.kind == Kind::IntDiv {
        return narrow(vector, result, n);
    }
    convert(vector, result.physical(), n)
}

/// The quotient in the type that `intDiv` promises.
fn narrow(vector: Vector, result: &DataType, n: usize) -> Result<Vector> {
    let converted = convert(vector.clone(), result.physical(), n)?;
    let same = convert(converted.clone(), vector.data.physical(), n)?;
    for row in 0..n {
        ensure!(same.compare(row, &vector, row).is_eq(), DECIMAL_OVERFLOW, "Convert overflow");
    }
    Ok(converted)
}

#[cold]
fn overflow() -> chalet_base::Error {
    err!(DECIMAL_OVERFLOW, "Decimal math overflow")
}

fn compute<C: Integer>(
    op: &Operation,
    a: Operand,
    b: Operand,
    result: &DataType,
    n: usize,
    checked: bool,
) -> Result<Vector>
where
    I256: Cast<C>,
{
    let (scale_a, scale_b) = (scale_of(a.ty), scale_of(b.ty));
    let times = |x: C, y: C| {
        if checked { x.checked_mul(y).ok_or_else(overflow) } else { Ok(x.mul(y)) }
    };
    // A power that exceeds the type makes every product but 0 overflow; so does the type's least value.
    let power = |digits: u8| -> C {
        let fits = C::BITS == 256 || pow10(76.min(digits.into())) < I256::ONE << (C::BITS - 1);
        if fits && digits <= 76 { pow10(digits.into()).cast() } else { C::MIN }
    };
    let values: Vec<C> = match op.kind {
        Kind::Plus | Kind::Minus => {
            let scale = scale_of(result);
            let (mut up_a, mut up_b) = (power(scale - scale_a), power(scale - scale_b));
            let plus = op.kind == Kind::Plus;
            // A constant is brought to the scale once.
            let brought = |operand: Operand, up: &mut C| -> Result<Vector> {
                let mut value = [C::default()];
                C::fill(&operand.vector.data, 0, &mut value);
                let up = std::mem::replace(up, C::ONE);
                Ok(Vector::from(vec![times(value[0], up)?]))
            };
            let (own_a, own_b);
            let (mut a, mut b) = (a, b);
            if a.constant && n > 0 {
                own_a = brought(a, &mut up_a)?;
                a.vector = &own_a;
            }
            if b.constant && n > 0 {
                own_b = brought(b, &mut up_b)?;
                b.vector = &own_b;
            }
            if up_a == C::ONE && up_b == C::ONE {
                return sums::<C>(plus, a, b, n, checked).map(Vector::from);
            }
            try_binary::<C, C, C>(a, b, n, |x, y| {
                let (x, y) = (times(x, up_a)?, times(y, up_b)?);
                match (plus, checked) {
                    (true, true) => x.checked_add(y).ok_or_else(overflow),
                    (false, true) => x.checked_sub(y).ok_or_else(overflow),
                    (true, false) => Ok(x.add(y)),
                    (false, false) => Ok(x.sub(y)),
                }
            })?
        }
        Kind::Multiply => try_binary::<C, C, C>(a, b, n, times)?,
        Kind::Divide | Kind::IntDiv => {
            let up = match (parts(a.ty), parts(b.ty)) {
                (None, Some(_)) => 2 * scale_b,
                _ => scale_b,
            };
            let quotient_scale = if parts(a.ty).is_some() { scale_a } else { scale_b };
            let down = if op.kind == Kind::IntDiv { power(quotient_scale) } else { C::ONE };
            let up = power(up);
            try_binary::<C, C, C>(a, b, n, |x, y| {
                if y == C::ZERO {
                    return fault(op);
                }
                let quotient = if up == C::ONE { x } else { times(x, up)? }.div(y);
                Ok(if down == C::ONE { quotient } else { quotient.div(down) })
            })?
        }
        _ => try_binary::<C, C, C>(a, b, n, |x, y| {
            // The kernel takes the remainder of the unscaled integers.
            if y == C::ZERO {
                return fault(op);
            }
            let minus_one = C::ZERO.bit_not();
            let rest = x.rem(y);
            let positive = op.kind == Kind::PositiveModulo;
            if x == C::MIN && y == minus_one || positive && rest < C::ZERO && y == C::MIN {
                return fault(op);
            }
            Ok(match op.kind {
                Kind::PositiveModulo if rest < C::ZERO && y < C::ZERO => rest.sub(y),
                Kind::PositiveModulo if rest < C::ZERO => rest.add(y),
                _ => rest,
            })
        })?,
    };
    Ok(Vector::new(Vector::from(values).data, None::<NullBuffer>))
}

/// Sums or differences of values of one scale. Which of them overflow is asked of all together: a branch for each row would keep the
/// loop from doing several at once.
fn sums<C: Integer>(plus: bool, a: Operand, b: Operand, n: usize, checked: bool) -> Result<Vec<C>> {
    let (values, marks) = match plus {
        true => marked::<C>(a, b, n, |x, y| {
            let sum = x.add(y);
            (sum, x.bit_xor(sum).bit_and(y.bit_xor(sum)))
        }),
        false => marked::<C>(a, b, n, |x, y| {
            let difference = x.sub(y);
            (difference, x.bit_xor(y).bit_and(x.bit_xor(difference)))
        }),
    }?;
    // A sum has another sign than both of its parts.
    if checked && marks < C::ZERO { Err(overflow()) } else { Ok(values) }
}

fn fault<C: Integer>(op: &Operation) -> Result<C> {
    match op.on_fault {
        OnFault::Fail => Err(err!(ILLEGAL_DIVISION, "Division by zero")),
        _ => Ok(C::ZERO),
    }
}
