//! Arithmetic of integers and floats: result types and loops.

use super::operation::{Kind, OnFault, Operation, convert};
use crate::lanes::{Operand, binary, try_binary};
use crate::number::Integer;
use crate::with_integer;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Buf, Data, NullBuffer, Vector};
use chalet_types::{DataType, Physical, promotion};
use std::borrow::Cow;

/// The type of the result; none when the kernel has none.
pub fn result(kind: Kind, a: &DataType, b: &DataType) -> Option<DataType> {
    match kind {
        Kind::Plus | Kind::Multiply => promotion::sum(a, b),
        Kind::Minus => promotion::difference(a, b),
        Kind::Divide => promotion::quotient(a, b),
        Kind::IntDiv => promotion::integer_quotient(a, b),
        Kind::Modulo => promotion::remainder(a, b),
        Kind::PositiveModulo => promotion::positive_remainder(a, b),
        Kind::Gcd | Kind::Lcm => {
            if a.is_integer() && b.is_integer() {
                promotion::sum(a, b)
            } else {
                None
            }
        }
    }
}

pub fn run(op: &Operation, a: Operand, b: Operand, result: &DataType, n: usize) -> Result<Vector> {
    let floats = a.ty.is_float() || b.ty.is_float();
    match op.kind {
        Kind::Plus => sum(a, b, result, n, Sum::Plus),
        Kind::Minus => sum(a, b, result, n, Sum::Minus),
        Kind::Multiply => sum(a, b, result, n, Sum::Times),
        Kind::Divide => float_division(op, a, b, n, |x, y| x / y),
        Kind::Modulo if floats => float_division(op, a, b, n, remainder),
        Kind::PositiveModulo if floats => float_division(op, a, b, n, |x, y| {
            let rest = remainder(x, y);
            if rest < 0.0 { rest + y.abs() } else { rest }
        }),
        Kind::IntDiv if floats => float_quotient(op, a, b, result, n),
        Kind::IntDiv | Kind::Modulo | Kind::PositiveModulo => integer_division(op, a, b, result, n),
        Kind::Gcd | Kind::Lcm => {
            with_integer!(result.physical(), C => common_divisor::<C>(op, a, b, n), _ => mismatch(result))
        }
    }
}

fn mismatch(ty: &DataType) -> Result<Vector> {
    bail!(LOGICAL_ERROR, "Type {ty} has no arithmetic")
}

enum Sum {
    Plus,
    Minus,
    Times,
}

/// `+`, `-`, `*`: both sides in the type of the result, wrapping.
fn sum(a: Operand, b: Operand, result: &DataType, n: usize, op: Sum) -> Result<Vector> {
    fn integers<C: Integer>(a: Operand, b: Operand, n: usize, op: Sum) -> Result<Vector> {
        Ok(match op {
            Sum::Plus => binary::<C, C>(a, b, n, C::add)?,
            Sum::Minus => binary::<C, C>(a, b, n, C::sub)?,
            Sum::Times => binary::<C, C>(a, b, n, C::mul)?,
        }
        .into())
    }
    macro_rules! floats {
        ($ty:ty) => {
            Ok(match op {
                Sum::Plus => binary::<$ty, $ty>(a, b, n, |x, y| x + y)?,
                Sum::Minus => binary::<$ty, $ty>(a, b, n, |x, y| x - y)?,
                Sum::Times => binary::<$ty, $ty>(a, b, n, |x, y| x * y)?,
            }
            .into())
        };
    }
    with_integer!(result.physical(), C => integers::<C>(a, b, n, op),
    _ => match result.physical() {
        Physical::F32 => floats!(f32),
        Physical::F64 => floats!(f64),
        _ => mismatch(result),
    })
}

/// Division in Float64. Only the OrNull variants care about a zero divisor.
fn float_division(
    op: &Operation,
    a: Operand,
    b: Operand,
    n: usize,
    f: impl Fn(f64, f64) -> f64,
) -> Result<Vector> {
    let values = Vector::from(binary::<f64, f64>(a, b, n, f)?);
    if op.on_fault != OnFault::Null {
        return Ok(values);
    }
    let valid = binary::<f64, u8>(a, b, n, |_, y| u8::from(y != 0.0))?;
    Ok(Vector::new(values.data, Some(validity(&valid))))
}

