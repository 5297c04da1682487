//! The `-Stable` statistics: running means and squared deviations (Welford), which do not lose digits as sums of
//! squares do.

use crate::check::{no_parameters, one_argument, two_arguments};
use crate::floats::{Floats, divisor};
use chalet_base::{Result, bail};
use chalet_columns::wire::{put_len, take_f64, take_len};
use chalet_columns::{Builder, Vector};
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, Value};
use std::ops::Range;
use std::sync::Arc;

#[derive(Clone, Copy)]
enum Measure {
    Var { sample: bool },
    Stddev { sample: bool },
    Covar { sample: bool },
    Corr,
}

pub struct Stable {
    record: &'static AggregateRecord,
    measure: Measure,
}

macro_rules! records {
    ($($id:ident: $name:literal, $args:literal, $summary:literal, $result:literal;)*) => {$(
        const $id: AggregateRecord = AggregateRecord {
            name: $name,
            summary: $summary,
            syntax: concat!($name, $args),
            examples: &[Example {
                sql: concat!(
                    "SELECT ", $name, $args,
                    " FROM values('x Float64, y Float64', (1.5, 2.5), (3, 1), (5.5, 7.25))"
                ),
                result: $result,
            }],
            ..AggregateRecord::DEFAULT
        };
    )*};
}

records! {
    VAR_POP: "varPopStable", "(x)", "The variance of a population, without loss of digits.", "2.7222222222222228";
    VAR_SAMP: "varSampStable", "(x)", "The variance estimated from a sample, without loss of digits.",
        "4.083333333333334";
    STDDEV_POP: "stddevPopStable", "(x)", "The standard deviation of a population, without loss of digits.",
        "1.649915822768611";
    STDDEV_SAMP: "stddevSampStable", "(x)", "The standard deviation estimated from a sample, without loss of digits.",
        "2.0207259421636903";
    COVAR_POP: "covarPopStable", "(x, y)", "The covariance over a population, without loss of digits.",
        "3.5972222222222228";
    COVAR_SAMP: "covarSampStable", "(x, y)", "The covariance estimated from a sample, without loss of digits.",
        "5.395833333333334";
    CORR: "corrStable", "(x, y)", "Pearson's correlation coefficient, without loss of digits.", "0.8183918171270462";
}

impl Stable {
    pub const ALL: [Stable; 7] = [
        Stable { record: &VAR_POP, measure: Measure::Var { sample: false } },
        Stable { record: &VAR_SAMP, measure: Measure::Var { sample: true } },
        Stable { record: &STDDEV_POP, measure: Measure::Stddev { sample: false } },
        Stable { record: &STDDEV_SAMP, measure: Measure::Stddev { sample: true } },
        Stable { record: &COVAR_POP, measure: Measure::Covar { sample: false } },
        Stable { record: &COVAR_SAMP, measure: Measure::Covar { sample: true } },
        Stable { record: &CORR, measure: Measure::Corr },
    ];
}

impl AggregateFunction for Stable {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = self.record.name;
        no_parameters(name, parameters)?;
        let pairs = matches!(self.measure, Measure::Covar { .. } | Measure::Corr);
        if pairs {
            two_arguments(name, args)?
        } else {
            one_argument(name, args)?
        };
        // The kernel finds out only when it meets a row, with the same code.
        if let Some(arg) = args.iter().find(|arg| !arg.ty.is_comparable_by_number()) {
            bail!(NOT_IMPLEMENTED, "Method getFloat64 is not supported for {}", arg.ty);
        }
        let divisors = args.iter().map(|arg| divisor(&arg.ty)).collect();
        Ok(EachState::of(Deviations { measure: self.measure, divisors }))
    }
}

struct Deviations {
    measure: Measure,
    divisors: Vec<f64>,
}

impl RowAggregate for Deviations {
    /// Count, mean of x, mean of y, squared deviations of x and of y, product of deviations.
    type State = [f64; 6];
    type Input<'a> = (Floats<'a>, Option<Floats<'a>>);

    fn result_type(&self) -> DataType {
        DataType::Float64
    }

    fn empty(&self) -> [f64; 6] {
        [0.0; 6]
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<Self::Input<'a>> {
        let second = args.get(1).map(|arg| Floats::of(arg, self.divisors[1])).transpose()?;
        Ok((Floats::of(&args[0], self.divisors[0])?, second))
    }

