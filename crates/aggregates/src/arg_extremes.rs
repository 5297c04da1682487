//! `argMin`, `argMax`, `argAndMin`, `argAndMax`: a value from the row where another one is smallest or largest.

use crate::check::{not_comparable, two_arguments};
use crate::extremes::running_rows;
use crate::slots::{Keep, Slots, slots_of};
use chalet_base::Result;
use chalet_columns::{Data, Struct, Vector};
use chalet_function_api::states::same_states;
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example, States,
};
use chalet_types::{DataType, Value};
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

const ARG_MIN: AggregateRecord = AggregateRecord {
    name: "argMin",
    any_case_aliases: &["min_by"],
    summary: "The first argument in the row where the second is smallest; of several such rows the first.",
    syntax: "argMin(arg, val)",
    examples: &[Example { sql: "SELECT argMin(number, 5 - number) FROM numbers(4)", result: "3" }],
    ..AggregateRecord::DEFAULT
};

const ARG_MAX: AggregateRecord = AggregateRecord {
    name: "argMax",
    any_case_aliases: &["max_by"],
    summary: "The first argument in the row where the second is largest; of several such rows the first.",
    syntax: "argMax(arg, val)",
    examples: &[Example { sql: "SELECT argMax(number, 5 - number) FROM numbers(4)", result: "0" }],
    ..ARG_MIN
};

const ARG_AND_MIN: AggregateRecord = AggregateRecord {
    name: "argAndMin",
    any_case_aliases: &[],
    summary: "Both arguments of the row where the second is smallest, as a tuple.",
    syntax: "argAndMin(arg, val)",
    examples: &[Example { sql: "SELECT argAndMin(number, 5 - number) FROM numbers(4)", result: "(3,2)" }],
    ..ARG_MIN
};

const ARG_AND_MAX: AggregateRecord = AggregateRecord {
    name: "argAndMax",
    any_case_aliases: &[],
    summary: "Both arguments of the row where the second is largest, as a tuple.",
    syntax: "argAndMax(arg, val)",
    examples: &[Example { sql: "SELECT argAndMax(number, 5 - number) FROM numbers(4)", result: "(0,5)" }],
    ..ARG_MIN
};

pub struct ArgExtreme {
    record: &'static AggregateRecord,
    keep: Keep,
    both: bool,
}

impl ArgExtreme {
    pub const ALL: [ArgExtreme; 4] = [
        ArgExtreme { record: &ARG_MIN, keep: Keep::Min, both: false },
        ArgExtreme { record: &ARG_MAX, keep: Keep::Max, both: false },
        ArgExtreme { record: &ARG_AND_MIN, keep: Keep::Min, both: true },
        ArgExtreme { record: &ARG_AND_MAX, keep: Keep::Max, both: true },
    ];
}

impl AggregateFunction for ArgExtreme {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, _: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        two_arguments(self.record.name, args)?;
        crate::check::ordered(self.record.name, &args[1].ty)?;
        let (arg, val) = (args[0].ty.clone(), args[1].ty.clone());
        if !val.is_ordered() {
            return Err(not_comparable(self.record.name, &val));
        }
        Ok(Arc::new(Bound { keep: self.keep, both: self.both, arg, val }))
    }
}

#[derive(Clone)]
struct Bound {
    keep: Keep,
    both: bool,
    arg: DataType,
    val: DataType,
}

impl Aggregate for Bound {
    fn result_type(&self) -> DataType {
        if self.both { DataType::tuple([self.arg.clone(), self.val.clone()]) } else { self.arg.clone() }
    }

    fn states(&self) -> Box<dyn States> {
        Box::new(Pairs { bound: self.clone(), args: slots_of(&self.arg), vals: slots_of(&self.val) })
    }
}

/// Two remembered values per group.
struct Pairs {
    bound: Bound,
    args: Box<dyn Slots>,
    vals: Box<dyn Slots>,
}

impl States for Pairs {
    fn grow(&mut self, n: usize) {
        self.args.grow(n);
        self.vals.grow(n);
    }

    fn add(&mut self, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        match self.vals.fold_rows(self.bound.keep, group, &args[1], rows)? {
            Some(row) => self.args.set(group, &args[0], row),
            None => Ok(()),
        }
    }

    fn add_groups(&mut self, groups: &[u32], args: &[Vector]) -> Result<()> {
        let mut taken = Vec::new();
        self.vals.fold_groups(self.bound.keep, groups, &args[1], Some(&mut taken))?;
        for row in taken {
            self.args.set(groups[row as usize] as usize, &args[0], row as usize)?;
        }
        Ok(())
    }

    fn merge(&mut self, other: &mut dyn States, from: &[u32], into: &[u32]) -> Result<()> {
        let other = same_states::<Self>(other)?;
        let outcome = self.vals.merge(self.bound.keep, &mut *other.vals, from, into)?;
        for ((&from, &into), order) in from.iter().zip(into).zip(outcome) {
            if order.is_lt() {
                self.args.copy(into as usize, &mut *other.args, from as usize)?;
            }
        }
        Ok(())
    }

    fn serialise(&self, group: usize, out: &mut Vec<u8>) {
        self.args.serialise(group, out);
        self.vals.serialise(group, out);
    }

    fn deserialise(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        let mut arg = self.args.deserialise(bytes)?;
        let mut val = self.vals.deserialise(bytes)?;
        if self.vals.merge(self.bound.keep, &mut *val, &[0], &[group as u32])?[0].is_lt() {
            self.args.copy(group, &mut *arg, 0)?;
        }
        Ok(())
    }

    fn finish(&mut self, n: usize) -> Result<Vector> {
        let args = self.args.finish(n, &self.bound.arg)?;
        if !self.bound.both {
            return Ok(args);
        }
        let fields = vec![args, self.vals.finish(n, &self.bound.val)?];
        Ok(Data::Struct(Struct { fields, len: n }).into())
    }

    fn running(&mut self, args: &[Vector], from: usize, ends: &[usize]) -> Result<Vector> {
        let held = self.finish(1)?;
        let rows = if self.bound.both {
            Data::Struct(Struct { fields: args.to_vec(), len: args[0].len() }).into()
        } else {
            args[0].clone()
        };
        let mut last = None;
        let (keep, vals) = (self.bound.keep, &mut self.vals);
        let results = running_rows(&held, &rows, from, ends, |rows| {
            let kept = vals.fold_rows(keep, 0, &args[1], rows)?;
            last = kept.or(last);
            Ok(kept)
        });
        if let Some(row) = last {
            self.args.set(0, &args[0], row)?;
        }
        results
    }

    fn memory(&self) -> usize {
        self.args.memory() + self.vals.memory()
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
