//! `minSampleSizeContinuous`, `minSampleSizeConversion`, `proportionsZTest`: tests of two samples by the normal distribution.

use super::normal::{below, quantile};
use crate::lanes::{Operand, unary};
use crate::plain::Plain;
use chalet_base::{Result, bail, ensure};
use chalet_columns::vector::Struct;
use chalet_columns::{Column, Data, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Nulls, Record, Registry};
use chalet_types::{DataType, TupleField, Value};

const PLACES: [&str; 5] = ["1st", "2nd", "3rd", "4th", "5th"];

fn is_native(ty: &DataType) -> bool {
    ty.is_float() || ty.is_integer() && ty.physical().width().is_some_and(|width| width <= 8)
}

fn floats_named(names: &[&str]) -> DataType {
    let field = |name: &&str| TupleField { name: Some((*name).into()), ty: DataType::Float64 };
    DataType::Tuple(names.iter().map(field).collect())
}

/// Of the named arguments, the last three may not differ from row to row.
fn bind(name: &str, args: &[Argument], names: &[&str], floats_only: bool) -> Result<Bound> {
    check_arity(name, args.len(), names.len()..=names.len())?;
    for (index, arg) in args.iter().enumerate() {
        let (fits, expected) = match floats_only {
            true => (arg.ty.is_float(), "Float"),
            false => (is_native(&arg.ty), "native numeric"),
        };
        ensure!(
            fits,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "A value of illegal type was provided as {} argument '{}' to function '{name}'. Expected: {expected}, got: {}",
            PLACES[index],
            names[index],
            arg.ty
        );
    }
    if let Some(index) = (args.len() - 3..args.len()).find(|index| args[*index].constant.is_none()) {
        bail!(ILLEGAL_COLUMN, "Argument at index {index} for function {name} must be constant");
    }
    Ok(floats_named(&["minimum_sample_size", "detect_range_lower", "detect_range_upper"]).into())
}

fn floats(call: &Call, index: usize) -> Result<Vec<f64>> {
    unary::<f64, f64>(Operand::of(call, index), call.n_rows, |x| x)
}

/// A column of tuples of floats.
fn tuples<const N: usize>(n_rows: usize, mut row: impl FnMut(usize) -> [f64; N]) -> Column {
    let mut fields: [Vec<f64>; N] = std::array::from_fn(|_| Vec::with_capacity(n_rows));
    for index in 0..n_rows {
        fields.iter_mut().zip(row(index)).for_each(|(field, x)| field.push(x));
    }
    let fields = fields.into_iter().map(Vector::from).collect();
    Vector::from(Data::Struct(Struct { fields, len: n_rows })).into()
}

/// Quantiles for a power and a level of significance, where both are chances.
fn bounds(power: f64, alpha: f64) -> Option<(f64, f64)> {
    let is_chance = |x: f64| x > 0.0 && x < 1.0;
    (is_chance(power) && is_chance(alpha)).then(|| (quantile(1.0 - alpha / 2.0), quantile(power)))
}

/// The same for a column: both are constants.
fn bounds_of_all(power: &[f64], alpha: &[f64]) -> Option<(f64, f64)> {
    bounds(*power.first()?, *alpha.first()?)
}

fn continuous(baseline: f64, sigma: f64, mde: f64, bounds: Option<(f64, f64)>) -> [f64; 3] {
    let usable = [baseline, sigma, mde].iter().all(|x| x.is_finite()) && baseline != 0.0 && mde != 0.0;
    let Some((of_alpha, of_power)) = bounds.filter(|_| usable) else { return [f64::NAN; 3] };
    let effect = baseline * mde;
    let size = 2.0 * (sigma * (of_alpha + of_power) / effect).powi(2);
    [size, baseline * (1.0 - mde), baseline * (1.0 + mde)]
}

fn conversion(baseline: f64, mde: f64, bounds: Option<(f64, f64)>) -> [f64; 3] {
    let usable = baseline.is_finite() && mde.is_finite() && mde > 0.0;
    let Some((of_alpha, of_power)) = bounds.filter(|_| usable) else { return [f64::NAN; 3] };
    let variance = |p: f64| p * (1.0 - p);
    let (low, high) = (baseline - mde, baseline + mde);
    let pooled = variance(f64::midpoint(baseline, high));
    let deviations =
        of_alpha * (2.0 * pooled).sqrt() + of_power * (variance(baseline) + variance(high)).sqrt();
    [(deviations / mde).powi(2), low, high]
}

fn bind_proportions(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 6..=6)?;
    for (index, arg) in args[..4].iter().enumerate() {
        ensure!(
            arg.ty.is_unsigned(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "The {}th Argument of function {name} must be an unsigned integer",
            index + 1
        );
    }
    ensure!(
        args[4].ty.is_float(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "The fifth argument {} of function {name} should be a float",
        args[4].ty
    );
    let Some(kind) = args[5].constant.as_ref().and_then(Value::as_str) else {
        bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "The sixth argument {} of function {name} should be a constant string",
            args[5].ty
        );
    };
    ensure!(
        matches!(kind, "pooled" | "unpooled"),
        BAD_ARGUMENTS,
        "The sixth argument {} of function {name} must be equal to `pooled` or `unpooled`",
        args[5].ty
    );
    let result =
        floats_named(&["z_statistic", "p_value", "confidence_interval_low", "confidence_interval_high"]);
    Ok(Bound::with_state(result, Pooled(kind == "pooled")))
}

