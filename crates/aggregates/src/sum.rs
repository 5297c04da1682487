//! `sum`: the sum of numbers, in the widest type of their kind, wrapping where it overflows.

use crate::check::{illegal_type, no_parameters, one_argument};
use crate::skip_nulls::SkipNulls;
use chalet_base::Result;
use chalet_base::simd_dispatch::dispatch_simd;
use chalet_columns::{Buf, Native, Vector};
use chalet_function_api::aggregate::{Split, frame_steps};
use chalet_function_api::states::same_states;
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example, States,
};
use chalet_types::{DataType, I256, Physical, U256, Value, bf16};
use std::any::Any;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "sum",
    case_insensitive: true,
    summary: "The sum of numbers. Integers sum in 64 bits (or their own width if wider) and wrap on overflow; decimals \
              sum in the largest precision of their scale.",
    syntax: "sum(x)",
    examples: &[Example { sql: "SELECT sum(number) FROM numbers(5)", result: "10" }],
    portable_states: true,
    ..AggregateRecord::DEFAULT
};

pub struct Sum;

impl AggregateFunction for Sum {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        no_parameters(RECORD.name, parameters)?;
        one_argument(RECORD.name, args)?;
        of_type(&args[0].ty)
    }
}

/// The sum of values of a type that may be Nullable, as a call of `sum` gives it.
pub fn of_any_type(ty: &DataType) -> Result<Arc<dyn Aggregate>> {
    let sum = of_type(ty.without_nullable())?;
    Ok(if ty.is_nullable() { SkipNulls::around(sum, true, false) } else { sum })
}

/// The sum of values of a type.
pub fn of_type(ty: &DataType) -> Result<Arc<dyn Aggregate>> {
    let result = total_type(ty).ok_or_else(|| illegal_type(RECORD.name, ty))?;
    Ok(match (ty.physical(), result.physical()) {
        (Physical::U8, _) => bound::<u8, u64>(result),
        (Physical::U16, _) => bound::<u16, u64>(result),
        (Physical::U32, _) => bound::<u32, u64>(result),
        (Physical::U64, _) => bound::<u64, u64>(result),
        (Physical::U128, _) => bound::<u128, u128>(result),
        (Physical::U256, _) => bound::<U256, U256>(result),
        (Physical::I8, _) => bound::<i8, i64>(result),
        (Physical::I16, _) => bound::<i16, i64>(result),
        (Physical::I32, Physical::I128) => bound::<i32, i128>(result),
        (Physical::I32, _) => bound::<i32, i64>(result),
        (Physical::I64, Physical::I128) => bound::<i64, i128>(result),
        (Physical::I64, _) => bound::<i64, i64>(result),
        (Physical::I128, _) => bound::<i128, i128>(result),
        (Physical::I256, _) => bound::<I256, I256>(result),
        (Physical::BF16, _) => bound::<bf16, f64>(result),
        (Physical::F32, _) => bound::<f32, f64>(result),
        _ => bound::<f64, f64>(result),
    })
}

/// The type that values of a type sum up to.
pub fn total_type(ty: &DataType) -> Option<DataType> {
    Some(match ty {
        DataType::Float32 | DataType::Float64 | DataType::BFloat16 => DataType::Float64,
        DataType::Int128 | DataType::Int256 | DataType::UInt128 | DataType::UInt256 => ty.clone(),
        DataType::Decimal { precision, scale } => {
            DataType::Decimal { precision: if *precision > 38 { 76 } else { 38 }, scale: *scale }
        }
        _ if ty.is_unsigned() => DataType::UInt64,
        _ if ty.is_signed() || ty.is_enum() => DataType::Int64,
        _ => return None,
    })
}

/// The sum of values of one representation in another.
pub(crate) fn bound<T: Summand<S>, S: Total + Summand<S>>(result: DataType) -> Arc<dyn Aggregate> {
    Arc::new(BoundSum::<T, S> { result, types: PhantomData })
}

/// The sum of UInt64.
pub fn of_counts() -> Arc<dyn Aggregate> {
    bound::<u64, u64>(DataType::UInt64)
}

/// Values that add up to totals of type `S`.
pub trait Summand<S>: Native {
    fn widen(self) -> S;
}

/// A running total.
pub trait Total: Native {
    fn plus(self, other: Self) -> Self;
    fn to_bytes(self) -> Vec<u8>;
    fn take(bytes: &mut &[u8]) -> Result<Self>;
}

macro_rules! summands {
    ($($from:ty => $to:ty),*) => {$(
        impl Summand<$to> for $from {
            #[inline(always)]
            fn widen(self) -> $to {
                self.into()
            }
        }
    )*};
}

summands!(u8 => u64, u16 => u64, u32 => u64, u64 => u64, u128 => u128, U256 => U256, i8 => i64, i16 => i64, i32 => i64,
    i64 => i64, i32 => i128, i64 => i128, i128 => i128, I256 => I256, bf16 => f64, f32 => f64, f64 => f64);

