//! `topK` and its kin: the most frequent values by the filtered space-saving algorithm: counters for some times more
//! values than asked for; a value without a counter takes over the smallest one. Exact as long as there are counters
//! for all values, in the order in which they came, out of which the kernel's selection takes the first.

use crate::floats::Unsigned;
use crate::floyd_rivest::partial_sort;
use crate::kernel_rows::{KernelCodec, Layout};
use chalet_base::hash::hash_bytes;
use chalet_base::{Result, bail, ensure};
use chalet_columns::builder::Values;
use chalet_columns::rows::RowCodec;
use chalet_columns::wire::{put_len, take_count, take_len};
use chalet_columns::{Builder, Vector};
use chalet_function_api::aggregate::AggregateNulls;
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, TupleField, Value};
use hashbrown::HashTable;
use std::cell::RefCell;
use std::sync::Arc;

const TOP_K: AggregateRecord = AggregateRecord {
    name: "topK",
    summary: "The approximately `n` most frequent values (10 if not given), the most frequent first; with 'counts' each \
              with its count and the largest error of that.",
    syntax: "topK([n[, load_factor[, 'counts']]])(x)",
    examples: &[Example { sql: "SELECT topK(2)(number % 7 % 3) FROM numbers(20)", result: "[0,1]" }],
    nulls: AggregateNulls::SkipPlainResult,
    null_flag: false,
    ..AggregateRecord::DEFAULT
};

const TOP_K_WEIGHTED: AggregateRecord = AggregateRecord {
    name: "topKWeighted",
    null_flag: true,
    summary: "The approximately `n` values of the largest weight.",
    syntax: "topKWeighted([n[, load_factor[, 'counts']]])(x, weight)",
    examples: &[Example { sql: "SELECT topKWeighted(2)(number, number) FROM numbers(5)", result: "[4,3]" }],
    ..TOP_K
};

const APPROX_TOP_K: AggregateRecord = AggregateRecord {
    name: "approx_top_k",
    case_insensitive: true,
    aliases: &["approx_top_count"],
    summary: "The approximately `n` most frequent values (10 if not given) with counts and their errors.",
    syntax: "approx_top_k([n[, reserved]])(x)",
    examples: &[Example {
        sql: "SELECT approx_top_k(2)(number % 7 % 3) FROM numbers(20)",
        result: "[(0,8,0),(1,6,0)]",
    }],
    ..TOP_K
};

const APPROX_TOP_SUM: AggregateRecord = AggregateRecord {
    name: "approx_top_sum",
    null_flag: true,
    case_insensitive: true,
    summary: "The approximately `n` values of the largest weight (10 if not given) with weights and their errors.",
    syntax: "approx_top_sum([n[, reserved]])(x, weight)",
    examples: &[Example {
        sql: "SELECT approx_top_sum(2)(number, number) FROM numbers(5)",
        result: "[(4,4,0),(3,3,0)]",
    }],
    ..TOP_K
};

/// The largest `n` and number of counters.
const MAX: u64 = 0xFF_FFFF;

pub struct TopK {
    record: &'static AggregateRecord,
    weighted: bool,
    /// Parameters are `n` and the number of counters; results come with counts.
    approx: bool,
}

impl TopK {
    pub const ALL: [TopK; 4] = [
        TopK { record: &TOP_K, weighted: false, approx: false },
        TopK { record: &TOP_K_WEIGHTED, weighted: true, approx: false },
        TopK { record: &APPROX_TOP_K, weighted: false, approx: true },
        TopK { record: &APPROX_TOP_SUM, weighted: true, approx: true },
    ];
}

