//! Net present values and internal rates of return of cash flows, in even periods and at dates.

use crate::lanes::{Operand, unary};
use crate::lists::list_of;
use crate::plain::Plain;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, List, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::DataType;
use std::ops::Add;

/// Where the search for a rate begins unless the query says so.
const GUESS: f64 = 0.1;

/// Steps of Newton's method.
const MAX_STEPS: usize = 100;

/// A rate is found when a step is smaller.
const PRECISION: f64 = 1e-9;

/// Rates of return that are looked for.
const RATES: std::ops::RangeInclusive<f64> = -0.999999..=1e6;

/// What the arguments of a function are, in their order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rate,
    Cashflow,
    Dates,
    Guess,
    StartFromZero,
    DayCount,
}

impl Kind {
    /// Name and type in messages.
    fn description(self) -> (&'static str, &'static str) {
        match self {
            Kind::Rate => ("rate", "Float32|Float64"),
            Kind::Cashflow => ("cashflow", "Array[Float64|Float32|Int64|Int32|Int16|Int8]"),
            Kind::Dates => ("date", "Array[Date|Date32]"),
            Kind::Guess => ("guess", "Float32|Float64"),
            Kind::StartFromZero => ("start_from_zero", "Bool"),
            Kind::DayCount => ("daycount", "String"),
        }
    }

    fn allows(self, ty: &DataType) -> bool {
        match (self, ty) {
            (Kind::Rate | Kind::Guess, DataType::Float32 | DataType::Float64) => true,
            (Kind::Cashflow, DataType::Array(element)) => matches!(
                **element,
                DataType::Float32
                    | DataType::Float64
                    | DataType::Int8
                    | DataType::Int16
                    | DataType::Int32
                    | DataType::Int64
            ),
            (Kind::Dates, DataType::Array(element)) => {
                matches!(**element, DataType::Date | DataType::Date32)
            }
            (Kind::StartFromZero, ty) => matches!(ty, DataType::Bool | DataType::UInt8),
            (Kind::DayCount, ty) => *ty == DataType::String,
            _ => false,
        }
    }
}

/// The constants among the arguments.
struct Options {
    guess: f64,
    /// The number of the first period.
    first: i32,
    days_per_year: f64,
}

fn bind(name: &str, args: &[Argument], kinds: &[Kind], required: usize) -> Result<Bound> {
    let (n, optional) = (args.len(), kinds.len() - required);
    let several = |n: usize| if n == 1 { "argument" } else { "arguments" };
    ensure!(
        (required..=kinds.len()).contains(&n),
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "An incorrect number of arguments was specified for function '{name}'. Expected {required} mandatory {} and {optional} \
         optional {}, got {n} {}",
        several(required),
        several(optional),
        several(n)
    );
    let mut options = Options { guess: GUESS, first: 0, days_per_year: 365.0 };
    for (index, (arg, kind)) in args.iter().zip(kinds).enumerate() {
        let (what, expected) = kind.description();
        let place = ["1st", "2nd", "3rd", "4th"][index];
        ensure!(
            kind.allows(&arg.ty),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "A value of illegal type was provided as {place} argument '{what}' to function '{name}'. Expected: {expected}, got: {}",
            arg.ty
        );
        if matches!(kind, Kind::Rate | Kind::Cashflow | Kind::Dates) {
            continue;
        }
        let Some(constant) = &arg.constant else {
            bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Argument {} ({what}) must be a constant", index + 1);
        };
        match kind {
            Kind::Guess => options.guess = constant.as_f64().unwrap_or(GUESS),
            Kind::StartFromZero => options.first = i32::from(constant.as_u64() == Some(0)),
            _ => {
                options.days_per_year = match constant.as_str() {
                    Some("ACT_365F") => 365.0,
                    Some("ACT_365_25") => 365.25,
                    other => {
                        bail!(
                            ILLEGAL_TYPE_OF_ARGUMENT,
                            "Invalid day count value: {}",
                            other.unwrap_or_default()
                        )
                    }
                }
            }
        }
    }
    Ok(Bound::with_state(DataType::Float64, options))
}

/// A payment and the time of it.
type Payment = (f64, f64);

