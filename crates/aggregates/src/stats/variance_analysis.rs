//! `analysisOfVariance`: do several groups have the same mean?

use crate::check::{no_parameters, two_arguments};
use crate::floats::{Floats, Unsigned, divisor};
use crate::stats::results::{named_floats, push_floats};
use crate::stats::special::fisher_above;
use chalet_base::{Result, bail, ensure};
use chalet_columns::wire::{put_len, take_count, take_f64, take_u64};
use chalet_columns::{Builder, Vector};
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, Value};
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "analysisOfVariance",
    aliases: &["anova"],
    case_insensitive: true,
    summary: "One-way analysis of variance: the F-statistic and the p-value of groups that are numbered from 0.",
    syntax: "analysisOfVariance(x, group)",
    examples: &[Example {
        sql: "SELECT round(analysisOfVariance(number, number % 2).1, 6) FROM numbers(100)",
        result: "0.029412",
    }],
    ..AggregateRecord::DEFAULT
};

/// More groups than this are an error.
const MAX_GROUPS: usize = 1 << 20;

pub struct AnalysisOfVariance;

impl AggregateFunction for AnalysisOfVariance {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = RECORD.name;
        no_parameters(name, parameters)?;
        two_arguments(name, args)?;
        ensure!(
            args[0].ty.is_number(),
            BAD_ARGUMENTS,
            "First argument of aggregate function {name} should be a number"
        );
        let group = &args[1].ty;
        ensure!(
            group.is_unsigned() && group.physical().width().is_some_and(|width| width <= 8),
            BAD_ARGUMENTS,
            "Second argument of aggregate function {name} should be a native unsigned integer"
        );
        Ok(EachState::of(Groups { divisor: divisor(&args[0].ty) }))
    }
}

struct Groups {
    divisor: f64,
}

/// Of one group: the number of values, their sum and the sum of their squares.
#[derive(Clone, Copy, Default)]
struct Group {
    n: u64,
    sum: f64,
    squares: f64,
}

fn check_groups(n: usize) -> Result<()> {
    ensure!(
        n <= MAX_GROUPS,
        BAD_ARGUMENTS,
        "Too many groups for analysis of variance (should be no more than {MAX_GROUPS}, got {n})"
    );
    Ok(())
}

fn check_length(given: usize, expected: usize) -> Result<()> {
    ensure!(
        given == expected,
        INCORRECT_DATA,
        "The state of an analysis of variance has lists of unequal lengths"
    );
    Ok(())
}

impl RowAggregate for Groups {
    type State = Vec<Group>;
    type Input<'a> = (Floats<'a>, Unsigned<'a>);

    fn result_type(&self) -> DataType {
        named_floats(&["f_statistic", "p_value"])
    }

    fn empty(&self) -> Vec<Group> {
        Vec::new()
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<Self::Input<'a>> {
        Ok((Floats::of(&args[0], self.divisor)?, Unsigned::of(&args[1])))
    }

    fn add(&self, state: &mut Vec<Group>, (values, groups): &Self::Input<'_>, row: usize) -> Result<()> {
        let (x, group) = (values.get(row), groups.get(row));
        let group = usize::try_from(group).unwrap_or(usize::MAX);
        if group >= state.len() {
            check_groups(group.saturating_add(1))?;
            state.resize(group + 1, Group::default());
        }
        let group = &mut state[group];
        group.n += 1;
        group.sum += x;
        group.squares += x * x;
        Ok(())
    }

    fn merge(&self, state: &mut Vec<Group>, other: Vec<Group>) -> Result<()> {
        if state.len() < other.len() {
            state.resize(other.len(), Group::default());
        }
        for (to, from) in state.iter_mut().zip(other) {
            to.n = to.n.wrapping_add(from.n);
            to.sum += from.sum;
            to.squares += from.squares;
        }
        Ok(())
    }

    fn serialise(&self, state: &Vec<Group>, out: &mut Vec<u8>) {
        put_len(state.len(), out);
        state.iter().for_each(|group| out.extend(group.sum.to_le_bytes()));
        put_len(state.len(), out);
        state.iter().for_each(|group| out.extend(group.squares.to_le_bytes()));
        put_len(state.len(), out);
        state.iter().for_each(|group| out.extend(group.n.to_le_bytes()));
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<Vec<Group>> {
        let n = take_count(bytes, 8)?;
        check_groups(n)?;
        let mut state = vec![Group::default(); n];
        state.iter_mut().try_for_each(|group| take_f64(bytes).map(|sum| group.sum = sum))?;
        check_length(take_count(bytes, 8)?, n)?;
        state.iter_mut().try_for_each(|group| take_f64(bytes).map(|squares| group.squares = squares))?;
        check_length(take_count(bytes, 8)?, n)?;
        state.iter_mut().try_for_each(|group| take_u64(bytes).map(|n| group.n = n))?;
        Ok(state)
    }

    fn finish(&self, state: &mut Vec<Group>, out: &mut Builder) -> Result<()> {
        let groups = state.len() as f64;
        let total = state.iter().fold(0u64, |n, group| n.wrapping_add(group.n)) as f64;
        if state.len() == 1 {
            bail!(BAD_ARGUMENTS, "There should be more than one group to calculate f-statistics");
        }
        if groups == total {
            bail!(BAD_ARGUMENTS, "There is only one observation in each group");
        }
        let mean = state.iter().map(|group| group.sum).sum::<f64>() / total;
        let (mut between, mut within) = (0.0, 0.0);
        for (i, group) in state.iter().enumerate() {
            ensure!(group.n > 0, BAD_ARGUMENTS, "There are no observations for group {i}");
            let n = group.n as f64;
            let group_mean = group.sum / n;
            between += n * (group_mean - mean) * (group_mean - mean);
            within += group.squares + n * group_mean * group_mean - 2.0 * group_mean * group.sum;
        }
        let f = between * (total - groups) / (within * (groups - 1.0));
        if !f.is_finite() {
            return push_floats(&[f64::NAN, f64::NAN], out);
        }
        let p = fisher_above(f, groups - 1.0, total - groups).clamp(0.0, 1.0);
        push_floats(&[f, p], out)
    }

    fn heap_memory(&self, state: &Vec<Group>) -> usize {
        state.capacity() * size_of::<Group>()
    }
}
