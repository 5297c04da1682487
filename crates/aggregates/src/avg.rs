//! `avg` and `sumCount`: a total and a count.

use crate::check::{illegal_type, no_parameters, one_argument};
use crate::count::Count;
use crate::mean_of_parts::MeanOfParts;
use crate::sum::{Summand, Total, sum_of};
use chalet_base::Result;
use chalet_columns::wire::{put_len, take_len};
use chalet_columns::{Buf, Data, Struct, Vector};
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

const AVG: AggregateRecord = AggregateRecord {
    name: "avg",
    case_insensitive: true,
    summary: "The mean of numbers as Float64, NaN of no rows; of dates and times a date or time.",
    syntax: "avg(x)",
    examples: &[Example { sql: "SELECT avg(number) FROM numbers(4)", result: "1.5" }],
    portable_states: true,
    ..AggregateRecord::DEFAULT
};

const SUM_COUNT: AggregateRecord = AggregateRecord {
    name: "sumCount",
    summary: "The sum of numbers and how many there are, as a tuple.",
    syntax: "sumCount(x)",
    examples: &[Example { sql: "SELECT sumCount(number) FROM numbers(4)", result: "(6,4)" }],
    nulls: chalet_function_api::aggregate::AggregateNulls::SkipPlainResult,
    ..AggregateRecord::DEFAULT
};

pub struct Avg;
pub struct SumCount;

impl AggregateFunction for Avg {
    fn record(&self) -> &'static AggregateRecord {
        &AVG
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        no_parameters(AVG.name, parameters)?;
        one_argument(AVG.name, args)?;
        let ty = &args[0].ty;
        let timestamp = ty.is_date_or_time() || matches!(ty, DataType::Time | DataType::Time64(_));
        if !timestamp && !ty.is_number() {
            return Err(illegal_type(AVG.name, ty));
        }
        let result = if timestamp { ty.clone() } else { DataType::Float64 };
        let divisor = crate::floats::divisor(ty);
        bound(ty, result, if timestamp { Output::Timestamp } else { Output::Mean { divisor } })
            .ok_or_else(|| illegal_type(AVG.name, ty))
    }
}

impl AggregateFunction for SumCount {
    fn record(&self) -> &'static AggregateRecord {
        &SUM_COUNT
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        no_parameters(SUM_COUNT.name, parameters)?;
        one_argument(SUM_COUNT.name, args)?;
        let ty = &args[0].ty;
        let sum = crate::sum::total_type(ty).filter(|_| ty.is_number());
        let sum = sum.ok_or_else(|| illegal_type(SUM_COUNT.name, ty))?;
        let result = DataType::tuple([sum, DataType::UInt64]);
        bound(ty, result, Output::Pair).ok_or_else(|| illegal_type(SUM_COUNT.name, ty))
    }
}

/// What becomes of total and count.
#[derive(Clone, Copy)]
pub(crate) enum Output {
    Mean {
        divisor: f64,
    },
    /// The quotient, in the argument's own representation.
    Timestamp,
    Pair,
}

fn bound(ty: &DataType, result: DataType, output: Output) -> Option<Arc<dyn Aggregate>> {
    fn make<T: Summand<S>, S: Total + Quotient + Summand<S>>(
        result: DataType,
        output: Output,
    ) -> Option<Arc<dyn Aggregate>> {
        Some(Arc::new(Bound::<T, S> { result, output, types: PhantomData }))
    }
    let wide = ty.is_decimal();
    match ty.physical() {
        Physical::U8 => make::<u8, u64>(result, output),
        Physical::U16 => make::<u16, u64>(result, output),
        Physical::U32 => make::<u32, u64>(result, output),
        Physical::U64 => make::<u64, u64>(result, output),
        Physical::U128 => make::<u128, u128>(result, output),
        Physical::U256 => make::<U256, U256>(result, output),
        Physical::I8 => make::<i8, i64>(result, output),
        Physical::I16 => make::<i16, i64>(result, output),
        Physical::I32 if wide => make::<i32, i128>(result, output),
        Physical::I32 => make::<i32, i64>(result, output),
        Physical::I64 if wide => make::<i64, i128>(result, output),
        Physical::I64 => make::<i64, i64>(result, output),
        Physical::I128 => make::<i128, i128>(result, output),
        Physical::I256 => make::<I256, I256>(result, output),
        Physical::BF16 => make::<bf16, f64>(result, output),
        Physical::F32 => make::<f32, f64>(result, output),
        Physical::F64 => make::<f64, f64>(result, output),
        _ => None,
    }
}

