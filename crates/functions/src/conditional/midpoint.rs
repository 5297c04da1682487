//! `midpoint`: the mean of the arguments in their own type, without those that are NULL.

use crate::lanes::{Operand, unary};
use crate::number::{Cast, Integer, Number};
use crate::widen::widen;
use crate::with_integer;
use chalet_base::simd_dispatch::dispatch_simd;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Data, Native, NullBuffer, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Context, Dictionaries, Example, Nulls, Record, ScalarFunction,
};
use chalet_types::supertype::common_supertype;
use chalet_types::{DataType, I256, Physical, U256, bf16};

const RECORD: Record = Record {
    name: "midpoint",
    case_insensitive: true,
    summary: "The mean of numbers, dates or times in their common type, cut off where that has no fraction. NULL does not count.",
    syntax: "midpoint(x1, ...)",
    examples: &[Example {
        sql: "SELECT midpoint(1, toUInt8(3), 0.5), midpoint(1, NULL, 3)",
        result: "1.5\t2",
    }],
    nulls: Nulls::Seen,
    dictionaries: Dictionaries::PerValue,
    ..Record::DEFAULT
};

const AVG2: Record = Record {
    name: "avg2",
    summary: "The mean of two numbers, dates or times in their common type, cut off where that has no fraction. NULL does not count.",
    syntax: "avg2(x1, x2)",
    examples: &[Example { sql: "SELECT avg2(toUInt8(3), 1.0), avg2(1, 2)", result: "2\t1" }],
    ..RECORD
};

pub struct Midpoint {
    record: &'static Record,
    /// Takes exactly two arguments.
    of_two: bool,
}

pub const FUNCTION: Midpoint = Midpoint { record: &RECORD, of_two: false };
pub const OF_TWO: Midpoint = Midpoint { record: &AVG2, of_two: true };

impl ScalarFunction for Midpoint {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        if self.of_two {
            check_arity(self.record.name, args.len(), 2..=2)?;
        }
        ensure!(
            !args.is_empty(),
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Function midpoint cannot be called without arguments"
        );
        if let [only] = args {
            return Ok(only.ty.clone().into());
        }
        let some: Vec<DataType> =
            args.iter().map(|arg| arg.ty.clone()).filter(|ty| !ty.is_only_null()).collect();
        if some.is_empty() {
            return Ok(DataType::Nothing.nullable().into());
        }
        let common = common_supertype(&some)?;
        for ty in &some {
            let ty = ty.without_nullable();
            let timely = ty.is_date_or_time() || matches!(ty, DataType::Time | DataType::Time64(_));
            ensure!(
                ty.is_number() || timely || *ty == DataType::Nothing,
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Function midpoint supports only numeric/temporal types, got {ty}"
            );
        }
        Ok(if some.len() < args.len() { common.nullable() } else { common }.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let n = call.n_rows;
        if let [only] = call.args {
            return Ok(only.vector.clone().into_owned().into());
        }
        let some = call.args.iter().filter(|arg| !arg.ty.is_only_null());
        let vectors: Vec<Vector> = some
            .map(|arg| widen(&arg.vector, arg.ty, &call.result.clone().nullable(), call.ctx))
            .collect::<Result<_>>()?;
        if vectors.is_empty() {
            return Ok(Column::constant(Vector::defaults(call.result, 1), n));
        }
        if let [a, b] = &vectors[..]
            && let Some(mean) = of_two(a, b)
        {
            return Ok(mean.into());
        }
        let counts: Vec<u32> =
            (0..n).map(|row| vectors.iter().filter(|vector| !vector.is_null(row)).count() as u32).collect();
        let physical = call.result.physical();
        let mean = with_integer!(physical, C => integers::<C>(&vectors, &counts, call.result)?, _ => match physical {
            Physical::F32 => floats::<f32>(&vectors, &counts, call.result, |a, b| a + b, |x, n| x / n as f32)?,
            Physical::F64 => floats::<f64>(&vectors, &counts, call.result, |a, b| a + b, |x, n| x / f64::from(n))?,
            Physical::BF16 => {
                let add = |a: f32, b: f32| a + b;
                let mean = floats::<f32>(&vectors, &counts, call.result, add, |x, n| x / n as f32)?;
                unary::<f32, bf16>(Operand { ty: call.result, vector: &mean, constant: false }, n, bf16::from_f32)?.into()
            }
            _ => bail!(LOGICAL_ERROR, "{} has no midpoint", call.result),
        });
        let validity =
            counts.contains(&0).then(|| counts.iter().map(|&count| count > 0).collect::<NullBuffer>());
        Ok(mean.with_nulls(validity.as_ref()).into())
    }
}

