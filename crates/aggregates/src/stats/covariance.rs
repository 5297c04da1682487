//! Covariance and correlation of two numbers, from sums of products.

use crate::check::{illegal_type, no_parameters, two_arguments};
use crate::floats::Floats;
use crate::stats::real::Real;
use chalet_base::Result;
use chalet_columns::{Builder, Vector};
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, Value};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

const COVAR_POP: AggregateRecord = AggregateRecord {
    name: "covarPop",
    any_case_aliases: &["COVAR_POP"],
    summary: "The covariance of two numbers over a population.",
    syntax: "covarPop(x, y)",
    examples: &[Example {
        sql: "SELECT covarPop(x, y) FROM values('x Float64, y Float64', (1.5, 2.5), (3, 1), (5.5, 7.25))",
        result: "3.5972222222222214",
    }],
    ..AggregateRecord::DEFAULT
};

const COVAR_SAMP: AggregateRecord = AggregateRecord {
    name: "covarSamp",
    any_case_aliases: &["COVAR_SAMP"],
    summary: "The covariance of two numbers, estimated from a sample.",
    syntax: "covarSamp(x, y)",
    examples: &[Example {
        sql: "SELECT covarSamp(x, y) FROM values('x Float64, y Float64', (1.5, 2.5), (3, 1), (5.5, 7.25))",
        result: "5.395833333333332",
    }],
    ..AggregateRecord::DEFAULT
};

const CORR: AggregateRecord = AggregateRecord {
    name: "corr",
    case_insensitive: true,
    summary: "Pearson's correlation coefficient of two numbers.",
    syntax: "corr(x, y)",
    examples: &[Example {
        sql: "SELECT corr(x, y) FROM values('x Float64, y Float64', (1.5, 2.5), (3, 1), (5.5, 7.25))",
        result: "0.8183918171270463",
    }],
    ..AggregateRecord::DEFAULT
};

#[derive(Clone, Copy)]
enum Measure {
    Population,
    Sample,
    Correlation,
}

pub struct Covariance {
    record: &'static AggregateRecord,
    measure: Measure,
}

impl Covariance {
    pub const ALL: [Covariance; 3] = [
        Covariance { record: &COVAR_POP, measure: Measure::Population },
        Covariance { record: &COVAR_SAMP, measure: Measure::Sample },
        Covariance { record: &CORR, measure: Measure::Correlation },
    ];
}

impl AggregateFunction for Covariance {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = self.record.name;
        no_parameters(name, parameters)?;
        two_arguments(name, args)?;
        for arg in args {
            let narrow = arg.ty.is_integer() && arg.ty.physical().width().is_some_and(|w| w <= 8);
            if !narrow && !matches!(arg.ty, DataType::Float32 | DataType::Float64) {
                return Err(illegal_type(name, &arg.ty));
            }
        }
        let measure = self.measure;
        Ok(if args.iter().all(|arg| arg.ty == DataType::Float32) {
            EachState::of(Products::<f32> { measure, ty: DataType::Float32, real: PhantomData })
        } else {
            EachState::of(Products::<f64> { measure, ty: DataType::Float64, real: PhantomData })
        })
    }
}

struct Products<F> {
    measure: Measure,
    ty: DataType,
    real: PhantomData<F>,
}

impl<F> Products<F> {
    /// How many of the sums the measure needs, and states have.
    fn n_sums(&self) -> usize {
        if matches!(self.measure, Measure::Correlation) { 6 } else { 4 }
    }
}

impl<F: Real> RowAggregate for Products<F> {
    /// Count and the sums of x, y, x y, x x, y y.
    type State = [F; 6];
    type Input<'a> = [Floats<'a>; 2];

    fn result_type(&self) -> DataType {
        self.ty.clone()
    }

    fn empty(&self) -> [F; 6] {
        [F::default(); 6]
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<[Floats<'a>; 2]> {
        Ok([Floats::of(&args[0], 1.0)?, Floats::of(&args[1], 1.0)?])
    }

    #[inline]
    fn add(&self, state: &mut [F; 6], [x, y]: &[Floats; 2], row: usize) -> Result<()> {
        let (x, y) = (F::of(x.get(row)), F::of(y.get(row)));
        state[0] += F::of(1.0);
        state[1] += x;
        state[2] += y;
        state[3] += x * y;
        state[4] += x * x;
        state[5] += y * y;
        Ok(())
    }

    fn add_rows(&self, state: &mut [F; 6], [x, y]: &[Floats; 2], rows: Range<usize>) -> Result<()> {
        // Sums that are in registers, not in the state.
        let mut sums = *state;
        Floats::pairs_by_parts(x, y, rows, |xs, ys| {
            for (&x, &y) in xs.iter().zip(ys) {
                let (x, y) = (F::of(x), F::of(y));
                let added = [F::of(1.0), x, y, x * y, x * x, y * y];
                sums.iter_mut().zip(added).for_each(|(sum, term)| *sum += term);
            }
        });
        *state = sums;
        Ok(())
    }

    fn merge(&self, state: &mut [F; 6], other: [F; 6]) -> Result<()> {
        state.iter_mut().zip(other).for_each(|(x, y)| *x += y);
        Ok(())
    }

    fn serialise(&self, state: &[F; 6], out: &mut Vec<u8>) {
        state[..self.n_sums()].iter().for_each(|x| x.put(out));
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<[F; 6]> {
        let mut state = self.empty();
        state[..self.n_sums()].iter_mut().try_for_each(|x| F::take(bytes).map(|sum| *x = sum))?;
        Ok(state)
    }

    fn finish(&self, state: &mut [F; 6], out: &mut Builder) -> Result<()> {
        let [n, x, y, xy, x2, y2] = *state;
        let result = match self.measure {
            Measure::Population => (xy - x * y / n) / n,
            Measure::Sample if n <= F::of(1.0) => F::NAN,
            Measure::Sample => (xy - x * y / n) / (n - F::of(1.0)),
            Measure::Correlation => (n * xy - x * y) / ((n * x2 - x * x) * (n * y2 - y * y)).sqrt(),
        };
        out.natives::<F>()?.push(result);
        Ok(())
    }
}
