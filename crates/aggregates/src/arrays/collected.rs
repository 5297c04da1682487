//! `groupArray` and its kin: all values, the first or last ones, the smallest ones, or a random sample.

use crate::arrays::parameters::{limit, optional_limit, positive};
use crate::check::one_argument;
use crate::collect::{Collector, collecting, finish_prefixes};
use crate::pcg::Pcg32;
use crate::slots::kinds::order_rows;
use chalet_base::{Result, bail};
use chalet_columns::{Builder, Data, List, Vector};
use chalet_function_api::aggregate::{AggregateNulls, RowOrder};
use chalet_function_api::{Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example};
use chalet_types::{DataType, Value};
use std::ops::Range;
use std::sync::Arc;

const ARRAY: AggregateRecord = AggregateRecord {
    name: "groupArray",
    any_case_aliases: &["array_agg"],
    summary: "An array of all values, or of the first `max_size` ones.",
    syntax: "groupArray([max_size])(x)",
    examples: &[Example {
        sql: "SELECT groupArray(number), groupArray(2)(number) FROM numbers(4)",
        result: "[0,1,2,3]\t[0,1]",
    }],
    nulls: AggregateNulls::SkipPlainResult,
    null_flag: false,
    row_order: RowOrder::Merged,
    ..AggregateRecord::DEFAULT
};

const LAST: AggregateRecord = AggregateRecord {
    name: "groupArrayLast",
    any_case_aliases: &[],
    summary: "An array of the last `max_size` values. Later values take the places of earlier ones.",
    syntax: "groupArrayLast(max_size)(x)",
    examples: &[Example { sql: "SELECT groupArrayLast(2)(number) FROM numbers(5)", result: "[4,3]" }],
    own_states: true,
    ..ARRAY
};

const SORTED: AggregateRecord = AggregateRecord {
    name: "groupArraySorted",
    any_case_aliases: &[],
    summary: "An array of the `size` smallest values, ascending.",
    syntax: "groupArraySorted(size)(x)",
    examples: &[Example {
        sql: "SELECT groupArraySorted(3)(10 - number) FROM numbers(10)",
        result: "[1,2,3]",
    }],
    row_order: RowOrder::Free,
    own_states: true,
    ..ARRAY
};

const SAMPLE: AggregateRecord = AggregateRecord {
    name: "groupArraySample",
    any_case_aliases: &[],
    summary: "An array of at most `max_size` values chosen at random.",
    syntax: "groupArraySample(max_size[, seed])(x)",
    examples: &[Example {
        sql: "SELECT groupArraySample(3, 7)(number) FROM numbers(20)",
        result: "[8,12,2]",
    }],
    row_order: RowOrder::OneWorker,
    own_states: true,
    ..ARRAY
};

#[derive(Clone, Copy)]
enum Choice {
    First,
    Last,
    Sorted,
    Sample { seed: u64 },
}

pub struct GroupArray {
    record: &'static AggregateRecord,
    choice: Choice,
}

impl GroupArray {
    pub const ALL: [GroupArray; 4] = [
        GroupArray { record: &ARRAY, choice: Choice::First },
        GroupArray { record: &LAST, choice: Choice::Last },
        GroupArray { record: &SORTED, choice: Choice::Sorted },
        GroupArray { record: &SAMPLE, choice: Choice::Sample { seed: 123_456 } },
    ];
}

impl AggregateFunction for GroupArray {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = self.record.name;
        one_argument(name, args)?;
        let mut choice = self.choice;
        let limit = match &mut choice {
            Choice::First => optional_limit(name, parameters)?.unwrap_or(usize::MAX),
            Choice::Last if parameters.is_empty() => {
                bail!(BAD_ARGUMENTS, "{name} make sense only with max_elems ({name}(max_elems)())")
            }
            Choice::Last => limit(name, parameters)?,
            Choice::Sorted => limit(name, parameters)?,
            Choice::Sample { seed } => match parameters {
                [size] => positive(name, size)?,
                [size, given] => {
                    *seed = positive(name, given)? as u64;
                    positive(name, size)?
                }
                _ => bail!(
                    NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                    "Incorrect number of parameters for aggregate function {name}, should be 1 or 2"
                ),
            },
        };
        Ok(collecting(LimitedCollector { choice, limit, ty: args[0].ty.clone() }, args))
    }
}

