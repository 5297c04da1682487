//! `least`, `greatest`: the least and the greatest of the arguments; NULL does not count.

use super::branches::common;
use crate::arithmetic::convert_numbers;
use crate::conversion::cast::{Mode, Rules, convert};
use crate::lanes::Operand;
use crate::number::Number;
use crate::select::{Branch, select};
use crate::widen::widen;
use crate::with_integer;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Column, Data, Native, Vector, bits};
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Example, Nulls, Record, ScalarFunction,
};
use chalet_types::decimal::widest_of_same_width;
use chalet_types::{DataType, Physical, promotion, supertype};
use std::cmp::Ordering;

const LEAST: Record = Record {
    name: "least",
    shown: chalet_function_api::ShownType::Dropped,
    case_insensitive: true,
    summary: "The least of the arguments; NULL only when all are NULL.",
    syntax: "least(a, b, ...)",
    examples: &[Example { sql: "SELECT least(3, 1, 2), least('b', 'a'), least(1, NULL)", result: "1\ta\t1" }],
    nulls: Nulls::Seen,
    constants: Constants::Seen,
    total: true,
    ..Record::DEFAULT
};

const GREATEST: Record = Record {
    name: "greatest",
    shown: chalet_function_api::ShownType::Dropped,
    summary: "The greatest of the arguments; NULL only when all are NULL.",
    syntax: "greatest(a, b, ...)",
    examples: &[Example {
        sql: "SELECT greatest(3, 1, 2), greatest('b', 'a'), greatest(1, NULL)",
        result: "3\tb\t1",
    }],
    ..LEAST
};

pub struct Extreme {
    record: &'static Record,
    /// How the result compares with what it beats.
    wanted: Ordering,
}

pub const LEAST_FUNCTION: Extreme = Extreme { record: &LEAST, wanted: Ordering::Less };
pub const GREATEST_FUNCTION: Extreme = Extreme { record: &GREATEST, wanted: Ordering::Greater };

/// Two numbers have a rule of their own: decimals win over integers, signed and unsigned 64 bits meet.
fn of_two_numbers(a: &DataType, b: &DataType, least: bool) -> Option<DataType> {
    let bits = |ty: &DataType| 8 * ty.physical().width().unwrap_or(1) as u32;
    let (a, b) = (
        if *a == DataType::Bool { &DataType::UInt8 } else { a },
        if *b == DataType::Bool { &DataType::UInt8 } else { b },
    );
    match (a, b) {
        (DataType::Decimal { precision: p, scale: s }, DataType::Decimal { precision: q, scale: t }) => {
            Some(DataType::Decimal { precision: widest_of_same_width(*p.max(q)), scale: *s.max(t) })
        }
        (decimal @ DataType::Decimal { .. }, other) | (other, decimal @ DataType::Decimal { .. }) => {
            match other {
                DataType::BFloat16 if bits(decimal) >= 128 => None,
                _ if other.is_float() => Some(DataType::Float64),
                _ => Some(decimal.clone()),
            }
        }
        _ if a.is_float() || b.is_float() => supertype::pair(a, b),
        _ if a.is_signed() == b.is_signed() => supertype::pair(a, b),
        _ => {
            let (signed, unsigned) = if a.is_signed() { (a, b) } else { (b, a) };
            match (bits(signed), bits(unsigned)) {
                (64, 64) => Some(if least { DataType::Int64 } else { DataType::UInt64 }),
                (s, u) if u < s => promotion::signed_of_bits(s),
                (_, u) => promotion::signed_of_bits(2 * u),
            }
        }
    }
}

/// Is the rule of two numbers the one that counts? Where there is a NULL, the common type is.
fn are_two_numbers(a: &DataType, b: &DataType) -> bool {
    a.is_number() && b.is_number()
}

impl Extreme {
    fn result(&self, args: &[Argument]) -> Result<DataType> {
        let some: Vec<&DataType> = args.iter().map(|arg| &arg.ty).filter(|ty| !ty.is_only_null()).collect();
        if let [a, b] = args
            && are_two_numbers(&a.ty, &b.ty)
        {
            let (x, y) = (&a.ty, &b.ty);
            return of_two_numbers(x, y, self.wanted == Ordering::Less).ok_or_else(|| {
                err!(
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "Illegal types {x} and {y} of arguments of function {}",
                    self.record.name
                )
            });
        }
        let result = common(&some.iter().map(|&ty| ty.clone()).collect::<Vec<_>>())?;
        Ok(if some.len() < args.len() { result.nullable() } else { result })
    }

    /// Where the second value beats the first, or is no worse when numbers are compared as the kernel does.
    fn numbers<C: Number>(&self, a: Operand, b: Operand, n: usize) -> Result<Vec<u8>> {
        let less = self.wanted == Ordering::Less;
        crate::lanes::binary::<C, u8>(a, b, n, |x, y| {
            // `x < y ? x : y`: with NaN on a side the second one wins.
            let first = if less { x < y } else { x > y };
            u8::from(!first)
        })
    }