fn present_value(payments: &[Payment], rate: f64) -> f64 {
    if rate <= -1.0 {
        return f64::INFINITY;
    }
    // Whatever is to the power of 0 is 1.
    let value =
        |&(amount, time): &Payment| if time == 0.0 { amount } else { amount / (1.0 + rate).powf(time) };
    payments.iter().map(value).fold(0.0, f64::add)
}

fn slope(payments: &[Payment], rate: f64) -> f64 {
    payments.iter().map(|(amount, time)| -time * amount / (1.0 + rate).powf(time + 1.0)).sum()
}

/// The rate at which the present value is 0; NaN where none is found.
fn rate_of_return(payments: &[Payment], guess: f64) -> f64 {
    let signs = payments
        .iter()
        .fold((false, false), |(up, down), (amount, _)| (up || *amount > 0.0, down || *amount < 0.0));
    if signs != (true, true) || payments.iter().any(|(amount, _)| !amount.is_finite()) {
        return f64::NAN;
    }
    newton(payments, guess)
        .or_else(|| newton(payments, GUESS))
        .or_else(|| bisect(payments))
        .unwrap_or(f64::NAN)
}

fn newton(payments: &[Payment], guess: f64) -> Option<f64> {
    let mut rate = guess;
    for _ in 0..MAX_STEPS {
        let step = present_value(payments, rate) / slope(payments, rate);
        rate -= step;
        if !step.is_finite() || !RATES.contains(&rate) {
            return None;
        }
        if step.abs() < PRECISION {
            return Some(rate);
        }
    }
    None
}

/// Looks for a change of sign in ever longer steps, then halves the interval.
fn bisect(payments: &[Payment]) -> Option<f64> {
    let mut low = *RATES.start();
    while low < *RATES.end() {
        let high = low + 0.01 * (low + 1.1);
        let (mut a, mut b) = (low, high);
        if (present_value(payments, a) > 0.0) != (present_value(payments, b) > 0.0) {
            for _ in 0..200 {
                let middle = f64::midpoint(a, b);
                let same = (present_value(payments, middle) > 0.0) == (present_value(payments, a) > 0.0);
                if same { a = middle } else { b = middle }
            }
            return Some(f64::midpoint(a, b));
        }
        low = high;
    }
    None
}

fn floats(vector: &Vector) -> Result<Vec<f64>> {
    unary::<f64, f64>(Operand { ty: &DataType::Float64, vector, constant: false }, vector.len(), |x| x)
}

/// Calls back with the cash flows of each row, from the argument at `index`, with times from that behind it if `dated`.
fn each_row(
    call: &Call,
    index: usize,
    dated: bool,
    mut row: impl FnMut(&[Payment]) -> Result<()>,
) -> Result<()> {
    let days_per_year = call.state::<Options>()?.days_per_year;
    let flows = list_of(&call.args[index], call.n_rows)?;
    let amounts = floats(&flows.values)?;
    let mut payments: Vec<Payment> = Vec::new();
    if !dated {
        for range in flows.ranges() {
            payments.clear();
            payments.extend(amounts[range].iter().enumerate().map(|(i, x)| (*x, i as f64)));
            row(&payments)?;
        }
        return Ok(());
    }
    let dates: List = list_of(&call.args[index + 1], call.n_rows)?;
    ensure!(
        flows.offsets[..] == dates.offsets[..],
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Cashflow and date arrays must have the same size for each row"
    );
    let days = floats(&dates.values)?;
    for range in flows.ranges() {
        payments.clear();
        let first = range.start;
        payments.extend(range.map(|at| (amounts[at], (days[at] - days[first]) / days_per_year)));
        row(&payments)?;
    }
    Ok(())
}

/// In even periods the powers are products.
fn even_present_value(payments: &[Payment], rate: f64, first: i32) -> f64 {
    if rate <= -1.0 {
        return f64::INFINITY;
    }
    let mut divisor = (1.0 + rate).powi(first);
    let mut sum = 0.0;
    for (amount, _) in payments {
        sum += amount / divisor;
        divisor *= 1.0 + rate;
    }
    sum
}

