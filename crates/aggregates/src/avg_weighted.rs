//! `avgWeighted`: the mean of numbers with weights.

use crate::check::{no_parameters, two_arguments};
use crate::floats::Floats;
use crate::stats::real::{put_all, take_all};
use chalet_base::{Result, bail};
use chalet_columns::wire::{put_len, take, take_len};
use chalet_columns::{Builder, Data, Vector};
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, Value};
use std::marker::PhantomData;
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "avgWeighted",
    summary: "The mean of numbers, each with a weight; NaN when the weights add up to 0.",
    syntax: "avgWeighted(x, weight)",
    examples: &[Example {
        sql: "SELECT avgWeighted(x, w) FROM values('x Int8, w Float64', (4, 1), (1, 0), (10, 2))",
        result: "8",
    }],
    ..AggregateRecord::DEFAULT
};

pub struct AvgWeighted;

impl AggregateFunction for AvgWeighted {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        no_parameters(RECORD.name, parameters)?;
        two_arguments(RECORD.name, args)?;
        let known = |ty: &DataType| ty.is_integer() || matches!(ty, DataType::Float32 | DataType::Float64);
        if args.iter().any(|arg| !known(&arg.ty)) {
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Types {} and {} are non-conforming as arguments for aggregate function avgWeighted",
                args[0].ty,
                args[1].ty
            );
        }
        let weight = &args[1].ty;
        let signed = weight.is_signed();
        Ok(match weight.physical().width() {
            Some(..=8) if weight.is_integer() => EachState::of(Wrapped::<u64> { signed, state: PhantomData }),
            Some(16) => EachState::of(Wrapped::<u128> { signed, state: PhantomData }),
            _ => EachState::of(Weighted),
        })
    }
}

/// Unsigned integers that sums wrap in.
trait Wrapping: Copy + Default + Send + Sync + 'static {
    fn of(bits: u128) -> Self;
    /// The bits of a number; what is behind the point is cut off.
    fn at(data: &Data, row: usize) -> Self;
    fn times(self, other: Self) -> Self;
    fn plus(self, other: Self) -> Self;
    fn as_f64(self, signed: bool) -> f64;
    fn bits(self) -> u128;
}

macro_rules! wrapping {
    ($($unsigned:ty, $signed:ty;)*) => {$(
        impl Wrapping for $unsigned {
            #[inline]
            fn of(bits: u128) -> Self {
                bits as $unsigned
            }
            #[inline(always)]
            fn at(data: &Data, row: usize) -> Self {
                match data {
                    Data::U8(v) => v[row].into(),
                    Data::U16(v) => v[row].into(),
                    Data::U32(v) => v[row].into(),
                    Data::U64(v) => v[row].into(),
                    Data::I8(v) => v[row] as $unsigned,
                    Data::I16(v) => v[row] as $unsigned,
                    Data::I32(v) => v[row] as $unsigned,
                    Data::I64(v) => v[row] as $unsigned,
                    data => bits_of(data, row) as $unsigned,
                }
            }
            #[inline]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn as_f64(self, signed: bool) -> f64 {
                if signed { self as $signed as f64 } else { self as f64 }
            }
            fn bits(self) -> u128 {
                self.into()
            }
        }
    )*};
}

wrapping! {
    u64, i64;
    u128, i128;
}

/// The bits of a float or of a number of more than 64 bits as an integer of 128 bits.
fn bits_of(data: &Data, row: usize) -> u128 {
    match data {
        Data::U128(v) => v[row],
        Data::I128(v) => v[row] as u128,
        Data::F32(v) => v[row] as i128 as u128,
        Data::F64(v) => v[row] as i128 as u128,
        Data::U256(v) => v[row].as_f64() as u128,
        Data::I256(v) => v[row].as_f64() as i128 as u128,
        _ => 0,
    }
}

/// Weights that are integers: both sums are taken in their type and wrap, as in the kernel.
struct Wrapped<T> {
    signed: bool,
    state: PhantomData<T>,
}

impl<T> Wrapped<T> {
    /// The kernel writes the sum of weights without sign of up to 64 bits in as few bytes as it needs.
    fn is_short(&self) -> bool {
        !self.signed && size_of::<T>() == 8
    }
}

impl<T: Wrapping> RowAggregate for Wrapped<T> {
    /// Sum of values times weights, sum of weights.
    type State = [T; 2];
    type Input<'a> = [&'a Data; 2];

    fn result_type(&self) -> DataType {
        DataType::Float64
    }

    fn empty(&self) -> [T; 2] {
        [T::default(); 2]
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<[&'a Data; 2]> {
        Ok([&args[0].data, &args[1].data])
    }

    #[inline]
    fn add(&self, state: &mut [T; 2], [values, weights]: &[&Data; 2], row: usize) -> Result<()> {
        let weight = T::at(weights, row);
        self.merge(state, [T::at(values, row).times(weight), weight])
    }

    fn merge(&self, state: &mut [T; 2], other: [T; 2]) -> Result<()> {
        *state = [state[0].plus(other[0]), state[1].plus(other[1])];
        Ok(())
    }

    fn serialise(&self, state: &[T; 2], out: &mut Vec<u8>) {
        let [sum, weights] = state.map(T::bits);
        out.extend_from_slice(&sum.to_le_bytes()[..size_of::<T>()]);
        match self.is_short() {
            true => put_len(weights as usize, out),
            false => out.extend_from_slice(&weights.to_le_bytes()[..size_of::<T>()]),
        }
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<[T; 2]> {
        let number = |bytes: &mut &[u8]| {
            let mut number = [0; 16];
            number[..size_of::<T>()].copy_from_slice(take(bytes, size_of::<T>())?);
            Ok::<_, chalet_base::Error>(T::of(u128::from_le_bytes(number)))
        };
        let sum = number(bytes)?;
        Ok([sum, if self.is_short() { T::of(take_len(bytes)? as u128) } else { number(bytes)? }])
    }

    fn finish(&self, state: &mut [T; 2], out: &mut Builder) -> Result<()> {
        out.natives::<f64>()?.push(state[0].as_f64(self.signed) / state[1].as_f64(self.signed));
        Ok(())
    }
}

/// Weights that are floats, or wider than 128 bits.
struct Weighted;

impl RowAggregate for Weighted {
    /// Sum of values times weights, sum of weights.
    type State = [f64; 2];
    type Input<'a> = [Floats<'a>; 2];

    fn result_type(&self) -> DataType {
        DataType::Float64
    }

    fn empty(&self) -> [f64; 2] {
        [0.0; 2]
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<[Floats<'a>; 2]> {
        Ok([Floats::of(&args[0], 1.0)?, Floats::of(&args[1], 1.0)?])
    }

    #[inline]
    fn add(&self, state: &mut [f64; 2], [values, weights]: &[Floats; 2], row: usize) -> Result<()> {
        let weight = weights.get(row);
        state[0] += values.get(row) * weight;
        state[1] += weight;
        Ok(())
    }

    fn merge(&self, state: &mut [f64; 2], other: [f64; 2]) -> Result<()> {
        state[0] += other[0];
        state[1] += other[1];
        Ok(())
    }

    fn serialise(&self, state: &[f64; 2], out: &mut Vec<u8>) {
        put_all(state, out);
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<[f64; 2]> {
        take_all(bytes)
    }

    fn finish(&self, state: &mut [f64; 2], out: &mut Builder) -> Result<()> {
        out.natives::<f64>()?.push(state[0] / state[1]);
        Ok(())
    }
}
