//! `kolmogorovSmirnovTest`: do two samples come from one continuous distribution?

use crate::check::two_arguments;
use crate::collect::{Collector, collecting};
use crate::floats::{Floats, divisor};
use crate::stats::results::{named_floats, push_floats};
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Builder, Vector};
use chalet_function_api::{Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example};
use chalet_types::{DataType, Value};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, TAU};
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "kolmogorovSmirnovTest",
    summary: "The Kolmogorov-Smirnov test of two samples: the statistic D and the p-value. The second argument is 0 or 1 \
              for the two samples.",
    syntax: "kolmogorovSmirnovTest([alternative[, method]])(x, sample_index)",
    examples: &[Example {
        sql: "SELECT kolmogorovSmirnovTest(number, number >= 5).1 FROM numbers(10)",
        result: "1",
    }],
    ..AggregateRecord::DEFAULT
};

pub struct KolmogorovSmirnov;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Alternative {
    TwoSided,
    Less,
    Greater,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    Auto,
    Exact,
    Asymptotic,
}

/// Values that are nearer to each other than this are equal.
const TOLERANCE: f64 = 1e-7;

/// Samples up to this size are tested exactly unless a method is asked for.
const EXACT_UP_TO: usize = 10_000;

impl AggregateFunction for KolmogorovSmirnov {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = RECORD.name;
        two_arguments(name, args)?;
        if args.iter().any(|arg| !arg.ty.is_number()) {
            bail!(NOT_IMPLEMENTED, "Aggregate function {name} only supports numerical types");
        }
        ensure!(
            parameters.len() <= 2,
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function {name} require two parameter or less"
        );
        let word = |index: usize, which: &str| -> Result<Option<&[u8]>> {
            let Some(value) = parameters.get(index) else { return Ok(None) };
            value.as_bytes().map(Some).ok_or_else(|| {
                err!(
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "Aggregate function {name} require {which} parameter to be a String"
                )
            })
        };
        let alternative = match word(0, "first")? {
            None | Some(b"two-sided") => Alternative::TwoSided,
            Some(b"less") => Alternative::Less,
            Some(b"greater") => Alternative::Greater,
            Some(_) => bail!(
                BAD_ARGUMENTS,
                "Unknown parameter in aggregate function {name}. It must be one of: 'two-sided', 'less', 'greater'"
            ),
        };
        let method = match word(1, "second")? {
            None | Some(b"auto") => Method::Auto,
            Some(b"exact") => Method::Exact,
            Some(b"asymp" | b"asymptotic") => Method::Asymptotic,
            Some(_) => bail!(
                BAD_ARGUMENTS,
                "Unknown method in aggregate function {name}. It must be one of: 'auto', 'exact', 'asymp' (or 'asymptotic')"
            ),
        };
        Ok(collecting(Test { alternative, method, divisor: divisor(&args[0].ty) }, args))
    }
}

struct Test {
    alternative: Alternative,
    method: Method,
    divisor: f64,
}

impl Collector for Test {
    fn result_type(&self) -> DataType {
        named_floats(&["d_statistic", "p_value"])
    }

    fn finish(&self, args: &[Vector], rows: &[u32], out: &mut Builder) -> Result<()> {
        let (values, samples) = (Floats::of(&args[0], self.divisor)?, Floats::of(&args[1], 1.0)?);
        let sample = |second: bool| {
            let rows = rows.iter().map(|&row| row as usize);
            let of = rows.filter(|&row| (samples.get(row) != 0.0) == second).map(|row| values.get(row));
            let mut sample: Vec<f64> = of.filter(|x| !x.is_nan()).collect();
            sample.sort_by(f64::total_cmp);
            sample
        };
        let (x, y) = (sample(false), sample(true));
        ensure!(
            !x.is_empty() && !y.is_empty(),
            BAD_ARGUMENTS,
            "Aggregate function kolmogorovSmirnovTest require both samples to be non empty"
        );
        let d = self.statistic(&x, &y);
        let p = self.chance(d, x.len(), y.len());
        push_floats(&[d, p.clamp(0.0, 1.0)], out)
    }
}

