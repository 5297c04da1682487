//! `rand`, `rand64`, `randConstant`, `randCanonical` and the numbers of the distributions.

use super::generator::{Generator, Source};
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Dictionaries, Example, Nulls, Record, Registry,
    ScalarFunction, Volatility,
};
use chalet_types::DataType;

/// Draws from a distribution of the given parameters.
#[derive(Clone, Copy)]
enum Draw {
    Float(fn(&mut Generator, &[f64]) -> f64),
    Whole(fn(&mut Generator, &[f64]) -> u64),
    Word32,
    Word64,
    Constant,
    Flag,
}

struct Random {
    record: Record,
    n_parameters: usize,
    check: fn(&[f64]) -> Result<()>,
    draw: Draw,
}

/// What a bound call keeps.
struct State {
    source: Source,
    parameters: Vec<f64>,
    /// Of `randConstant`.
    value: u32,
}

macro_rules! random {
    ($($name:literal, $ci:literal, $aliases:expr, $n:literal, $draw:expr, $check:expr, $summary:literal, $syntax:literal, $sql:literal;)*) => {
        static FUNCTIONS: &[Random] = &[$(Random {
            record: Record {
                name: $name,
                aliases: $aliases,
                case_insensitive: $ci,
                summary: $summary,
                syntax: $syntax,
                examples: &[Example { sql: $sql, result: "1" }],
                nulls: Nulls::Seen,
                constants: Constants::Seen,
                dictionaries: Dictionaries::Decoded,
                volatility: Volatility::PerRow,
                ..Record::DEFAULT
            },
            n_parameters: $n,
            check: $check,
            draw: $draw,
        }),*];
    };
}

const ANY: fn(&[f64]) -> Result<()> = |_| Ok(());

fn probability(name: &str, p: f64) -> Result<()> {
    ensure!(
        (0.0..=1.0).contains(&p),
        BAD_ARGUMENTS,
        "Argument of function {name} should be inside [0, 1] because it is a probability"
    );
    Ok(())
}

/// A number of things to draw, which more than a billion are refused for.
fn count(name: &str, what: &str, x: f64) -> Result<()> {
    ensure!(
        (0.0..u64::MAX as f64).contains(&x),
        CANNOT_CONVERT_TYPE,
        "Cannot convert out of range floating point value to integer type"
    );
    ensure!(x <= MAX_COUNT, BAD_ARGUMENTS, "Argument ({what}) of function {name} is too large: {}", x as u64);
    Ok(())
}

const MAX_COUNT: f64 = 1e9;

fn positive(name: &str, x: f64) -> Result<()> {
    ensure!(x > 0.0, BAD_ARGUMENTS, "Argument of function {name} should be greater than zero");
    Ok(())
}

random! {
    "rand", true, &["rand32"], 0, Draw::Word32, ANY,
        "A random UInt32 for each row. An argument only keeps two calls apart.", "rand([x])",
        "SELECT rand() <= 4294967295";
    "rand64", false, &[], 0, Draw::Word64, ANY, "A random UInt64 for each row.", "rand64([x])", "SELECT rand64() >= 0";
    "randConstant", false, &[], 0, Draw::Constant, ANY, "A random UInt32, the same for all rows.", "randConstant([x])",
        "SELECT randConstant() >= 0";
    "randCanonical", false, &[], 0, Draw::Float(|g, _| g.unit()), ANY,
        "A random Float64 from 0 to below 1 for each row.", "randCanonical([x])", "SELECT randCanonical() < 1";
    "randUniform", false, &[], 2, Draw::Float(|g, p| p[0] + g.unit() * (p[1] - p[0])), ANY,
        "A random Float64 between two numbers.", "randUniform(min, max[, x])", "SELECT randUniform(5, 10) >= 5";
    "randNormal", false, &[], 2, Draw::Float(|g, p| p[0] + p[1] * g.normal()), ANY,
        "A random number of the normal distribution.", "randNormal(mean, deviation[, x])",
        "SELECT isFinite(randNormal(10, 2))";
    "randLogNormal", false, &[], 2, Draw::Float(|g, p| (p[0] + p[1] * g.normal()).exp()), ANY,
        "A random number whose logarithm has the normal distribution.", "randLogNormal(mean, deviation[, x])",
        "SELECT randLogNormal(1, 1) > 0";
    "randExponential", false, &[], 1, Draw::Float(|g, p| -g.positive_unit().ln() / p[0]), |p| positive("randExponential", p[0]),
        "A random number of the exponential distribution.", "randExponential(lambda[, x])",
        "SELECT randExponential(1) >= 0";
    "randChiSquared", false, &[], 1, Draw::Float(|g, p| 2.0 * g.gamma(p[0] / 2.0)), |p| positive("randChiSquared", p[0]),
        "A random number of the chi-squared distribution.", "randChiSquared(degrees[, x])",
        "SELECT randChiSquared(5) >= 0";
    "randStudentT", false, &[], 1, Draw::Float(|g, p| g.normal() / (2.0 * g.gamma(p[0] / 2.0) / p[0]).sqrt()),
        |p| positive("randStudentT", p[0]), "A random number of Student's t-distribution.",
        "randStudentT(degrees[, x])", "SELECT isFinite(randStudentT(5))";
    "randFisherF", false, &[], 2, Draw::Float(|g, p| (g.gamma(p[0] / 2.0) / p[0]) / (g.gamma(p[1] / 2.0) / p[1])),
        |p| positive("randFisherF", p[0].min(p[1])), "A random number of the F-distribution.",
        "randFisherF(degrees1, degrees2[, x])", "SELECT randFisherF(5, 7) >= 0";
    "randBernoulli", false, &[], 1, Draw::Flag, |p| probability("randBernoulli", p[0]),
        "1 with the given probability, else 0.", "randBernoulli(probability[, x])", "SELECT randBernoulli(0.5) <= 1";
    "randBinomial", false, &[], 2,
        Draw::Whole(|g, p| g.binomial(p[0] as u64, p[1])),
        |p| count("randBinomial", "number of experiments", p[0]).and_then(|()| probability("randBinomial", p[1])),
        "The successes of a number of trials of the given probability.", "randBinomial(trials, probability[, x])",
        "SELECT randBinomial(10, 0.5) <= 10";
    "randNegativeBinomial", false, &[], 2,
        Draw::Whole(|g, p| { let mean = g.gamma(p[0].trunc()) * (1.0 - p[1]) / p[1]; g.poisson(mean) }),
        |p| {
            count("randNegativeBinomial", "number of experiments", p[0])?;
            probability("randNegativeBinomial", p[1])
        },
        "The failures before a number of successes of the given probability.",
        "randNegativeBinomial(successes, probability[, x])", "SELECT randNegativeBinomial(10, 0.5) >= 0";
    "randPoisson", false, &[], 1, Draw::Whole(|g, p| g.poisson(p[0].trunc())),
        |p| count("randPoisson", "mean", p[0]),
        "A random number of the Poisson distribution.", "randPoisson(mean[, x])", "SELECT randPoisson(3) >= 0";
}

