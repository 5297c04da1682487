//! Comparison of numbers by their mathematical value, whatever their types.

use super::order::Order;
use crate::lanes::{Operand, predicate, try_binary, unary};
use crate::number::{Cast, Number, checked_product};
use crate::with_integer;
use chalet_base::{Result, bail, err};
use chalet_columns::Vector;
use chalet_types::decimal::pow10;
use chalet_types::{DataType, I256, Physical, U256, bf16, promotion};
use std::cell::Cell;
use std::cmp::Ordering;

/// Values of one machine type.
pub fn same<C: Number>(order: Order, a: Operand, b: Operand, n: usize) -> Result<Vec<u8>> {
    match order {
        Order::Equal => predicate::<C>(a, b, n, |x, y| x == y),
        Order::NotEqual => predicate::<C>(a, b, n, |x, y| x != y),
        Order::Less => predicate::<C>(a, b, n, |x, y| x.less(y)),
        Order::LessOrEqual => predicate::<C>(a, b, n, |x, y| x.at_most(y)),
        Order::Greater | Order::GreaterOrEqual => same::<C>(order.swapped(), b, a, n),
    }
}

fn in_type(physical: Physical, order: Order, a: Operand, b: Operand, n: usize) -> Result<Vec<u8>> {
    with_integer!(physical, C => same::<C>(order, a, b, n),
    _ => match physical {
        Physical::F32 => same::<f32>(order, a, b, n),
        Physical::F64 => same::<f64>(order, a, b, n),
        Physical::BF16 => same::<bf16>(order, a, b, n),
        other => bail!(LOGICAL_ERROR, "Values of {other:?} are not numbers"),
    })
}

fn bits(physical: Physical) -> u32 {
    8 * physical.width().unwrap_or(8) as u32
}

fn is_float(physical: Physical) -> bool {
    matches!(physical, Physical::BF16 | Physical::F32 | Physical::F64)
}

fn is_signed(physical: Physical) -> bool {
    use Physical::*;
    matches!(physical, I8 | I16 | I32 | I64 | I128 | I256)
}

/// Integers and floats of any representation.
pub fn compare(order: Order, a: Operand, b: Operand, n: usize) -> Result<Vec<u8>> {
    let (x, y) = (a.vector.data.physical(), b.vector.data.physical());
    match (is_float(x), is_float(y)) {
        _ if x == y => in_type(x, order, a, b, n),
        (true, true) => in_type(Physical::F64, order, a, b, n),
        (false, true) => integer_and_float(order, a, b, n),
        (true, false) => integer_and_float(order.swapped(), b, a, n),
        (false, false) => {
            if a.constant && !b.constant {
                return with_constant(order.swapped(), b, a, n);
            }
            if b.constant {
                return with_constant(order, a, b, n);
            }
            integers(order, a, b, n)
        }
    }
}

/// Against a constant the column keeps its type: the constant fits into it, or decides alone.
fn with_constant(order: Order, a: Operand, b: Operand, n: usize) -> Result<Vec<u8>> {
    // What a comparison with NULL gives is masked by who asks.
    if b.vector.is_null(0) {
        return Ok(vec![0; n]);
    }
    if bits(a.vector.data.physical()) > 128 || bits(b.vector.data.physical()) > 128 {
        return integers(order, a, b, n);
    }
    let value =
        b.vector.value(0).as_i256().ok_or_else(|| err!(LOGICAL_ERROR, "Constant is not an integer"))?;
    with_value(order, a, b, value, n)
}

/// Integers of up to 128 bits against one that is the constant `b`.
fn with_value(order: Order, a: Operand, b: Operand, value: I256, n: usize) -> Result<Vec<u8>> {
    let physical = a.vector.data.physical();
    let width = bits(physical);
    let (least, most) = if is_signed(physical) {
        (-(I256::ONE << (width - 1)), (I256::ONE << (width - 1)) - 1)
    } else {
        (I256::ZERO, (I256::ONE << width) - 1)
    };
    if value < least || value > most {
        let ordering = if value < least { Ordering::Greater } else { Ordering::Less };
        return Ok(vec![u8::from(order.holds(Some(ordering))); n]);
    }
    in_type(physical, order, a, b, n)
}

fn integers(order: Order, a: Operand, b: Operand, n: usize) -> Result<Vec<u8>> {
    let (x, y) = (a.vector.data.physical(), b.vector.data.physical());
    let ty = match (is_signed(x), is_signed(y)) {
        (false, false) => promotion::unsigned_of_bits(bits(x).max(bits(y))),
        (true, true) => promotion::signed_of_bits(bits(x).max(bits(y))),
        (true, false) if bits(y) == 256 => {
            return try_binary::<I256, U256, u8>(a, b, n, |x, y| {
                let ordering = if x < 0 { Ordering::Less } else { x.as_u256().cmp(&y) };
                Ok(u8::from(order.holds(Some(ordering))))
            });
        }
        (false, true) if bits(x) == 256 => return integers(order.swapped(), b, a, n),
        (true, false) => promotion::signed_of_bits(bits(x).max(2 * bits(y))),
        (false, true) => promotion::signed_of_bits(bits(y).max(2 * bits(x))),
    };
    in_type(ty.map_or(Physical::I256, |ty| ty.physical()), order, a, b, n)
}