/// Integer division that rounds half to even.
trait Rounded {
    fn rounded(self, n: u64) -> i64;
}

impl Rounded for i128 {
    fn rounded(self, n: u64) -> i64 {
        if n == 0 {
            return 0;
        }
        let n = i128::from(n);
        let (quotient, rest) = (self.div_euclid(n), 2 * self.rem_euclid(n));
        let up = rest > n || rest == n && quotient % 2 != 0;
        (quotient + i128::from(up)) as i64
    }
}

/// Totals that divide.
pub(crate) trait Quotient {
    fn mean(self, n: u64, divisor: f64) -> f64;
    /// Rounded, half to even; 0 of no rows. Only for totals of dates and times.
    fn timestamp(self, n: u64) -> i64;
}

macro_rules! quotients {
    ($($ty:ty, $float:expr;)*) => {$(
        impl Quotient for $ty {
            fn mean(self, n: u64, divisor: f64) -> f64 {
                let total: f64 = $float(self);
                if divisor == 1.0 { total / n as f64 } else { total / divisor / n as f64 }
            }
            fn timestamp(self, n: u64) -> i64 {
                if n == 0 { 0 } else { ($float(self) / n as f64).round_ties_even() as i64 }
            }
        }
    )*};
}

quotients! {
    u128, |x| x as f64;
    i128, |x| x as f64;
    U256, |x: U256| x.as_f64();
    I256, |x: I256| x.as_f64();
    f64, |x| x;
}

impl Quotient for u64 {
    fn mean(self, n: u64, _: f64) -> f64 {
        self as f64 / n as f64
    }
    fn timestamp(self, n: u64) -> i64 {
        i128::from(self).rounded(n)
    }
}

impl Quotient for i64 {
    fn mean(self, n: u64, _: f64) -> f64 {
        self as f64 / n as f64
    }
    fn timestamp(self, n: u64) -> i64 {
        i128::from(self).rounded(n)
    }
}

struct Bound<T, S> {
    result: DataType,
    output: Output,
    types: PhantomData<(T, S)>,
}

impl<T: Summand<S>, S: Total + Quotient + Summand<S>> Aggregate for Bound<T, S> {
    fn result_type(&self) -> DataType {
        self.result.clone()
    }

    fn states(&self) -> Box<dyn States> {
        Box::new(Averages::<T, S>::new(self.output, self.result.physical()))
    }

    fn split(&self) -> Option<Split> {
        let sum = match S::PHYSICAL {
            Physical::U64 => DataType::UInt64,
            Physical::I64 => DataType::Int64,
            Physical::U128 => DataType::UInt128,
            Physical::I128 => DataType::Int128,
            Physical::U256 => DataType::UInt256,
            Physical::I256 => DataType::Int256,
            Physical::F64 => DataType::Float64,
            _ => return None,
        };
        let Output::Mean { divisor } = self.output else { return None };
        let sum = crate::sum::bound::<T, S>(sum);
        Some(Split { parts: vec![sum, Arc::new(Count)], total: MeanOfParts::<S>::boxed(divisor) })
    }
}

/// A total and a count per group, 16 to 40 bytes.
pub(crate) struct Averages<T, S> {
    pairs: Vec<(S, u64)>,
    output: Output,
    physical: Physical,
    summand: PhantomData<T>,
}

impl<T, S: Total> Averages<T, S> {
    pub(crate) fn new(output: Output, physical: Physical) -> Self {
        Averages { pairs: Vec::new(), output, physical, summand: PhantomData }
    }

    /// Adds a total of some rows and their number.
    #[inline]
    pub(crate) fn add_part(&mut self, group: usize, part: S, count: u64) {
        let (total, n) = &mut self.pairs[group];
        *total = total.plus(part);
        *n = n.wrapping_add(count);
    }
}

