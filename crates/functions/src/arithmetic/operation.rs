//! Arithmetic of two arguments as data: which operation, what happens to a division that has no result, and
//! the choice of the kernel by the kinds of the arguments.

use super::{decimals, numbers, timestamps, vectors};
use crate::lanes::Operand;
use chalet_base::{Result, bail, err};
use chalet_columns::{Buf, Data, Vector};
use chalet_function_api::Context;
use chalet_types::{DataType, Physical, bf16};
use std::borrow::Cow;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Plus,
    Minus,
    Multiply,
    Divide,
    IntDiv,
    Modulo,
    PositiveModulo,
    Gcd,
    Lcm,
}

/// What a division by zero, or of the least number by -1, does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFault {
    Fail,
    Zero,
    Null,
}

#[derive(Clone, Copy, Debug)]
pub struct Operation {
    pub name: &'static str,
    pub kind: Kind,
    pub on_fault: OnFault,
}

impl Operation {
    pub const fn new(name: &'static str, kind: Kind) -> Operation {
        Operation { name, kind, on_fault: OnFault::Fail }
    }

    pub const fn on_fault(mut self, on_fault: OnFault) -> Operation {
        self.on_fault = on_fault;
        self
    }

    /// The type of the result.
    pub fn result(&self, a: &DataType, b: &DataType, ctx: &Context) -> Result<DataType> {
        if let Some(result) = vectors::result(self, a, b, ctx)? {
            return Ok(result);
        }
        let counted = self.counted(a, b);
        if counted.is_none()
            && let Some(result) = timestamps::result(self, a, b, ctx)?
        {
            return Ok(result);
        }
        let (x, y) = (counted.map_or_else(|| as_number(a), Cow::Owned), as_number(b));
        let result = match () {
            _ if !x.is_number() || !y.is_number() || a.physical() != b.physical() && ips(a, b) => None,
            _ if x.is_decimal() || y.is_decimal() => decimals::result(self, &x, &y)?,
            _ => numbers::result(self.kind, &x, &y),
        };
        match result {
            Some(ty) if self.on_fault == OnFault::Null => Ok(ty.nullable()),
            Some(ty) => Ok(ty),
            None => Err(self.illegal(a, b)),
        }
    }

    /// Remainders of days and seconds: the integer that a timestamp counts in.
    fn counted(&self, a: &DataType, b: &DataType) -> Option<DataType> {
        let remains = matches!(self.name, "modulo" | "positiveModulo");
        let by_number = b.is_number() && !b.is_decimal();
        match a {
            _ if !remains || !by_number => None,
            DataType::Date => Some(DataType::UInt16),
            DataType::DateTime(_) => Some(DataType::UInt32),
            DataType::Time => Some(DataType::Int32),
            _ => None,
        }
    }

    pub fn illegal(&self, a: &DataType, b: &DataType) -> chalet_base::Error {
        err!(ILLEGAL_TYPE_OF_ARGUMENT, "Illegal types {a} and {b} of arguments of function {}", self.name)
    }

    pub fn run(
        &self,
        a: Operand,
        b: Operand,
        result: &DataType,
        n_rows: usize,
        ctx: &Context,
    ) -> Result<Vector> {
        let tuples = [a.ty, b.ty].iter().all(|ty| matches!(ty, DataType::Tuple(_)));
        if vectors::concerns(a.ty, b.ty) && (tuples || !timestamps::concerns(a.ty, b.ty)) {
            return vectors::run(self, a, b, result, n_rows, ctx);
        }
        let counted = self.counted(a.ty, b.ty);
        if counted.is_none() && timestamps::concerns(a.ty, b.ty) {
            return timestamps::run(self, a, b, result, n_rows, ctx);
        }
        let (ty_a, ty_b) = (counted.map_or_else(|| as_number(a.ty), Cow::Owned), as_number(b.ty));
        let (vector_a, vector_b) = (as_numbers(a.vector), as_numbers(b.vector));
        let a = Operand { ty: &ty_a, vector: &vector_a, constant: a.constant };
        let b = Operand { ty: &ty_b, vector: &vector_b, constant: b.constant };
        if a.ty.is_decimal() || b.ty.is_decimal() {
            if a.ty.is_float() || b.ty.is_float() {
                let (x, y) = (decimals::to_floats(a, n_rows)?, decimals::to_floats(b, n_rows)?);
                let a = Operand { ty: &DataType::Float64, vector: &x, constant: a.constant };
                let b = Operand { ty: &DataType::Float64, vector: &y, constant: b.constant };
                return numbers::run(self, a, b, result.without_nullable(), n_rows);
            }
            return decimals::run(self, a, b, result.without_nullable(), n_rows, ctx);
        }
        numbers::run(self, a, b, result.without_nullable(), n_rows)
    }
}

fn ips(a: &DataType, b: &DataType) -> bool {
    let ip = |ty: &DataType| matches!(ty, DataType::IPv4 | DataType::IPv6);
    ip(a) && ip(b)
}

/// Bool and addresses count as the integers that represent them.
pub fn as_number(ty: &DataType) -> Cow<'_, DataType> {
    match ty {
        DataType::Bool => Cow::Owned(DataType::UInt8),
        DataType::IPv4 => Cow::Owned(DataType::UInt32),
        DataType::IPv6 => Cow::Owned(DataType::UInt128),
        other => Cow::Borrowed(other),
    }
}

/// What is a number to functions of two arguments alone.
pub fn is_address(ty: &DataType) -> bool {
    matches!(ty, DataType::IPv4 | DataType::IPv6)
}

/// Addresses of 16 bytes as the numbers that they are.
pub fn as_numbers(vector: &Vector) -> Cow<'_, Vector> {
    match &vector.data {
        Data::Fixed(fixed) if fixed.width == 16 => {
            let values: Buf<u128> =
                fixed.iter().map(|b| u128::from_be_bytes(b.try_into().unwrap_or_default())).collect();
            Cow::Owned(Vector::new(Data::U128(values), vector.validity.clone()))
        }
        _ => Cow::Borrowed(vector),
    }
}

/// The vector in another representation of numbers.
pub fn convert(vector: Vector, to: Physical, n_rows: usize) -> Result<Vector> {
    if vector.data.physical() == to {
        return Ok(vector);
    }
    let operand = Operand { ty: &DataType::Nothing, vector: &vector, constant: false };
    let values = crate::with_integer!(to, C => Vector::from(crate::lanes::unary::<C, C>(operand, n_rows, |x| x)?),
    _ => match to {
        Physical::F32 => Vector::from(crate::lanes::unary::<f32, f32>(operand, n_rows, |x| x)?),
        Physical::F64 => Vector::from(crate::lanes::unary::<f64, f64>(operand, n_rows, |x| x)?),
        Physical::BF16 => {
            let floats = crate::lanes::unary::<f32, f32>(operand, n_rows, |x| x)?;
            // The upper half, without rounding.
            let upper = floats.into_iter().map(|x| bf16::from_bits((x.to_bits() >> 16) as u16));
            Vector::from(upper.collect::<Vec<bf16>>())
        }
        other => bail!(LOGICAL_ERROR, "Numbers cannot be converted to {other:?}"),
    });
    Ok(Vector { data: values.data, validity: vector.validity.clone() })
}