impl AggregateFunction for TopK {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = self.record.name;
        if self.weighted {
            crate::check::two_arguments(name, args)?;
            ensure!(
                args[1].ty.is_integer(),
                ILLEGAL_TYPE_OF_ARGUMENT,
                "The second argument for aggregate function '{name}' must have integer type"
            );
        } else {
            crate::check::one_argument(name, args)?;
        }
        let most = if self.approx { 2 } else { 3 };
        ensure!(
            parameters.len() <= most,
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function '{name}' requires {most} parameters or less"
        );
        let number = |i: usize, default: u64| match parameters.get(i) {
            None => Ok(default),
            Some(value) => match value.as_u64() {
                Some(0) | None => bail!(
                    ARGUMENT_OUT_OF_BOUND,
                    "Parameter {} is illegal for aggregate function {name}",
                    i + 1
                ),
                Some(n) => Ok(n),
            },
        };
        let n = number(0, 10)?;
        let second = number(1, if self.approx { n.saturating_mul(3) } else { 3 })?;
        let reserved = if self.approx { second } else { n.saturating_mul(second) };
        ensure!(
            n <= MAX && reserved <= MAX,
            ARGUMENT_OUT_OF_BOUND,
            "Too large parameter(s) for aggregate function '{name}' (it is {n} and {reserved}, maximum is {MAX})"
        );
        ensure!(
            reserved >= n,
            ARGUMENT_OUT_OF_BOUND,
            "Parameters of aggregate function '{name}' reserve fewer counters than values"
        );
        let counts = self.approx
            || match parameters.get(2).map(Value::as_bytes) {
                None => false,
                Some(Some(b"counts")) => true,
                Some(_) => {
                    bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Unknown parameter of aggregate function '{name}'")
                }
            };
        let ty = args[0].ty.clone();
        Ok(EachState::of(Top {
            codec: RowCodec::new(&ty),
            in_states: KernelCodec::new(&ty, Layout::Key),
            ty,
            n: n as usize,
            reserved: reserved as usize,
            weighted: self.weighted,
            counts,
        }))
    }
}

struct Top {
    ty: DataType,
    codec: RowCodec,
    in_states: KernelCodec,
    n: usize,
    reserved: usize,
    weighted: bool,
    counts: bool,
}

struct Counter {
    key: Key,
    hash: u64,
    count: u64,
    error: u64,
    /// Where it stands in the order of all.
    place: u32,
}

impl Counter {
    fn beats(&self, other: &Counter) -> bool {
        self.count > other.count || (self.count == other.count && self.error < other.error)
    }
}

/// The bytes of a value.
enum Key {
    Short(u8, [u8; Key::SHORT]),
    Long(Box<[u8]>),
}

impl Key {
    const SHORT: usize = 22;

    fn new(bytes: &[u8]) -> Key {
        let mut short = [0; Key::SHORT];
        match short.get_mut(..bytes.len()) {
            Some(place) => {
                place.copy_from_slice(bytes);
                Key::Short(bytes.len() as u8, short)
            }
            None => Key::Long(bytes.into()),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Key::Short(len, bytes) => &bytes[..usize::from(*len)],
            Key::Long(bytes) => bytes,
        }
    }
}

/// Values that always have a counter of their own, however few are asked for.
const LEAST_COUNTERS: usize = 64;

/// Counters until values go without one.
fn most_counters(reserved: usize) -> usize {
    LEAST_COUNTERS.max(reserved.saturating_mul(2).next_power_of_two())
}

/// Places for what values without a counter have gathered.
fn n_others(reserved: usize) -> usize {
    (reserved * 6).next_power_of_two()
}

fn put_number(number: u64, out: &mut Vec<u8>) {
    put_len(number as usize, out);
}

fn take_number(bytes: &mut &[u8]) -> Result<u64> {
    take_len(bytes).map(|number| number as u64)
}

/// Counters by number, their numbers by key, and what values without a counter have gathered.
#[derive(Default)]
struct State {
    /// In the order in which their values came, unless there are too many values.
    counters: Vec<Counter>,
    table: HashTable<u32>,
    /// Values go without a counter from here on.
    is_full: bool,
    /// Once they do, the counters from the largest down.
    order: Vec<u32>,
    others: Vec<u64>,
}

impl State {
    fn find(&self, hash: u64, key: &[u8]) -> Option<u32> {
        self.table.find(hash, |&id| self.counters[id as usize].key.bytes() == key).copied()
    }