/// The mean of two vectors of integers of up to 64 bits or of Float64: the most common case, without counts.
fn of_two(a: &Vector, b: &Vector) -> Option<Vector> {
    /// `halved` is the mean of two values. What is NULL has no value; of one value, that is the mean.
    fn each<T: Native>(a: &Vector, b: &Vector, halved: impl Fn(T, T) -> T) -> Option<Vector> {
        let pairs = a.values::<T>().ok()?.iter().zip(b.values::<T>().ok()?);
        if a.validity.is_none() && b.validity.is_none() {
            let means: Vec<T> = dispatch_simd(|| pairs.map(|(&x, &y)| halved(x, y)).collect());
            return Some(means.into());
        }
        let valid = |vector: &Vector| -> Vec<bool> {
            vector.validity.as_ref().map_or_else(|| vec![true; vector.len()], |bits| bits.iter().collect())
        };
        let (valid_a, valid_b) = (valid(a), valid(b));
        let mean = |((&x, &y), (&in_a, &in_b)): ((&T, &T), (&bool, &bool))| match (in_a, in_b) {
            (true, true) => halved(x, y),
            (true, false) => x,
            (false, true) => y,
            (false, false) => T::default(),
        };
        let means: Vec<T> = pairs.zip(valid_a.iter().zip(&valid_b)).map(mean).collect();
        let any: Vec<bool> = valid_a.iter().zip(&valid_b).map(|(a, b)| a | b).collect();
        Some(Vector::new(T::wrap(means.into()), Some(NullBuffer::from(any))))
    }
    /// Divided towards zero.
    macro_rules! halves {
        ($($variant:ident: $ty:ty as $wide:ty),*) => {
            match &a.data {
                $(Data::$variant(_) => {
                    each::<$ty>(a, b, |x, y| ((<$wide>::from(x) + <$wide>::from(y)) / 2) as $ty)
                })*
                Data::F64(_) => each::<f64>(a, b, |x, y| (x + y) / 2.0),
                _ => None,
            }
        };
    }
    halves!(
        U8: u8 as u32, U16: u16 as u32, U32: u32 as u64, U64: u64 as u128, I8: i8 as i32, I16: i16 as i32,
        I32: i32 as i64, I64: i64 as i128
    )
}

/// Sums in 256 bits, so that they overflow only where the type itself is that wide.
fn integers<C: Integer>(vectors: &[Vector], counts: &[u32], ty: &DataType) -> Result<Vector>
where
    I256: Cast<C>,
    U256: Cast<C>,
{
    fn means<S, C: Native>(vectors: &[Vector], counts: &[u32], ty: &DataType) -> Result<Vector>
    where
        S: Integer + Cast<C>,
        u32: Cast<S>,
    {
        let zero = |_: &u32| S::ZERO;
        let mut sums: Vec<S> = counts.iter().map(zero).collect();
        for vector in vectors {
            let values = unary::<S, S>(Operand { ty, vector, constant: false }, counts.len(), |x| x)?;
            for (row, (sum, value)) in sums.iter_mut().zip(values).enumerate() {
                if !vector.is_null(row) {
                    *sum = sum.add(value);
                }
            }
        }
        let mean = |(sum, &count): (S, &u32)| sum.div(count.max(1).cast()).cast();
        Ok(sums.into_iter().zip(counts).map(mean).collect::<Vec<C>>().into())
    }
    if C::SIGNED { means::<I256, C>(vectors, counts, ty) } else { means::<U256, C>(vectors, counts, ty) }
}

fn floats<C: Number>(
    vectors: &[Vector],
    counts: &[u32],
    ty: &DataType,
    add: impl Fn(C, C) -> C,
    divide: impl Fn(C, u32) -> C,
) -> Result<Vector> {
    let mut sums = vec![C::default(); counts.len()];
    for vector in vectors {
        let values = unary::<C, C>(Operand { ty, vector, constant: false }, counts.len(), |x| x)?;
        for (row, (sum, value)) in sums.iter_mut().zip(values).enumerate() {
            if !vector.is_null(row) {
                *sum = add(*sum, value);
            }
        }
    }
    Ok(sums.into_iter().zip(counts).map(|(sum, &count)| divide(sum, count)).collect::<Vec<C>>().into())
}
