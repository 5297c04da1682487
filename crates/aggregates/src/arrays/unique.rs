//! `groupUniqArray`: an array of the different values, in the order of the kernel's hash table. States keep them as they came.

use crate::arrays::parameters::optional_limit;
use crate::arrays::unique_words::unique_words;
use crate::check::one_argument;
use crate::kernel_rows::{KernelCodec, Layout};
use crate::sets::{GroupSets, TOGETHER};
use chalet_base::Result;
use chalet_columns::rows::{RowCodec, take_row};
use chalet_columns::set_order::{Keys, in_set_order};
use chalet_columns::wire::{put_len, take_count};
use chalet_columns::{Builder, Data, List, Vector};
use chalet_function_api::aggregate::AggregateNulls;
use chalet_function_api::states::same_states;
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example, States,
};
use chalet_types::{DataType, Value};
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "groupUniqArray",
    summary: "An array of the different values, at most `max_size` of them. The order is not defined.",
    syntax: "groupUniqArray([max_size])(x)",
    examples: &[Example {
        sql: "SELECT arraySort(groupUniqArray(number % 3)) FROM numbers(10)",
        result: "[0,1,2]",
    }],
    nulls: AggregateNulls::SkipPlainResult,
    null_flag: false,
    ..AggregateRecord::DEFAULT
};

pub struct GroupUniqArray;

impl AggregateFunction for GroupUniqArray {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let limit = optional_limit(RECORD.name, parameters)?.unwrap_or(usize::MAX);
        one_argument(RECORD.name, args)?;
        Ok(Arc::new(Bound { ty: args[0].ty.clone(), limit }))
    }
}

struct Bound {
    ty: DataType,
    limit: usize,
}

impl Aggregate for Bound {
    fn result_type(&self) -> DataType {
        // As in the kernel, the zone of a DateTime gets lost.
        match &self.ty {
            DataType::DateTime(_) => DataType::DateTime(None).array(),
            ty => ty.clone().array(),
        }
    }

    fn states(&self) -> Box<dyn States> {
        if let Some(states) = unique_words(&self.ty, self.limit) {
            return states;
        }
        Box::new(Uniques {
            ty: self.ty.clone(),
            sets: GroupSets::of_width(RowCodec::new(&self.ty).width()),
            codec: RowCodec::new(&self.ty),
            in_states: in_states(&self.ty),
            limit: self.limit,
            counts: Vec::new(),
        })
    }
}

/// How values stand in states; None where they do as their rows.
pub fn in_states(ty: &DataType) -> Option<KernelCodec> {
    (!KernelCodec::is_plain(ty)).then(|| KernelCodec::new(ty, Layout::Key))
}

struct Uniques {
    ty: DataType,
    codec: RowCodec,
    in_states: Option<KernelCodec>,
    limit: usize,
    sets: GroupSets,
    counts: Vec<u32>,
}

impl Uniques {
    fn insert(&mut self, group: u32, key: &[u8]) {
        let count = &mut self.counts[group as usize];
        if (*count as usize) < self.limit {
            *count += u32::from(self.sets.insert(group, key).1);
        }
    }

    fn add_rows(&mut self, values: &Vector, rows: Range<usize>, group: impl Fn(usize) -> u32) {
        let mut key = Vec::new();
        if self.limit == usize::MAX && self.sets.is_of_any_width() {
            for start in rows.clone().step_by(TOGETHER) {
                let some = start..rows.end.min(start + TOGETHER);
                let (mut ends, mut groups) = ([0; TOGETHER], [0; TOGETHER]);
                key.clear();
                for ((row, end), of_row) in some.clone().zip(&mut ends).zip(&mut groups) {
                    self.codec.put(values, row, &mut key);
                    (*end, *of_row) = (key.len(), group(row));
                }
                let (sets, counts) = (&mut self.sets, &mut self.counts);
                let groups = &groups[..some.len()];
                sets.insert_together(&key, &ends, groups, |at| counts[groups[at] as usize] += 1);
            }
            return;
        }
        for row in rows {
            key.clear();
            self.codec.put(values, row, &mut key);
            self.insert(group(row), &key);
        }
    }
}

impl States for Uniques {
    fn grow(&mut self, n: usize) {
        self.sets.grow(n);
        if self.counts.len() < n {
            self.counts.resize(n, 0);
        }
    }

    fn add(&mut self, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        self.add_rows(&args[0], rows, |_| group as u32);
        Ok(())
    }

