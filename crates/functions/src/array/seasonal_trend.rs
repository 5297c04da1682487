//! `seriesDecomposeSTL`: a series as the sum of seasons, a trend and a rest, by locally weighted regressions (Cleveland and others, 1990).

use crate::lanes::{Operand, unary};
use crate::lists::{even_offsets, list, list_of};
use crate::plain::Plain;
use crate::string_args::check_type;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "seriesDecomposeSTL",
        summary: "The seasonal, trend and remaining parts of a series that repeats after `period` values, and its baseline, which is \
                  the sum of the first two.",
        syntax: "seriesDecomposeSTL(series, period)",
        examples: &[Example {
            sql: "SELECT arrayMap(part -> arrayMap(x -> round(x, 2), part), seriesDecomposeSTL([1, 5, 1, 5, 1, 5, 1, 5], 2))[2]",
            result: "[3,3,3,3,3,3,3,3]",
        }],
        ..Record::DEFAULT
    },
    bind,
    execute,
};

/// A series has at least so many values.
const FEWEST: usize = 4;

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    let narrow = |ty: &DataType| ty.physical().width().is_some_and(|width| width <= 8);
    check_type(matches!(args[0].ty, DataType::Array(_)), name, 0, "Array", &args[0].ty)?;
    let period = &args[1].ty;
    check_type(period.is_unsigned() && narrow(period), name, 1, "Unsigned Integer", period)?;
    let element = args[0].ty.element().unwrap_or(DataType::Nothing);
    ensure!(
        element.is_integer() && narrow(&element) || matches!(element, DataType::Float32 | DataType::Float64),
        ILLEGAL_COLUMN,
        "Illegal column {} of first argument of function {name}",
        args[0].ty
    );
    Ok(DataType::Float32.array().array().into())
}

fn execute(call: &Call) -> Result<Column> {
    let n = call.n_rows;
    let series = list_of(&call.args[0], n)?;
    let operand = Operand { ty: &DataType::Float64, vector: &series.values, constant: false };
    let values = unary::<f64, f32>(operand, series.values.len(), |x| x as f32)?;
    let periods = unary::<u64, u64>(Operand::of(call, 1), n, |x| x)?;
    let mut out: Vec<f32> = Vec::with_capacity(4 * values.len());
    let mut offsets = vec![0i64];
    for (range, &period) in series.ranges().zip(&periods) {
        let y = &values[range];
        ensure!(
            y.len() >= FEWEST,
            BAD_ARGUMENTS,
            "At least four data points are needed for function seriesDecomposeSTL"
        );
        ensure!(
            period <= (y.len() / 2) as u64,
            BAD_ARGUMENTS,
            "The series should have data of at least two period lengths for function seriesDecomposeSTL"
        );
        let (season, trend) = Decomposition::new(period as usize).run(y);
        out.extend(&season);
        offsets.push(out.len() as i64);
        out.extend(&trend);
        offsets.push(out.len() as i64);
        let parts = season.iter().zip(&trend);
        out.extend(y.iter().zip(parts.clone()).map(|(y, (season, trend))| y - season - trend));
        offsets.push(out.len() as i64);
        out.extend(parts.map(|(season, trend)| season + trend));
        offsets.push(out.len() as i64);
    }
    let parts = list(offsets, Vector::from(out));
    Ok(list(even_offsets(n, 4), parts).into())
}

/// The lengths of the smoothing windows and how many values are computed directly, the others being interpolated.
struct Decomposition {
    period: usize,
    seasonal: Window,
    trend: Window,
    low_pass: Window,
}

#[derive(Clone, Copy)]
struct Window {
    len: usize,
    /// Fits lines rather than means.
    linear: bool,
    jump: usize,
}

/// Passes over the series, each with the trend of the one before.
const PASSES: usize = 2;

impl Window {
    fn new(len: usize, linear: bool) -> Window {
        Window { len, linear, jump: (len as f32 / 10.0).ceil() as usize }
    }
}

fn odd(n: usize) -> usize {
    n | 1
}

impl Decomposition {
    fn new(period: usize) -> Decomposition {
        let seasonal = odd(period.max(3));
        let period_used = period.max(2);
        let trend = (1.5 * period_used as f64 / (1.0 - 1.5 / f64::from(seasonal as f32))).ceil() as usize;
        Decomposition {
            period: period_used,
            seasonal: Window::new(seasonal, false),
            trend: Window::new(odd(trend.max(3)), true),
            low_pass: Window::new(odd(period_used), true),
        }
    }

    /// The seasons and the trend.
    fn run(&self, y: &[f32]) -> (Vec<f32>, Vec<f32>) {
        let n = y.len();
        let (mut season, mut trend) = (vec![0f32; n], vec![0f32; n]);
        for _ in 0..PASSES {
            let detrended: Vec<f32> = y.iter().zip(&trend).map(|(y, trend)| y - trend).collect();
            let cycles = self.smoothed_cycles(&detrended);
            let low = moving_mean(&moving_mean(&moving_mean(&cycles, self.period), self.period), 3);
            let low = smoothed(&low, self.low_pass);
            for (i, season) in season.iter_mut().enumerate() {
                *season = cycles[self.period + i] - low[i];
            }
            let deseasonalised: Vec<f32> = y.iter().zip(&season).map(|(y, season)| y - season).collect();
            trend = smoothed(&deseasonalised, self.trend);
        }
        (season, trend)
    }