fn validity(valid: &[u8]) -> NullBuffer {
    valid.iter().map(|&v| v != 0).collect()
}

/// As the kernel computes it, which differs from `fmod` in the last digits of large quotients.
fn remainder(x: f64, y: f64) -> f64 {
    x - (x / y).trunc() * y
}

/// `intDiv` with a float on a side, in the wider of the float types.
fn float_quotient(op: &Operation, a: Operand, b: Operand, result: &DataType, n: usize) -> Result<Vector> {
    let double = |ty: &DataType| *ty == DataType::Float64 || ty.is_decimal();
    let single = !double(a.ty) && !double(b.ty);
    // Quotients outside of the result's range fail; those of 128 and 256 bits saturate.
    let bits = 8 * result.physical().width().unwrap_or(8) as i32;
    let limit = if bits > 64 { f64::INFINITY } else { 2f64.powi(bits - 1) };
    let values = try_binary::<f64, f64, f64>(a, b, n, |x, y| {
        if y == 0.0 {
            return match op.on_fault {
                OnFault::Fail => Err(err!(ILLEGAL_DIVISION, "Division by zero")),
                _ => Ok(0.0),
            };
        }
        ensure!(
            x.is_finite() && y.is_finite(),
            ILLEGAL_DIVISION,
            "Cannot perform integer division on infinite or too large floating point numbers"
        );
        let quotient = if single { f64::from(x as f32 / y as f32) } else { x / y };
        ensure!(
            quotient >= -limit && quotient < limit,
            ILLEGAL_DIVISION,
            "Cannot perform integer division, because it will produce infinite or too large number"
        );
        Ok(quotient)
    })?;
    let values = convert(values.into(), result.physical(), n)?;
    if op.on_fault != OnFault::Null {
        return Ok(values);
    }
    let valid = binary::<f64, u8>(a, b, n, |_, y| u8::from(y != 0.0))?;
    Ok(Vector::new(values.data, Some(validity(&valid))))
}

/// Unsigned values as signed ones of the same width, without a copy.
fn as_signed(vector: &Vector) -> Vector {
    let data = match &vector.data {
        Data::U8(v) => Data::I8(Buf::from_arrow(v.to_arrow())),
        Data::U16(v) => Data::I16(Buf::from_arrow(v.to_arrow())),
        Data::U32(v) => Data::I32(Buf::from_arrow(v.to_arrow())),
        Data::U64(v) => Data::I64(Buf::from_arrow(v.to_arrow())),
        Data::U128(v) => Data::I128(Buf::from_arrow(v.to_arrow())),
        Data::U256(v) => Data::I256(Buf::from_arrow(v.to_arrow())),
        other => other.clone(),
    };
    Vector { data, validity: vector.validity.clone() }
}

/// `intDiv` and the remainders of integers.
fn integer_division(op: &Operation, a: Operand, b: Operand, result: &DataType, n: usize) -> Result<Vector> {
    let bits = |ty: &DataType| 8 * ty.physical().width().unwrap_or(8) as u32;
    let (bits_a, bits_b) = (bits(a.ty), bits(b.ty));
    let signed = a.ty.is_signed() || b.ty.is_signed();
    let mixed = a.ty.is_signed() != b.ty.is_signed();
    let (mut vector_a, mut vector_b) = (Cow::Borrowed(a.vector), Cow::Borrowed(b.vector));
    let mut width = bits_a.max(bits_b);
    if mixed && op.kind == Kind::IntDiv {
        // The kernel takes an unsigned side for a signed number, the divisor at no less than the dividend's width.
        if a.ty.is_signed() {
            let rows = if b.constant { 1 } else { n };
            let wider = promotion::signed_of_bits(width).map_or(a.ty.physical(), |ty| ty.physical());
            vector_b = Cow::Owned(convert(b.vector.clone(), wider, rows)?);
        } else {
            vector_a = Cow::Owned(as_signed(a.vector));
        }
    } else if mixed {
        // True values: an unsigned side needs one more bit.
        let unsigned = if a.ty.is_signed() { bits_b } else { bits_a };
        let other = if a.ty.is_signed() { bits_a } else { bits_b };
        width = other.max((2 * unsigned).min(256));
    }
    let ty = if signed { promotion::signed_of_bits(width) } else { promotion::unsigned_of_bits(width) };
    let physical = ty.map_or(Physical::Nothing, |ty| ty.physical());
    // In a quotient an unsigned divisor counts as signed too.
    let both_signed = a.ty.is_signed() && (b.ty.is_signed() || op.kind == Kind::IntDiv);
    let a = Operand { vector: &vector_a, ..a };
    let b = Operand { vector: &vector_b, ..b };
    let least_of_a = both_signed.then_some(bits_a);
    let least_of_b = b.ty.is_signed().then_some(bits_b);
    let quotient = with_integer!(physical, C => divide::<C>(op, a, b, n, least_of_a, least_of_b)?,
        _ => return mismatch(result));
    convert(quotient, result.physical(), n)
}

