//! `count`: how many rows, or how many rows where the argument is not NULL.

use crate::check::no_parameters;
use chalet_base::{Result, ensure};
use chalet_columns::Vector;
use chalet_columns::wire::{put_len, take_len};
use chalet_function_api::aggregate::{AggregateNulls, OfAllRows, Split};
use chalet_function_api::states::same_states;
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example, States,
};
use chalet_types::{DataType, Value};
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "count",
    case_insensitive: true,
    summary: "Counts rows; with an argument, rows where it is not NULL.",
    syntax: "count([x])",
    examples: &[Example { sql: "SELECT count(), count(NULL) FROM numbers(3)", result: "3\t0" }],
    nulls: AggregateNulls::SkipPlainResult,
    null_flag: false,
    zero_when_only_null: true,
    portable_states: true,
    ..AggregateRecord::DEFAULT
};

pub struct Count;

/// The number of rows.
pub fn all() -> Arc<dyn Aggregate> {
    Arc::new(Count)
}

/// The number of rows without a NULL among the arguments.
pub fn without_null() -> Arc<dyn Aggregate> {
    crate::skip_nulls::SkipNulls::around(Arc::new(Count), false, false)
}

impl AggregateFunction for Count {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        no_parameters(RECORD.name, parameters)?;
        ensure!(
            args.len() <= 1,
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function count requires zero or one argument"
        );
        Ok(Arc::new(Count))
    }
}

impl Aggregate for Count {
    fn result_type(&self) -> DataType {
        DataType::UInt64
    }

    fn states(&self) -> Box<dyn States> {
        Box::new(Counts(Vec::new()))
    }

    fn of_all_rows(&self) -> Option<OfAllRows> {
        Some(OfAllRows::Count)
    }

    fn split(&self) -> Option<Split> {
        Some(Split { parts: vec![Arc::new(Count)], total: crate::sum::of_counts() })
    }
}

/// 8 bytes per group.
struct Counts(Vec<u64>);

impl States for Counts {
    fn grow(&mut self, n: usize) {
        if self.0.len() < n {
            self.0.resize(n, 0);
        }
    }

    fn add(&mut self, group: usize, _: &[Vector], rows: Range<usize>) -> Result<()> {
        self.0[group] += rows.len() as u64;
        Ok(())
    }

    fn add_groups(&mut self, groups: &[u32], _: &[Vector]) -> Result<()> {
        groups.iter().for_each(|&group| self.0[group as usize] += 1);
        Ok(())
    }

    fn merge(&mut self, other: &mut dyn States, from: &[u32], into: &[u32]) -> Result<()> {
        let other = same_states::<Self>(other)?;
        for (&from, &into) in from.iter().zip(into) {
            self.0[into as usize] += other.0[from as usize];
        }
        Ok(())
    }

    fn serialise(&self, group: usize, out: &mut Vec<u8>) {
        put_len(self.0[group] as usize, out);
    }

    fn deserialise(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        self.0[group] = self.0[group].wrapping_add(take_len(bytes)? as u64);
        Ok(())
    }

    fn finish(&mut self, n: usize) -> Result<Vector> {
        self.grow(n);
        Ok(self.0[..n].to_vec().into())
    }

    fn running(&mut self, _: &[Vector], from: usize, ends: &[usize]) -> Result<Vector> {
        let before = self.0[0];
        let counts: Vec<u64> = ends.iter().map(|end| before + (end - from) as u64).collect();
        self.0[0] = counts.last().copied().unwrap_or(before);
        Ok(counts.into())
    }

    fn running_frames(&mut self, _: &[Vector], frames: &[Range<usize>]) -> Result<Option<Vector>> {
        Ok(Some(frames.iter().map(|frame| frame.len() as u64).collect::<Vec<u64>>().into()))
    }

    fn memory(&self) -> usize {
        self.0.capacity() * 8
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