/// Integers of up to 128 bits against a float that is the same for all rows: it becomes the integer next to it, so that no row is converted.
fn with_float(order: Order, a: Operand, b: Operand, n: usize) -> Result<Vec<u8>> {
    let mut value = [0.0];
    if b.vector.is_null(0) || !f64::fill(&b.vector.data, 0, &mut value) || value[0].is_nan() {
        return Ok(vec![u8::from(order.holds(None)); n]);
    }
    let [float] = value;
    let next = match order {
        Order::Equal | Order::NotEqual if float.trunc() != float => {
            return Ok(vec![u8::from(order == Order::NotEqual); n]);
        }
        Order::Less | Order::GreaterOrEqual => float.ceil(),
        _ => float.floor(),
    };
    // What is beyond all integers is as far beyond these.
    let integer: I256 = next.cast();
    let vector = Vector::from(vec![integer]);
    with_value(order, a, Operand { vector: &vector, ..b }, integer, n)
}

fn integer_and_float(order: Order, a: Operand, b: Operand, n: usize) -> Result<Vec<u8>> {
    if b.constant && !a.constant && n > 0 && bits(a.vector.data.physical()) <= 128 {
        return with_float(order, a, b, n);
    }
    // Integers of up to 32 bits are exact in Float64.
    let width = bits(a.vector.data.physical());
    match a.vector.data.physical() {
        _ if width <= 32 => in_type(Physical::F64, order, a, b, n),
        Physical::U256 => {
            try_binary::<U256, f64, u8>(a, b, n, |x, y| Ok(u8::from(order.holds(unsigned_and_float(x, y)))))
        }
        _ if width <= 64 => {
            try_binary::<i128, f64, u8>(a, b, n, |x, y| Ok(u8::from(order.holds(small_and_float(x, y)))))
        }
        _ => try_binary::<I256, f64, u8>(a, b, n, |x, y| Ok(u8::from(order.holds(integer_to_float(x, y))))),
    }
}

fn small_and_float(x: i128, y: f64) -> Option<Ordering> {
    if y.is_nan() {
        return None;
    }
    // Saturates far outside of 64 bits, on the right side.
    let whole = y as i128;
    Some(x.cmp(&whole).then_with(|| 0.0f64.total_cmp(&(y.fract() + 0.0))))
}

fn integer_to_float(x: I256, y: f64) -> Option<Ordering> {
    if y.is_nan() {
        return None;
    }
    let whole: I256 = y.cast();
    Some(x.cmp(&whole).then_with(|| 0.0f64.total_cmp(&(y.fract() + 0.0))))
}

fn unsigned_and_float(x: U256, y: f64) -> Option<Ordering> {
    if y.is_nan() {
        return None;
    }
    if y < 0.0 {
        return Some(Ordering::Greater);
    }
    let whole: U256 = y.cast();
    Some(x.cmp(&whole).then_with(|| 0.0f64.total_cmp(&(y.fract() + 0.0))))
}

fn scale(ty: &DataType) -> u8 {
    match ty {
        DataType::Decimal { scale, .. } | DataType::DateTime64(scale, _) | DataType::Time64(scale) => *scale,
        _ => 0,
    }
}

