//! `quantileExact` and its variants: all values are kept.

use crate::quantile::levels::{Domain, Levels, check_arguments, check_value};
use crate::quantile::{Sketch, bound, push_float, sort_grown};
use crate::slots::kinds::order_natives;
use chalet_base::{Result, bail};
use chalet_columns::wire::{put_len, take, take_count};
use chalet_columns::{Buf, Builder, Native, Vector};
use chalet_function_api::{Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example};
use chalet_types::{DataType, I256, Physical, U256, Value};
use std::cmp::Ordering;
use std::marker::PhantomData;
use std::sync::Arc;

/// Which value stands for a level.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pick {
    /// The value at the level; of an even number of values the upper median.
    Exact,
    Low,
    High,
    /// Interpolated; the ends are levels 0 and 1.
    Inclusive,
    /// Interpolated; the ends lie inside of 0 and 1.
    Exclusive,
}

pub struct Exact {
    record: &'static AggregateRecord,
    pick: Pick,
    many: bool,
}

macro_rules! records {
    ($($one:ident $many:ident: $pick:ident, $name:literal, $median:literal, $names:literal, $summary:literal, $result:literal, $results:literal;)*) => {
        $(
            const $one: AggregateRecord = AggregateRecord {
                name: $name,
                states_of: $name,
                aliases: &[$median],
                summary: $summary,
                syntax: concat!($name, "(level)(x)"),
                examples: &[Example {
                    sql: concat!("SELECT ", $name, "(0.5)(x) FROM values('x Int32', 5, 1, 2, 4)"),
                    result: $result,
                }],
                ..AggregateRecord::DEFAULT
            };
            const $many: AggregateRecord = AggregateRecord {
                name: $names,
                states_of: $name,
                summary: concat!("Several quantiles at once, each as ", $name, " gives it."),
                syntax: concat!($names, "(level1, level2, ...)(x)"),
                examples: &[Example {
                    sql: concat!("SELECT ", $names, "(0.5, 0.9)(x) FROM values('x Int32', 5, 1, 2, 4)"),
                    result: $results,
                }],
                ..AggregateRecord::DEFAULT
            };
        )*
        impl Exact {
            pub const ALL: [Exact; 10] = [$(
                Exact { record: &$one, pick: Pick::$pick, many: false },
                Exact { record: &$many, pick: Pick::$pick, many: true },
            )*];
        }
    };
}

records! {
    EXACT EXACT_MANY: Exact, "quantileExact", "medianExact", "quantilesExact",
        "The value at a level, from all values; of an even number of values the median is the upper of the middle two.",
        "4", "[4,5]";
    LOW LOW_MANY: Low, "quantileExactLow", "medianExactLow", "quantilesExactLow",
        "The value at a level, from all values; of an even number of values the median is the lower of the middle two.",
        "2", "[2,5]";
    HIGH HIGH_MANY: High, "quantileExactHigh", "medianExactHigh", "quantilesExactHigh",
        "The value at a level, from all values; of an even number of values the median is the upper of the middle two.",
        "4", "[4,5]";
    INCLUSIVE INCLUSIVE_MANY: Inclusive, "quantileExactInclusive", "medianExactInclusive", "quantilesExactInclusive",
        "The value at a level, interpolated; levels 0 and 1 are the smallest and the largest value.", "3", "[3,4.7]";
    EXCLUSIVE EXCLUSIVE_MANY: Exclusive, "quantileExactExclusive", "medianExactExclusive", "quantilesExactExclusive",
        "The value at a level, interpolated; levels 0 and 1 are outside of all values.", "3", "[3,5]";
}

impl AggregateFunction for Exact {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = self.record.name;
        let domain = match self.pick {
            Pick::Exact => Domain::All,
            Pick::Low | Pick::High => Domain::NoWideIntegers,
            Pick::Inclusive | Pick::Exclusive => Domain::Narrow,
        };
        let counted = matches!(self.pick, Pick::Exact | Pick::Low | Pick::Exclusive);
        check_value(name, args, domain, counted)?;
        let levels = Levels::new(name, self.many, parameters)?;
        check_arguments(name, args, false)?;
        let ty = &args[0].ty;
        fn all<T: Native>(pick: Pick, ty: &DataType, levels: Levels) -> Arc<dyn Aggregate> {
            let floats = matches!(pick, Pick::Inclusive | Pick::Exclusive);
            let ty = if floats { DataType::Float64 } else { ty.clone() };
            bound(All::<T> { pick, ty, values: PhantomData }, levels)
        }
        Ok(match ty.physical() {
            Physical::U8 => all::<u8>(self.pick, ty, levels),
            Physical::U16 => all::<u16>(self.pick, ty, levels),
            Physical::U32 => all::<u32>(self.pick, ty, levels),
            Physical::U64 => all::<u64>(self.pick, ty, levels),
            Physical::U128 => all::<u128>(self.pick, ty, levels),
            Physical::U256 => all::<U256>(self.pick, ty, levels),
            Physical::I8 => all::<i8>(self.pick, ty, levels),
            Physical::I16 => all::<i16>(self.pick, ty, levels),
            Physical::I32 => all::<i32>(self.pick, ty, levels),
            Physical::I64 => all::<i64>(self.pick, ty, levels),
            Physical::I128 => all::<i128>(self.pick, ty, levels),
            Physical::I256 => all::<I256>(self.pick, ty, levels),
            Physical::F32 => all::<f32>(self.pick, ty, levels),
            _ => all::<f64>(self.pick, ty, levels),
        })
    }
}

