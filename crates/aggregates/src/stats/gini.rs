//! `gini`: how unequal values are.

use crate::check::{no_parameters, one_argument};
use crate::collect::{Collector, collecting};
use crate::floats::{Floats, Unsigned, integer};
use crate::quantile::sort_grown;
use chalet_base::{Result, ensure};
use chalet_columns::{Builder, Vector};
use chalet_function_api::{Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example};
use chalet_types::{DataType, I256, Value};
use std::cmp::Ordering;
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "gini",
    summary: "The Gini coefficient of finite numbers that are not negative: 0 when all are equal, near 1 when one of many is \
              all there is; NaN for less than two values or a sum of 0.",
    syntax: "gini(x)",
    examples: &[Example { sql: "SELECT round(gini(number), 10) FROM numbers(10)", result: "0.3666666667" }],
    ..AggregateRecord::DEFAULT
};

pub struct Gini;

impl AggregateFunction for Gini {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = RECORD.name;
        no_parameters(name, parameters)?;
        one_argument(name, args)?;
        let ty = &args[0].ty;
        ensure!(
            ty.is_number(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {ty} of argument of aggregate function {name}, must be a number"
        );
        let floats = ty.is_float() || *ty == DataType::BFloat16;
        Ok(collecting(Inequality { floats, signed: ty.is_signed() }, args))
    }
}

struct Inequality {
    floats: bool,
    signed: bool,
}

impl Inequality {
    /// Integers of at most 64 bits; negative ones are those whose top bit is set, where there are signs.
    fn words<'a>(&self, values: &'a Vector) -> Option<Unsigned<'a>> {
        values.data.physical().width().filter(|&width| width <= 8).map(|_| Unsigned::of(values))
    }
}

impl Collector for Inequality {
    fn result_type(&self) -> DataType {
        DataType::Float64
    }

    fn finish(&self, args: &[Vector], rows: &[u32], out: &mut Builder) -> Result<()> {
        let rows = rows.iter().map(|&row| row as usize);
        let coefficient = if self.floats {
            let values = Floats::of(&args[0], 1.0)?;
            let mut sorted: Vec<f64> = rows.map(|row| values.get(row)).filter(|x| !x.is_nan()).collect();
            check_finite(sorted.iter().all(|x| x.is_finite()))?;
            check_sign(sorted.iter().all(|x| *x >= 0.0))?;
            sorted.sort_unstable_by(f64::total_cmp);
            coefficient(&sorted, |x| *x, |x, y| y - x)
        } else if let Some(values) = self.words(&args[0]) {
            let mut is_negative = false;
            let mut sorted: Vec<u64> = rows
                .map(|row| {
                    is_negative |= self.signed && (values.get(row) as i64) < 0;
                    values.get(row)
                })
                .collect();
            check_sign(!is_negative)?;
            sorted.sort_unstable();
            of_words(&sorted)
        } else {
            let mut sorted: Vec<I256> = rows.map(|row| unsigned_too(&args[0], row)).collect();
            check_sign(sorted.iter().all(|x| *x >= I256::ZERO))?;
            sorted.sort_unstable();
            of_integers(&sorted)
        };
        out.natives::<f64>()?.push(coefficient);
        Ok(())
    }

    fn finish_growing(&self, args: &[Vector], rows: &[u32], ends: &[usize]) -> Result<Vector> {
        if self.floats {
            let values = Floats::of(&args[0], 1.0)?;
            return growing(
                rows,
                ends,
                f64::total_cmp,
                |row| {
                    let x = values.get(row);
                    if x.is_nan() {
                        return Ok(None);
                    }
                    check_finite(x.is_finite())?;
                    check_sign(x >= 0.0)?;
                    Ok(Some(x))
                },
                |sorted| coefficient(sorted, |x| *x, |x, y| y - x),
            );
        }
        if let Some(values) = self.words(&args[0]) {
            return growing(
                rows,
                ends,
                u64::cmp,
                |row| {
                    check_sign(!self.signed || values.get(row) as i64 >= 0)?;
                    Ok(Some(values.get(row)))
                },
                of_words,
            );
        }
        growing(
            rows,
            ends,
            I256::cmp,
            |row| {
                let x = unsigned_too(&args[0], row);
                check_sign(x >= I256::ZERO)?;
                Ok(Some(x))
            },
            of_integers,
        )
    }
}

/// The coefficients of a group that grows. `value` checks the value of a row, which is none where it does not count.
fn growing<T: Copy>(
    rows: &[u32],
    ends: &[usize],
    order: fn(&T, &T) -> Ordering,
    value: impl Fn(usize) -> Result<Option<T>>,
    coefficient: impl Fn(&[T]) -> f64,
) -> Result<Vector> {
    let (mut sorted, mut from) = (Vec::new(), 0);
    let mut results = Vec::with_capacity(ends.len());
    for &end in ends {
        let known = sorted.len();
        for &row in &rows[from..end] {
            sorted.extend(value(row as usize)?);
        }
        from = end;
        sort_grown(&mut sorted, known, order);
        results.push(coefficient(&sorted));
    }
    Ok(results.into())
}

fn of_words(sorted: &[u64]) -> f64 {
    coefficient(sorted, |x| *x as f64, |x, y| (y - x) as f64)
}

fn of_integers(sorted: &[I256]) -> f64 {
    // Differences of large integers are exact before they become floats.
    coefficient(sorted, |x| x.as_f64(), |x, y| y.wrapping_sub(*x).as_f64())
}

fn check_finite(finite: bool) -> Result<()> {
    ensure!(finite, BAD_ARGUMENTS, "Aggregate function `gini` does not support infinite values");
    Ok(())
}

/// An integer; UInt256 loses its lowest bit, so that it fits.
fn unsigned_too(vector: &Vector, row: usize) -> I256 {
    match &vector.data {
        chalet_columns::Data::U256(values) => (values[row] >> 1u32).as_i256(),
        data => integer(data, row),
    }
}

fn check_sign(positive: bool) -> Result<()> {
    ensure!(positive, BAD_ARGUMENTS, "Aggregate function `gini` does not support negative values");
    Ok(())
}

/// The sum of all differences of pairs from those of neighbours. Very large values are scaled down, so that no sum overflows.
fn coefficient<T>(sorted: &[T], float: impl Fn(&T) -> f64, difference: impl Fn(&T, &T) -> f64) -> f64 {
    let n = sorted.len();
    let Some(greatest) = sorted.last().map(&float).filter(|greatest| n > 1 && *greatest > 0.0) else {
        return f64::NAN;
    };
    let unit = if greatest < 1e200 { 1.0 } else { greatest };
    let sum: f64 = sorted.iter().map(|x| float(x) / unit).sum();
    let pairs = sorted.windows(2).enumerate();
    let differences: f64 = pairs
        .map(|(i, pair)| difference(&pair[0], &pair[1]) / unit * (i + 1) as f64 * (n - i - 1) as f64)
        .sum();
    differences / (n as f64 * sum)
}
