//! `deltaSum`: the sum of the differences between rows that follow each other, falls left out.

use crate::check::{illegal_type, no_parameters, one_argument};
use crate::floats::{Floats, integer, integer_width, push_integer, put_float, take_float, take_integer};
use crate::quantile::push_float;
use chalet_base::Result;
use chalet_columns::wire::take_u8;
use chalet_columns::{Builder, Data, Vector};
use chalet_function_api::aggregate::{AggregateNulls, RowOrder};
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, I256, Value};
use std::marker::PhantomData;
use std::ops::{Add, Range, Sub};
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "deltaSum",
    summary: "The sum of the rises from row to row; falls do not count.",
    syntax: "deltaSum(x)",
    examples: &[Example {
        sql: "SELECT deltaSum(x) FROM values('x Int8', 1, 2, 3, 0, 3, 4, 2, 3)",
        result: "7",
    }],
    nulls: AggregateNulls::SkipPlainResult,
    row_order: RowOrder::Merged,
    ..AggregateRecord::DEFAULT
};

pub struct DeltaSum;

impl AggregateFunction for DeltaSum {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        no_parameters(RECORD.name, parameters)?;
        one_argument(RECORD.name, args)?;
        let ty = match &args[0].ty {
            DataType::Bool => DataType::UInt8,
            ty if ty.is_integer() || ty.is_float() => ty.clone(),
            ty => return Err(illegal_type(RECORD.name, ty)),
        };
        Ok(if ty.is_float() {
            EachState::of(Rises::<f64> { ty, number: PhantomData })
        } else if ty.physical().width().is_some_and(|width| width <= 8) {
            EachState::of(Rises::<i128> { ty, number: PhantomData })
        } else {
            EachState::of(Rises::<I256> { ty, number: PhantomData })
        })
    }
}

/// What sums are computed in.
pub trait Number:
    Copy + Default + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Send + Sync + 'static
{
    type Values<'a>;
    fn view(vector: &Vector) -> Result<Self::Values<'_>>;
    fn get(values: &Self::Values<'_>, row: usize) -> Self;
    fn push(self, out: &mut Builder) -> Result<()>;
    /// A number of this type as bytes.
    fn put(self, ty: &DataType, out: &mut Vec<u8>);
    fn take(ty: &DataType, bytes: &mut &[u8]) -> Result<Self>;
    /// The sum of the rises within rows, the first and the last value, where a narrower number gives the same in less time.
    fn rises(values: &Self::Values<'_>, rows: Range<usize>) -> Option<(Self, Self, Self)> {
        let _ = (values, rows);
        None
    }
}

impl Number for f64 {
    type Values<'a> = Floats<'a>;
    fn view(vector: &Vector) -> Result<Floats<'_>> {
        Floats::of(vector, 1.0)
    }
    fn get(values: &Floats<'_>, row: usize) -> f64 {
        values.get(row)
    }
    fn push(self, out: &mut Builder) -> Result<()> {
        push_float(self, out)
    }
    fn put(self, ty: &DataType, out: &mut Vec<u8>) {
        put_float(self, ty.physical(), out);
    }
    fn take(ty: &DataType, bytes: &mut &[u8]) -> Result<f64> {
        take_float(ty.physical(), bytes)
    }
}

impl Number for I256 {
    type Values<'a> = &'a Vector;
    fn view(vector: &Vector) -> Result<&Vector> {
        Ok(vector)
    }
    fn get(values: &&Vector, row: usize) -> I256 {
        integer(&values.data, row)
    }
    fn push(self, out: &mut Builder) -> Result<()> {
        push_integer(self, out)
    }
    fn put(self, ty: &DataType, out: &mut Vec<u8>) {
        out.extend(&self.to_le_bytes()[..integer_width(ty)]);
    }
    fn take(ty: &DataType, bytes: &mut &[u8]) -> Result<I256> {
        take_integer(ty, bytes)
    }
}