    #[inline]
    fn add(&self, state: &mut [f64; 6], (x, y): &Self::Input<'_>, row: usize) -> Result<()> {
        let [n, mean_x, mean_y, square_x, square_y, product] = state;
        let x = x.get(row);
        let y = y.map_or(0.0, |y| y.get(row));
        *n += 1.0;
        let (off_x, off_y) = (x - *mean_x, y - *mean_y);
        *mean_x += off_x / *n;
        *mean_y += off_y / *n;
        *square_x += off_x * (x - *mean_x);
        *square_y += off_y * (y - *mean_y);
        *product += (x - *mean_x) * off_y;
        Ok(())
    }

    fn add_rows(&self, state: &mut [f64; 6], (x, y): &Self::Input<'_>, rows: Range<usize>) -> Result<()> {
        // In registers, not in the state. A division takes longer than all else: where there is one column, one is made.
        let [mut n, mut mean_x, mut mean_y, mut square_x, mut square_y, mut product] = *state;
        match y {
            None => x.by_parts(rows, |xs| {
                for &x in xs {
                    n += 1.0;
                    let off = x - mean_x;
                    mean_x += off / n;
                    square_x += off * (x - mean_x);
                }
            }),
            Some(y) => Floats::pairs_by_parts(x, y, rows, |xs, ys| {
                for (&x, &y) in xs.iter().zip(ys) {
                    n += 1.0;
                    let (off_x, off_y) = (x - mean_x, y - mean_y);
                    mean_x += off_x / n;
                    mean_y += off_y / n;
                    square_x += off_x * (x - mean_x);
                    square_y += off_y * (y - mean_y);
                    product += (x - mean_x) * off_y;
                }
            }),
        }
        *state = [n, mean_x, mean_y, square_x, square_y, product];
        Ok(())
    }

    fn merge(&self, state: &mut [f64; 6], other: [f64; 6]) -> Result<()> {
        let [n, mean_x, mean_y, square_x, square_y, product] = *state;
        let [m, mean_x2, mean_y2, square_x2, square_y2, product2] = other;
        if m == 0.0 {
            return Ok(());
        }
        if n == 0.0 {
            *state = other;
            return Ok(());
        }
        let total = n + m;
        let (off_x, off_y) = (mean_x2 - mean_x, mean_y2 - mean_y);
        let weight = n * m / total;
        *state = [
            total,
            (mean_x * n + mean_x2 * m) / total,
            (mean_y * n + mean_y2 * m) / total,
            square_x + square_x2 + off_x * off_x * weight,
            square_y + square_y2 + off_y * off_y * weight,
            product + product2 + off_x * off_y * weight,
        ];
        Ok(())
    }

    fn serialise(&self, state: &[f64; 6], out: &mut Vec<u8>) {
        let [n, mean_x, mean_y, square_x, square_y, product] = *state;
        put_len(n as usize, out);
        let sums: &[f64] = match self.measure {
            Measure::Var { .. } | Measure::Stddev { .. } => &[mean_x, square_x],
            Measure::Covar { .. } => &[mean_x, mean_y, product],
            Measure::Corr => &[mean_x, mean_y, product, square_x, square_y],
        };
        sums.iter().for_each(|sum| out.extend(sum.to_le_bytes()));
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<[f64; 6]> {
        let n = take_len(bytes)? as f64;
        let mut next = || take_f64(bytes);
        let mean_x = next()?;
        Ok(match self.measure {
            Measure::Var { .. } | Measure::Stddev { .. } => [n, mean_x, 0.0, next()?, 0.0, 0.0],
            Measure::Covar { .. } => {
                let (mean_y, product) = (next()?, next()?);
                [n, mean_x, mean_y, 0.0, 0.0, product]
            }
            Measure::Corr => {
                let (mean_y, product) = (next()?, next()?);
                [n, mean_x, mean_y, next()?, next()?, product]
            }
        })
    }

    /// Infinity where there are too few values.
    fn finish(&self, state: &mut [f64; 6], out: &mut Builder) -> Result<()> {
        let [n, _, _, square_x, square_y, product] = *state;
        let over = |sum: f64, sample: bool| match sample {
            true if n < 2.0 => f64::INFINITY,
            true => sum / (n - 1.0),
            false if n == 0.0 => f64::INFINITY,
            false if n == 1.0 => 0.0,
            false => sum / n,
        };
        out.natives::<f64>()?.push(match self.measure {
            Measure::Var { sample } => over(square_x, sample),
            Measure::Stddev { sample } => over(square_x, sample).sqrt(),
            Measure::Covar { sample } => over(product, sample),
            Measure::Corr if n < 2.0 => f64::INFINITY,
            Measure::Corr => product / (square_x * square_y).sqrt(),
        });
        Ok(())
    }
}