struct LimitedCollector {
    choice: Choice,
    limit: usize,
    ty: DataType,
}

impl LimitedCollector {
    /// The rows to keep, in the order of the result.
    fn choose(&self, values: &Vector, rows: &[u32]) -> Vec<u32> {
        match self.choice {
            Choice::First => rows.to_vec(),
            Choice::Last if rows.len() <= self.limit => rows.to_vec(),
            // A ring: row `i` stands at `i % limit`.
            Choice::Last => {
                let (n, limit) = (rows.len(), self.limit);
                (0..limit).map(|place| rows[(n - 1) - ((n - 1 - place) % limit)]).collect()
            }
            Choice::Sorted => {
                let mut sorted = rows.to_vec();
                // NaN stands first, as in the kernel.
                sorted.sort_by(|&a, &b| order_rows(values, a as usize, values, b as usize, true));
                sorted.truncate(self.limit);
                sorted
            }
            Choice::Sample { seed } => {
                let mut random = Pcg32::new(seed);
                let mut sample: Vec<u32> = Vec::new();
                for (i, &row) in rows.iter().enumerate() {
                    if sample.len() < self.limit {
                        sample.push(row);
                        continue;
                    }
                    let place = random.below(i as u64 + 1) as usize;
                    if place < self.limit {
                        sample[place] = row;
                    }
                }
                sample
            }
        }
    }
}

impl Collector for LimitedCollector {
    fn result_type(&self) -> DataType {
        self.ty.clone().array()
    }

    fn limit(&self) -> usize {
        if matches!(self.choice, Choice::First) { self.limit } else { usize::MAX }
    }

    fn finish(&self, args: &[Vector], rows: &[u32], out: &mut Builder) -> Result<()> {
        let starts = [0, rows.len() as u32];
        out.push_from(&self.finish_all(args, &starts, rows)?, 0);
        Ok(())
    }

    fn finish_all(&self, args: &[Vector], starts: &[u32], rows: &[u32]) -> Result<Vector> {
        if matches!(self.choice, Choice::First) {
            let offsets = starts.iter().map(|&start| i64::from(start)).collect();
            // The rows of one group mostly are all that there are.
            let is_run = rows.first().is_some_and(|&first| (first..).zip(rows).all(|(at, &row)| at == row));
            let values =
                if is_run { args[0].slice(rows[0] as usize, rows.len()) } else { args[0].gather(rows) };
            return Ok(Data::List(List { offsets, values: Arc::new(values) }).into());
        }
        let mut chosen = Vec::new();
        let mut offsets = vec![0i64];
        for range in starts.windows(2) {
            chosen.extend(self.choose(&args[0], &rows[range[0] as usize..range[1] as usize]));
            offsets.push(chosen.len() as i64);
        }
        Ok(Data::List(List { offsets: offsets.into(), values: Arc::new(args[0].gather(&chosen)) }).into())
    }

    fn finish_growing(&self, args: &[Vector], rows: &[u32], ends: &[usize]) -> Result<Vector> {
        match self.choice {
            Choice::First => {
                let values = args[0].gather(&rows[..ends.last().copied().unwrap_or(0)]);
                let ranges: Vec<_> = ends.iter().map(|&end| 0..end).collect();
                Ok(Data::List(values.lists(&ranges)).into())
            }
            _ => finish_prefixes(self, args, rows, ends),
        }
    }

    fn of_ranges(&self, args: &[Vector], ranges: &[Range<usize>]) -> Result<Option<Vector>> {
        if !matches!(self.choice, Choice::First) {
            return Ok(None);
        }
        let kept = |range: &Range<usize>| range.start..range.end.min(range.start.saturating_add(self.limit));
        let kept: Vec<_> = ranges.iter().map(kept).collect();
        Ok(Some(Data::List(args[0].lists(&kept)).into()))
    }
}
