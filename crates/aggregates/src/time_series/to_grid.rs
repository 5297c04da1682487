//! `timeSeries*ToGrid`: for each point of a grid what the samples in a window before it say.

use super::extrapolated::{Change, changes};
use super::grid::Grid;
use super::line::Line;
use super::parameters::Reader;
use super::samples::{Input, Sample, Samples, Shape};
use super::sliding::{Summary, slide};
use super::summaries::{Extreme, Last, Steps, Sum};
use chalet_base::{Result, bail, ensure};
use chalet_columns::builder::Values;
use chalet_columns::{Builder, Vector};
use chalet_function_api::aggregate::AggregateNulls;
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, Value};
use std::sync::Arc;

/// What is asked of a window.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Last,
    Changed(Change),
    InstantRate,
    InstantDelta,
    Greatest,
    Least,
    TimeOfGreatest,
    TimeOfLeast,
    Sum,
    Mean,
    Count,
    Changes,
    Resets,
    Slope,
    Prediction,
}

pub struct ToGrid {
    record: &'static AggregateRecord,
    kind: Kind,
}

const BASE: AggregateRecord =
    AggregateRecord { nulls: AggregateNulls::Skip, null_flag: false, ..AggregateRecord::DEFAULT };

/// A record: its example runs over the same samples for all.
macro_rules! record {
    ($name:literal, $aliases:expr, $parameters:literal, $offset:literal, $result:literal, $summary:literal) => {
        &AggregateRecord {
            name: $name,
            aliases: $aliases,
            summary: $summary,
            syntax: concat!($name, "(start, end, step, window", $parameters, ")(timestamp, value)"),
            examples: &[Example {
                sql: concat!(
                    "SELECT ",
                    $name,
                    "(0, 40, 10, 20",
                    $offset,
                    ")([1, 4, 12, 18, 23]::Array(UInt32), [2., 5., 3., 3., 9.]) SETTINGS enable_time_series_aggregate_functions = 1"
                ),
                result: $result,
            }],
            ..BASE
        }
    };
}