    fn in_order(&self) -> Vec<&Counter> {
        match self.is_full {
            true => self.order.iter().map(|&id| &self.counters[id as usize]).collect(),
            false => self.counters.iter().collect(),
        }
    }

    /// Leaves the largest counters.
    fn shrink(&mut self, reserved: usize) {
        self.is_full = true;
        let by_size = |a: &Counter, b: &Counter| {
            b.count.cmp(&a.count).then(a.error.cmp(&b.error)).then(a.place.cmp(&b.place))
        };
        let mut counters = std::mem::take(&mut self.counters);
        counters.sort_unstable_by(by_size);
        counters.truncate(reserved);
        self.table.clear();
        counters.into_iter().for_each(|counter| self.append(counter));
        self.order = (0..self.counters.len() as u32).collect();
    }

    /// Moves a counter up to where it belongs.
    fn rise(&mut self, id: u32) {
        let mut place = self.counters[id as usize].place;
        while place > 0 {
            let above = self.order[place as usize - 1];
            if !self.counters[id as usize].beats(&self.counters[above as usize]) {
                break;
            }
            self.order[place as usize] = above;
            self.counters[above as usize].place = place;
            place -= 1;
        }
        self.order[place as usize] = id;
        self.counters[id as usize].place = place;
    }

    /// The counter comes last, whatever it has counted.
    fn append(&mut self, counter: Counter) {
        let (id, hash) = (self.counters.len() as u32, counter.hash);
        self.counters.push(Counter { place: id, ..counter });
        let counters = &self.counters;
        self.table.insert_unique(hash, id, |&id| counters[id as usize].hash);
    }

    fn insert(&mut self, reserved: usize, key: &[u8], count: u64, error: u64) {
        let hash = hash_bytes(key);
        if let Some(id) = self.find(hash, key) {
            let counter = &mut self.counters[id as usize];
            counter.count = counter.count.wrapping_add(count);
            counter.error += error;
            if self.is_full {
                self.rise(id);
            }
            return;
        }
        if !self.is_full {
            if self.counters.len() < most_counters(reserved) {
                return self.append(Counter { key: Key::new(key), hash, count, error, place: 0 });
            }
            self.shrink(reserved);
        }
        if self.others.is_empty() {
            self.others = vec![0; n_others(reserved)];
        }
        let mask = self.others.len() - 1;
        let last = self.order[self.order.len() - 1];
        let smallest = &mut self.counters[last as usize];
        let gathered = self.others[hash as usize & mask];
        if gathered + count < smallest.count {
            self.others[hash as usize & mask] += count;
            return;
        }
        self.others[smallest.hash as usize & mask] = smallest.count;
        if let Ok(entry) = self.table.find_entry(smallest.hash, |&id| id == last) {
            entry.remove();
        }
        let place = smallest.place;
        *smallest =
            Counter { key: Key::new(key), hash, count: gathered + count, error: gathered + error, place };
        let counters = &self.counters;
        self.table.insert_unique(hash, last, |&id| counters[id as usize].hash);
        self.rise(last);
    }
}

impl RowAggregate for Top {
    type State = State;
    type Input<'a> = (&'a Vector, Option<Unsigned<'a>>, RefCell<Vec<u8>>);

    fn result_type(&self) -> DataType {
        if !self.counts {
            return self.ty.clone().array();
        }
        let field = |name: &str, ty: DataType| TupleField { name: Some(name.into()), ty };
        let fields = [
            field("item", self.ty.clone()),
            field("count", DataType::UInt64),
            field("error", DataType::UInt64),
        ];
        DataType::Tuple(fields.into_iter().collect()).array()
    }

    fn empty(&self) -> State {
        State::default()
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<Self::Input<'a>> {
        Ok((&args[0], self.weighted.then(|| Unsigned::of(&args[1])), RefCell::default()))
    }

    fn add(&self, state: &mut State, (values, weights, key): &Self::Input<'_>, row: usize) -> Result<()> {
        let mut key = key.borrow_mut();
        key.clear();
        self.codec.put(values, row, &mut key);
        state.insert(self.reserved, &key, weights.map_or(1, |weights| weights.get(row)), 0);
        Ok(())
    }

