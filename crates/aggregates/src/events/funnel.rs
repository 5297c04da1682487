//! `windowFunnel`: how far a chain of events got within a window of time.

use crate::collect::{Collector, collecting};
use crate::events::{check_conditions, check_time, conditions, put_time, take_event, take_n_events};
use crate::floats::Unsigned;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::wire::take_u8;
use chalet_columns::{Builder, Vector};
use chalet_function_api::aggregate::AggregateNulls;
use chalet_function_api::{Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example};
use chalet_types::{DataType, Value};
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "windowFunnel",
    summary: "The largest number of conditions that were met one after the other within `window` of the first.",
    syntax: "windowFunnel(window[, mode, ...])(time, cond1, cond2, ...)",
    examples: &[Example {
        sql: "SELECT windowFunnel(10)(t, x = 1, x = 2, x = 3) FROM values('t UInt32, x Int8', (1, 1), (2, 2), (14, 3))",
        result: "2",
    }],
    nulls: AggregateNulls::SkipPlainResult,
    ..AggregateRecord::DEFAULT
};

pub struct WindowFunnel;

impl AggregateFunction for WindowFunnel {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = RECORD.name;
        ensure!(
            !parameters.is_empty(),
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function {name} requires at least one parameter: <window>, [option, [option, ...]]"
        );
        ensure!(
            args.len() >= 2,
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Aggregate function {name} requires one timestamp argument and at least one event condition"
        );
        check_time(name, &args[0].ty)?;
        check_conditions(name, args, 1)?;
        let window = parameters[0].as_u64().ok_or_else(|| {
            err!(BAD_ARGUMENTS, "The window of aggregate function {name} should be a number")
        })?;
        let mut funnel = Funnel {
            window,
            n: args.len() - 1,
            deduplicate: false,
            ordered: false,
            increase: false,
            time: args[0].ty.clone(),
        };
        for mode in &parameters[1..] {
            match mode.as_str() {
                Some("strict_deduplication") => funnel.deduplicate = true,
                Some("strict_order") => funnel.ordered = true,
                Some("strict_increase") => funnel.increase = true,
                Some("strict") => {
                    bail!(BAD_ARGUMENTS, "strict is replaced with strict_deduplication in {name}")
                }
                Some(other @ ("strict_once" | "allow_reentry")) => {
                    bail!(NOT_IMPLEMENTED, "Mode {other} of aggregate function {name} is not supported")
                }
                _ => bail!(BAD_ARGUMENTS, "Aggregate function {name} doesn't support a parameter"),
            }
        }
        Ok(collecting(funnel, args))
    }
}

struct Funnel {
    window: u64,
    /// Conditions.
    n: usize,
    /// A condition met again ends the search.
    deduplicate: bool,
    /// Nothing may come between.
    ordered: bool,
    /// Times must rise.
    increase: bool,
    time: DataType,
}

impl Funnel {
    /// Rows as times and numbers of the conditions that they meet, the last first; 0 is a row that meets none, where that matters.
    fn events(&self, args: &[Vector], rows: &[u32]) -> Result<Vec<(u64, usize)>> {
        let times = Unsigned::of(&args[0]);
        let mut events = Vec::new();
        for &row in rows {
            let met = conditions(&args[1..], row as usize)?;
            let time = times.get(row as usize);
            events.extend((0..self.n).rev().filter(|i| met >> i & 1 == 1).map(|i| (time, i + 1)));
            if met == 0 && self.ordered {
                events.push((time, 0));
            }
        }
        Ok(events)
    }

    fn level(&self, events: &[(u64, usize)]) -> usize {
        // When the chain began that got to a condition, and when it got there.
        let mut reached: Vec<Option<(u64, u64)>> = vec![None; self.n];
        let mut begun = false;
        for (i, &(time, event)) in events.iter().enumerate() {
            // Number 0 is a row that meets no condition.
            let Some(event) = event.checked_sub(1) else {
                if begun {
                    break;
                }
                continue;
            };
            if event == 0 {
                reached[0] = Some((time, time));
                begun = true;
            } else if self.deduplicate && reached[event].is_some() {
                return events[i - 1].1;
            } else if let Some((start, last)) = reached[event - 1] {
                let in_time = time <= start.saturating_add(self.window) && (!self.increase || last < time);
                if in_time {
                    reached[event] = Some((start, time));
                    if event + 1 == self.n {
                        return self.n;
                    }
                }
            } else if self.ordered && begun {
                return reached.iter().position(Option::is_none).unwrap_or(self.n);
            }
        }
        reached.iter().rposition(Option::is_some).map_or(0, |place| place + 1)
    }
}

impl Collector for Funnel {
    fn result_type(&self) -> DataType {
        DataType::UInt8
    }

    fn put_rows(&self, args: &[Vector], rows: &[u32], out: &mut Vec<u8>) -> Result<bool> {
        let events = self.events(args, rows)?;
        out.push(u8::from(events.is_sorted()));
        out.extend((events.len() as u64).to_le_bytes());
        for (time, event) in events {
            put_time(time, &self.time, out);
            out.push(event as u8);
        }
        Ok(true)
    }

    fn take_rows(&self, bytes: &mut &[u8], args: &mut [Builder]) -> Result<Option<usize>> {
        take_u8(bytes)?;
        let n = take_n_events(bytes, 2)?;
        for _ in 0..n {
            let met = |bytes: &mut &[u8]| Ok(1u64.checked_shl(u32::from(take_u8(bytes)?)).unwrap_or(0) >> 1);
            take_event(&self.time, bytes, args, met)?;
        }
        Ok(Some(n))
    }

    fn finish(&self, args: &[Vector], rows: &[u32], out: &mut Builder) -> Result<()> {
        let mut events = self.events(args, rows)?;
        events.sort();
        out.natives::<u8>()?.push(self.level(&events) as u8);
        Ok(())
    }
}
