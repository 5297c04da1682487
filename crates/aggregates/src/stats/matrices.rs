//! `covarPopMatrix`, `covarSampMatrix`, `corrMatrix`: covariances and correlations of every pair of variables.

use crate::check::no_parameters;
use crate::floats::Floats;
use chalet_base::{Result, bail, ensure};
use chalet_columns::builder::{ListBuilder, Values};
use chalet_columns::wire::take_f64;
use chalet_columns::{Builder, Vector};
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, Value};
use std::ops::Range;
use std::sync::Arc;

const COVAR_POP: AggregateRecord = AggregateRecord {
    name: "covarPopMatrix",
    summary: "The covariances of every pair of variables over a population.",
    syntax: "covarPopMatrix(x1[, x2, ...])",
    examples: &[Example {
        sql: "SELECT covarPopMatrix(x, y) FROM values('x Float64, y Float64', (1, 2), (3, 8))",
        result: "[[1,3],[3,9]]",
    }],
    ..AggregateRecord::DEFAULT
};

const COVAR_SAMP: AggregateRecord = AggregateRecord {
    name: "covarSampMatrix",
    summary: "The covariances of every pair of variables, estimated from a sample.",
    syntax: "covarSampMatrix(x1[, x2, ...])",
    examples: &[Example {
        sql: "SELECT covarSampMatrix(x, y) FROM values('x Float64, y Float64', (1, 2), (3, 8))",
        result: "[[2,6],[6,18]]",
    }],
    ..AggregateRecord::DEFAULT
};

const CORR: AggregateRecord = AggregateRecord {
    name: "corrMatrix",
    summary: "The correlation coefficients of every pair of variables.",
    syntax: "corrMatrix(x1[, x2, ...])",
    examples: &[Example {
        sql: "SELECT corrMatrix(x, y) FROM values('x Float64, y Float64', (1, 2), (3, 8))",
        result: "[[1,1],[1,1]]",
    }],
    ..AggregateRecord::DEFAULT
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Measure {
    Population,
    Sample,
    Correlation,
}

pub struct Matrix {
    record: &'static AggregateRecord,
    measure: Measure,
}

impl Matrix {
    pub const ALL: [Matrix; 3] = [
        Matrix { record: &COVAR_POP, measure: Measure::Population },
        Matrix { record: &COVAR_SAMP, measure: Measure::Sample },
        Matrix { record: &CORR, measure: Measure::Correlation },
    ];
}

impl AggregateFunction for Matrix {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = self.record.name;
        no_parameters(name, parameters)?;
        for arg in args {
            let narrow = arg.ty.is_integer() && arg.ty.physical().width().is_some_and(|width| width <= 8);
            ensure!(
                narrow || matches!(arg.ty, DataType::Float32 | DataType::Float64),
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Aggregate function {name} only supports numerical types"
            );
        }
        Ok(EachState::of(Pairs { measure: self.measure, n_variables: args.len() }))
    }
}

struct Pairs {
    measure: Measure,
    n_variables: usize,
}

/// Rows that are looked at together: they stay in the first-level cache.
const ROWS_TOGETHER: usize = 1024;

/// Count and the sums of x, y, x y, x x, y y.
type Sums = [f64; 6];

impl Pairs {
    /// How many of the sums states have as bytes.
    fn n_sums(&self) -> usize {
        if self.measure == Measure::Correlation { 6 } else { 4 }
    }

    fn result(&self, [n, x, y, xy, xx, yy]: Sums) -> f64 {
        match self.measure {
            Measure::Population => (xy - x * y / n) / n,
            Measure::Sample if n == 0.0 => f64::NAN,
            Measure::Sample => (xy - x * y / n) / (n - 1.0),
            Measure::Correlation => (n * xy - x * y) / ((n * xx - x * x) * (n * yy - y * y)).sqrt(),
        }
    }
}

/// Matrices being appended: the offsets of lines and of matrices, and the elements.
struct Lines<'a> {
    matrices: &'a mut Vec<i64>,
    lines: &'a mut Vec<i64>,
    elements: &'a mut Vec<f64>,
}

impl Lines<'_> {
    fn of(out: &mut Builder) -> Result<Lines<'_>> {
        let Values::List(ListBuilder { offsets: matrices, values }) = &mut out.values else {
            bail!(LOGICAL_ERROR, "A matrix is not a list");
        };
        let Values::List(ListBuilder { offsets: lines, values }) = &mut values.values else {
            bail!(LOGICAL_ERROR, "A line of a matrix is not a list");
        };
        Ok(Lines { matrices, lines, elements: values.natives::<f64>()? })
    }
}

