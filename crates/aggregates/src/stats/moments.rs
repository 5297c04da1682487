//! Variance, standard deviation, skewness and kurtosis, from sums of powers of the values.

use crate::check::{illegal_type, no_parameters, one_argument};
use crate::floats::{Floats, divisor};
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

/// What is made of the sums.
#[derive(Clone, Copy)]
enum Measure {
    Var { sample: bool },
    Stddev { sample: bool },
    Skew { sample: bool },
    Kurt { sample: bool },
}

pub struct Moments {
    record: &'static AggregateRecord,
    measure: Measure,
}

macro_rules! records {
    ($($id:ident: $name:literal, $aliases:expr, $summary:literal, $result:literal;)*) => {$(
        const $id: AggregateRecord = AggregateRecord {
            name: $name,
            any_case_aliases: $aliases,
            summary: $summary,
            syntax: concat!($name, "(x)"),
            examples: &[Example {
                sql: concat!("SELECT ", $name, "(x) FROM values('x Int32', 1, 2, 4, 9, 3)"),
                result: $result,
            }],
            ..AggregateRecord::DEFAULT
        };
    )*};
}

records! {
    VAR_POP: "varPop", &["VAR_POP"], "The variance of a population.", "7.76";
    VAR_SAMP: "varSamp", &["VAR_SAMP"], "The variance estimated from a sample; NaN of one value.", "9.7";
    STDDEV_POP: "stddevPop", &["STD", "STDDEV_POP"], "The standard deviation of a population.", "2.7856776554368237";
    STDDEV_SAMP: "stddevSamp", &["STDDEV", "STDDEV_SAMP"], "The standard deviation estimated from a sample.",
        "3.1144823004794873";
    SKEW_POP: "skewPop", &[], "The skewness of a population.", "1.0391889223704163";
    SKEW_SAMP: "skewSamp", &[], "The skewness estimated from a sample.", "0.743583063003201";
    KURT_POP: "kurtPop", &[], "The kurtosis of a population.", "2.66877457753215";
    KURT_SAMP: "kurtSamp", &[], "The kurtosis estimated from a sample.", "1.7080157296205762";
}

impl Moments {
    pub const ALL: [Moments; 8] = [
        Moments { record: &VAR_POP, measure: Measure::Var { sample: false } },
        Moments { record: &VAR_SAMP, measure: Measure::Var { sample: true } },
        Moments { record: &STDDEV_POP, measure: Measure::Stddev { sample: false } },
        Moments { record: &STDDEV_SAMP, measure: Measure::Stddev { sample: true } },
        Moments { record: &SKEW_POP, measure: Measure::Skew { sample: false } },
        Moments { record: &SKEW_SAMP, measure: Measure::Skew { sample: true } },
        Moments { record: &KURT_POP, measure: Measure::Kurt { sample: false } },
        Moments { record: &KURT_SAMP, measure: Measure::Kurt { sample: true } },
    ];
}

impl AggregateFunction for Moments {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = self.record.name;
        no_parameters(name, parameters)?;
        one_argument(name, args)?;
        let ty = &args[0].ty;
        if !ty.is_number() && !ty.is_enum() {
            return Err(illegal_type(name, ty));
        }
        let (measure, divisor) = (self.measure, divisor(ty));
        Ok(match ty {
            DataType::Float32 => {
                EachState::of(Sums::<f32> { measure, divisor, ty: ty.clone(), real: PhantomData })
            }
            _ => EachState::of(Sums::<f64> { measure, divisor, ty: DataType::Float64, real: PhantomData }),
        })
    }
}

struct Sums<F> {
    measure: Measure,
    divisor: f64,
    ty: DataType,
    real: PhantomData<F>,
}

impl<F> Sums<F> {
    /// How many of the sums the measure needs, and states have.
    fn n_sums(&self) -> usize {
        match self.measure {
            Measure::Var { .. } | Measure::Stddev { .. } => 3,
            Measure::Skew { .. } => 4,
            Measure::Kurt { .. } => 5,
        }
    }
}

