//! `regr_slope`, `regr_intercept` and their kin: the line that fits a dependent variable best, and the sums that it comes from.

use crate::check::{no_parameters, two_arguments};
use crate::floats::Floats;
use chalet_base::{Result, ensure};
use chalet_columns::wire::{take_f64, take_u64};
use chalet_columns::{Builder, Vector};
use chalet_function_api::aggregate::AggregateNulls;
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, Value};
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Measure {
    Count,
    AvgX,
    AvgY,
    Sxx,
    Syy,
    Sxy,
    Slope,
    Intercept,
    R2,
}

pub struct Regression {
    record: &'static AggregateRecord,
    measure: Measure,
}

macro_rules! regressions {
    ($($id:ident, $measure:ident: $name:literal, $nulls:ident, $zero:literal, $summary:literal, $result:literal;)*) => {
        $(const $id: AggregateRecord = AggregateRecord {
            name: $name,
            case_insensitive: true,
            nulls: AggregateNulls::$nulls,
            zero_when_only_null: $zero,
            summary: $summary,
            syntax: concat!($name, "(y, x)"),
            examples: &[Example {
                sql: concat!("SELECT ", $name, "(y, x) FROM values('x Float64, y Float64', (1, 2), (2, 4), (3, 6), (4, 8))"),
                result: $result,
            }],
            ..AggregateRecord::DEFAULT
        };)*

        impl Regression {
            pub const ALL: &[Regression] = &[$(Regression { record: &$id, measure: Measure::$measure }),*];
        }
    };
}

regressions! {
    COUNT, Count: "regr_count", SkipPlainResult, true, "The number of rows in which neither variable is NULL.", "4";
    AVG_X, AvgX: "regr_avgx", Skip, false, "The mean of the independent variable `x`.", "2.5";
    AVG_Y, AvgY: "regr_avgy", Skip, false, "The mean of the dependent variable `y`.", "5";
    SXX, Sxx: "regr_sxx", Skip, false, "The sum of squares of `x` around its mean.", "5";
    SYY, Syy: "regr_syy", Skip, false, "The sum of squares of `y` around its mean.", "20";
    SXY, Sxy: "regr_sxy", Skip, false, "The sum of the products of `x` and `y`, each around its mean.", "10";
    SLOPE, Slope: "regr_slope", Skip, false, "The slope of the least-squares fit of `y` on `x`; NaN when `x` is constant.", "2";
    INTERCEPT, Intercept: "regr_intercept", Skip, false,
        "The intercept of the least-squares fit of `y` on `x`; NaN when `x` is constant.", "0";
    R2, R2: "regr_r2", Skip, false,
        "The share of the variance of `y` that the least-squares fit on `x` explains; NaN when `x` is constant.", "1";
}

impl AggregateFunction for &'static Regression {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = self.record.name;
        no_parameters(name, parameters)?;
        two_arguments(name, args)?;
        let fits = |ty: &DataType| match self.measure {
            // Only counts rows, so any number will do.
            Measure::Count => ty.is_number(),
            _ => {
                let narrow = ty.physical().width().is_some_and(|width| width <= 8);
                (ty.is_integer() && narrow) || matches!(ty, DataType::Float32 | DataType::Float64)
            }
        };
        ensure!(
            args.iter().all(|arg| fits(&arg.ty)),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal types {} and {} of arguments for aggregate function {name}",
            args[0].ty,
            args[1].ty
        );
        Ok(match self.measure {
            Measure::Count => EachState::of(Pairs),
            measure => EachState::of(Sums { measure }),
        })
    }
}

/// Counts rows.
struct Pairs;

impl RowAggregate for Pairs {
    type State = u64;
    type Input<'a> = ();

    fn result_type(&self) -> DataType {
        DataType::UInt64
    }

    fn empty(&self) -> u64 {
        0
    }

    fn input(&self, _: &[Vector]) -> Result<()> {
        Ok(())
    }

    fn add(&self, state: &mut u64, (): &(), _: usize) -> Result<()> {
        *state += 1;
        Ok(())
    }