fn divide<C: Integer>(
    op: &Operation,
    a: Operand,
    b: Operand,
    n: usize,
    bits_a: Option<u32>,
    bits_b: Option<u32>,
) -> Result<Vector> {
    // The least value of the dividend's own type overflows when divided by -1.
    let least = bits_a.map(|bits| C::MIN.shr(C::BITS - bits));
    let least_b = bits_b.map(|bits| C::MIN.shr(C::BITS - bits));
    let minus_one = C::ZERO.bit_not();
    let positive = op.kind == Kind::PositiveModulo && C::SIGNED;
    let fault = move |x: C, y: C| {
        y == C::ZERO
            || least.is_some_and(|least| y == minus_one && x == least)
            || positive && x < C::ZERO && least_b.is_some_and(|least| y == least)
    };
    let faulty = binary::<C, u8>(a, b, n, |x, y| u8::from(fault(x, y)))?;
    let any = faulty.contains(&1);
    if any && op.on_fault == OnFault::Fail {
        let zero = binary::<C, u8>(a, b, n, |_, y| u8::from(y == C::ZERO))?.contains(&1);
        if zero {
            bail!(ILLEGAL_DIVISION, "Division by zero");
        }
        bail!(ILLEGAL_DIVISION, "Division of minimal signed number by minus one");
    }
    macro_rules! guarded {
        ($f:expr) => {
            if any {
                binary::<C, C>(a, b, n, |x, y| if fault(x, y) { C::ZERO } else { $f(x, y) })?
            } else {
                binary::<C, C>(a, b, n, $f)?
            }
        };
    }
    let values = match op.kind {
        Kind::IntDiv => guarded!(C::div),
        Kind::Modulo => guarded!(C::rem),
        _ => guarded!(|x: C, y: C| {
            let rest = x.rem(y);
            if rest >= C::ZERO {
                rest
            } else if y < C::ZERO {
                rest.sub(y)
            } else {
                rest.add(y)
            }
        }),
    };
    let valid = op.on_fault == OnFault::Null && any;
    let validity = valid.then(|| faulty.iter().map(|&f| f == 0).collect());
    Ok(Vector::new(Vector::from(values).data, validity))
}

fn common_divisor<C: Integer>(op: &Operation, a: Operand, b: Operand, n: usize) -> Result<Vector> {
    let minus_one = C::ZERO.bit_not();
    let values = try_binary::<C, C, C>(a, b, n, |x, y| {
        ensure!(x != C::ZERO && y != C::ZERO, ILLEGAL_DIVISION, "Division by zero");
        if C::SIGNED {
            let overflows = x == C::MIN && y == minus_one || y == C::MIN && x == minus_one;
            ensure!(!overflows, ILLEGAL_DIVISION, "Division of minimal signed number by minus one");
            ensure!(
                ![x, y].iter().any(|&x| x == C::MIN || x == C::MIN.bit_not()),
                DECIMAL_OVERFLOW,
                "Intermediate result overflow (signed a = {x:?}, signed b = {y:?})"
            );
        }
        let absolute = |x: C| if x < C::ZERO { x.neg() } else { x };
        let (x, y) = (absolute(x), absolute(y));
        let (mut big, mut small) = (x, y);
        while small != C::ZERO {
            (big, small) = (small, big.rem(small));
        }
        Ok(if op.kind == Kind::Gcd { big } else { x.div(big).mul(y) })
    })?;
    Ok(values.into())
}