impl ToGrid {
    pub const ALL: [ToGrid; 17] = [
        ToGrid {
            record: record!(
                "timeSeriesResampleToGridWithStaleness",
                &["timeSeriesLastToGrid"],
                "",
                "",
                "[NULL,5,3,9,9]",
                "The last value in the window before each point of a grid."
            ),
            kind: Kind::Last,
        },
        ToGrid {
            record: record!(
                "timeSeriesRateToGrid",
                &[],
                "",
                "",
                "[NULL,0.30000000000000004,0.3529411764705882,0.42954545454545456,NULL]",
                "How much a counter grows per second over the window before each point of a grid, extrapolated to the window's ends."
            ),
            kind: Kind::Changed(Change::Rate),
        },
        ToGrid {
            record: record!(
                "timeSeriesIncreaseToGrid",
                &[],
                "",
                "",
                "[NULL,6,7.0588235294117645,8.590909090909092,NULL]",
                "How much a counter grows over the window before each point of a grid, extrapolated to the window's ends."
            ),
            kind: Kind::Changed(Change::Increase),
        },
        ToGrid {
            record: record!(
                "timeSeriesDeltaToGrid",
                &[],
                "",
                "",
                "[NULL,6,1.1764705882352942,8.590909090909092,NULL]",
                "How much a value changes over the window before each point of a grid, extrapolated to the window's ends."
            ),
            kind: Kind::Changed(Change::Delta),
        },
        ToGrid {
            record: record!(
                "timeSeriesInstantRateToGrid",
                &[],
                "",
                "",
                "[NULL,1,0,1.2,NULL]",
                "How much a counter grows per second between the last two samples in the window before each point of a grid."
            ),
            kind: Kind::InstantRate,
        },
        ToGrid {
            record: record!(
                "timeSeriesInstantDeltaToGrid",
                &[],
                "",
                "",
                "[NULL,3,0,6,NULL]",
                "The difference of the last two values in the window before each point of a grid."
            ),
            kind: Kind::InstantDelta,
        },
        ToGrid {
            record: record!(
                "timeSeriesMaxToGrid",
                &[],
                "",
                "",
                "[NULL,5,5,9,9]",
                "The greatest value in the window before each point of a grid."
            ),
            kind: Kind::Greatest,
        },
        ToGrid {
            record: record!(
                "timeSeriesMinToGrid",
                &[],
                "",
                "",
                "[NULL,2,2,3,9]",
                "The least value in the window before each point of a grid."
            ),
            kind: Kind::Least,
        },
        ToGrid {
            record: record!(
                "timeSeriesTimestampOfMaxToGrid",
                &[],
                "",
                "",
                "[NULL,4,4,23,23]",
                "When the greatest value in the window before each point of a grid was seen last, in seconds."
            ),
            kind: Kind::TimeOfGreatest,
        },
        ToGrid {
            record: record!(
                "timeSeriesTimestampOfMinToGrid",
                &[],
                "",
                "",
                "[NULL,1,1,18,23]",
                "When the least value in the window before each point of a grid was seen last, in seconds."
            ),
            kind: Kind::TimeOfLeast,
        },
        ToGrid {
            record: record!(
                "timeSeriesSumToGrid",
                &[],
                "",
                "",
                "[NULL,7,13,15,9]",
                "The sum of the values in the window before each point of a grid."
            ),
            kind: Kind::Sum,
        },
        ToGrid {
            record: record!(
                "timeSeriesAvgToGrid",
                &[],
                "",
                "",
                "[NULL,3.5,3.25,5,9]",
                "The mean of the values in the window before each point of a grid."
            ),
            kind: Kind::Mean,
        },
        ToGrid {
            record: record!(
                "timeSeriesCountToGrid",
                &[],
                "",
                "",
                "[NULL,2,4,3,1]",
                "The number of values in the window before each point of a grid."
            ),
            kind: Kind::Count,
        },
        ToGrid {
            record: record!(
                "timeSeriesChangesToGrid",
                &[],
                "",
                "",
                "[NULL,1,2,1,0]",
                "How often the value changes in the window before each point of a grid."
            ),
            kind: Kind::Changes,
        },
        ToGrid {
            record: record!(
                "timeSeriesResetsToGrid",
                &[],
                "",
                "",
                "[NULL,0,1,0,0]",
                "How often the value falls in the window before each point of a grid."
            ),
            kind: Kind::Resets,
        },
        ToGrid {
            record: record!(
                "timeSeriesDerivToGrid",
                &[],
                "",
                "",
                "[NULL,1,-0.009790209790209791,0.5274725274725275,NULL]",
                "The slope per second of the line of least squares through the values in the window before each point of a grid."
            ),
            kind: Kind::Slope,
        },
        ToGrid {
            record: record!(
                "timeSeriesPredictLinearToGrid",
                &[],
                ", offset",
                ", 10",
                "[NULL,21,3.041958041958042,16.78021978021978,NULL]",
                "The value of the line of least squares through the window before each point of a grid, so many seconds after the point."
            ),
            kind: Kind::Prediction,
        },
    ];
}

impl AggregateFunction for ToGrid {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], ctx: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = self.record.name;
        let (count, names) = match self.kind {
            Kind::Prediction => (5, "start_timestamp, end_timestamp, step, window, predict_offset"),
            _ => (4, "start_timestamp, end_timestamp, step, window"),
        };
        ensure!(
            parameters.len() == count,
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function {name} requires {count} parameters: {names}"
        );
        super::check_enabled(name, ctx)?;
        let shape = Shape::of(name, args)?;
        shape.check(name, "the timestamps", "the values")?;
        let scale = match &shape.time {
            DataType::DateTime64(scale, _) => Some(*scale),
            _ => None,
        };
        let reader = Reader { name, scale, zone: &ctx.time_zone };
        let grid = Grid::of(parameters, &reader)?;
        let offset = match parameters.get(4) {
            Some(offset) => reader.offset(offset, "predict_offset")?,
            None => 0.0,
        };
        Ok(EachState::of(OnGrid { kind: self.kind, shape, grid, offset }))
    }
}

struct OnGrid {
    kind: Kind,
    shape: Shape,
    grid: Grid,
    offset: f64,
}

