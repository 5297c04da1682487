//! `sequenceNextNode`: what comes after, or before, a chain of events.

use crate::check::illegal_type;
use crate::collect::{Collector, collecting};
use crate::events::{check_conditions, check_time, conditions};
use crate::floats::Unsigned;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Builder, Vector};
use chalet_function_api::aggregate::AggregateNulls;
use chalet_function_api::{Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example};
use chalet_types::{DataType, Value};
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "sequenceNextNode",
    summary: "The event that follows a chain of events, ordered by time. The direction is 'forward' or 'backward'; the chain begins at the \
              'head', the 'tail', the 'first_match' or the 'last_match' of its first condition, where the base condition must hold.",
    syntax: "sequenceNextNode(direction, base)(time, event, base_condition, cond1, cond2, ...)",
    examples: &[Example {
        sql: "SELECT sequenceNextNode('forward', 'head')(t, e, e = 'A', e = 'A', e = 'B') \
              FROM values('t UInt32, e String', (1, 'A'), (2, 'B'), (3, 'C')) SETTINGS enable_funnel_functions = 1",
        result: "C",
    }],
    nulls: AggregateNulls::SkipPlainResult,
    ..AggregateRecord::DEFAULT
};

/// Arguments before the conditions.
const LEADING: usize = 3;

pub struct SequenceNextNode;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Base {
    Head,
    Tail,
    FirstMatch,
    LastMatch,
}

impl AggregateFunction for SequenceNextNode {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], ctx: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = RECORD.name;
        let enabled =
            (ctx.settings.all.0)("allow_experimental_funnel_functions").and_then(|(value, _)| value.as_u64());
        ensure!(
            enabled == Some(1),
            UNKNOWN_AGGREGATE_FUNCTION,
            "Aggregate function {name} is experimental. Set `enable_funnel_functions` setting to enable it"
        );
        ensure!(
            parameters.len() >= 2,
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function '{name}' requires 2 parameters (direction, head)"
        );
        let parameter = |index: usize| {
            parameters[index].as_str().ok_or_else(|| {
                err!(ILLEGAL_TYPE_OF_ARGUMENT, "Aggregate function '{name}' requires 'String' parameters")
            })
        };
        let (direction, start) = (parameter(0)?, parameter(1)?);
        let forward = match direction {
            "forward" => true,
            "backward" => false,
            other => bail!(BAD_ARGUMENTS, "Aggregate function {name} doesn't support a parameter: {other}"),
        };
        let base = match start {
            "head" => Base::Head,
            "tail" => Base::Tail,
            "first_match" => Base::FirstMatch,
            "last_match" => Base::LastMatch,
            other => bail!(BAD_ARGUMENTS, "Aggregate function {name} doesn't support a parameter: {other}"),
        };
        ensure!(
            !(base == Base::Head && !forward || base == Base::Tail && forward),
            BAD_ARGUMENTS,
            "Invalid argument combination of '{start}' with '{direction}'"
        );
        ensure!(
            args.len() >= LEADING,
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function {name} requires at least {LEADING} arguments"
        );
        ensure!(
            args.len() > LEADING || matches!(base, Base::Head | Base::Tail),
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function {name} requires at least {} arguments when base is first_match or last_match",
            LEADING + 1
        );
        check_time(name, &args[0].ty)?;
        if args[1].ty != DataType::String {
            return Err(illegal_type(name, &args[1].ty));
        }
        check_conditions(name, args, 2)?;
        Ok(collecting(Chain { forward, base }, args))
    }
}

struct Chain {
    forward: bool,
    base: Base,
}

/// One row: its number, its time, whether it may begin a chain, and which conditions it meets.
struct Event {
    row: usize,
    time: u64,
    can_begin: bool,
    met: u32,
}

impl Chain {
    /// The place among the sorted events that the chain leads to.
    fn next(&self, events: &[Event], n_conditions: usize) -> Option<usize> {
        if events.len() <= n_conditions {
            return None;
        }
        let matches = |event: &Event| event.can_begin && event.met & 1 == 1;
        let start = match self.base {
            Base::Head => events[0].can_begin.then_some(0)?,
            Base::Tail => events[events.len() - 1].can_begin.then_some(events.len() - 1)?,
            Base::FirstMatch => events.iter().position(matches)?,
            Base::LastMatch => events.iter().rposition(matches)?,
        };
        let at = |step: usize| if self.forward { Some(start + step) } else { start.checked_sub(step) };
        for condition in 0..n_conditions {
            if events.get(at(condition)?)?.met >> condition & 1 == 0 {
                return None;
            }
        }
        at(n_conditions).filter(|&place| place < events.len())
    }
}

impl Collector for Chain {
    fn result_type(&self) -> DataType {
        DataType::String.nullable()
    }

    fn finish(&self, args: &[Vector], rows: &[u32], out: &mut Builder) -> Result<()> {
        let (times, names) = (Unsigned::of(&args[0]), args[1].strings()?);
        let begins = args[2].values::<u8>()?;
        let mut events = Vec::with_capacity(rows.len());
        for &row in rows {
            let row = row as usize;
            let met = conditions(&args[LEADING..], row)?;
            events.push(Event { row, time: times.get(row), can_begin: begins[row] != 0, met });
        }
        events.sort_by(|a, b| a.time.cmp(&b.time).then_with(|| names.get(a.row).cmp(names.get(b.row))));
        match self.next(&events, args.len() - LEADING) {
            Some(place) => out.push_from(&args[1], events[place].row),
            None => out.push_default(),
        }
        Ok(())
    }
}