macro_rules! totals {
    ($($ty:ty, $plus:expr;)*) => {$(
        impl Total for $ty {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                $plus(self, other)
            }
            fn to_bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
            fn take(bytes: &mut &[u8]) -> Result<Self> {
                Ok(<$ty>::from_le_bytes(chalet_columns::wire::take_array(bytes)?))
            }
        }
    )*};
}

totals! {
    u64, u64::wrapping_add;
    i64, i64::wrapping_add;
    u128, u128::wrapping_add;
    i128, i128::wrapping_add;
    U256, U256::wrapping_add;
    I256, I256::wrapping_add;
    f64, |a, b| a + b;
}

struct BoundSum<T, S> {
    result: DataType,
    types: PhantomData<(T, S)>,
}

impl<T: Summand<S>, S: Total + Summand<S>> Aggregate for BoundSum<T, S> {
    fn result_type(&self) -> DataType {
        self.result.clone()
    }

    fn states(&self) -> Box<dyn States> {
        Box::new(Sums::<T, S> { totals: Vec::new(), summand: PhantomData })
    }

    /// Sums of floating-point numbers depend on the order, but then that is open anyway.
    fn split(&self) -> Option<Split> {
        let part = || bound::<T, S>(self.result.clone());
        Some(Split { parts: vec![part()], total: bound::<S, S>(self.result.clone()) })
    }

    fn sums_integers(&self) -> bool {
        matches!(self.result, DataType::UInt64 | DataType::Int64)
    }
}

/// One total per group, 8 to 32 bytes.
struct Sums<T, S> {
    totals: Vec<S>,
    summand: PhantomData<T>,
}

impl<T: Summand<S>, S: Total> States for Sums<T, S> {
    fn grow(&mut self, n: usize) {
        if self.totals.len() < n {
            self.totals.resize(n, S::default());
        }
    }

    fn add(&mut self, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        let total = &mut self.totals[group];
        *total = total.plus(sum_of(&args[0].values::<T>()?[rows]));
        Ok(())
    }

    fn add_groups(&mut self, groups: &[u32], args: &[Vector]) -> Result<()> {
        for (value, &group) in args[0].values::<T>()?.iter().zip(groups) {
            let total = &mut self.totals[group as usize];
            *total = total.plus(value.widen());
        }
        Ok(())
    }

    fn merge(&mut self, other: &mut dyn States, from: &[u32], into: &[u32]) -> Result<()> {
        let other = same_states::<Self>(other)?;
        for (&from, &into) in from.iter().zip(into) {
            let total = &mut self.totals[into as usize];
            *total = total.plus(other.totals[from as usize]);
        }
        Ok(())
    }

    fn serialise(&self, group: usize, out: &mut Vec<u8>) {
        out.extend(self.totals[group].to_bytes());
    }

    fn deserialise(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        let total = &mut self.totals[group];
        *total = total.plus(S::take(bytes)?);
        Ok(())
    }

    fn finish(&mut self, n: usize) -> Result<Vector> {
        self.grow(n);
        Ok(S::wrap(Buf::from_vec(self.totals[..n].to_vec())).into())
    }

    fn running(&mut self, args: &[Vector], mut from: usize, ends: &[usize]) -> Result<Vector> {
        let values = args[0].values::<T>()?;
        let total = &mut self.totals[0];
        let totals = ends.iter().map(|&end| {
            *total = total.plus(sum_of(&values[from..end]));
            from = end;
            *total
        });
        Ok(S::wrap(Buf::from_vec(totals.collect())).into())
    }

    fn running_frames(&mut self, args: &[Vector], frames: &[Range<usize>]) -> Result<Option<Vector>> {
        let values = args[0].values::<T>()?;
        let mut total = S::default();
        let totals = frame_steps(frames).map(|(is_new, rows)| {
            let before = if is_new { S::default() } else { total };
            total = before.plus(sum_of(&values[rows]));
            total
        });
        Ok(Some(S::wrap(Buf::from_vec(totals.collect())).into()))
    }

    fn memory(&self) -> usize {
        self.totals.capacity() * size_of::<S>()
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// Independent totals over 128 bytes of values, as the kernel adds floats, so that results agree to the last bit.
pub fn sum_of<T: Summand<S>, S: Total>(values: &[T]) -> S {
    const LANES: usize = 16;
    if values.len() < LANES {
        return values.iter().fold(S::default(), |total, value| total.plus(value.widen()));
    }
    let mut lanes = [S::default(); LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    dispatch_simd(|| {
        for chunk in chunks {
            for (lane, value) in lanes.iter_mut().zip(chunk) {
                *lane = lane.plus(value.widen());
            }
        }
    });
    let head = lanes.into_iter().fold(S::default(), S::plus);
    rest.iter().fold(head, |total, value| total.plus(value.widen()))
}