    fn merge(&self, state: &mut u64, other: u64) -> Result<()> {
        *state = state.wrapping_add(other);
        Ok(())
    }

    fn serialise(&self, state: &u64, out: &mut Vec<u8>) {
        out.extend(state.to_le_bytes());
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<u64> {
        take_u64(bytes)
    }

    fn finish(&self, state: &mut u64, out: &mut Builder) -> Result<()> {
        out.natives::<u64>()?.push(*state);
        Ok(())
    }
}

struct Sums {
    measure: Measure,
}

/// Sums of the differences to the first pair, so that large values do not lose digits.
#[derive(Clone, Copy, Default)]
struct State {
    n: u64,
    origin: [f64; 2],
    /// Of x, y, x x, y y, x y.
    sums: [f64; 5],
}

impl RowAggregate for Sums {
    type State = State;
    type Input<'a> = [Floats<'a>; 2];

    fn result_type(&self) -> DataType {
        DataType::Float64
    }

    fn empty(&self) -> State {
        State::default()
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<[Floats<'a>; 2]> {
        Ok([Floats::of(&args[0], 1.0)?, Floats::of(&args[1], 1.0)?])
    }

    fn add(&self, state: &mut State, [ys, xs]: &[Floats; 2], row: usize) -> Result<()> {
        let (x, y) = (xs.get(row), ys.get(row));
        if state.n == 0 {
            state.origin = [x, y];
        }
        let (x, y) = (x - state.origin[0], y - state.origin[1]);
        state.n += 1;
        let added = [x, y, x * x, y * y, x * y];
        state.sums.iter_mut().zip(added).for_each(|(sum, term)| *sum += term);
        Ok(())
    }

    /// The sums of `other`, seen from the origin of `state`.
    fn merge(&self, state: &mut State, other: State) -> Result<()> {
        if other.n == 0 {
            return Ok(());
        }
        if state.n == 0 {
            *state = other;
            return Ok(());
        }
        let n = other.n as f64;
        let (dx, dy) = (other.origin[0] - state.origin[0], other.origin[1] - state.origin[1]);
        let [x, y, xx, yy, xy] = other.sums;
        let moved = [
            x + n * dx,
            y + n * dy,
            xx + 2.0 * dx * x + n * dx * dx,
            yy + 2.0 * dy * y + n * dy * dy,
            xy + dx * y + dy * x + n * dx * dy,
        ];
        state.sums.iter_mut().zip(moved).for_each(|(sum, term)| *sum += term);
        state.n = state.n.wrapping_add(other.n);
        Ok(())
    }

    fn serialise(&self, state: &State, out: &mut Vec<u8>) {
        out.extend(state.n.to_le_bytes());
        state.origin.iter().chain(&state.sums).for_each(|x| out.extend(x.to_le_bytes()));
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<State> {
        let mut state = State { n: take_u64(bytes)?, ..State::default() };
        for x in state.origin.iter_mut().chain(&mut state.sums) {
            *x = take_f64(bytes)?;
        }
        Ok(state)
    }

    fn finish(&self, state: &mut State, out: &mut Builder) -> Result<()> {
        let n = state.n as f64;
        let [x, y, xx, yy, xy] = state.sums;
        let (mean_x, mean_y) = (state.origin[0] + x / n, state.origin[1] + y / n);
        let (sxx, syy, sxy) = (xx - x * x / n, yy - y * y / n, xy - x * y / n);
        let slope = if sxx == 0.0 { f64::NAN } else { sxy / sxx };
        out.natives::<f64>()?.push(match self.measure {
            Measure::Count => n,
            Measure::AvgX => mean_x,
            Measure::AvgY => mean_y,
            Measure::Sxx => sxx,
            Measure::Syy => syy,
            Measure::Sxy => sxy,
            Measure::Slope => slope,
            Measure::Intercept => mean_y - slope * mean_x,
            Measure::R2 if sxx == 0.0 => f64::NAN,
            Measure::R2 if syy == 0.0 => 1.0,
            Measure::R2 => sxy * sxy / (sxx * syy),
        });
        Ok(())
    }
}
