//! `singleValueOrNull` and `anyHeavy`: the one value of a group, and a value that is frequent in it.

use crate::check::{no_parameters, one_argument};
use crate::extremes::running_rows;
use crate::slots::{Keep, Slots, slots_of};
use chalet_base::{Result, bail};
use chalet_columns::wire::take_u64;
use chalet_columns::{NullBuffer, Vector};
use chalet_function_api::aggregate::RowOrder;
use chalet_function_api::states::same_states;
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example, States,
};
use chalet_types::{DataType, Value};
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

const SINGLE: AggregateRecord = AggregateRecord {
    name: "singleValueOrNull",
    null_flag: false,
    summary: "The value if all values are equal, else NULL.",
    syntax: "singleValueOrNull(x)",
    examples: &[Example {
        sql: "SELECT singleValueOrNull(number * 0), singleValueOrNull(number) FROM numbers(3)",
        result: "0\t\\N",
    }],
    own_states: true,
    ..AggregateRecord::DEFAULT
};

const HEAVY: AggregateRecord = AggregateRecord {
    name: "anyHeavy",
    summary: "A frequent value: surely the one that stands in more than half of the rows, if there is one.",
    syntax: "anyHeavy(x)",
    examples: &[Example { sql: "SELECT anyHeavy(x) FROM values('x Int32', 1, 2, 2, 3, 2)", result: "2" }],
    row_order: RowOrder::Merged,
    ..AggregateRecord::DEFAULT
};

pub struct SingleValue {
    record: &'static AggregateRecord,
    heavy: bool,
}

impl SingleValue {
    pub const ALL: [SingleValue; 2] =
        [SingleValue { record: &SINGLE, heavy: false }, SingleValue { record: &HEAVY, heavy: true }];
}

impl AggregateFunction for SingleValue {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        no_parameters(self.record.name, parameters)?;
        one_argument(self.record.name, args)?;
        let ty = args[0].ty.clone();
        if !self.heavy && !ty.can_be_nullable() {
            bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Nested type {ty} cannot be inside Nullable type");
        }
        Ok(Arc::new(Bound { ty, heavy: self.heavy }))
    }
}

struct Bound {
    ty: DataType,
    heavy: bool,
}

impl Aggregate for Bound {
    fn result_type(&self) -> DataType {
        if self.heavy { self.ty.clone() } else { self.ty.clone().nullable() }
    }

    fn states(&self) -> Box<dyn States> {
        let (ty, heavy) = (self.ty.clone(), self.heavy);
        Box::new(Counted { slots: slots_of(&ty), ty, heavy, counts: Vec::new() })
    }
}

/// A value per group, and how far it is ahead of others (`anyHeavy`), or 1 if all were equal to it, 2 if not.
struct Counted {
    slots: Box<dyn Slots>,
    ty: DataType,
    heavy: bool,
    counts: Vec<u64>,
}

impl Counted {
    /// Whether the row's value is the one that the group holds now, which it did not hold before.
    fn offer(&mut self, group: usize, vector: &Vector, row: usize) -> Result<bool> {
        let count = self.counts[group];
        let equal = count > 0 && self.slots.order(Keep::Min, group, vector, row)?.is_eq();
        match (self.heavy, count, equal) {
            (_, 0, _) => {
                self.slots.set(group, vector, row)?;
                self.counts[group] = 1;
                return Ok(true);
            }
            (true, _, true) => self.counts[group] += 1,
            (true, _, false) => self.counts[group] -= 1,
            (false, _, true) => {}
            (false, _, false) => self.counts[group] = 2,
        }
        Ok(false)
    }

    /// Offers slot `i` of other slots, whose values are given too.
    fn offer_state(
        &mut self,
        group: usize,
        count: u64,
        other: &mut dyn Slots,
        values: &Vector,
        i: usize,
    ) -> Result<()> {
        // A value that others are level with is still the one that was seen last.
        if count == 0 && self.slots.is_set(group) {
            return Ok(());
        }
        let own = self.counts[group];
        if own == 0 {
            self.counts[group] = count;
            return self.slots.copy(group, other, i);
        }
        let equal = self.slots.order(Keep::Min, group, values, i)?.is_eq();
        self.counts[group] = match (self.heavy, equal) {
            (true, true) => own + count,
            (true, false) if own >= count => own - count,
            (true, false) => {
                self.slots.copy(group, other, i)?;
                count - own
            }
            (false, true) => own.max(count),
            (false, false) => 2,
        };
        Ok(())
    }
}

impl States for Counted {
    fn grow(&mut self, n: usize) {
        self.slots.grow(n);
        if self.counts.len() < n {
            self.counts.resize(n, 0);
        }
    }

    fn add(&mut self, group: usize, args: &[Vector], mut rows: Range<usize>) -> Result<()> {
        if self.heavy {
            return self.slots.vote_rows(group, &args[0], rows, &mut self.counts);
        }
        rows.try_for_each(|row| self.offer(group, &args[0], row).map(drop))
    }

    fn add_groups(&mut self, groups: &[u32], args: &[Vector]) -> Result<()> {
        if self.heavy {
            return self.slots.vote_groups(groups, &args[0], &mut self.counts);
        }
        let mut rows = groups.iter().enumerate();
        rows.try_for_each(|(row, &group)| self.offer(group as usize, &args[0], row).map(drop))
    }

    fn merge(&mut self, other: &mut dyn States, from: &[u32], into: &[u32]) -> Result<()> {
        let other = same_states::<Self>(other)?;
        let values = other.slots.finish(other.counts.len(), &self.ty)?;
        for (&from, &into) in from.iter().zip(into) {
            let from = from as usize;
            self.offer_state(into as usize, other.counts[from], &mut *other.slots, &values, from)?;
        }
        Ok(())
    }

    fn serialise(&self, group: usize, out: &mut Vec<u8>) {
        self.slots.serialise(group, out);
        out.extend(self.counts[group].to_le_bytes());
    }

    fn deserialise(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        let mut value = self.slots.deserialise(bytes)?;
        let count = take_u64(bytes)?;
        let count = if value.is_set(0) { count } else { 0 };
        let values = value.finish(1, &self.ty)?;
        self.offer_state(group, count, &mut *value, &values, 0)
    }

    fn finish(&mut self, n: usize) -> Result<Vector> {
        self.grow(n);
        let values = self.slots.finish(n, &self.ty)?;
        if self.heavy {
            return Ok(values);
        }
        let single: Vec<bool> = self.counts[..n].iter().map(|&count| count == 1).collect();
        Ok(values.with_nulls(Some(&NullBuffer::from(single))))
    }

    fn running(&mut self, args: &[Vector], from: usize, ends: &[usize]) -> Result<Vector> {
        let held = self.slots.finish(1, &self.ty)?;
        let mut single = Vec::with_capacity(ends.len());
        let values = running_rows(&held, &args[0], from, ends, |rows| {
            let mut kept = None;
            for row in rows {
                if self.offer(0, &args[0], row)? {
                    kept = Some(row);
                }
            }
            single.push(self.counts[0] == 1);
            Ok(kept)
        })?;
        Ok(if self.heavy { values } else { values.with_nulls(Some(&NullBuffer::from(single))) })
    }

    fn memory(&self) -> usize {
        self.slots.memory() + self.counts.capacity() * 8
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