struct Pooled(bool);

/// The test of a row; `bound` gives the quantile of its level.
fn proportions(
    successes: [f64; 2],
    trials: [f64; 2],
    level: f64,
    pooled: bool,
    bound: impl FnOnce(f64) -> f64,
) -> [f64; 4] {
    let p = [successes[0] / trials[0], successes[1] / trials[1]];
    let is_share = |p: f64| p > 0.0 && p <= 1.0;
    if trials.contains(&0.0) || !p.iter().all(|p| is_share(*p)) || !(0.0..=1.0).contains(&level) {
        return [f64::NAN; 4];
    }
    let difference = p[0] - p[1];
    let own = (p[0] * (1.0 - p[0]) / trials[0] + p[1] * (1.0 - p[1]) / trials[1]).sqrt();
    let error = if pooled {
        let both = (successes[0] + successes[1]) / (trials[0] + trials[1]);
        (both * (1.0 - both) * (1.0 / trials[0] + 1.0 / trials[1])).sqrt()
    } else {
        own
    };
    let z = difference / error;
    let margin = bound(level) * own;
    [z, 2.0 * below(-z.abs()), difference - margin, difference + margin]
}

static FUNCTIONS: [Plain; 3] = [
    Plain {
        record: Record {
            name: "minSampleSizeContinuous",
            aliases: &["minSampleSizeContinous"],
            summary: "How large two samples of a number must be to detect a change of its mean by the share `mde`, and the range within which \
                      none is detected.",
            syntax: "minSampleSizeContinuous(baseline, sigma, mde, power, alpha)",
            examples: &[Example {
                sql: "SELECT round(minSampleSizeContinuous(112.25, 21.1, 0.03, 0.80, 0.05).1, 6)",
                result: "616.293195",
            }],
            nulls: Nulls::Seen,
            ..Record::DEFAULT
        },
        bind: |name, args, _| bind(name, args, &["baseline", "sigma", "mde", "power", "alpha"], false),
        execute: |call| {
            let [baseline, sigma, mde, power, alpha] =
                [floats(call, 0)?, floats(call, 1)?, floats(call, 2)?, floats(call, 3)?, floats(call, 4)?];
            let bounds = bounds_of_all(&power, &alpha);
            let row = |i: usize| continuous(baseline[i], sigma[i], mde[i], bounds);
            Ok(tuples(call.n_rows, row))
        },
    },
    Plain {
        record: Record {
            name: "minSampleSizeConversion",
            summary: "How large two samples must be to detect a change of a conversion rate by `mde`, and the range within which none is \
                      detected.",
            syntax: "minSampleSizeConversion(baseline, mde, power, alpha)",
            examples: &[Example {
                sql: "SELECT round(minSampleSizeConversion(0.25, 0.03, 0.80, 0.05).1, 6)",
                result: "3396.077603",
            }],
            nulls: Nulls::Seen,
            ..Record::DEFAULT
        },
        bind: |name, args, _| bind(name, args, &["p1", "d", "power", "alpha"], true),
        execute: |call| {
            let [baseline, mde, power, alpha] =
                [floats(call, 0)?, floats(call, 1)?, floats(call, 2)?, floats(call, 3)?];
            let bounds = bounds_of_all(&power, &alpha);
            Ok(tuples(call.n_rows, |i| conversion(baseline[i], mde[i], bounds)))
        },
    },
    Plain {
        record: Record {
            name: "proportionsZTest",
            summary: "The z-test of two proportions: statistic, p-value and the confidence interval of their difference.",
            syntax: "proportionsZTest(successes_x, successes_y, trials_x, trials_y, level, 'pooled' | 'unpooled')",
            examples: &[Example {
                sql: "SELECT round(proportionsZTest(10, 11, 100, 101, 0.95, 'unpooled').1, 6)",
                result: "-0.206567",
            }],
            nulls: Nulls::Seen,
            ..Record::DEFAULT
        },
        bind: bind_proportions,
        execute: |call| {
            let Pooled(pooled) = *call.state()?;
            let (a, b) = ([floats(call, 0)?, floats(call, 1)?], [floats(call, 2)?, floats(call, 3)?]);
            let levels = floats(call, 4)?;
            // Mostly all rows have one level.
            let mut known = (f64::NAN, f64::NAN);
            let mut bound = |level: f64| {
                if known.0 != level {
                    known = (level, quantile(1.0 - (1.0 - level) / 2.0));
                }
                known.1
            };
            let row =
                |i: usize| proportions([a[0][i], a[1][i]], [b[0][i], b[1][i]], levels[i], pooled, &mut bound);
            Ok(tuples(call.n_rows, row))
        },
    },
];

pub fn register(registry: &mut Registry) {
    for function in &FUNCTIONS {
        registry.add_scalar(function);
    }
}