impl<T: Summand<S>, S: Total + Quotient> States for Averages<T, S> {
    fn grow(&mut self, n: usize) {
        if self.pairs.len() < n {
            self.pairs.resize(n, (S::default(), 0));
        }
    }

    fn add(&mut self, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        let (total, n) = &mut self.pairs[group];
        *n += rows.len() as u64;
        *total = total.plus(sum_of(&args[0].values::<T>()?[rows]));
        Ok(())
    }

    fn add_groups(&mut self, groups: &[u32], args: &[Vector]) -> Result<()> {
        for (value, &group) in args[0].values::<T>()?.iter().zip(groups) {
            let (total, n) = &mut self.pairs[group as usize];
            *total = total.plus(value.widen());
            *n += 1;
        }
        Ok(())
    }

    fn merge(&mut self, other: &mut dyn States, from: &[u32], into: &[u32]) -> Result<()> {
        let other = same_states::<Self>(other)?;
        for (&from, &into) in from.iter().zip(into) {
            let (more, count) = other.pairs[from as usize];
            self.add_part(into as usize, more, count);
        }
        Ok(())
    }

    fn serialise(&self, group: usize, out: &mut Vec<u8>) {
        let (total, n) = self.pairs[group];
        out.extend(total.to_bytes());
        put_len(n as usize, out);
    }

    fn deserialise(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        let more = S::take(bytes)?;
        self.add_part(group, more, take_len(bytes)? as u64);
        Ok(())
    }

    fn finish(&mut self, n: usize) -> Result<Vector> {
        self.grow(n);
        let pairs = &self.pairs[..n];
        Ok(match self.output {
            Output::Mean { divisor } => {
                pairs.iter().map(|(total, n)| total.mean(*n, divisor)).collect::<Vec<f64>>().into()
            }
            Output::Timestamp => {
                let timestamps = pairs.iter().map(|(total, n)| total.timestamp(*n));
                match self.physical {
                    Physical::U16 => timestamps.map(|x| x as u16).collect::<Vec<_>>().into(),
                    Physical::U32 => timestamps.map(|x| x as u32).collect::<Vec<_>>().into(),
                    Physical::I32 => timestamps.map(|x| x as i32).collect::<Vec<_>>().into(),
                    _ => timestamps.collect::<Vec<i64>>().into(),
                }
            }
            Output::Pair => {
                let totals = S::wrap(Buf::from_vec(pairs.iter().map(|p| p.0).collect())).into();
                let counts = pairs.iter().map(|p| p.1).collect::<Vec<u64>>().into();
                Data::Struct(Struct { fields: vec![totals, counts], len: n }).into()
            }
        })
    }

    fn running(&mut self, args: &[Vector], mut from: usize, ends: &[usize]) -> Result<Vector> {
        let values = args[0].values::<T>()?;
        let (total, n) = &mut self.pairs[0];
        let pairs: Vec<(S, u64)> = ends
            .iter()
            .map(|&end| {
                *n = n.wrapping_add((end - from) as u64);
                *total = total.plus(sum_of(&values[from..end]));
                from = end;
                (*total, *n)
            })
            .collect();
        // Each pair is the state of a group, for as long as it takes to finish them.
        let held = std::mem::replace(&mut self.pairs, pairs);
        let results = self.finish(ends.len());
        self.pairs = held;
        results
    }

    fn running_frames(&mut self, args: &[Vector], frames: &[Range<usize>]) -> Result<Option<Vector>> {
        let values = args[0].values::<T>()?;
        let (mut total, mut n) = (S::default(), 0u64);
        self.pairs.clear();
        self.pairs.extend(frame_steps(frames).map(|(is_new, rows)| {
            if is_new {
                (total, n) = (S::default(), 0);
            }
            n = n.wrapping_add(rows.len() as u64);
            total = total.plus(sum_of(&values[rows]));
            (total, n)
        }));
        self.finish(frames.len()).map(Some)
    }

    fn memory(&self) -> usize {
        self.pairs.capacity() * size_of::<(S, u64)>()
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
