//! `parseDateTimeBestEffort` and its kin: timestamps in nearly any form.

use super::cast::text_of;
use super::to_type::Failure;
use chalet_base::{Result, bail, discard_messages, ensure, err};
use chalet_columns::{Column, NullBuffer, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry, ScalarFunction};
use chalet_text::Cursor;
use chalet_text::read::{best_effort, time};
use chalet_types::calendar::LocalTime;
use chalet_types::{DataType, TimeZone};

struct BestEffort {
    record: &'static Record,
    failure: Failure,
    month_first: bool,
    /// A scale may follow the text.
    fractions: bool,
}

macro_rules! functions {
    ($registry:ident, $($name:literal, $failure:ident, $month_first:literal, $fractions:literal;)*) => {$(
        $registry.add_scalar(BestEffort {
            record: const {
                &Record {
                    name: $name,
                    summary: "Reads a date with time in nearly any form.",
                    syntax: concat!($name, "(s[, precision][, timezone])"),
                    examples: &[Example {
                        sql: concat!("SELECT ", $name, "('2 Jan 2020 3:04 PM', 'UTC')"),
                        result: if $fractions { "2020-01-02 15:04:00.000" } else { "2020-01-02 15:04:00" },
                    }],
                    constant_arguments: &[1, 2],
                    ..Record::DEFAULT
                }
            },
            failure: Failure::$failure,
            month_first: $month_first,
            fractions: $fractions,
        });
    )*};
}

pub fn register(registry: &mut Registry) {
    functions! {
        registry,
        "parseDateTimeBestEffort", Throw, false, false;
        "parseDateTimeBestEffortOrNull", Null, false, false;
        "parseDateTimeBestEffortOrZero", Zero, false, false;
        "parseDateTimeBestEffortUS", Throw, true, false;
        "parseDateTimeBestEffortUSOrNull", Null, true, false;
        "parseDateTimeBestEffortUSOrZero", Zero, true, false;
        "parseDateTime32BestEffort", Throw, false, false;
        "parseDateTime32BestEffortOrNull", Null, false, false;
        "parseDateTime32BestEffortOrZero", Zero, false, false;
    }
    functions! {
        registry,
        "parseDateTime64BestEffort", Throw, false, true;
        "parseDateTime64BestEffortOrNull", Null, false, true;
        "parseDateTime64BestEffortOrZero", Zero, false, true;
        "parseDateTime64BestEffortUS", Throw, true, true;
        "parseDateTime64BestEffortUSOrNull", Null, true, true;
        "parseDateTime64BestEffortUSOrZero", Zero, true, true;
    }
}

impl ScalarFunction for BestEffort {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let name = self.record.name;
        let takes_scale = self.fractions || !self.month_first;
        check_arity(name, args.len(), 1..=2 + usize::from(takes_scale))?;
        ensure!(
            args[0].ty.is_string(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of first argument of function {name}",
            args[0].ty
        );
        let mut rest = &args[1..];
        let mut scale = self.fractions.then_some(3);
        if let (true, Some(arg)) = (takes_scale, rest.first())
            && arg.ty.is_integer()
        {
            let Some(constant) = &arg.constant else {
                bail!(ILLEGAL_COLUMN, "Precision of function {name} must be constant");
            };
            let given = constant.as_u64();
            let given = given.filter(|scale| *scale <= 9).ok_or_else(|| {
                err!(ARGUMENT_OUT_OF_BOUND, "Precision of function {name} must be a constant from 0 to 9")
            })?;
            scale = Some(given as u8);
            rest = &rest[1..];
        }
        let zone = match rest {
            [] => None,
            [zone] if !zone.ty.is_string() => {
                bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {} of 2nd argument of function {name}", zone.ty)
            }
            [zone] => Some(TimeZone::named(zone.constant_str(name, "timezone")?)?),
            _ => bail!(NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "Too many arguments of function {name}"),
        };
        let ty = match scale.filter(|scale| *scale > 0 || self.fractions) {
            Some(scale) => DataType::DateTime64(scale, zone),
            None => DataType::DateTime(zone),
        };
        Ok(if self.failure == Failure::Null { ty.nullable() } else { ty }.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let ty = call.result.bare();
        let local = LocalTime::new(ty.time_zone().unwrap_or(&call.ctx.time_zone));
        let scale = match ty {
            DataType::DateTime64(scale, _) => Some(*scale),
            _ => None,
        };
        let options = best_effort::Options { month_first: self.month_first, scale, strict: false };
        let strings = text_of(call.vector(0))?;
        let throws = scale.is_none() && call.ctx.settings.date_time_overflow_behavior == "throw";
        let in_range = |seconds: i64| {
            ensure!(
                !throws || i64::from(time::clamp_date_time(seconds)) == seconds,
                VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE,
                "Value {seconds} is out of bounds of type DateTime"
            );
            Ok(seconds)
        };
        let mut valid = Vec::new();
        let mut ticks: Vec<i64> = Vec::with_capacity(strings.len());
        for (row, text) in strings.iter().enumerate() {
            let value = || read(text, &local, options, ty).and_then(in_range);
            match if self.failure == Failure::Throw { Ok(value()?) } else { discard_messages(value) } {
                Ok(value) => ticks.push(value),
                Err(_) => {
                    valid.resize(row, true);
                    valid.push(false);
                    ticks.push(0);
                }
            }
        }
        let values = match scale {
            Some(_) => Vector::from(ticks),
            None => ticks.into_iter().map(time::clamp_date_time).collect::<Vec<u32>>().into(),
        };
        if valid.is_empty() || self.failure != Failure::Null {
            return Ok(values.into());
        }
        valid.resize(values.len(), true);
        Ok(values.with_nulls(Some(&NullBuffer::from(valid))).into())
    }
}

/// Seconds, or ticks of the scale; all of the text must be read.
fn read(text: &[u8], local: &LocalTime, options: best_effort::Options, ty: &DataType) -> Result<i64> {
    let mut cursor = Cursor::new(text);
    let timestamp = best_effort::timestamp(&mut cursor, local, options)?;
    if !cursor.is_at_end() {
        let parsed = cursor.position();
        bail!(
            CANNOT_PARSE_TEXT,
            "Cannot parse string '{}' as {ty}: syntax error at position {parsed} (parsed just '{}')",
            String::from_utf8_lossy(text),
            String::from_utf8_lossy(text).get(..parsed).unwrap_or("")
        );
    }
    match options.scale {
        Some(scale) => time::ticks(timestamp.unix_seconds, timestamp.fraction, scale),
        None => Ok(timestamp.unix_seconds),
    }
}