impl Pairs {
    fn push(&self, state: &[Sums], Lines { matrices, lines, elements }: &mut Lines<'_>) {
        for i in 0..self.n_variables {
            for j in 0..self.n_variables {
                let (row, column) = (i.max(j), i.min(j));
                elements.push(self.result(state[row * (row + 1) / 2 + column]));
            }
            lines.push(elements.len() as i64);
        }
        // Offsets begin with 0.
        matrices.push(lines.len() as i64 - 1);
    }
}

impl RowAggregate for Pairs {
    /// Of the pairs of the lower triangle, row by row.
    type State = Vec<Sums>;
    type Input<'a> = Vec<Floats<'a>>;

    fn result_type(&self) -> DataType {
        DataType::Float64.array().array()
    }

    fn empty(&self) -> Vec<Sums> {
        vec![[0.0; 6]; self.n_variables * (self.n_variables + 1) / 2]
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<Vec<Floats<'a>>> {
        args.iter().map(|arg| Floats::of(arg, 1.0)).collect()
    }

    fn add(&self, state: &mut Vec<Sums>, input: &Vec<Floats<'_>>, row: usize) -> Result<()> {
        let mut pairs = state.iter_mut();
        for (i, xs) in input.iter().enumerate() {
            let x = xs.get(row);
            for (ys, sums) in input[..=i].iter().zip(&mut pairs) {
                let y = ys.get(row);
                let added = [1.0, x, y, x * y, x * x, y * y];
                sums.iter_mut().zip(added).for_each(|(sum, term)| *sum += term);
            }
        }
        Ok(())
    }

    fn add_rows(&self, state: &mut Vec<Sums>, input: &Vec<Floats<'_>>, rows: Range<usize>) -> Result<()> {
        // Some rows of all variables as floats, then pair by pair.
        for start in rows.clone().step_by(ROWS_TOGETHER) {
            let some = start..rows.end.min(start + ROWS_TOGETHER);
            let values: Vec<Vec<f64>> =
                input.iter().map(|xs| some.clone().map(|row| xs.get(row)).collect()).collect();
            let mut pairs = state.iter_mut();
            for (i, xs) in values.iter().enumerate() {
                for (ys, all) in values[..=i].iter().zip(&mut pairs) {
                    let mut sums = *all;
                    for (&x, &y) in xs.iter().zip(ys) {
                        let added = [1.0, x, y, x * y, x * x, y * y];
                        sums.iter_mut().zip(added).for_each(|(sum, term)| *sum += term);
                    }
                    *all = sums;
                }
            }
        }
        Ok(())
    }

    fn merge(&self, state: &mut Vec<Sums>, other: Vec<Sums>) -> Result<()> {
        for (to, from) in state.iter_mut().zip(other) {
            to.iter_mut().zip(from).for_each(|(sum, term)| *sum += term);
        }
        Ok(())
    }

    fn serialise(&self, state: &Vec<Sums>, out: &mut Vec<u8>) {
        let sums = state.iter().flat_map(|sums| &sums[..self.n_sums()]);
        sums.for_each(|sum| out.extend(sum.to_le_bytes()));
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<Vec<Sums>> {
        let mut state = self.empty();
        for sum in state.iter_mut().flat_map(|sums| &mut sums[..self.n_sums()]) {
            *sum = take_f64(bytes)?;
        }
        Ok(state)
    }

    fn finish(&self, state: &mut Vec<Sums>, out: &mut Builder) -> Result<()> {
        self.push(state, &mut Lines::of(out)?);
        Ok(())
    }

    fn running(
        &self,
        state: &mut Vec<Sums>,
        input: &Vec<Floats<'_>>,
        from: usize,
        ends: &[usize],
        out: &mut Builder,
    ) -> Result<()> {
        let mut lines = Lines::of(out)?;
        let starts = std::iter::once(&from).chain(ends);
        for (&start, &end) in starts.zip(ends) {
            (start..end).try_for_each(|row| self.add(state, input, row))?;
            self.push(state, &mut lines);
        }
        Ok(())
    }

    fn heap_memory(&self, state: &Vec<Sums>) -> usize {
        state.capacity() * size_of::<Sums>()
    }
}