impl<F: Real> RowAggregate for Sums<F> {
    /// Count, and sums of the first four powers.
    type State = [F; 5];
    type Input<'a> = Floats<'a>;

    fn result_type(&self) -> DataType {
        self.ty.clone()
    }

    fn empty(&self) -> [F; 5] {
        [F::default(); 5]
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<Floats<'a>> {
        Floats::of(&args[0], self.divisor)
    }

    #[inline]
    fn add(&self, state: &mut [F; 5], input: &Floats, row: usize) -> Result<()> {
        let x = F::of(input.get(row));
        let square = x * x;
        state[0] += F::of(1.0);
        state[1] += x;
        state[2] += square;
        state[3] += square * x;
        state[4] += square * x * x;
        Ok(())
    }

    fn add_rows(&self, state: &mut [F; 5], input: &Floats, rows: Range<usize>) -> Result<()> {
        // Sums that are in registers, not in the state.
        let mut sums = *state;
        input.by_parts(rows, |xs| {
            for &x in xs {
                let x = F::of(x);
                let square = x * x;
                let added = [F::of(1.0), x, square, square * x, square * x * x];
                sums.iter_mut().zip(added).for_each(|(sum, term)| *sum += term);
            }
        });
        *state = sums;
        Ok(())
    }

    fn merge(&self, state: &mut [F; 5], other: [F; 5]) -> Result<()> {
        state.iter_mut().zip(other).for_each(|(x, y)| *x += y);
        Ok(())
    }

    fn serialise(&self, state: &[F; 5], out: &mut Vec<u8>) {
        state[..self.n_sums()].iter().for_each(|x| x.put(out));
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<[F; 5]> {
        let mut state = self.empty();
        state[..self.n_sums()].iter_mut().try_for_each(|x| F::take(bytes).map(|sum| *x = sum))?;
        Ok(state)
    }

    fn finish(&self, state: &mut [F; 5], out: &mut Builder) -> Result<()> {
        let result = match self.measure {
            Measure::Var { sample } => variance(state, sample),
            Measure::Stddev { sample } => variance(state, sample).sqrt(),
            Measure::Skew { sample } => standardised(third(state), variance(state, sample), 1.5),
            Measure::Kurt { sample } => standardised(fourth(state), variance(state, sample), 2.0),
        };
        out.natives::<F>()?.push(result);
        Ok(())
    }
}

/// Of a sample of one value, and of no values, NaN. Rounding never makes it negative.
fn variance<F: Real>([n, x, x2, ..]: &[F; 5], sample: bool) -> F {
    let n_free = if sample { *n - F::of(1.0) } else { *n };
    if n_free <= F::default() {
        return F::NAN;
    }
    let result = (*x2 - *x * *x / *n) / n_free;
    // NaN, too, becomes 0, as in the kernel.
    if result > F::default() { result } else { F::default() }
}

/// NaN when all values are equal. The power is a Float64 whatever the sums are.
fn standardised<F: Real>(moment: F, variance: F, power: f64) -> F {
    if variance > F::default() { F::of(moment.wide() / variance.wide().powf(power)) } else { F::NAN }
}

/// The third central moment.
fn third<F: Real>([n, x, x2, x3, _]: &[F; 5]) -> F {
    if *n == F::default() {
        return F::NAN;
    }
    let (two, three) = (F::of(2.0), F::of(3.0));
    (*x3 - (three * *x2 - two * *x * *x / *n) * *x / *n) / *n
}

/// The fourth central moment.
fn fourth<F: Real>([n, x, x2, x3, x4]: &[F; 5]) -> F {
    if *n == F::default() {
        return F::NAN;
    }
    let (three, four, six) = (F::of(3.0), F::of(4.0), F::of(6.0));
    (*x4 - (four * *x3 - (six * *x2 - three * *x * *x / *n) * *x / *n) * *x / *n) / *n
}