    fn add_groups(&mut self, groups: &[u32], args: &[Vector]) -> Result<()> {
        self.add_rows(&args[0], 0..groups.len(), |row| groups[row]);
        Ok(())
    }

    fn merge(&mut self, other: &mut dyn States, from: &[u32], into: &[u32]) -> Result<()> {
        let other = same_states::<Self>(other)?;
        if self.limit == usize::MAX {
            // Of these groups alone: there may be few of many.
            self.sets.reserve(from.iter().map(|&from| other.counts[from as usize] as usize).sum());
        }
        for (&from, &into) in from.iter().zip(into) {
            for entry in other.sets.entries_of(from as usize) {
                self.insert(into, other.sets.key(entry));
            }
        }
        Ok(())
    }

    fn serialise(&self, group: usize, out: &mut Vec<u8>) {
        put_len(self.counts[group] as usize, out);
        for entry in self.sets.entries_of(group) {
            match &self.in_states {
                Some(codec) => codec.put_row(self.sets.key(entry), out),
                None => out.extend_from_slice(self.sets.key(entry)),
            }
        }
    }

    fn deserialise(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        for _ in 0..take_count(bytes, 1)? {
            match &self.in_states {
                Some(codec) => {
                    let mut key = Vec::new();
                    codec.take_row(bytes, &mut key)?;
                    self.insert(group as u32, &key);
                }
                None => {
                    let key = take_row(std::slice::from_ref(&self.codec), bytes)?;
                    self.insert(group as u32, key);
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self, n: usize) -> Result<Vector> {
        self.grow(n);
        let mut values = Builder::new(&self.ty);
        let mut offsets = vec![0i64];
        if let Some(width) = self.codec.width().filter(|width| *width > 0) {
            for count in &self.counts {
                offsets.push(offsets[offsets.len() - 1] + i64::from(*count));
            }
            if self.counts.len() == 1 {
                self.codec.take_all(self.sets.keys(), &mut values)?;
            } else {
                let keys = self.sets.keys_by_group(&offsets, width);
                self.codec.take_all(&keys[..offsets[n] as usize * width], &mut values)?;
            }
            offsets.truncate(n + 1);
        } else {
            for group in 0..n {
                let mut entries = self.sets.entries_of(group);
                entries.try_for_each(|entry| self.codec.take(&mut self.sets.key(entry), &mut values))?;
                offsets.push(values.len() as i64);
            }
        }
        Ok(ordered(&self.ty, values.finish(), offsets))
    }

    fn running(&mut self, args: &[Vector], from: usize, ends: &[usize]) -> Result<Vector> {
        running_sets(self, &self.ty.clone(), args, from, ends)
    }

    fn memory(&self) -> usize {
        self.sets.memory() + self.counts.capacity() * 4
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// The values of each group in the order of the kernel's hash table.
pub(super) fn ordered(ty: &DataType, values: Vector, offsets: Vec<i64>) -> Vector {
    use DataType::{
        BFloat16, Bool, Date, DateTime, Enum8, Enum16, Float32, Float64, IPv4, Int8, Int16, Int32, Int64,
        Int128, Int256, UInt8, UInt16, UInt32, UInt64, UInt128, UInt256,
    };
    let (keys, bits) = match ty {
        Bool | UInt8 | Int8 | Enum8(_) => (Keys::Bytes, 8),
        UInt16 | UInt32 | UInt64 | UInt128 | UInt256 | Int16 | Int32 | Int64 | Int128 | Int256 => {
            (Keys::Numbers, 4)
        }
        Date | DateTime(_) | Enum16(_) => (Keys::Numbers, 4),
        BFloat16 | Float32 | Float64 | IPv4 => (Keys::Bits, 4),
        _ => (Keys::Strings, 3),
    };
    let values = match offsets.windows(2).any(|list| list[1] - list[0] > 1) {
        true => values.gather(&in_set_order(ty, &values, &offsets, keys, bits)),
        false => values,
    };
    Data::List(List { offsets: offsets.into(), values: Arc::new(values) }).into()
}

/// The results of one set as rows from `from` on are added, at each of `ends`.
pub(super) fn running_sets<S: States>(
    sets: &mut S,
    ty: &DataType,
    args: &[Vector],
    from: usize,
    ends: &[usize],
) -> Result<Vector> {
    let mut results = vec![Vector::defaults(&ty.clone().array(), 0)];
    let mut start = from;
    for &end in ends {
        sets.add(0, args, start..end)?;
        start = end;
        results.push(sets.finish(1)?);
    }
    Ok(Vector::concat(&results.iter().collect::<Vec<_>>()))
}