fn present_values(call: &Call, dated: bool) -> Result<Column> {
    let first = call.state::<Options>()?.first;
    let rates = floats(call.vector(0))?;
    let mut out: Vec<f64> = Vec::with_capacity(call.n_rows);
    each_row(call, 1, dated, |payments| {
        let rate = rates[out.len()];
        ensure!(dated || !payments.is_empty(), ILLEGAL_TYPE_OF_ARGUMENT, "Cashflow array must not be empty");
        out.push(if dated {
            present_value(payments, rate)
        } else {
            even_present_value(payments, rate, first)
        });
        Ok(())
    })?;
    Ok(Vector::from(out).into())
}

fn rates_of_return(call: &Call, dated: bool) -> Result<Column> {
    let guess = call.state::<Options>()?.guess;
    let mut rates = Vec::with_capacity(call.n_rows);
    each_row(call, 0, dated, |payments| {
        rates.push(rate_of_return(payments, guess));
        Ok(())
    })?;
    Ok(Vector::from(rates).into())
}

static FUNCTIONS: [Plain; 4] = [
    Plain {
        record: Record {
            name: "financialNetPresentValue",
            summary: "The present value of cash flows in even periods, discounted at a rate; the first period is 0, or 1 if `start_from_zero` \
                      is false.",
            syntax: "financialNetPresentValue(rate, cashflows[, start_from_zero])",
            examples: &[Example {
                sql: "SELECT round(financialNetPresentValue(0.08, [-40000., 5000., 8000., 12000., 30000.]), 6)",
                result: "3065.222668",
            }],
            ..Record::DEFAULT
        },
        bind: |name, args, _| bind(name, args, &[Kind::Rate, Kind::Cashflow, Kind::StartFromZero], 2),
        execute: |call| present_values(call, false),
    },
    Plain {
        record: Record {
            name: "financialNetPresentValueExtended",
            summary: "The present value of cash flows at dates, discounted at a yearly rate, in years of 365 days ('ACT_365F') or of 365.25 \
                      ('ACT_365_25').",
            syntax: "financialNetPresentValueExtended(rate, cashflows, dates[, daycount])",
            examples: &[Example {
                sql: "SELECT round(financialNetPresentValueExtended(0.1, [-10000, 5750], [toDate('2020-01-01'), toDate('2020-03-01')]), 6)",
                result: "-4339.385654",
            }],
            ..Record::DEFAULT
        },
        bind: |name, args, _: &Context| {
            bind(name, args, &[Kind::Rate, Kind::Cashflow, Kind::Dates, Kind::DayCount], 3)
        },
        execute: |call| present_values(call, true),
    },
    Plain {
        record: Record {
            name: "financialInternalRateOfReturn",
            summary: "The rate at which the present value of cash flows in even periods is 0; NaN where none is found.",
            syntax: "financialInternalRateOfReturn(cashflows[, guess])",
            examples: &[Example {
                sql: "SELECT round(financialInternalRateOfReturn([-100, 39, 59, 55, 20]), 6)",
                result: "0.280948",
            }],
            ..Record::DEFAULT
        },
        bind: |name, args, _| bind(name, args, &[Kind::Cashflow, Kind::Guess], 1),
        execute: |call| rates_of_return(call, false),
    },
    Plain {
        record: Record {
            name: "financialInternalRateOfReturnExtended",
            summary: "The yearly rate at which the present value of cash flows at dates is 0; NaN where none is found.",
            syntax: "financialInternalRateOfReturnExtended(cashflows, dates[, guess, daycount])",
            examples: &[Example {
                sql: "SELECT round(financialInternalRateOfReturnExtended([-100, 110], [toDate('2020-01-01'), toDate('2021-01-01')]), 6)",
                result: "0.099714",
            }],
            ..Record::DEFAULT
        },
        bind: |name, args, _| {
            bind(name, args, &[Kind::Cashflow, Kind::Dates, Kind::Guess, Kind::DayCount], 2)
        },
        execute: |call| rates_of_return(call, true),
    },
];

pub fn register(registry: &mut Registry) {
    for function in &FUNCTIONS {
        registry.add_scalar(function);
    }
}