impl ScalarFunction for &'static Random {
    fn record(&self) -> &'static Record {
        let function: &'static Random = self;
        &function.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let (name, n) = (self.record.name, self.n_parameters);
        if !(n..=n + 1).contains(&args.len()) {
            if n == 0 {
                bail!(
                    NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Number of arguments for function {name} doesn't match: passed {}, should be 0 or 1",
                    args.len()
                );
            }
            bail!(
                NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                "Wrong number of arguments for function {name}. Should be {n} or {}",
                n + 1
            );
        }
        let mut parameters = Vec::with_capacity(n);
        for (index, arg) in args[..n].iter().enumerate() {
            let signed_count = matches!(self.draw, Draw::Whole(_)) && arg.ty.is_signed();
            ensure!(
                arg.ty.is_number() && !arg.ty.is_decimal() && !signed_count,
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type {} of argument of function {name}, expected Float64 or integer",
                arg.ty
            );
            match arg.constant.as_ref().and_then(|value| value.as_f64()) {
                Some(value) if !value.is_nan() && value.is_finite() => parameters.push(value),
                Some(_) => bail!(
                    BAD_ARGUMENTS,
                    "Parameter number {index} of function {name} cannot be NaN or infinite"
                ),
                None => bail!(ILLEGAL_COLUMN, "Parameter number {index} of function {name} must be constant"),
            }
        }
        (self.check)(&parameters)?;
        let source = Source::new();
        let value = source.generator().next() as u32;
        let result = match self.draw {
            Draw::Float(_) => DataType::Float64,
            Draw::Whole(_) | Draw::Word64 => DataType::UInt64,
            Draw::Word32 | Draw::Constant => DataType::UInt32,
            Draw::Flag => DataType::UInt64,
        };
        Ok(Bound::with_state(result, State { source, parameters, value }))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let state: &State = call.state()?;
        let (n, parameters) = (call.n_rows, &state.parameters[..]);
        let mut generator = state.source.generator();
        let g = &mut generator;
        Ok(match self.draw {
            Draw::Constant => return Ok(Column::constant(Vector::from(vec![state.value]), n)),
            Draw::Word32 => Vector::from((0..n).map(|_| (g.next() >> 32) as u32).collect::<Vec<u32>>()),
            Draw::Word64 => Vector::from((0..n).map(|_| g.next()).collect::<Vec<u64>>()),
            Draw::Float(draw) => Vector::from((0..n).map(|_| draw(g, parameters)).collect::<Vec<f64>>()),
            Draw::Whole(draw) => Vector::from((0..n).map(|_| draw(g, parameters)).collect::<Vec<u64>>()),
            Draw::Flag => {
                Vector::from((0..n).map(|_| u64::from(g.unit() < parameters[0])).collect::<Vec<u64>>())
            }
        }
        .into())
    }
}

pub fn register(registry: &mut Registry) {
    FUNCTIONS.iter().for_each(|function| registry.add_scalar(function));
}