    fn better(&self, a: &Vector, b: &Vector, ty: &DataType, n: usize, two: bool) -> Result<Vec<u8>> {
        let operand = |vector| Operand { ty, vector, constant: false };
        if two {
            let (a, b) = (operand(a), operand(b));
            return with_integer!(ty.physical(), C => self.numbers::<C>(a, b, n),
            _ => match ty.physical() {
                Physical::F32 => self.numbers::<f32>(a, b, n),
                Physical::F64 => self.numbers::<f64>(a, b, n),
                Physical::BF16 => self.numbers::<chalet_types::bf16>(a, b, n),
                _ => bail!(LOGICAL_ERROR, "{ty} is no number"),
            });
        }
        let less = self.wanted == Ordering::Less;
        let numbers = with_integer!(ty.physical(), C => Some(winners(a.values::<C>()?, b.values::<C>()?, less)),
        _ => match ty.physical() {
            Physical::F32 => Some(winners(a.values::<f32>()?, b.values::<f32>()?, less)),
            Physical::F64 => Some(winners(a.values::<f64>()?, b.values::<f64>()?, less)),
            _ => None,
        });
        if let Some(winners) = numbers {
            return Ok(winners);
        }
        let wins = |ordering| u8::from(ordering == self.wanted);
        if let (Data::Str(a), Data::Str(b)) = (&a.data, &b.data)
            && !ty.is_of_several_types()
        {
            return Ok(b.iter().zip(a.iter()).map(|(b, a)| wins(b.cmp(a))).collect());
        }
        if !ty.bare().is_float() {
            return Ok((0..n).map(|row| wins(b.compare(row, a, row))).collect());
        }
        let nan = |vector: &Vector, row: usize| vector.value(row).as_f64().is_some_and(f64::is_nan);
        Ok((0..n)
            .map(|row| {
                let ordering = match (nan(a, row), nan(b, row)) {
                    (true, false) => self.wanted,
                    (false, true) => self.wanted.reverse(),
                    _ => b.compare(row, a, row),
                };
                wins(ordering)
            })
            .collect())
    }
}

/// Where the second value beats the first. NaN beats nothing, and every number beats it.
fn winners<T: Native>(a: &[T], b: &[T], less: bool) -> Vec<u8> {
    // `x != x` only for NaN.
    #[allow(clippy::eq_op)]
    let wins = |x: T, y: T, better: bool| u8::from(better | ((x != x) & (y == y)));
    let pairs = a.iter().zip(b);
    match less {
        true => pairs.map(|(&x, &y)| wins(x, y, y < x)).collect(),
        false => pairs.map(|(&x, &y)| wins(x, y, y > x)).collect(),
    }
}

impl ScalarFunction for Extreme {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        ensure!(
            !args.is_empty(),
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Function {} cannot be called without arguments",
            self.record.name
        );
        Ok(self.result(args)?.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let n = call.n_rows;
        let some: Vec<_> = call.args.iter().filter(|arg| !arg.ty.is_only_null()).collect();
        // Signed and unsigned 64 bits meet in neither of the two.
        let sign = |ty: &DataType| some.iter().any(|arg| arg.ty.bare() == ty);
        let two = matches!(call.args, [a, b] if are_two_numbers(a.ty, b.ty));
        let mixed = two && sign(&DataType::Int64) && sign(&DataType::UInt64);
        let ty = &if mixed { DataType::Int128.nullable() } else { call.result.clone() };
        let vectors: Vec<Vector> = some
            .into_iter()
            .map(|arg| {
                let vector = match arg.ty.bare().is_decimal() && ty.bare().is_float() {
                    true => convert(&arg.vector, arg.ty, ty, &Rules::new(Mode::Cast, call.ctx))?,
                    false => widen(&arg.vector, arg.ty, ty, call.ctx)?,
                };
                Ok(if arg.constant { vector.repeat(n) } else { vector })
            })
            .collect::<Result<_>>()?;
        let mut rest = vectors.into_iter();
        let Some(mut best) = rest.next() else {
            return Ok(Column::constant(Vector::defaults(call.result, 1), n));
        };
        for next in rest {
            let mut choice = self.better(&best, &next, ty, n, two)?;
            // The next one does not count where it is NULL, and always does where the best one is.
            if let Some(validity) = next.validity.as_ref().filter(|validity| validity.null_count() > 0) {
                let is_valid = bits::to_bytes(validity.inner());
                choice.iter_mut().zip(is_valid).for_each(|(choice, valid)| *choice &= valid);
            }
            if let Some(validity) = best.validity.as_ref().filter(|validity| validity.null_count() > 0) {
                let is_valid = bits::to_bytes(validity.inner());
                choice.iter_mut().zip(is_valid).for_each(|(choice, valid)| *choice |= valid ^ 1);
            }
            let branch = |vector| Branch { vector, constant: false };
            best = select(&[branch(&best), branch(&next)], &choice)?;
        }
        Ok(convert_numbers_if(mixed, best, call.result, n)?.into())
    }
}

fn convert_numbers_if(needed: bool, vector: Vector, ty: &DataType, n: usize) -> Result<Vector> {
    if needed { convert_numbers(vector, ty.physical(), n) } else { Ok(vector) }
}
