//! `sequenceMatch` and `sequenceCount`: chains of events that match a pattern.

use crate::collect::{Collector, collecting};
use crate::events::pattern::{Step, find, parse};
use crate::events::{check_conditions, check_time, conditions};
use crate::floats::Unsigned;
use chalet_base::{Result, ensure, err};
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

pub struct Sequence {
    record: &'static AggregateRecord,
    counts: bool,
}

impl Sequence {
    pub const ALL: [Sequence; 2] =
        [Sequence { record: &MATCH, counts: false }, Sequence { record: &COUNT, counts: true }];
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
        Ok(collecting(Search { steps, counts: self.counts }, args))
    }
}

struct Search {
    steps: Vec<Step>,
    counts: bool,
}

impl Collector for Search {
    fn result_type(&self) -> DataType {
        if self.counts { DataType::UInt64 } else { DataType::UInt8 }
    }

    fn finish(&self, args: &[Vector], rows: &[u32], out: &mut Builder) -> Result<()> {
        let times = Unsigned::of(&args[0]);
        let mut events = Vec::new();
        for &row in rows {
            let met = conditions(&args[1..], row as usize)?;
            if met != 0 {
                events.push((times.get(row as usize), met));
            }
        }
        events.sort_by_key(|event| event.0);
        if !self.counts {
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
