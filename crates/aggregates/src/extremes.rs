//! `min`, `max`, `any`, `anyLast` and the variants of the latter two that see NULL: one remembered value per group.

use crate::check::{no_parameters, not_comparable, one_argument};
use crate::skip_nulls::SkipNulls;
use crate::slots::{Keep, Slots, slots_of};
use chalet_base::{Result, bail};
use chalet_columns::rows::RowCodec;
use chalet_columns::wire::{put_bytes, take_u8};
use chalet_columns::{Builder, Vector};
use chalet_function_api::aggregate::{AggregateNulls, OfAllRows, RowOrder, Split};
use chalet_function_api::states::same_states;
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example, States,
};
use chalet_types::{DataType, Value};
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

const MIN: AggregateRecord = AggregateRecord {
    name: "min",
    case_insensitive: true,
    summary: "The smallest value, of any type. NaN counts only when there is nothing else.",
    syntax: "min(x)",
    examples: &[Example {
        sql: "SELECT min(number), min(toString(number)) FROM numbers(12)",
        result: "0\t0",
    }],
    portable_states: true,
    ..AggregateRecord::DEFAULT
};

const MAX: AggregateRecord = AggregateRecord {
    name: "max",
    case_insensitive: true,
    summary: "The largest value, of any type. NaN counts only when there is nothing else.",
    syntax: "max(x)",
    examples: &[Example {
        sql: "SELECT max(number), max(toString(number)) FROM numbers(12)",
        result: "11\t9",
    }],
    portable_states: true,
    ..AggregateRecord::DEFAULT
};

const ANY: AggregateRecord = AggregateRecord {
    name: "any",
    any_case_aliases: &["any_value", "first_value"],
    summary: "The first value that is not NULL.",
    syntax: "any(x)",
    examples: &[Example { sql: "SELECT any(number) FROM numbers(3)", result: "0" }],
    row_order: RowOrder::Merged,
    respecting_nulls: "any_respect_nulls",
    ..AggregateRecord::DEFAULT
};

const ANY_LAST: AggregateRecord = AggregateRecord {
    name: "anyLast",
    any_case_aliases: &["last_value"],
    summary: "The last value that is not NULL.",
    syntax: "anyLast(x)",
    examples: &[Example { sql: "SELECT anyLast(number) FROM numbers(3)", result: "2" }],
    row_order: RowOrder::Merged,
    respecting_nulls: "anyLast_respect_nulls",
    ..AggregateRecord::DEFAULT
};

const ANY_RESPECT_NULLS: AggregateRecord = AggregateRecord {
    name: "any_respect_nulls",
    aliases: &["anyRespectNulls", "anyValueRespectNulls", "firstValueRespectNulls"],
    any_case_aliases: &["any_value_respect_nulls", "first_value_respect_nulls"],
    summary: "The first value, even if it is NULL.",
    syntax: "any_respect_nulls(x)",
    examples: &[Example {
        sql: "SELECT any_respect_nulls(nullIf(number, 0)) FROM numbers(3)",
        result: "\\N",
    }],
    nulls: AggregateNulls::Seen,
    row_order: RowOrder::Merged,
    ..AggregateRecord::DEFAULT
};

const ANY_LAST_RESPECT_NULLS: AggregateRecord = AggregateRecord {
    name: "anyLast_respect_nulls",
    aliases: &["anyLastRespectNulls", "lastValueRespectNulls"],
    any_case_aliases: &["last_value_respect_nulls"],
    summary: "The last value, even if it is NULL.",
    syntax: "anyLast_respect_nulls(x)",
    examples: &[Example {
        sql: "SELECT anyLast_respect_nulls(nullIf(number, 2)) FROM numbers(3)",
        result: "\\N",
    }],
    nulls: AggregateNulls::Seen,
    row_order: RowOrder::Merged,
    ..AggregateRecord::DEFAULT
};

pub struct Extreme {
    record: &'static AggregateRecord,
    keep: Keep,
}

impl Extreme {
    pub const ALL: [Extreme; 6] = [
        Extreme { record: &MIN, keep: Keep::Min },
        Extreme { record: &MAX, keep: Keep::Max },
        Extreme { record: &ANY, keep: Keep::First },
        Extreme { record: &ANY_LAST, keep: Keep::Last },
        Extreme { record: &ANY_RESPECT_NULLS, keep: Keep::First },
        Extreme { record: &ANY_LAST_RESPECT_NULLS, keep: Keep::Last },
    ];
}

impl AggregateFunction for Extreme {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        no_parameters(self.record.name, parameters)?;
        one_argument(self.record.name, args)?;
        if matches!(self.keep, Keep::Min | Keep::Max) {
            if !args[0].ty.is_ordered() {
                return Err(not_comparable(self.record.name, &args[0].ty));
            }
            crate::check::ordered(self.record.name, &args[0].ty)?;
        }
        let respects = self.record.nulls == AggregateNulls::Seen;
        Ok(Arc::new(BoundExtreme { keep: self.keep, ty: args[0].ty.clone(), respects }))
    }
}

/// The smallest or the largest of values of a type without NULL.
pub fn of_type(smallest: bool, ty: &DataType) -> Arc<dyn Aggregate> {
    let keep = if smallest { Keep::Min } else { Keep::Max };
    Arc::new(BoundExtreme { keep, ty: ty.clone(), respects: false })
}