    /// Each season's values smoothed over the periods, with one more period at both ends.
    fn smoothed_cycles(&self, y: &[f32]) -> Vec<f32> {
        let (n, period) = (y.len(), self.period);
        let mut out = vec![0f32; n + 2 * period];
        for phase in 0..period {
            let cycle: Vec<f32> = y.iter().skip(phase).step_by(period).copied().collect();
            let k = cycle.len();
            let inner = smoothed(&cycle, self.seasonal);
            let before = fit(&cycle, self.seasonal, 0.0, 1..=self.seasonal.len.min(k)).unwrap_or(inner[0]);
            let first = (k + 1).saturating_sub(self.seasonal.len).max(1);
            let after = fit(&cycle, self.seasonal, (k + 1) as f64, first..=k).unwrap_or(inner[k - 1]);
            let all = std::iter::once(before).chain(inner).chain(std::iter::once(after));
            for (m, value) in all.enumerate() {
                out[m * period + phase] = value;
            }
        }
        out
    }
}

/// Means of every `len` neighbours.
fn moving_mean(x: &[f32], len: usize) -> Vec<f32> {
    let width = f64::from(len as f32);
    let mut sum: f64 = x[..len].iter().map(|&x| f64::from(x)).sum();
    let mut out = vec![(sum / width) as f32];
    for (old, new) in x.iter().zip(&x[len..]) {
        sum = sum - f64::from(*old) + f64::from(*new);
        out.push((sum / width) as f32);
    }
    out
}

/// The series smoothed by local regressions.
fn smoothed(y: &[f32], window: Window) -> Vec<f32> {
    let n = y.len();
    if n < 2 {
        return y.to_vec();
    }
    let mut out = vec![0f32; n];
    let jump = window.jump.min(n - 1);
    let half = window.len.div_ceil(2);
    let (mut left, mut right) = (1, n.min(window.len));
    // Positions count from 1, as in the literature.
    for i in (1..=n).step_by(jump) {
        if window.len >= n {
            (left, right) = (1, n);
        } else if jump == 1 {
            if i > half && right != n {
                left += 1;
                right += 1;
            }
        } else {
            (left, right) = if i < half {
                (1, window.len)
            } else if i > n - half {
                (n - window.len + 1, n)
            } else {
                (i - half + 1, window.len + i - half)
            };
        }
        out[i - 1] = fit(y, window, i as f64, left..=right).unwrap_or(y[i - 1]);
    }
    if jump == 1 {
        return out;
    }
    let between = |out: &mut [f32], from: usize, to: usize| {
        let step = (out[to - 1] - out[from - 1]) / (to - from) as f32;
        for j in from + 1..to {
            out[j - 1] = out[from - 1] + step * (j - from) as f32;
        }
    };
    for i in (1..=n - jump).step_by(jump) {
        between(&mut out, i, i + jump);
    }
    let last = (n - 1) / jump * jump + 1;
    if last != n {
        out[n - 1] = fit(y, window, n as f64, left..=right).unwrap_or(y[n - 1]);
        between(&mut out, last, n);
    }
    out
}

/// The value at `x` of a weighted regression over positions from 1; none where all weights are 0.
fn fit(y: &[f32], window: Window, x: f64, positions: std::ops::RangeInclusive<usize>) -> Option<f32> {
    let (left, right) = (*positions.start(), *positions.end());
    let mut reach = (x - left as f64).max(right as f64 - x);
    if window.len > y.len() {
        reach += ((window.len - y.len()) / 2) as f64;
    }
    let weight = |position: usize| -> f32 {
        let distance = (position as f64 - x).abs();
        if distance > 0.999 * reach {
            0.0
        } else if distance <= 0.001 * reach {
            1.0
        } else {
            (1.0 - (distance / reach).powi(3)).powi(3) as f32
        }
    };
    let mut weights: Vec<f32> = (left..=right).map(weight).collect();
    let total: f64 = weights.iter().map(|&w| f64::from(w)).sum();
    if total <= 0.0 {
        return None;
    }
    weights.iter_mut().for_each(|w| *w = (f64::from(*w) / total) as f32);
    if reach > 0.0 && window.linear {
        let at = |i: usize| (left + i) as f64;
        let centre: f64 = weights.iter().enumerate().map(|(i, &w)| f64::from(w) * at(i)).sum();
        let spread: f64 =
            weights.iter().enumerate().map(|(i, &w)| f64::from(w) * (at(i) - centre).powi(2)).sum();
        // Points that are too near each other have no slope.
        if spread.sqrt() > 0.001 * (y.len() as f64 - 1.0) {
            let slope = (x - centre) / spread;
            for (i, w) in weights.iter_mut().enumerate() {
                *w = (f64::from(*w) * (slope * (at(i) - centre) + 1.0)) as f32;
            }
        }
    }
    Some(weights.iter().zip(&y[left - 1..right]).fold(0f32, |sum, (w, y)| sum + w * y))
}