impl OnGrid {
    fn element(&self) -> DataType {
        match self.kind {
            Kind::TimeOfGreatest | Kind::TimeOfLeast => DataType::Float64,
            _ => self.shape.value.clone(),
        }
    }

    /// A value for each point that has one.
    fn values(&self, samples: &[Sample]) -> Vec<Option<f64>> {
        let grid = &self.grid;
        match self.kind {
            Kind::Last => self.each(samples, |_, window: Last| Some(window.last.1)),
            Kind::Changed(change) => changes(samples, grid, change, self.shape.value == DataType::Float32),
            Kind::InstantRate => self.each(samples, |_, window: Last| {
                let (before, last) = (window.before?, window.last);
                let rise = if last.1 < before.1 { last.1 } else { last.1 - before.1 };
                Some(rise / grid.seconds(last.0 - before.0))
            }),
            Kind::InstantDelta => {
                self.each(samples, |_, window: Last| Some(window.last.1 - window.before?.1))
            }
            Kind::Greatest => self.each(samples, |_, window: Extreme<true>| Some(window.0.1)),
            Kind::Least => self.each(samples, |_, window: Extreme<false>| Some(window.0.1)),
            Kind::TimeOfGreatest => {
                self.each(samples, |_, window: Extreme<true>| Some(grid.seconds(window.0.0)))
            }
            Kind::TimeOfLeast => {
                self.each(samples, |_, window: Extreme<false>| Some(grid.seconds(window.0.0)))
            }
            Kind::Sum => self.each(samples, |_, window: Sum| Some(window.total())),
            Kind::Mean => self.each(samples, |_, window: Sum| Some(window.total() / window.count as f64)),
            Kind::Count => self.each(samples, |_, window: Sum| Some(window.count as f64)),
            Kind::Changes => self.each(samples, |_, window: Steps<false>| Some(window.count as f64)),
            Kind::Resets => self.each(samples, |_, window: Steps<true>| Some(window.count as f64)),
            Kind::Slope => self.each(samples, |_, window: Line| Some(window.slope()? * grid.second)),
            Kind::Prediction => self.each(samples, |index, window: Line| {
                window.value_at((index * grid.step) as f64 + self.offset * grid.second)
            }),
        }
    }

    fn each<S: Summary>(
        &self,
        samples: &[Sample],
        value: impl Fn(i64, S) -> Option<f64>,
    ) -> Vec<Option<f64>> {
        let mut values = Vec::with_capacity(self.grid.points as usize);
        slide(samples, &self.grid, |index, window: Option<S>| {
            values.push(window.and_then(|window| value(index, window)));
        });
        values
    }
}

impl RowAggregate for OnGrid {
    type State = Samples;
    type Input<'a> = Input<'a>;

    fn result_type(&self) -> DataType {
        self.element().nullable().array()
    }

    fn empty(&self) -> Samples {
        Samples::default()
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<Input<'a>> {
        self.shape.input(args)
    }

    fn add(&self, state: &mut Samples, input: &Input<'_>, row: usize) -> Result<()> {
        input.each(row, |sample| {
            if self.grid.covers(sample.0) {
                state.push(sample);
            }
        })
    }

    fn merge(&self, state: &mut Samples, other: Samples) -> Result<()> {
        state.append(other);
        Ok(())
    }

    fn serialise(&self, state: &Samples, out: &mut Vec<u8>) {
        state.serialise(out);
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<Samples> {
        Samples::deserialise(bytes)
    }

    fn finish(&self, state: &mut Samples, out: &mut Builder) -> Result<()> {
        let values = self.values(state.in_order());
        let Values::List(list) = &mut out.values else {
            bail!(LOGICAL_ERROR, "Values on a grid are not a list");
        };
        let narrow = self.element() == DataType::Float32;
        for value in values {
            match value {
                None => list.values.push_default(),
                Some(value) => {
                    if narrow {
                        list.values.natives::<f32>()?.push(value as f32);
                    } else {
                        list.values.natives::<f64>()?.push(value);
                    }
                    list.values.mark_valid();
                }
            }
        }
        list.close();
        Ok(())
    }

    fn heap_memory(&self, state: &Samples) -> usize {
        state.memory()
    }
}