/// The smallest or the largest of values of a type that may be Nullable.
pub fn of_any_type(smallest: bool, ty: &DataType) -> Arc<dyn Aggregate> {
    let bare = of_type(smallest, ty.without_nullable());
    if ty.is_nullable() { SkipNulls::around(bare, true, false) } else { bare }
}

struct BoundExtreme {
    keep: Keep,
    ty: DataType,
    /// NULL is a value: see [`Kept::put_respecting`].
    respects: bool,
}

impl Aggregate for BoundExtreme {
    fn result_type(&self) -> DataType {
        self.ty.clone()
    }

    fn states(&self) -> Box<dyn States> {
        let slots = slots_of(&self.ty);
        Box::new(Kept { keep: self.keep, slots, ty: self.ty.clone(), respects: self.respects })
    }

    fn of_all_rows(&self) -> Option<OfAllRows> {
        match self.keep {
            Keep::Min => Some(OfAllRows::Min),
            Keep::Max => Some(OfAllRows::Max),
            _ => None,
        }
    }

    fn split(&self) -> Option<Split> {
        let same =
            || Arc::new(BoundExtreme { keep: self.keep, ty: self.ty.clone(), respects: self.respects });
        Some(Split { parts: vec![same()], total: same() })
    }
}

/// A number's own width and a byte per group; 25 bytes for a short string.
struct Kept {
    keep: Keep,
    slots: Box<dyn Slots>,
    ty: DataType,
    respects: bool,
}

impl Kept {
    /// The kernel's bytes of values that may be NULL: 1 without a value, 2 for NULL, 3 before any other value.
    fn put_respecting(&self, group: usize, out: &mut Vec<u8>) {
        if !self.slots.is_set(group) {
            return out.push(1);
        }
        let mut slot = Vec::new();
        self.slots.serialise(group, &mut slot);
        if self.ty.is_nullable() && slot.get(1) == Some(&1) {
            return out.push(2);
        }
        out.push(3);
        match self.ty {
            // Behind the length in 32 bits and before the zero byte.
            DataType::String => put_bytes(&slot[4..slot.len() - 1], out),
            _ => out.extend_from_slice(&slot[1..]),
        }
    }

    fn take_respecting(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        let mut builder = Builder::new(&self.ty);
        match take_u8(bytes)? {
            1 => return Ok(()),
            2 => builder.push_default(),
            3 => RowCodec::new(&self.ty).take(bytes, &mut builder)?,
            flag => bail!(INCORRECT_DATA, "Aggregate state has the flag {flag}"),
        }
        self.slots.fold_rows(self.keep, group, &builder.finish(), 0..1).map(drop)
    }
}

impl States for Kept {
    fn grow(&mut self, n: usize) {
        self.slots.grow(n);
    }

    fn add(&mut self, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        self.slots.fold_rows(self.keep, group, &args[0], rows).map(drop)
    }

    fn add_groups(&mut self, groups: &[u32], args: &[Vector]) -> Result<()> {
        if self.is_settled() {
            return Ok(());
        }
        self.slots.fold_groups(self.keep, groups, &args[0], None)
    }

    fn is_settled(&self) -> bool {
        self.keep == Keep::First && self.slots.n_unset() == 0
    }

    fn merge(&mut self, other: &mut dyn States, from: &[u32], into: &[u32]) -> Result<()> {
        let other = same_states::<Self>(other)?;
        self.slots.merge(self.keep, &mut *other.slots, from, into).map(drop)
    }

    fn serialise(&self, group: usize, out: &mut Vec<u8>) {
        if self.respects {
            return self.put_respecting(group, out);
        }
        self.slots.serialise(group, out);
    }

    fn deserialise(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        if self.respects {
            return self.take_respecting(group, bytes);
        }
        let mut other = self.slots.deserialise(bytes)?;
        self.slots.merge(self.keep, &mut *other, &[0], &[group as u32]).map(drop)
    }

    fn finish(&mut self, n: usize) -> Result<Vector> {
        self.slots.finish(n, &self.ty)
    }

    fn running(&mut self, args: &[Vector], from: usize, ends: &[usize]) -> Result<Vector> {
        let held = self.slots.finish(1, &self.ty)?;
        let (keep, slots) = (self.keep, &mut self.slots);
        running_rows(&held, &args[0], from, ends, |rows| slots.fold_rows(keep, 0, &args[0], rows))
    }

    fn memory(&self) -> usize {
        self.slots.memory()
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// The value that a growing group keeps at each end, when every value kept is that of some row: `fold` adds rows and
/// says which one is kept now, if it is one of these. Before the first row that is kept there is `held`.
pub(crate) fn running_rows(
    held: &Vector,
    values: &Vector,
    from: usize,
    ends: &[usize],
    mut fold: impl FnMut(Range<usize>) -> Result<Option<usize>>,
) -> Result<Vector> {
    let (mut start, mut kept) = (from, 0);
    let mut rows = Vec::with_capacity(ends.len());
    for &end in ends {
        if let Some(row) = fold(start..end)? {
            kept = (row - from + 1) as u32;
        }
        start = end;
        rows.push(kept);
    }
    Ok(Vector::concat(&[held, &values.slice(from, start - from)]).gather(&rows))
}
