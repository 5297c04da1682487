//! `sequenceMatch`, `sequenceCount` and `sequenceMatchEvents`: chains of events that match a pattern.

use crate::collect::{Collector, collecting};
use crate::events::pattern::{Step, find, longest_chain, parse};
use crate::events::{check_conditions, check_time, conditions, put_time, take_event, take_n_events};
use crate::floats::Unsigned;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::builder::Values;
use chalet_columns::wire::{take_u8, take_u64};
use chalet_columns::{Builder, Vector};
use chalet_function_api::aggregate::AggregateNulls;
use chalet_function_api::{Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example};
use chalet_types::{DataType, Value};
use std::sync::Arc;

const MATCH: AggregateRecord = AggregateRecord {
    name: "sequenceMatch",
    summary: "1 if the events, ordered by time, match the pattern somewhere: (?1) is an event that meets the first \
              condition, .* any number of events, . one, (?t<=5) a limit of time since the event before.",
    syntax: "sequenceMatch(pattern)(time, cond1, cond2, ...)",
    examples: &[Example {
        sql: "SELECT sequenceMatch('(?1).*(?2)')(t, x = 1, x = 3) FROM values('t UInt32, x Int8', (1, 1), (2, 2), (4, 3))",
        result: "1",
    }],
    nulls: AggregateNulls::SkipPlainResult,
    ..AggregateRecord::DEFAULT
};

const COUNT: AggregateRecord = AggregateRecord {
    name: "sequenceCount",
    summary: "How many chains of events match the pattern (see sequenceMatch), one after the other.",
    syntax: "sequenceCount(pattern)(time, cond1, cond2, ...)",
    examples: &[Example {
        sql: "SELECT sequenceCount('(?1)(?2)')(number, number % 3 = 0, number % 3 = 1) FROM numbers(9)",
        result: "3",
    }],
    ..MATCH
};

const EVENTS: AggregateRecord = AggregateRecord {
    name: "sequenceMatchEvents",
    summary: "The times of the events that meet the conditions of the first chain that matches the pattern (see sequenceMatch), \
              or of the longest one that was begun.",
    syntax: "sequenceMatchEvents(pattern)(time, cond1, cond2, ...)",
    examples: &[Example {
        sql: "SELECT sequenceMatchEvents('(?1).*(?2)')(number, number = 3, number = 7) FROM numbers(9)",
        result: "[3,7]",
    }],
    ..MATCH
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Found,
    Count,
    Events,
}

pub struct Sequence {
    record: &'static AggregateRecord,
    answer: Answer,
}

impl Sequence {
    pub const ALL: [Sequence; 3] = [
        Sequence { record: &MATCH, answer: Answer::Found },
        Sequence { record: &COUNT, answer: Answer::Count },
        Sequence { record: &EVENTS, answer: Answer::Events },
    ];
}

impl AggregateFunction for Sequence {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = self.record.name;
        ensure!(
            parameters.len() == 1,
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function {name} requires exactly one parameter: pattern"
        );
        ensure!(
            args.len() >= 3,
            TOO_FEW_ARGUMENTS_FOR_FUNCTION,
            "Aggregate function {name} requires at least 3 arguments"
        );
        check_time(name, &args[0].ty)?;
        check_conditions(name, args, 1)?;
        let pattern = parameters[0].as_str().ok_or_else(|| {
            err!(BAD_ARGUMENTS, "The pattern of aggregate function {name} should be a string")
        })?;
        let steps = parse(name, pattern, args.len() - 1)?;
        let time = args[0].ty.clone();
        Ok(collecting(Search { steps, answer: self.answer, time }, args))
    }
}

struct Search {
    steps: Vec<Step>,
    answer: Answer,
    time: DataType,
}

impl Collector for Search {
    fn result_type(&self) -> DataType {
        match self.answer {
            Answer::Found => DataType::UInt8,
            Answer::Count => DataType::UInt64,
            Answer::Events => self.time.clone().array(),
        }
    }

    fn put_rows(&self, args: &[Vector], rows: &[u32], out: &mut Vec<u8>) -> Result<bool> {
        let times = Unsigned::of(&args[0]);
        let mut events = Vec::new();
        for &row in rows {
            let met = conditions(&args[1..], row as usize)?;
            if met != 0 {
                events.push((times.get(row as usize), met));
            }
        }
        // Whether they are in order: nobody looked.
        out.push(u8::from(events.is_empty()));
        out.extend((events.len() as u64).to_le_bytes());
        for (time, met) in events {
            put_time(time, &self.time, out);
            out.extend(u64::from(met).to_le_bytes());
        }
        Ok(true)
    }

    fn take_rows(&self, bytes: &mut &[u8], args: &mut [Builder]) -> Result<Option<usize>> {
        take_u8(bytes)?;
        let n = take_n_events(bytes, 9)?;
        for _ in 0..n {
            take_event(&self.time, bytes, args, take_u64)?;
        }
        Ok(Some(n))
    }

    fn finish(&self, args: &[Vector], rows: &[u32], out: &mut Builder) -> Result<()> {
        let times = Unsigned::of(&args[0]);
        let mut events = Vec::new();
        let mut rows_met = Vec::new();
        for &row in rows {
            let met = conditions(&args[1..], row as usize)?;
            if met != 0 {
                events.push((times.get(row as usize), met));
                rows_met.push(row);
            }
        }
        if self.answer == Answer::Events {
            let mut order: Vec<usize> = (0..events.len()).collect();
            order.sort_by_key(|&event| events[event].0);
            let sorted: Vec<_> = order.iter().map(|&event| events[event]).collect();
            let chain = longest_chain(&self.steps, &sorted)?;
            let Values::List(list) = &mut out.values else {
                bail!(LOGICAL_ERROR, "sequenceMatchEvents does not make a list");
            };
            chain.iter().for_each(|&at| list.values.push_from(&args[0], rows_met[order[at]] as usize));
            list.close();
            return Ok(());
        }
        events.sort_by_key(|event| event.0);
        if self.answer == Answer::Found {
            let found = find(&self.steps, &events, 0)?.is_some();
            out.natives::<u8>()?.push(found.into());
            return Ok(());
        }
        let (mut n, mut start) = (0u64, 0);
        while start < events.len()
            && let Some(end) = find(&self.steps, &events, start)?
        {
            n += 1;
            // A pattern that matches nothing would match it for ever.
            start = end.max(start + 1);
        }
        out.natives::<u64>()?.push(n);
        Ok(())
    }
}
