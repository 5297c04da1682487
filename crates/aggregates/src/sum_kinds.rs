//! `sumWithOverflow` and `sumKahan`: sums that keep the argument's type, and sums that keep the digits.

use crate::check::{illegal_type, no_parameters, one_argument};
use crate::floats::{Floats, divisor};
use crate::sum::total_type;
use chalet_base::Result;
use chalet_columns::wire::take_f64;
use chalet_columns::{Builder, Vector};
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, I256, Physical, U256, Value, bf16};
use std::marker::PhantomData;
use std::sync::Arc;

const WITH_OVERFLOW: AggregateRecord = AggregateRecord {
    name: "sumWithOverflow",
    summary: "The sum of numbers in their own type; it wraps on overflow.",
    syntax: "sumWithOverflow(x)",
    examples: &[Example { sql: "SELECT sumWithOverflow(toUInt8(number)) FROM numbers(30)", result: "179" }],
    ..AggregateRecord::DEFAULT
};

const KAHAN: AggregateRecord = AggregateRecord {
    name: "sumKahan",
    summary: "The sum of numbers as Float64 with what rounding took away carried along; decimals sum as in sum.",
    syntax: "sumKahan(x)",
    examples: &[Example { sql: "SELECT sumKahan(x) FROM values('x Float64', 0.1, 0.2, 0.3)", result: "0.6" }],
    ..AggregateRecord::DEFAULT
};

pub struct SumWithOverflow;
pub struct SumKahan;

impl AggregateFunction for SumWithOverflow {
    fn record(&self) -> &'static AggregateRecord {
        &WITH_OVERFLOW
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = WITH_OVERFLOW.name;
        no_parameters(name, parameters)?;
        one_argument(name, args)?;
        let ty = match &args[0].ty {
            DataType::Bool => DataType::UInt8,
            DataType::Enum8(_) => DataType::Int8,
            DataType::Enum16(_) => DataType::Int16,
            ty if ty.is_number() => ty.clone(),
            ty => return Err(illegal_type(name, ty)),
        };
        fn bound<T: Wrapping>(ty: DataType) -> Arc<dyn Aggregate> {
            EachState::of(Narrow::<T> { ty, total: PhantomData })
        }
        Ok(match ty.physical() {
            Physical::U8 => bound::<u8>(ty),
            Physical::U16 => bound::<u16>(ty),
            Physical::U32 => bound::<u32>(ty),
            Physical::U64 => bound::<u64>(ty),
            Physical::U128 => bound::<u128>(ty),
            Physical::U256 => bound::<U256>(ty),
            Physical::I8 => bound::<i8>(ty),
            Physical::I16 => bound::<i16>(ty),
            Physical::I32 => bound::<i32>(ty),
            Physical::I64 => bound::<i64>(ty),
            Physical::I128 => bound::<i128>(ty),
            Physical::I256 => bound::<I256>(ty),
            Physical::BF16 => bound::<bf16>(ty),
            Physical::F32 => bound::<f32>(ty),
            _ => bound::<f64>(ty),
        })
    }
}

/// Numbers that add up in their own type.
pub trait Wrapping: chalet_columns::Native {
    fn plus(self, other: Self) -> Self;
    fn bytes(self) -> Vec<u8>;
    fn from_bytes(bytes: &mut &[u8]) -> Result<Self>;
}

macro_rules! wrapping {
    ($($ty:ty, $plus:expr;)*) => {$(
        impl Wrapping for $ty {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                $plus(self, other)
            }
            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
            fn from_bytes(bytes: &mut &[u8]) -> Result<Self> {
                Ok(<$ty>::from_le_bytes(chalet_columns::wire::take_array(bytes)?))
            }
        }
    )*};
}

wrapping! {
    u8, u8::wrapping_add;
    u16, u16::wrapping_add;
    u32, u32::wrapping_add;
    u64, u64::wrapping_add;
    u128, u128::wrapping_add;
    U256, U256::wrapping_add;
    i8, i8::wrapping_add;
    i16, i16::wrapping_add;
    i32, i32::wrapping_add;
    i64, i64::wrapping_add;
    i128, i128::wrapping_add;
    I256, I256::wrapping_add;
    bf16, |a: bf16, b: bf16| a + b;
    f32, |a, b| a + b;
    f64, |a, b| a + b;
}

struct Narrow<T> {
    ty: DataType,
    total: PhantomData<T>,
}

impl<T: Wrapping> RowAggregate for Narrow<T> {
    type State = T;
    type Input<'a> = &'a [T];

    fn result_type(&self) -> DataType {
        self.ty.clone()
    }

    fn empty(&self) -> T {
        T::default()
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<&'a [T]> {
        args[0].values()
    }

    #[inline]
    fn add(&self, state: &mut T, input: &&[T], row: usize) -> Result<()> {
        *state = state.plus(input[row]);
        Ok(())
    }

    fn merge(&self, state: &mut T, other: T) -> Result<()> {
        *state = state.plus(other);
        Ok(())
    }

    fn serialise(&self, state: &T, out: &mut Vec<u8>) {
        out.extend(state.bytes());
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<T> {
        T::from_bytes(bytes)
    }

    fn finish(&self, state: &mut T, out: &mut Builder) -> Result<()> {
        out.natives::<T>()?.push(*state);
        Ok(())
    }
}

impl AggregateFunction for SumKahan {
    fn record(&self) -> &'static AggregateRecord {
        &KAHAN
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], ctx: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = KAHAN.name;
        no_parameters(name, parameters)?;
        one_argument(name, args)?;
        let ty = &args[0].ty;
        total_type(ty).ok_or_else(|| illegal_type(name, ty))?;
        if ty.is_decimal() {
            // Decimals lose nothing.
            return crate::sum::Sum.bind(parameters, args, ctx);
        }
        Ok(EachState::of(Kahan { divisor: divisor(ty) }))
    }
}

struct Kahan {
    divisor: f64,
}

/// A total and what it has too much.
#[derive(Clone, Copy, Default)]
struct Compensated {
    total: f64,
    lack: f64,
}

impl RowAggregate for Kahan {
    type State = Compensated;
    type Input<'a> = Floats<'a>;

    fn result_type(&self) -> DataType {
        DataType::Float64
    }

    fn empty(&self) -> Compensated {
        Compensated::default()
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<Floats<'a>> {
        Floats::of(&args[0], self.divisor)
    }

    #[inline]
    fn add(&self, state: &mut Compensated, input: &Floats, row: usize) -> Result<()> {
        let x = input.get(row) - state.lack;
        let total = state.total + x;
        state.lack = (total - state.total) - x;
        state.total = total;
        Ok(())
    }

    fn merge(&self, state: &mut Compensated, other: Compensated) -> Result<()> {
        let raw = state.total + other.total;
        let added = raw - state.total;
        let rounding = (other.total - added) + (state.total - (raw - added));
        let correction = rounding - state.lack - other.lack;
        let total = raw + correction;
        *state = Compensated { total, lack: (total - raw) - correction };
        Ok(())
    }

    fn serialise(&self, state: &Compensated, out: &mut Vec<u8>) {
        out.extend(state.total.to_le_bytes());
        out.extend(state.lack.to_le_bytes());
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<Compensated> {
        Ok(Compensated { total: take_f64(bytes)?, lack: take_f64(bytes)? })
    }

    fn finish(&self, state: &mut Compensated, out: &mut Builder) -> Result<()> {
        out.natives::<f64>()?.push(state.total);
        Ok(())
    }
}
