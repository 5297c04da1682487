//! `sumMap`, `minMap`, `maxMap` over pairs of arrays: the first array holds keys, the others values for them.

use crate::floats::{Floats, integer_width, put_float, take_float, take_integer};
use crate::kernel_rows::{KernelCodec, Layout};
use crate::sets::GroupSets;
use crate::slots::{Keep, Slots, slots_of};
use crate::sum::total_type;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::rows::RowCodec;
use chalet_columns::wire::{put_len, take, take_array, take_count, take_f64, take_u8};
use chalet_columns::{Builder, Data, List, Struct, Vector};
use chalet_function_api::states::same_states;
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example, Registry, States,
};
use chalet_types::{DataType, I256, TupleField, Value};
use std::any::Any;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

const SUM: AggregateRecord = AggregateRecord {
    name: "sumMappedArrays",
    name_in_types: "sumMap",
    state_version: 1,
    summary: "Sums the values of every key, which arrays hold; sorted by key, without sums of 0. Also called sumMap.",
    syntax: "sumMappedArrays(keys, values[, ...])",
    examples: &[Example { sql: "SELECT sumMappedArrays([2, 1], [3, 4])", result: "([1,2],[4,3])" }],
    ..AggregateRecord::DEFAULT
};

const MIN: AggregateRecord = AggregateRecord {
    name: "minMappedArrays",
    name_in_types: "minMap",
    state_version: 1,
    summary: "The smallest value of every key, which arrays hold; sorted by key. Also called minMap.",
    syntax: "minMappedArrays(keys, values[, ...])",
    examples: &[Example { sql: "SELECT minMappedArrays([2, 1, 2], [3, 4, 1])", result: "([1,2],[4,1])" }],
    ..AggregateRecord::DEFAULT
};

const MAX: AggregateRecord = AggregateRecord {
    name: "maxMappedArrays",
    name_in_types: "maxMap",
    state_version: 1,
    summary: "The largest value of every key, which arrays hold; sorted by key. Also called maxMap.",
    syntax: "maxMappedArrays(keys, values[, ...])",
    examples: &[Example { sql: "SELECT maxMappedArrays([2, 1, 2], [3, 4, 1])", result: "([1,2],[4,3])" }],
    ..AggregateRecord::DEFAULT
};

const WITH_OVERFLOW: AggregateRecord = AggregateRecord {
    name: "sumMapWithOverflow",
    state_version: 1,
    summary: "Sums the values of every key, which arrays hold, in the type of the values.",
    syntax: "sumMapWithOverflow(keys, values[, ...])",
    examples: &[Example {
        sql: "SELECT sumMapWithOverflow([2, 1, 2], [250, 4, 10])",
        result: "([1,2],[4,4])",
    }],
    ..AggregateRecord::DEFAULT
};

const FILTERED: AggregateRecord = AggregateRecord {
    name: "sumMapFiltered",
    state_version: 1,
    summary: "Sums the values of the given keys.",
    syntax: "sumMapFiltered(keys_to_keep)(keys, values[, ...])",
    examples: &[Example {
        sql: "SELECT sumMapFiltered([1, 4])([1, 2, 4], [3, 4, 5])",
        result: "([1,4],[3,5])",
    }],
    ..AggregateRecord::DEFAULT
};