/// Integers of at most 64 bits: their rises fit 128. As bytes they are as all integers are.
impl Number for i128 {
    type Values<'a> = &'a Vector;
    fn view(vector: &Vector) -> Result<&Vector> {
        Ok(vector)
    }
    #[inline]
    fn get(values: &&Vector, row: usize) -> i128 {
        match &values.data {
            Data::U8(v) => v[row].into(),
            Data::U16(v) => v[row].into(),
            Data::U32(v) => v[row].into(),
            Data::U64(v) => v[row].into(),
            Data::I8(v) => v[row].into(),
            Data::I16(v) => v[row].into(),
            Data::I32(v) => v[row].into(),
            Data::I64(v) => v[row].into(),
            _ => 0,
        }
    }
    fn push(self, out: &mut Builder) -> Result<()> {
        push_integer(self.into(), out)
    }
    fn put(self, ty: &DataType, out: &mut Vec<u8>) {
        I256::from(self).put(ty, out);
    }
    fn take(ty: &DataType, bytes: &mut &[u8]) -> Result<i128> {
        <I256 as Number>::take(ty, bytes).map(|x| x.as_i128())
    }
    fn rises(values: &&Vector, rows: Range<usize>) -> Option<(i128, i128, i128)> {
        fn narrow<T: Copy + Into<i128>>(values: &[T]) -> Option<(i128, i128, i128)> {
            let first = (*values.first()?).into();
            let (mut sum, mut last) = (0i128, first);
            for &x in values {
                let x = x.into();
                sum += (x - last).max(0);
                last = x;
            }
            Some((sum, first, last))
        }
        match &values.data {
            Data::U8(v) => narrow(&v[rows]),
            Data::U16(v) => narrow(&v[rows]),
            Data::U32(v) => narrow(&v[rows]),
            Data::U64(v) => narrow(&v[rows]),
            Data::I8(v) => narrow(&v[rows]),
            Data::I16(v) => narrow(&v[rows]),
            Data::I32(v) => narrow(&v[rows]),
            Data::I64(v) => narrow(&v[rows]),
            _ => None,
        }
    }
}

struct Rises<N> {
    ty: DataType,
    number: PhantomData<N>,
}

#[derive(Clone, Copy, Default)]
struct State<N> {
    sum: N,
    first: N,
    last: N,
    seen: bool,
}

impl<N: Number> RowAggregate for Rises<N> {
    type State = State<N>;
    type Input<'a> = N::Values<'a>;

    fn result_type(&self) -> DataType {
        self.ty.clone()
    }

    fn empty(&self) -> State<N> {
        State::default()
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<N::Values<'a>> {
        N::view(&args[0])
    }

    fn add(&self, state: &mut State<N>, values: &N::Values<'_>, row: usize) -> Result<()> {
        let x = N::get(values, row);
        if state.seen && x > state.last {
            state.sum = state.sum + (x - state.last);
        }
        if !state.seen {
            state.first = x;
            state.seen = true;
        }
        state.last = x;
        Ok(())
    }

    fn add_rows(&self, state: &mut State<N>, values: &N::Values<'_>, mut rows: Range<usize>) -> Result<()> {
        match N::rises(values, rows.clone()) {
            Some((sum, first, last)) => self.merge(state, State { sum, first, last, seen: true }),
            None => rows.try_for_each(|row| self.add(state, values, row)),
        }
    }

    fn merge(&self, state: &mut State<N>, other: State<N>) -> Result<()> {
        if !other.seen {
            return Ok(());
        }
        if !state.seen {
            *state = other;
            return Ok(());
        }
        if other.first > state.last {
            state.sum = state.sum + (other.first - state.last);
        }
        state.sum = state.sum + other.sum;
        state.last = other.last;
        Ok(())
    }

    fn serialise(&self, state: &State<N>, out: &mut Vec<u8>) {
        [state.sum, state.first, state.last].into_iter().for_each(|x| x.put(&self.ty, out));
        out.push(u8::from(state.seen));
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<State<N>> {
        let mut number = || N::take(&self.ty, bytes);
        let (sum, first, last) = (number()?, number()?, number()?);
        Ok(State { sum, first, last, seen: take_u8(bytes)? != 0 })
    }

    fn finish(&self, state: &mut State<N>, out: &mut Builder) -> Result<()> {
        state.sum.push(out)
    }
}