/// All values of a group, NaN left out.
struct Values<T> {
    all: Vec<T>,
    /// As many of them are in order, from the first on.
    n_sorted: usize,
}

impl<T> Default for Values<T> {
    fn default() -> Self {
        Values { all: Vec::new(), n_sorted: 0 }
    }
}

struct All<T> {
    pick: Pick,
    ty: DataType,
    values: PhantomData<T>,
}

impl<T: Native> All<T> {
    fn order(a: &T, b: &T) -> Ordering {
        order_natives(*a, *b, false)
    }

    fn float(x: T) -> f64 {
        // Only types of up to 64 bits come here.
        let value = Vector::from(vec![x]);
        crate::floats::Floats::of(&value, 1.0).map_or(f64::NAN, |floats| floats.get(0))
    }

    /// Where a level lies among `n` values, counted from 1, when they are interpolated.
    fn place(&self, n: usize, level: f64) -> f64 {
        if self.pick == Pick::Inclusive { level * (n - 1) as f64 + 1.0 } else { level * (n + 1) as f64 }
    }

    fn index(&self, n: usize, level: f64) -> usize {
        match self.pick {
            Pick::Low if level == 0.5 => n.div_ceil(2) - 1,
            _ if level == 1.0 => n - 1,
            _ => ((level * n as f64) as usize).min(n - 1),
        }
    }
}

impl<T: Native> Sketch for All<T> {
    type State = Values<T>;
    type Input<'a> = &'a [T];

    fn result_type(&self) -> DataType {
        self.ty.clone()
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<&'a [T]> {
        args[0].values()
    }

    #[inline]
    #[allow(clippy::eq_op)]
    fn add(&self, state: &mut Values<T>, input: &&[T], row: usize) {
        let x = input[row];
        // Not so only for NaN.
        if x == x {
            state.all.push(x);
        }
    }

    fn merge(&self, state: &mut Values<T>, other: Values<T>) {
        state.all.extend(other.all);
    }

    fn serialise(&self, state: &Values<T>, out: &mut Vec<u8>) {
        put_len(state.all.len(), out);
        out.extend_from_slice(Buf::from_vec(state.all.clone()).as_bytes());
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<Values<T>> {
        let n = take_count(bytes, size_of::<T>())?;
        let values: Buf<T> =
            Buf::from_arrow(Buf::from_vec(take(bytes, n * size_of::<T>())?.to_vec()).to_arrow());
        Ok(Values { all: values.to_vec(), n_sorted: 0 })
    }

    fn settle(&self, state: &mut Values<T>, levels: &[f64]) {
        let Values { all, n_sorted } = state;
        let n = all.len();
        if *n_sorted == n {
            return;
        }
        let [level] = levels else {
            all.sort_unstable_by(Self::order);
            *n_sorted = n;
            return;
        };
        *n_sorted = 0;
        // Of one level only the value there is asked for, and where there is interpolation the one before it.
        let interpolates = matches!(self.pick, Pick::Inclusive | Pick::Exclusive);
        let index =
            if interpolates { (self.place(n, *level) as usize).min(n - 1) } else { self.index(n, *level) };
        let (below, ..) = all.select_nth_unstable_by(index, Self::order);
        if interpolates && !below.is_empty() {
            below.select_nth_unstable_by(index - 1, Self::order);
        }
    }

    fn settle_growing(&self, state: &mut Values<T>, _: &[f64]) {
        sort_grown(&mut state.all, state.n_sorted, Self::order);
        state.n_sorted = state.all.len();
    }

    fn push(&self, state: &Values<T>, level: f64, many: bool, out: &mut Builder) -> Result<()> {
        let (state, n) = (&state.all, state.all.len());
        if n == 0 {
            // The plural form of the kernel gives 0 where the singular gives NaN.
            let float = matches!(self.ty, DataType::Float32 | DataType::Float64);
            let interpolated = matches!(self.pick, Pick::Inclusive | Pick::Exclusive);
            if !float || (many && !interpolated) {
                out.push_default();
                return Ok(());
            }
            return push_float(f64::NAN, out);
        }
        match self.pick {
            Pick::Exact | Pick::Low | Pick::High => {
                out.natives::<T>()?.push(state[self.index(n, level)]);
                return Ok(());
            }
            Pick::Exclusive if level == 0.0 || level == 1.0 => {
                bail!(BAD_ARGUMENTS, "QuantileExactExclusive cannot interpolate for the percentiles 1 and 0");
            }
            _ => {}
        }
        let place = self.place(n, level);
        let below = place as usize;
        push_float(
            if below < 1 {
                Self::float(state[0])
            } else if below >= n {
                Self::float(state[n - 1])
            } else {
                let (a, b) = (Self::float(state[below - 1]), Self::float(state[below]));
                a + (place - below as f64) * (b - a)
            },
            out,
        )
    }

    fn heap_memory(&self, state: &Values<T>) -> usize {
        state.all.capacity() * size_of::<T>()
    }
}