const FILTERED_WITH_OVERFLOW: AggregateRecord = AggregateRecord {
    name: "sumMapFilteredWithOverflow",
    summary: "Sums the values of the given keys, in the type of the values.",
    syntax: "sumMapFilteredWithOverflow(keys_to_keep)(keys, values[, ...])",
    examples: &[Example {
        sql: "SELECT sumMapFilteredWithOverflow([1, 4])([1, 1, 4], [250, 10, 5])",
        result: "([1,4],[4,5])",
    }],
    ..FILTERED
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fold {
    Sum,
    Extreme(Keep),
}

pub struct MappedArrays {
    record: &'static AggregateRecord,
    fold: Fold,
    keeps_type: bool,
    filtered: bool,
}

pub fn register(registry: &mut Registry) {
    let function = |record, fold, keeps_type, filtered| MappedArrays { record, fold, keeps_type, filtered };
    registry.add_aggregate(function(&SUM, Fold::Sum, false, false));
    registry.add_aggregate(function(&WITH_OVERFLOW, Fold::Sum, true, false));
    registry.add_aggregate(function(&FILTERED, Fold::Sum, false, true));
    registry.add_aggregate(function(&FILTERED_WITH_OVERFLOW, Fold::Sum, true, true));
    registry.add_aggregate(function(&MIN, Fold::Extreme(Keep::Min), true, false));
    registry.add_aggregate(function(&MAX, Fold::Extreme(Keep::Max), true, false));
}

impl AggregateFunction for MappedArrays {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = self.record.name;
        // One tuple of arrays, or the arrays themselves.
        let mut arrays: Vec<DataType> = args.iter().map(|arg| arg.ty.clone()).collect();
        let mut form = Form::Arrays;
        if let [DataType::Tuple(fields)] = &arrays[..] {
            form = Form::Tuple;
            arrays = fields.iter().map(|field| field.ty.clone()).collect();
        }
        if let ([DataType::Map(..)], true) = (&arrays[..], self.filtered) {
            return Err(crate::check::illegal_type(name, &arrays[0]));
        }
        ensure!(
            args.len() != 1 || form == Form::Tuple,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "When function {name} gets one argument it must be a tuple"
        );
        ensure!(
            arrays.len() >= 2,
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function {name} requires at least two arguments of Array type or one argument of tuple of two arrays"
        );
        let mut elements = Vec::with_capacity(arrays.len());
        for (i, ty) in arrays.iter().enumerate() {
            match ty {
                DataType::Array(element) => elements.push(DataType::clone(element)),
                _ => bail!(
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "Argument #{} for function {name} must be an array, not {ty}",
                    i + 1
                ),
            }
        }
        let key = elements.remove(0);
        let mut results = Vec::with_capacity(elements.len());
        for element in &elements {
            let bare = element.without_nullable();
            results.push(match self.fold {
                Fold::Extreme(_) => bare.clone(),
                Fold::Sum if !bare.is_number() => bail!(
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "Values for {name} cannot be summed, passed type {element}"
                ),
                Fold::Sum if self.keeps_type || bare.is_decimal() => bare.clone(),
                Fold::Sum => total_type(bare).ok_or_else(|| crate::check::illegal_type(name, bare))?,
            });
        }
        let codec = RowCodec::new(&key);
        let kept = if self.filtered {
            let keys = match parameters {
                [Value::Array(keys)] => keys,
                _ => bail!(
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "Aggregate function {name} requires an Array as a parameter"
                ),
            };
            let mut builder = Builder::new(&key);
            keys.iter().try_for_each(|value| builder.push_value(value))?;
            let keys = builder.finish();
            let encode = |row| {
                let mut bytes = Vec::new();
                codec.put(&keys, row, &mut bytes);
                bytes
            };
            Some((0..keys.len()).map(encode).collect())
        } else {
            crate::check::no_parameters(name, parameters)?;
            None
        };
        Ok(Arc::new(Bound(Arc::new(Shape {
            fold: self.fold,
            form,
            key_in_states: KernelCodec::new(&key, Layout::Binary),
            values_in_states: elements.iter().map(ValueCodec::new).collect(),
            key,
            codec,
            values: elements,
            results,
            kept,
        }))))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Arrays,
    Tuple,
}

struct Shape {
    fold: Fold,
    form: Form,
    key: DataType,
    codec: RowCodec,
    values: Vec<DataType>,
    results: Vec<DataType>,
    key_in_states: KernelCodec,
    values_in_states: Vec<ValueCodec>,
    /// The keys that count, when not all do.
    kept: Option<Vec<Vec<u8>>>,
}

impl Shape {
    /// The columns of arrays, whatever the arguments look like.
    fn arrays(&self, args: &[Vector]) -> Result<Vec<Vector>> {
        match self.form {
            Form::Arrays => Ok(args.to_vec()),
            Form::Tuple => Ok(args[0].structure()?.fields.clone()),
        }
    }
}

/// Extreme values in states: numbers as wide as their sums, and of Nullable ones whether there is none stands before.
struct ValueCodec {
    nullable: bool,
    widened: Option<Widened>,
    bare: KernelCodec,
}

impl ValueCodec {
    fn new(ty: &DataType) -> ValueCodec {
        let bare = KernelCodec::new(ty.without_nullable(), Layout::Binary);
        ValueCodec { nullable: ty.is_nullable(), widened: Widened::of(ty.without_nullable()), bare }
    }

    fn put(&self, vector: &Vector, row: usize, is_set: bool, out: &mut Vec<u8>) {
        if self.nullable {
            out.push(u8::from(!is_set));
        }
        if is_set || !self.nullable {
            let start = out.len();
            self.bare.put(vector, row, out);
            if let Some(widened) = &self.widened {
                widened.put(start, out);
            }
        }
    }

    /// Is there a value?
    fn take(&self, bytes: &mut &[u8], out: &mut Builder) -> Result<bool> {
        if self.nullable && take_u8(bytes)? != 0 {
            return Ok(false);
        }
        match &self.widened {
            Some(widened) => self.bare.take(&mut &widened.take(bytes)?[..], out)?,
            None => self.bare.take(bytes, out)?,
        }
        Ok(true)
    }
}

/// A number that the kernel holds in more bytes.
enum Widened {
    Float,
    Integer { signed: bool, from: usize, to: usize },
}

impl Widened {
    fn of(ty: &DataType) -> Option<Widened> {
        let from = ty.physical().width()?;
        match ty {
            DataType::Float32 => Some(Widened::Float),
            ty if ty.is_decimal() && from < 16 => Some(Widened::Integer { signed: true, from, to: 16 }),
            ty if ty.is_integer() && from < 8 => {
                Some(Widened::Integer { signed: ty.is_signed(), from, to: 8 })
            }
            _ => None,
        }
    }

    /// Widens the number that `out` ends with.
    fn put(&self, start: usize, out: &mut Vec<u8>) {
        match *self {
            Widened::Float => {
                let mut narrow = [0; 4];
                narrow.copy_from_slice(&out[start..]);
                out.truncate(start);
                out.extend(f64::from(f32::from_le_bytes(narrow)).to_le_bytes());
            }
            Widened::Integer { signed, to, .. } => {
                let is_negative = signed && out.last().is_some_and(|&high| high > 127);
                out.resize(start + to, if is_negative { 255 } else { 0 });
            }
        }
    }

    /// The bytes of the number itself.
    fn take(&self, bytes: &mut &[u8]) -> Result<Vec<u8>> {
        match *self {
            Widened::Float => Ok((take_f64(bytes)? as f32).to_le_bytes().into()),
            Widened::Integer { from, to, .. } => {
                let wide = take(bytes, to)?;
                let mut again = wide[..from].to_vec();
                self.put(0, &mut again);
                ensure!(again == wide, INCORRECT_DATA, "Aggregate state has a number that is too great");
                Ok(wide[..from].to_vec())
            }
        }
    }
}

struct Bound(Arc<Shape>);

impl Aggregate for Bound {
    fn result_type(&self) -> DataType {
        let shape = &self.0;
        let arrays = std::iter::once(&shape.key).chain(&shape.results);
        DataType::Tuple(arrays.map(|ty| TupleField { name: None, ty: ty.clone().array() }).collect())
    }

    fn states(&self) -> Box<dyn States> {
        let columns = self.0.results.iter().map(|ty| match self.0.fold {
            Fold::Sum if ty.is_float() => Column::Floats(Vec::new()),
            Fold::Sum => Column::Integers(Vec::new()),
            Fold::Extreme(_) => Column::Slots(slots_of(ty)),
        });
        Box::new(Maps {
            shape: self.0.clone(),
            sets: GroupSets::of_width(self.0.codec.width()),
            columns: columns.collect(),
            seen: Vec::new(),
        })
    }
}

/// One number or value per key of a group.
enum Column {
    Floats(Vec<f64>),
    Integers(Vec<I256>),
    Slots(Box<dyn Slots>),
}

/// Stands for the entry of an element whose key does not count.
const LEFT_OUT: u32 = u32::MAX;

/// The order of entries by their keys; NULL comes first.
fn by_key(keys: &Vector, a: u32, b: u32) -> Ordering {
    let (a, b) = (a as usize, b as usize);
    keys.is_null(b).cmp(&keys.is_null(a)).then_with(|| keys.compare(a, keys, b))
}

/// A tuple of arrays, which end where `offsets` says.
fn lists(keys: Vector, values: Vec<Vector>, offsets: Vec<i64>) -> Vector {
    let n = offsets.len() - 1;
    let offsets = chalet_columns::Buf::from_vec(offsets);
    let lists = std::iter::once(keys)
        .chain(values)
        .map(|column| Data::List(List { offsets: offsets.clone(), values: Arc::new(column) }).into());
    Data::Struct(Struct { fields: lists.collect(), len: n }).into()
}

struct Maps {
    shape: Arc<Shape>,
    sets: GroupSets,
    columns: Vec<Column>,
    /// Of each entry, whether a value of a Nullable column that is not NULL came: then a sum of 0 stays.
    seen: Vec<bool>,
}

impl Maps {
    fn entry(&mut self, group: u32, key: &[u8]) -> u32 {
        let (entry, new) = self.sets.insert(group, key);
        if new {
            let n = self.sets.len();
            self.seen.resize(n, false);
            for column in &mut self.columns {
                match column {
                    Column::Floats(values) => values.resize(n, 0.0),
                    Column::Integers(values) => values.resize(n, I256::ZERO),
                    Column::Slots(slots) => slots.grow(n),
                }
            }
        }
        entry
    }

    /// The entries of the elements of rows, one behind the other; [`LEFT_OUT`] where a key does not count.
    fn entries(
        &mut self,
        args: &[Vector],
        rows: Range<usize>,
        group: impl Fn(usize) -> u32,
    ) -> Result<Vec<u32>> {
        let shape = self.shape.clone();
        let arrays = shape.arrays(args)?;
        let keys = arrays[0].list()?;
        let mut key = Vec::new();
        let mut entries = Vec::new();
        for row in rows {
            let range = keys.range(row);
            for array in &arrays[1..] {
                ensure!(
                    array.list()?.range(row).len() == range.len(),
                    BAD_ARGUMENTS,
                    "Sizes of keys and values arrays do not match"
                );
            }
            for element in range {
                key.clear();
                shape.codec.put(&keys.values, element, &mut key);
                let counts = shape.kept.as_ref().is_none_or(|kept| kept.contains(&key));
                entries.push(if counts { self.entry(group(row), &key) } else { LEFT_OUT });
            }
        }
        Ok(entries)
    }

    /// Adds the values of rows to entries, of which `entries[first]` is that of the first element. Where those of the next row begin.
    fn add_values(
        &mut self,
        args: &[Vector],
        rows: Range<usize>,
        entries: &[u32],
        first: usize,
    ) -> Result<usize> {
        let shape = self.shape.clone();
        let arrays = shape.arrays(args)?;
        let mut end = first;
        for ((column, array), ty) in self.columns.iter_mut().zip(&arrays[1..]).zip(&shape.values) {
            let list = array.list()?;
            let floats = matches!(column, Column::Floats(_))
                .then(|| Floats::of(&list.values, crate::floats::divisor(ty)))
                .transpose()?;
            let elements = rows.clone().flat_map(|row| list.range(row));
            end = first;
            for element in elements {
                let entry = entries[end] as usize;
                end += 1;
                if entry == LEFT_OUT as usize || list.values.is_null(element) {
                    continue;
                }
                self.seen[entry] |= ty.is_nullable();
                match (&mut *column, &floats, shape.fold) {
                    (Column::Floats(sums), Some(floats), _) => sums[entry] += floats.get(element),
                    (Column::Integers(sums), ..) => {
                        let x = crate::floats::integer(&list.values.data, element);
                        sums[entry] = sums[entry].wrapping_add(x);
                    }
                    (Column::Slots(slots), _, Fold::Extreme(keep)) => {
                        slots.fold_rows(keep, entry, &list.values, element..element + 1)?;
                    }
                    _ => {}
                }
            }
        }
        Ok(end)
    }

    fn add_rows(&mut self, args: &[Vector], rows: Range<usize>, group: impl Fn(usize) -> u32) -> Result<()> {
        let entries = self.entries(args, rows.clone(), group)?;
        self.add_values(args, rows, &entries, 0)?;
        Ok(())
    }

    /// The keys of all entries.
    fn keys(&self) -> Result<Vector> {
        let mut keys = Builder::new(&self.shape.key);
        for entry in 0..self.sets.len() as u32 {
            self.shape.codec.take(&mut self.sets.key(entry), &mut keys)?;
        }
        Ok(keys.finish())
    }

    /// The values of all entries, a vector for each array.
    fn values(&self) -> Result<Vec<Vector>> {
        let n_entries = self.sets.len();
        let mut values = Vec::with_capacity(self.columns.len());
        for (column, ty) in self.columns.iter().zip(&self.shape.results) {
            let mut out = Builder::new(ty);
            match column {
                Column::Floats(sums) => {
                    sums.iter().try_for_each(|&x| crate::quantile::push_float(x, &mut out))?;
                }
                Column::Integers(sums) => {
                    sums.iter().try_for_each(|&x| crate::floats::push_integer(x, &mut out))?;
                }
                Column::Slots(slots) => {
                    values.push(slots.finish(n_entries, ty)?);
                    continue;
                }
            }
            values.push(out.finish());
        }
        Ok(values)
    }

    /// Appends the value of an entry to a builder for each array.
    fn push_value(&self, entry: u32, out: &mut [Builder]) -> Result<()> {
        for (column, out) in self.columns.iter().zip(out) {
            match column {
                Column::Floats(sums) => crate::quantile::push_float(sums[entry as usize], out)?,
                Column::Integers(sums) => crate::floats::push_integer(sums[entry as usize], out)?,
                Column::Slots(slots) => slots.push(entry as usize, out)?,
            }
        }
        Ok(())
    }

    /// Is an entry left out of the result? Of Nullable values, sums of 0 stay, and only those of NULLs go.
    fn is_zero(&self, entry: u32) -> bool {
        !self.seen[entry as usize]
            && self.columns.iter().all(|column| match column {
                Column::Floats(sums) => sums[entry as usize] == 0.0,
                Column::Integers(sums) => sums[entry as usize] == I256::ZERO,
                Column::Slots(_) => false,
            })
    }

    /// The entries of a group by their keys, as states have them.
    fn in_order(&self, group: usize) -> Vec<u32> {
        let nullable = self.shape.values.iter().any(DataType::is_nullable);
        let mut entries: Vec<u32> =
            self.sets.entries_of(group).filter(|&entry| !nullable || !self.is_zero(entry)).collect();
        let mut keys = Builder::new(&self.shape.key);
        for entry in &entries {
            // The keys are bytes that the codec wrote.
            let _ = self.shape.codec.take(&mut self.sets.key(*entry), &mut keys);
        }
        let keys = keys.finish();
        let mut order: Vec<usize> = (0..entries.len().min(keys.len())).collect();
        order.sort_by(|&a, &b| by_key(&keys, a as u32, b as u32));
        let unordered = std::mem::take(&mut entries);
        order.into_iter().map(|at| unordered[at]).collect()
    }

    /// Takes entry `theirs` of other columns into an entry.
    fn join(&mut self, entry: u32, others: &mut [Column], theirs: u32) -> Result<()> {
        let (entry, theirs) = (entry as usize, theirs as usize);
        for (column, other) in self.columns.iter_mut().zip(others) {
            match (column, other, self.shape.fold) {
                (Column::Floats(sums), Column::Floats(more), _) => sums[entry] += more[theirs],
                (Column::Integers(sums), Column::Integers(more), _) => {
                    sums[entry] = sums[entry].wrapping_add(more[theirs]);
                }
                (Column::Slots(slots), Column::Slots(more), Fold::Extreme(keep)) => {
                    let mut bytes = Vec::new();
                    more.serialise(theirs, &mut bytes);
                    let mut one = slots.deserialise(&mut &bytes[..])?;
                    slots.merge(keep, &mut *one, &[0], &[entry as u32])?;
                }
                _ => return Err(err!(LOGICAL_ERROR, "Maps of different aggregates cannot be merged")),
            }
        }
        Ok(())
    }
}

impl States for Maps {
    fn grow(&mut self, n: usize) {
        self.sets.grow(n);
    }

    fn add(&mut self, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        self.add_rows(args, rows, |_| group as u32)
    }

    fn add_groups(&mut self, groups: &[u32], args: &[Vector]) -> Result<()> {
        self.add_rows(args, 0..groups.len(), |row| groups[row])
    }

    fn merge(&mut self, other: &mut dyn States, from: &[u32], into: &[u32]) -> Result<()> {
        let other = same_states::<Self>(other)?;
        for (&from, &into) in from.iter().zip(into) {
            for theirs in other.sets.entries_of(from as usize) {
                let entry = self.entry(into, other.sets.key(theirs));
                self.join(entry, &mut other.columns, theirs)?;
                self.seen[entry as usize] |= other.seen[theirs as usize];
            }
        }
        Ok(())
    }

    fn serialise(&self, group: usize, out: &mut Vec<u8>) {
        let entries = self.in_order(group);
        put_len(entries.len(), out);
        for entry in entries {
            self.shape.key_in_states.put_row(self.sets.key(entry), out);
            let columns = self.columns.iter().zip(&self.shape.results).zip(&self.shape.values_in_states);
            for ((column, ty), codec) in columns {
                match column {
                    Column::Floats(sums) => put_float(sums[entry as usize], ty.physical(), out),
                    Column::Integers(sums) => {
                        let width =
                            if ty.is_decimal() { integer_width(ty).max(16) } else { integer_width(ty) };
                        out.extend(&sums[entry as usize].to_le_bytes()[..width]);
                    }
                    Column::Slots(slots) => {
                        let mut value = Builder::new(ty);
                        // Slots give values of their type.
                        let _ = slots.push(entry as usize, &mut value);
                        codec.put(&value.finish(), 0, slots.is_set(entry as usize), out);
                    }
                }
            }
        }
    }

    fn deserialise(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        for _ in 0..take_count(bytes, 1)? {
            let mut key = Vec::new();
            let shape = self.shape.clone();
            shape.key_in_states.take_row(bytes, &mut key)?;
            let entry = self.entry(group as u32, &key);
            let mut others = Vec::with_capacity(self.columns.len());
            let columns = self.columns.iter().zip(&shape.results).zip(&shape.values_in_states);
            for ((column, ty), codec) in columns {
                others.push(match column {
                    Column::Floats(_) => Column::Floats(vec![take_float(ty.physical(), bytes)?]),
                    Column::Integers(_) if ty.is_decimal() && integer_width(ty) < 16 => {
                        Column::Integers(vec![I256::from(i128::from_le_bytes(take_array(bytes)?))])
                    }
                    Column::Integers(_) => Column::Integers(vec![take_integer(ty, bytes)?]),
                    Column::Slots(_) => {
                        let mut slots = slots_of(ty);
                        slots.grow(1);
                        let mut value = Builder::new(ty);
                        if codec.take(bytes, &mut value)? {
                            slots.set(0, &value.finish(), 0)?;
                        }
                        Column::Slots(slots)
                    }
                });
            }
            self.join(entry, &mut others, 0)?;
            self.seen[entry as usize] |= self.shape.values.iter().any(DataType::is_nullable);
        }
        Ok(())
    }

    fn finish(&mut self, n: usize) -> Result<Vector> {
        self.grow(n);
        let keys = self.keys()?;
        let values = self.values()?;
        let mut rows: Vec<u32> = Vec::with_capacity(self.sets.len());
        let mut offsets = vec![0i64];
        for group in 0..n {
            let start = rows.len();
            rows.extend(self.sets.entries_of(group).filter(|&entry| !self.is_zero(entry)));
            rows[start..].sort_by(|&a, &b| by_key(&keys, a, b));
            offsets.push(rows.len() as i64);
        }
        let values = values.iter().map(|column| column.gather(&rows)).collect();
        Ok(lists(keys.gather(&rows), values, offsets))
    }

    fn running(&mut self, args: &[Vector], from: usize, ends: &[usize]) -> Result<Vector> {
        self.grow(1);
        let last = ends.last().copied().unwrap_or(from);
        let known = self.sets.len();
        // All keys first, so that they are sorted once.
        let entries = self.entries(args, from..last, |_| 0)?;
        let keys = self.keys()?;
        let mut order: Vec<u32> = (0..self.sets.len() as u32).collect();
        order.sort_by(|&a, &b| by_key(&keys, a, b));
        let mut ranks = vec![0u32; order.len()];
        order.iter().zip(0..).for_each(|(&entry, rank)| ranks[entry as usize] = rank);
        // A row changes the values of few entries: these are written down, and results say which writing of each entry is theirs.
        let mut written: Vec<Builder> = self.shape.results.iter().map(Builder::new).collect();
        let mut newest = vec![u32::MAX; order.len()];
        let mut n_written = 0;
        // Those that have come, by their keys.
        let mut present: Vec<u32> = Vec::new();
        let zeros_go = !self.columns.iter().any(|column| matches!(column, Column::Slots(_)));
        let (mut rows, mut writings, mut offsets) = (Vec::new(), Vec::new(), vec![0i64]);
        let mut next = 0;
        let starts = std::iter::once(&from).chain(ends);
        for (at, (&start, &end)) in starts.zip(ends).enumerate() {
            let first = next;
            next = self.add_values(args, start..end, &entries, first)?;
            let before = 0..if at == 0 { known as u32 } else { 0 };
            for entry in before.chain(entries[first..next].iter().copied().filter(|&entry| entry != LEFT_OUT))
            {
                if newest[entry as usize] == u32::MAX {
                    let rank = ranks[entry as usize];
                    let place = present.partition_point(|&other| ranks[other as usize] < rank);
                    present.insert(place, entry);
                }
                self.push_value(entry, &mut written)?;
                newest[entry as usize] = n_written;
                n_written += 1;
            }
            let first = rows.len();
            if zeros_go {
                rows.extend(present.iter().filter(|&&entry| !self.is_zero(entry)));
            } else {
                rows.extend_from_slice(&present);
            }
            writings.extend(rows[first..].iter().map(|&entry| newest[entry as usize]));
            offsets.push(rows.len() as i64);
        }
        let values = written.into_iter().map(|values| values.finish().gather(&writings)).collect();
        Ok(lists(keys.gather(&rows), values, offsets))
    }

    fn memory(&self) -> usize {
        let columns = self.columns.iter().map(|column| match column {
            Column::Floats(values) => values.capacity() * 8,
            Column::Integers(values) => values.capacity() * 32,
            Column::Slots(slots) => slots.memory(),
        });
        self.sets.memory() + columns.sum::<usize>()
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
