//! `timeSeriesTopKMasks` and its kin: which series have the greatest values at each step, the least ones, or are taken by a hash.

use crate::check::no_parameters;
use crate::floats::Unsigned;
use chalet_base::{Result, bail, ensure};
use chalet_columns::builder::Values;
use chalet_columns::wire::{put_len, take_count, take_u64};
use chalet_columns::{Builder, Data, List, Vector};
use chalet_function_api::aggregate::AggregateNulls;
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, TupleField, Value};
use std::collections::BTreeMap;
use std::collections::BinaryHeap;
use std::sync::Arc;

const TOP: AggregateRecord = AggregateRecord {
    name: "timeSeriesTopKMasks",
    summary: "The series that have one of the k greatest values at some step, each with the steps where it has.",
    syntax: "timeSeriesTopKMasks(k, key, values)",
    examples: &[Example {
        sql: "SELECT timeSeriesTopKMasks(1, number, [number + 0.5, -number / 2]) FROM numbers(3) \
              SETTINGS enable_time_series_aggregate_functions = 1",
        result: "[(0,[0,1]),(2,[1,0])]",
    }],
    nulls: AggregateNulls::Skip,
    null_flag: false,
    ..AggregateRecord::DEFAULT
};

const BOTTOM: AggregateRecord = AggregateRecord {
    name: "timeSeriesBottomKMasks",
    summary: "The series that have one of the k least values at some step, each with the steps where it has.",
    syntax: "timeSeriesBottomKMasks(k, key, values)",
    examples: &[Example {
        sql: "SELECT timeSeriesBottomKMasks(1, number, [number + 0.5, -number / 2]) FROM numbers(3) \
              SETTINGS enable_time_series_aggregate_functions = 1",
        result: "[(0,[1,0]),(2,[0,1])]",
    }],
    ..TOP
};

const LIMIT: AggregateRecord = AggregateRecord {
    name: "timeSeriesLimitKMasks",
    summary: "At each step k series that have a value, by a hash of theirs: each series with the steps where it is taken.",
    syntax: "timeSeriesLimitKMasks(k, key, sampling_key, values)",
    examples: &[Example {
        sql: "SELECT timeSeriesLimitKMasks(1, number, (10 - number)::UInt64, [0.5, if(number = 2, NULL, 1.5)]) FROM numbers(3) \
              SETTINGS enable_time_series_aggregate_functions = 1",
        result: "[(1,[0,1]),(2,[1,0])]",
    }],
    ..TOP
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Greatest,
    Least,
    Hash,
}

pub struct KMasks {
    record: &'static AggregateRecord,
    order: Order,
}

impl KMasks {
    pub const ALL: [KMasks; 3] = [
        KMasks { record: &TOP, order: Order::Greatest },
        KMasks { record: &BOTTOM, order: Order::Least },
        KMasks { record: &LIMIT, order: Order::Hash },
    ];
}

impl AggregateFunction for KMasks {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], ctx: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = self.record.name;
        no_parameters(name, parameters)?;
        super::check_enabled(name, ctx)?;
        let names: &[&str] = match self.order {
            Order::Hash => &["k", "key", "sampling_key", "values"],
            _ => &["k", "key", "values"],
        };
        ensure!(
            args.len() == names.len(),
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function {name} requires {} arguments: {}",
            names.len(),
            self.record.syntax
        );
        let check = |index: usize, fits: bool, expected: &str| {
            ensure!(
                fits,
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type {} of {} argument ({}) for aggregate function {name}, expected {expected}",
                args[index].ty,
                ["1st", "2nd", "3rd", "4th"][index],
                names[index]
            );
            Ok(())
        };
        let unsigned = |ty: &DataType| {
            matches!(ty, DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64)
        };
        let k = &args[0].ty;
        let fits = unsigned(k) || matches!(k, DataType::Array(element) if unsigned(element));
        check(0, fits, "an unsigned integer or an array of unsigned integers")?;
        let last = names.len() - 1;
        (1..last).try_for_each(|index| check(index, args[index].ty == DataType::UInt64, "UInt64"))?;
        let float = |ty: &DataType| matches!(ty.without_nullable(), DataType::Float32 | DataType::Float64);
        let fits = matches!(&args[last].ty, DataType::Array(element) if float(element));
        check(last, fits, "an array of Float32, Float64, Nullable(Float32) or Nullable(Float64)")?;
        Ok(EachState::of(Masks { name, order: self.order, is_array: matches!(k, DataType::Array(_)) }))
    }
}