impl Test {
    /// The greatest distance between the distribution functions of two sorted samples, in the direction of the alternative.
    fn statistic(&self, x: &[f64], y: &[f64]) -> f64 {
        let (step_x, step_y) = (1.0 / x.len() as f64, 1.0 / y.len() as f64);
        let (mut low, mut high) = (f64::MAX, f64::MIN_POSITIVE);
        let (mut i, mut j, mut distance) = (0, 0, 0.0);
        let equal = |sample: &[f64], from: usize| {
            let first = sample[from];
            sample[from..].iter().skip(1).take_while(|x| (*x - first).abs() <= TOLERANCE).count() + 1
        };
        while i < x.len() && j < y.len() {
            if (x[i] - y[j]).abs() >= TOLERANCE {
                if x[i] < y[j] {
                    distance += step_x;
                    i += 1;
                } else {
                    distance -= step_y;
                    j += 1;
                }
            } else {
                let (n, m) = (equal(x, i), equal(y, j));
                distance += step_x * n as f64;
                distance -= step_y * m as f64;
                i += n;
                j += m;
            }
            high = high.max(distance);
            low = low.min(distance);
        }
        distance += step_x * (x.len() - i) as f64 - step_y * (y.len() - j) as f64;
        high = high.max(distance);
        low = low.min(distance);
        match self.alternative {
            Alternative::TwoSided => high.abs().max(low.abs()),
            Alternative::Less => -low,
            Alternative::Greater => high,
        }
    }

    /// The chance of a statistic of at least `d` between samples of one distribution.
    fn chance(&self, d: f64, n: usize, m: usize) -> f64 {
        let (n, m) = (n.max(m), n.min(m));
        let divisor = greatest_common_divisor(n, m);
        let exact = match self.method {
            Method::Auto => n <= EXACT_UP_TO,
            Method::Exact => (n / divisor) < i32::MAX as usize / (m / divisor),
            Method::Asymptotic => false,
        };
        let two_sided = self.alternative == Alternative::TwoSided;
        if exact { exact_chance(d, n, m, two_sided) } else { asymptotic_chance(d, n, m, two_sided) }
    }
}

fn greatest_common_divisor(mut a: usize, mut b: usize) -> usize {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

/// Counts paths through the lattice of both samples that reach the distance, as shares and row by row (Viehmann), so that neither
/// overflows. `n` is the greater size.
fn exact_chance(d: f64, n: usize, m: usize, two_sided: bool) -> f64 {
    let (size_n, size_m) = (n as f64, m as f64);
    let bound = (0.5 + (d * size_m * size_n - TOLERANCE).floor()) / (size_m * size_n);
    let reached = |r: f64, s: f64| if two_sided { (r - s).abs() >= bound } else { r - s >= bound };
    let mut shares = vec![0.0; n + 1];
    for j in 1..=n {
        shares[j] = if reached(0.0, j as f64 / size_n) { 1.0 } else { shares[j - 1] };
    }
    for i in 1..=m {
        let r = i as f64 / size_m;
        if reached(r, 0.0) {
            shares[0] = 1.0;
        }
        for j in 1..=n {
            shares[j] = if reached(r, j as f64 / size_n) {
                1.0
            } else {
                let total = (i + j) as f64;
                i as f64 / total * shares[j] + j as f64 / total * shares[j - 1]
            };
        }
    }
    shares[n]
}

/// The limit for large samples: Kolmogorov's distribution (Durbin), or Hodges' approximation of one side.
fn asymptotic_chance(d: f64, n: usize, m: usize, two_sided: bool) -> f64 {
    let (large, small) = (n as f64, m as f64);
    let p = (small * large / (small + large)).sqrt() * d;
    if !two_sided {
        let correction = 2.0 * p * (large + 2.0 * small) / (large * small * (large + small)).sqrt() / 3.0;
        return (-2.0 * p * p - correction).exp();
    }
    if p < 1.0 {
        let z = -(FRAC_PI_2 * FRAC_PI_4) / (p * p);
        let w = p.ln();
        let n_terms = (2.0 - TOLERANCE.ln()).sqrt() as u32;
        let sum: f64 = (1..n_terms).step_by(2).map(|k| (f64::from(k * k) * z - w).exp()).sum();
        return 1.0 - sum * TAU.sqrt();
    }
    let z = -2.0 * p * p;
    let (mut sign, mut k, mut before, mut sum) = (-1.0, 1.0, 0.0, 1.0f64);
    while (before - sum).abs() > TOLERANCE {
        before = sum;
        sum += 2.0 * sign * (z * k * k).exp();
        sign = -sign;
        k += 1.0;
    }
    1.0 - sum
}