    /// A value that only one side counts may have up to the other side's smallest count more.
    fn merge(&self, state: &mut State, other: State) -> Result<()> {
        let least = |state: &State| match state.order.last() {
            Some(&last) if state.is_full => state.counters[last as usize].count,
            _ => 0,
        };
        let (own, theirs) = (least(state), least(&other));
        if theirs > 0 {
            for counter in &mut state.counters {
                counter.count += theirs;
                counter.error += theirs;
            }
        }
        for counter in other.in_order() {
            let (hash, key) = (counter.hash, counter.key.bytes());
            if let Some(id) = state.find(hash, key) {
                // What was added above for a value that might be missing there.
                let (count, error) = (counter.count - theirs, counter.error.wrapping_sub(theirs));
                let mine = &mut state.counters[id as usize];
                mine.count += count;
                mine.error = mine.error.wrapping_add(error);
            } else {
                let (count, error) = (counter.count + own, counter.error + own);
                state.append(Counter { key: Key::new(key), hash, count, error, place: 0 });
            }
        }
        if state.is_full || other.is_full || state.counters.len() > most_counters(self.reserved) {
            state.shrink(self.reserved);
        }
        Ok(())
    }

    fn serialise(&self, state: &State, out: &mut Vec<u8>) {
        put_len(state.counters.len(), out);
        for counter in state.in_order() {
            self.in_states.put_row(counter.key.bytes(), out);
            put_number(counter.count, out);
            put_number(counter.error, out);
        }
        // What values without a counter have gathered goes by hashes, which are not the kernel's here. States that are merged do
        // without it.
        let n_others = if state.counters.is_empty() { 0 } else { n_others(self.reserved) };
        put_len(n_others, out);
        out.resize(out.len() + n_others, 0);
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<State> {
        let mut state = State::default();
        let mut key = Vec::new();
        for _ in 0..take_count(bytes, 3)? {
            key.clear();
            self.in_states.take_row(bytes, &mut key)?;
            let (count, error) = (take_number(bytes)?, take_number(bytes)?);
            let hash = hash_bytes(&key);
            ensure!(
                state.find(hash, &key).is_none(),
                CANNOT_READ_ALL_DATA,
                "Aggregate state has a value twice"
            );
            state.append(Counter { key: Key::new(&key), hash, count, error, place: 0 });
        }
        let mut has_others = false;
        for _ in 0..take_count(bytes, 1)? {
            has_others |= take_number(bytes)? > 0;
        }
        // Only where values went without a counter there are errors.
        state.is_full = has_others || state.counters.iter().any(|counter| counter.error > 0);
        if state.is_full {
            state.shrink(self.reserved);
        }
        Ok(state)
    }

    fn finish(&self, state: &mut State, out: &mut Builder) -> Result<()> {
        let Values::List(list) = &mut out.values else {
            bail!(LOGICAL_ERROR, "topK does not make a list");
        };
        let mut counters = state.in_order();
        partial_sort(&mut counters, self.n, &mut |a, b| a.beats(b));
        for counter in counters.into_iter().take(self.n) {
            let mut key = counter.key.bytes();
            match &mut list.values.values {
                Values::Struct { fields, len } if self.counts => {
                    self.codec.take(&mut key, &mut fields[0])?;
                    fields[1].natives::<u64>()?.push(counter.count);
                    fields[2].natives::<u64>()?.push(counter.error);
                    *len += 1;
                }
                _ => self.codec.take(&mut key, &mut list.values)?,
            }
        }
        list.close();
        Ok(())
    }

    fn heap_memory(&self, state: &State) -> usize {
        let long = |counter: &Counter| match &counter.key {
            Key::Short(..) => 0,
            Key::Long(bytes) => bytes.len(),
        };
        state.counters.iter().map(long).sum::<usize>()
            + state.counters.capacity() * size_of::<Counter>()
            + state.order.capacity() * 4
            + state.table.capacity() * 6
            + state.others.capacity() * 8
    }
}