struct Masks {
    name: &'static str,
    order: Order,
    /// There is a k for each step.
    is_array: bool,
}

/// How many series each step takes.
#[derive(Clone, PartialEq, Eq)]
enum Most {
    Same(u64),
    Each(Box<[u64]>),
}

impl Most {
    fn at(&self, step: usize) -> u64 {
        match self {
            Most::Same(k) => *k,
            Most::Each(all) => all[step],
        }
    }
}

/// The series of each step that come first, as rank and key, the one that goes next on top.
struct State {
    most: Most,
    steps: Vec<BinaryHeap<(u64, u64)>>,
}

impl State {
    fn offer(&mut self, step: usize, series: (u64, u64)) {
        let most = self.most.at(step);
        let heap = &mut self.steps[step];
        if (heap.len() as u64) < most {
            heap.push(series);
        } else if let Some(mut worst) = heap.peek_mut()
            && series < *worst
        {
            *worst = series;
        }
    }
}

struct Input<'a> {
    most: Unsigned<'a>,
    lists: Option<(&'a List, Unsigned<'a>)>,
    keys: &'a [u64],
    hashes: Option<&'a [u64]>,
    values: &'a List,
}

impl Input<'_> {
    fn most(&self, row: usize) -> Most {
        match &self.lists {
            None => Most::Same(self.most.get(row)),
            Some((list, elements)) => Most::Each(list.range(row).map(|at| elements.get(at)).collect()),
        }
    }
}

