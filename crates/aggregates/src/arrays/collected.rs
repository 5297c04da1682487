//! `groupArray` and its kin: all values, the first ones, the smallest ones; the last ones and a random sample are [`kept`]'s.
//!
//! [`kept`]: crate::arrays::kept

use crate::arrays::kept;
use crate::arrays::parameters::{limit, optional_limit, positive};
use crate::check::one_argument;
use crate::collect::{Collector, collecting, finish_prefixes};
use crate::kernel_rows::{KernelCodec, Layout, is_number};
use crate::slots::kinds::order_rows;
use chalet_base::{Result, bail, ensure};
use chalet_columns::wire::{put_len, take_count, take_u8};
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
        let sorted = match choice {
            Choice::Last => return Ok(kept::last(limit, &args[0])),
            Choice::Sample { seed } => return Ok(kept::sample(limit, seed, &args[0])),
            Choice::Sorted => true,
            Choice::First => false,
        };
        Ok(collecting(LimitedCollector { sorted, limit, ty: args[0].ty.clone() }, args))
    }
}

struct LimitedCollector {
    sorted: bool,
    limit: usize,
    ty: DataType,
}

impl LimitedCollector {
    /// How states have values; None where that is as rows are.
    fn codec(&self) -> Option<KernelCodec> {
        match self.sorted {
            true => Some(KernelCodec::new(&self.ty, Layout::Binary)),
            false if is_number(&self.ty) || self.ty == DataType::String => None,
            false => Some(KernelCodec::new(&self.ty, Layout::Node)),
        }
    }

    /// Does a byte say that there is a value?
    fn is_flagged(&self) -> bool {
        self.sorted && !is_number(&self.ty)
    }

    /// The smallest rows, ascending.
    fn smallest(&self, values: &Vector, rows: &[u32]) -> Vec<u32> {
        let mut sorted = rows.to_vec();
        // NaN stands first, as in the kernel.
        sorted.sort_by(|&a, &b| order_rows(values, a as usize, values, b as usize, true));
        sorted.truncate(self.limit);
        sorted
    }
}

impl Collector for LimitedCollector {
    fn result_type(&self) -> DataType {
        self.ty.clone().array()
    }

    fn limit(&self) -> usize {
        if self.sorted { usize::MAX } else { self.limit }
    }

    fn put_rows(&self, args: &[Vector], rows: &[u32], out: &mut Vec<u8>) -> Result<bool> {
        let Some(codec) = self.codec() else {
            return Ok(false);
        };
        let mut smallest = Vec::new();
        if self.sorted {
            // In the kernel a heap with the largest value on top.
            smallest = self.smallest(&args[0], rows);
            smallest.reverse();
        }
        let rows = if self.sorted { &smallest } else { rows };
        put_len(rows.len(), out);
        for &row in rows {
            if self.is_flagged() {
                out.push(1);
            }
            codec.put(&args[0], row as usize, out);
        }
        Ok(true)
    }

    fn take_rows(&self, bytes: &mut &[u8], args: &mut [Builder]) -> Result<Option<usize>> {
        let Some(codec) = self.codec() else {
            return Ok(None);
        };
        let n = take_count(bytes, 1)?;
        for _ in 0..n {
            if self.is_flagged() {
                let flag = take_u8(bytes)?;
                ensure!(flag == 1, INCORRECT_DATA, "Aggregate state has a value that is none");
            }
            codec.take(bytes, &mut args[0])?;
        }
        Ok(Some(n))
    }

    fn finish(&self, args: &[Vector], rows: &[u32], out: &mut Builder) -> Result<()> {
        let starts = [0, rows.len() as u32];
        out.push_from(&self.finish_all(args, &starts, rows)?, 0);
        Ok(())
    }

    fn finish_all(&self, args: &[Vector], starts: &[u32], rows: &[u32]) -> Result<Vector> {
        if !self.sorted {
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
            chosen.extend(self.smallest(&args[0], &rows[range[0] as usize..range[1] as usize]));
            offsets.push(chosen.len() as i64);
        }
        Ok(Data::List(List { offsets: offsets.into(), values: Arc::new(args[0].gather(&chosen)) }).into())
    }

    fn finish_growing(&self, args: &[Vector], rows: &[u32], ends: &[usize]) -> Result<Vector> {
        if self.sorted {
            return finish_prefixes(self, args, rows, ends);
        }
        let values = args[0].gather(&rows[..ends.last().copied().unwrap_or(0)]);
        let ranges: Vec<_> = ends.iter().map(|&end| 0..end).collect();
        Ok(Data::List(values.lists(&ranges)).into())
    }

    fn of_ranges(&self, args: &[Vector], ranges: &[Range<usize>]) -> Result<Option<Vector>> {
        if self.sorted {
            return Ok(None);
        }
        let kept = |range: &Range<usize>| range.start..range.end.min(range.start.saturating_add(self.limit));
        let kept: Vec<_> = ranges.iter().map(kept).collect();
        Ok(Some(Data::List(args[0].lists(&kept)).into()))
    }
}