/// Decimals among each other and with integers; with floats as Float64. Both sides are brought to one scale in an integer of the wider
/// one's bits: a value that does not fit there is an error if `checked`, and wraps around else.
pub fn decimals(order: Order, a: Operand, b: Operand, n: usize, checked: bool) -> Result<Vec<u8>> {
    if is_float(a.vector.data.physical()) || is_float(b.vector.data.physical()) {
        let divisor = |x: &Operand| pow10(scale(x.ty).into()).as_f64();
        let (by_a, by_b) = (divisor(&a), divisor(&b));
        return predicate::<f64>(a, b, n, |x, y| order.holds((x / by_a).partial_cmp(&(y / by_b))));
    }
    if a.constant && !b.constant {
        return decimals(order.swapped(), b, a, n, checked);
    }
    let common = scale(a.ty).max(scale(b.ty));
    let up = |x: &Operand| pow10(u32::from(common - scale(x.ty)));
    let (up_a, up_b) = (up(&a), up(&b));
    let (x, y) = (a.vector.data.physical(), b.vector.data.physical());
    let width = bits(x).max(bits(y)).max(32);
    // A side that is as wide as both and has no sign may be too great for a signed integer.
    let fits = |physical: Physical| is_signed(physical) || bits(physical) < width;
    if up_a == 1 && up_b == 1 && fits(x) && fits(y) {
        return integers(order, a, b, n);
    }
    if up_a == 1
        && fits(x)
        && !a.constant
        && b.constant
        && let Some(constant) = scaled(&b, up_b, width)
    {
        let b = Operand { ty: b.ty, vector: &constant, constant: true };
        return compare(order, a, b, n);
    }
    if width == 32 {
        let (up_a, up_b) = (up_a.as_i64(), up_b.as_i64());
        return try_binary::<i64, i64, u8>(a, b, n, |x, y| {
            let (x, y) = (x.wrapping_mul(up_a), y.wrapping_mul(up_b));
            let (low_x, low_y) = (x as i32, y as i32);
            if checked && (i64::from(low_x) != x || i64::from(low_y) != y) {
                return Err(overflow());
            }
            Ok(u8::from(order.holds(Some(low_x.cmp(&low_y)))))
        });
    }
    if width == 64 {
        // 64 bits times 10^18 fit into 128 bits.
        let (up_a, up_b) = (up_a.as_i128(), up_b.as_i128());
        return try_binary::<i128, i128, u8>(a, b, n, |x, y| {
            let (x, y) = (x.wrapping_mul(up_a), y.wrapping_mul(up_b));
            let (low_x, low_y) = (x as i64, y as i64);
            if checked && (i128::from(low_x) != x || i128::from(low_y) != y) {
                return Err(overflow());
            }
            Ok(u8::from(order.holds(Some(low_x.cmp(&low_y)))))
        });
    }
    if width == 128 && fits(x) && fits(y) {
        let (up_a, up_b) = (up_a.as_i128(), up_b.as_i128());
        return try_binary::<i128, i128, u8>(a, b, n, |x, y| {
            let ((x, x_overflows), (y, y_overflows)) = (times(x, up_a), times(y, up_b));
            if checked && (x_overflows || y_overflows) {
                return Err(overflow());
            }
            Ok(u8::from(order.holds(Some(x.cmp(&y)))))
        });
    }
    if width == 256 && fits(x) && fits(y) {
        let (scaled_a, scaled_b) = (brought(a, up_a, n, checked)?, brought(b, up_b, n, checked)?);
        let a = Operand { vector: scaled_a.as_ref().unwrap_or(a.vector), ..a };
        let b = Operand { vector: scaled_b.as_ref().unwrap_or(b.vector), ..b };
        return integers(order, a, b, n);
    }
    let scaled = |x: U256, unsigned: bool, up: I256| {
        let x = x.as_i256();
        let is_wrong = checked && unsigned && x < 0;
        if let Some(product) = checked_product(x, up).filter(|_| width == 256 && !is_wrong) {
            return Ok(product);
        }
        let product = x.wrapping_mul(up);
        let low = if width == 128 { I256::from(product.as_i128()) } else { product };
        if checked && (unsigned && x < 0 || x.checked_mul(up) != Some(low)) {
            return Err(overflow());
        }
        Ok(low)
    };
    let unsigned = (!is_signed(x), !is_signed(y));
    try_binary::<U256, U256, u8>(a, b, n, |x, y| {
        let ordering = scaled(x, unsigned.0, up_a)?.cmp(&scaled(y, unsigned.1, up_b)?);
        Ok(u8::from(order.holds(Some(ordering))))
    })
}

/// A constant brought to a scale, as a vector of one signed integer of so many bits; `None` where it does not fit.
fn scaled(constant: &Operand, up: I256, width: u32) -> Option<Vector> {
    if constant.vector.is_null(0) {
        return None;
    }
    let value = constant.vector.value(0).as_i256()?.checked_mul(up)?;
    let most = I256::MAX >> (256 - width);
    if value > most || value < -most - 1 {
        return None;
    }
    Some(match width {
        32 => Vector::from(vec![value.as_i32()]),
        64 => Vector::from(vec![value.as_i64()]),
        128 => Vector::from(vec![value.as_i128()]),
        _ => Vector::from(vec![value]),
    })
}

/// Values brought to another scale, in 256 bits; `None` where it is the one that they have.
fn brought(of: Operand, up: I256, n: usize, checked: bool) -> Result<Option<Vector>> {
    if up == 1 {
        return Ok(None);
    }
    let n = if of.constant { n.min(1) } else { n };
    let overflows = Cell::new(false);
    let product = |x: I256| {
        checked_product(x, up).unwrap_or_else(|| {
            overflows.set(true);
            x.wrapping_mul(up)
        })
    };
    let values = unary::<I256, I256>(of, n, product)?;
    if checked && overflows.get() { Err(overflow()) } else { Ok(Some(values.into())) }
}

/// A product, wrapped around, and whether it had to be. Most factors have 64 bits, and their product fits.
#[inline]
fn times(x: i128, up: i128) -> (i128, bool) {
    match (i64::try_from(x), i64::try_from(up)) {
        (Ok(x), Ok(up)) => (i128::from(x) * i128::from(up), false),
        _ if up == 1 => (x, false),
        _ => x.overflowing_mul(up),
    }
}

#[cold]
fn overflow() -> chalet_base::Error {
    err!(DECIMAL_OVERFLOW, "Can't compare decimal number due to overflow")
}