/// A number that sorts as the value does: NaN behind all others.
fn rank(x: f64, order: Order) -> u64 {
    let x = if order == Order::Greatest { -x } else { x } + 0.0;
    if x.is_nan() {
        return u64::MAX;
    }
    let bits = x.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

impl RowAggregate for Masks {
    type State = Option<State>;
    type Input<'a> = Input<'a>;

    fn result_type(&self) -> DataType {
        let field = |name: &str, ty| TupleField { name: Some(name.into()), ty };
        let fields = vec![field("key", DataType::UInt64), field("steps_mask", DataType::UInt8.array())];
        DataType::Tuple(fields.into()).array()
    }

    fn empty(&self) -> Option<State> {
        None
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<Input<'a>> {
        let lists = if self.is_array {
            let list = args[0].list()?;
            Some((list, Unsigned::of(&list.values)))
        } else {
            None
        };
        let hashes = if self.order == Order::Hash { Some(args[2].values()?) } else { None };
        let values = args[args.len() - 1].list()?;
        Ok(Input { most: Unsigned::of(&args[0]), lists, keys: args[1].values()?, hashes, values })
    }

    fn add(&self, state: &mut Option<State>, input: &Input<'_>, row: usize) -> Result<()> {
        let name = self.name;
        let (most, range) = (input.most(row), input.values.range(row));
        if let Most::Each(all) = &most {
            ensure!(
                all.len() == range.len(),
                BAD_ARGUMENTS,
                "Aggregate function {name} requires the `k` array to have the same size as the `values` array, got {} and {}",
                all.len(),
                range.len()
            );
        }
        let state = state.get_or_insert_with(|| State {
            most: most.clone(),
            steps: (0..range.len()).map(|_| BinaryHeap::new()).collect(),
        });
        ensure!(
            state.steps.len() == range.len(),
            BAD_ARGUMENTS,
            "Aggregate function {name} requires all `values` arrays to have the same size, got {} and {}",
            range.len(),
            state.steps.len()
        );
        ensure!(
            state.most == most,
            BAD_ARGUMENTS,
            "Aggregate function {name} requires the same `k` for all rows"
        );
        let values = &input.values.values;
        for (step, at) in range.enumerate().filter(|(_, at)| !values.is_null(*at)) {
            let rank = match (input.hashes, &values.data) {
                (Some(hashes), _) => hashes[row],
                (None, Data::F32(values)) => rank(values[at].into(), self.order),
                (None, _) => rank(values.values::<f64>()?[at], self.order),
            };
            state.offer(step, (rank, input.keys[row]));
        }
        Ok(())
    }

    fn merge(&self, state: &mut Option<State>, other: Option<State>) -> Result<()> {
        let (Some(state), Some(other)) = (state.as_mut(), &other) else {
            if state.is_none() {
                *state = other;
            }
            return Ok(());
        };
        ensure!(
            state.steps.len() == other.steps.len() && state.most == other.most,
            BAD_ARGUMENTS,
            "Cannot merge states of aggregate function {} created with different arguments: the sizes of the `values` arrays and the \
             values of `k` must be the same for all rows",
            self.name
        );
        for (step, heap) in other.steps.iter().enumerate() {
            heap.iter().for_each(|&series| state.offer(step, series));
        }
        Ok(())
    }

    fn serialise(&self, state: &Option<State>, out: &mut Vec<u8>) {
        let Some(state) = state else { return put_len(0, out) };
        // One more than the steps: none without a row is not the same as rows without a step.
        put_len(state.steps.len() + 1, out);
        for (step, heap) in state.steps.iter().enumerate() {
            out.extend(state.most.at(step).to_le_bytes());
            put_len(heap.len(), out);
            for (rank, key) in heap {
                out.extend(rank.to_le_bytes());
                out.extend(key.to_le_bytes());
            }
        }
        if let (Most::Same(most), true) = (&state.most, state.steps.is_empty()) {
            out.extend(most.to_le_bytes());
        }
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<Option<State>> {
        let n = chalet_columns::wire::take_len(bytes)?;
        let Some(n) = n.checked_sub(1) else { return Ok(None) };
        let (mut all, mut steps) = (Vec::new(), Vec::new());
        for _ in 0..n {
            all.push(take_u64(bytes)?);
            let mut heap = BinaryHeap::new();
            for _ in 0..take_count(bytes, 16)? {
                heap.push((take_u64(bytes)?, take_u64(bytes)?));
            }
            steps.push(heap);
        }
        let most = match (self.is_array, all.first()) {
            (true, _) => Most::Each(all.into()),
            (false, Some(first)) => Most::Same(*first),
            (false, None) => Most::Same(take_u64(bytes)?),
        };
        Ok(Some(State { most, steps }))
    }

    fn finish(&self, state: &mut Option<State>, out: &mut Builder) -> Result<()> {
        let mut masks: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
        if let Some(state) = state {
            let n = state.steps.len();
            for (step, heap) in state.steps.iter().enumerate() {
                for (_, key) in heap {
                    masks.entry(*key).or_insert_with(|| vec![0; n])[step] = 1;
                }
            }
        }
        let Values::List(list) = &mut out.values else {
            bail!(LOGICAL_ERROR, "Masks are not a list");
        };
        let Values::Struct { fields, len } = &mut list.values.values else {
            bail!(LOGICAL_ERROR, "Masks are not tuples");
        };
        for (key, mask) in masks {
            fields[0].natives::<u64>()?.push(key);
            let Values::List(steps) = &mut fields[1].values else {
                bail!(LOGICAL_ERROR, "A mask is not a list");
            };
            steps.values.natives::<u8>()?.extend(mask);
            steps.close();
            *len += 1;
        }
        list.close();
        Ok(())
    }

    fn heap_memory(&self, state: &Option<State>) -> usize {
        let heaps = state.iter().flat_map(|state| &state.steps);
        heaps.map(|heap| size_of::<BinaryHeap<(u64, u64)>>() + heap.capacity() * 16).sum()
    }
}
