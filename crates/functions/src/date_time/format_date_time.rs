//! Timestamps as text: `formatDateTime`, `formatDateTimeInJodaSyntax`.

use super::format_pattern::{Field, Pattern, Piece, Shown, Template, check_for_date, joda, mysql, write};
use super::timestamps::{Takes, check_timestamp, ticks_per_second, zone_of};
use super::zones_of_rows::in_zones_of_rows;
use crate::plain::Plain;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, StringBuilder, Strings, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::calendar::{LocalTime, SECONDS_PER_DAY};
use chalet_types::{DataType, TimeZone};

/// A pattern and the zone that local times are in.
pub(super) struct State {
    pattern: Pattern,
    zone: TimeZone,
    /// The argument that names a zone for each row.
    zones: Option<usize>,
}

/// The constant pattern of a function.
pub fn pattern_text<'a>(name: &str, args: &'a [Argument], index: usize) -> Result<&'a [u8]> {
    ensure!(
        args[index].ty == DataType::String,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {} of second argument of function {name}. Must be String",
        args[index].ty
    );
    match args[index].constant.as_ref().and_then(|value| value.as_bytes()) {
        Some(text) => Ok(text),
        None => bail!(ILLEGAL_COLUMN, "Argument at index {index} for function {name} must be constant"),
    }
}

fn bind(name: &'static str, args: &[Argument], ctx: &Context, is_joda: bool) -> Result<Bound> {
    check_arity(name, args.len(), 2..=3)?;
    check_timestamp(name, &args[0].ty, Takes::Dates)?;
    Ok(Bound::with_state(DataType::String, state(name, args, ctx, is_joda)?))
}

/// The pattern and the zone of a call whose second argument is a pattern.
pub(super) fn state(name: &'static str, args: &[Argument], ctx: &Context, is_joda: bool) -> Result<State> {
    let text = pattern_text(name, args, 1)?;
    let pattern = if is_joda {
        let mut pattern = joda(text)?;
        for piece in &mut pattern {
            match piece {
                Piece::Field(field @ Field::YearOfEra, 2) => *field = Field::YearInCentury,
                Piece::Field(Field::Fraction, width) => *width = (*width).min(MAX_DIGITS),
                Piece::Field(Field::Offset, _) => {
                    bail!(NOT_IMPLEMENTED, "format is not supported for TIMEZONE_OFFSET_ID")
                }
                Piece::Field(Field::ZoneName, ..=3) => {
                    bail!(NOT_IMPLEMENTED, "Short name time zone is not yet supported")
                }
                _ => {}
            }
        }
        pattern
    } else {
        let mut pattern =
            mysql(name, text, ctx.settings.formatdatetime_parsedatetime_m_is_month_name, false)?;
        let fraction = fraction_width(&args[0].ty, ctx);
        for piece in &mut pattern {
            if let Piece::Field(Field::Fraction, width) = piece {
                *width = fraction;
            }
        }
        pattern
    };
    if matches!(args[0].ty, DataType::Date | DataType::Date32) {
        check_for_date(&pattern, &args[0].ty)?;
    }
    let is_column = args.get(2).is_some_and(|arg| arg.ty == DataType::String && arg.constant.is_none());
    if is_column {
        return Ok(State { pattern, zone: ctx.time_zone.clone(), zones: Some(2) });
    }
    Ok(State { pattern, zone: zone_of(name, args, 2, ctx)?, zones: None })
}

/// Digits of a fraction of a second at most.
const MAX_DIGITS: usize = 9;

/// How many digits `%f` writes: six, or by the settings as many as the type has.
fn fraction_width(ty: &DataType, ctx: &Context) -> usize {
    let setting = (ctx.settings.all.0)("formatdatetime_f_prints_scale_number_of_digits");
    let of_scale = setting.is_some_and(|(value, _)| value.as_u64() == Some(1));
    let single_zero = ctx.settings.formatdatetime_f_prints_single_zero;
    match ty {
        DataType::DateTime64(digits @ 1.., _) if of_scale || single_zero => (*digits).into(),
        _ if single_zero => 1,
        _ => 6,
    }
}

fn execute(call: &Call) -> Result<Column> {
    let (state, ty) = (call.state::<State>()?, call.args[0].ty);
    match state.zones {
        None => Ok(shown(state, call.vector(0), ty)?.into()),
        Some(zones) => {
            let in_zone = |zone: &TimeZone, times: &Vector| written(&state.pattern, zone, times, ty);
            Ok(in_zones_of_rows(call, zones, in_zone)?.into())
        }
    }
}

/// Timestamps of a type as text.
pub(super) fn shown(state: &State, vector: &Vector, ty: &DataType) -> Result<Vector> {
    written(&state.pattern, &state.zone, vector, ty)
}

fn written(pattern: &Pattern, zone: &TimeZone, vector: &Vector, ty: &DataType) -> Result<Vector> {
    if pattern.iter().all(|piece| matches!(piece, Piece::Literal(_))) {
        let mut text = Vec::new();
        write(pattern, &Shown { local: 0, fraction: (0, 0), offset: 0, zone: zone.name() }, &mut text);
        return Ok(Vector::from(std::iter::once(&text[..]).collect::<Strings>()).repeat(vector.len()));
    }
    let clock = LocalTime::new(zone);
    let mut out = StringBuilder::with_capacity(vector.len());
    let mut template = Template::of(pattern);
    let mut show = |local: i64, offset: i64, fraction: (u64, u8)| {
        if let Some(text) = template.as_mut().and_then(|template| template.text(local)) {
            return out.push(text);
        }
        let shown = Shown { local, fraction, offset, zone: zone.name() };
        out.push_with(|out| write(pattern, &shown, out));
    };
    match ty {
        DataType::Date => {
            vector.values::<u16>()?.iter().for_each(|&x| show(i64::from(x) * SECONDS_PER_DAY, 0, (0, 0)))
        }
        DataType::Date32 => {
            vector.values::<i32>()?.iter().for_each(|&x| show(i64::from(x) * SECONDS_PER_DAY, 0, (0, 0)))
        }
        DataType::DateTime(_) => vector.values::<u32>()?.iter().for_each(|&x| {
            let offset = clock.offset_at(x.into());
            show(i64::from(x) + offset, offset, (0, 0));
        }),
        _ => {
            let ticks = ticks_per_second(ty);
            let digits = ticks.ilog10() as u8;
            vector.values::<i64>()?.iter().for_each(|x| {
                let (timestamp, rest) = (x.div_euclid(ticks), x.rem_euclid(ticks));
                let offset = clock.offset_at(timestamp);
                show(timestamp + offset, offset, (rest as u64, digits));
            })
        }
    }
    Ok(out.finish().into())
}

static FUNCTIONS: &[Plain] = &[
    Plain {
        record: Record {
            name: "formatDateTime",
            any_case_aliases: &["DATE_FORMAT"],
            summary: "A date or moment as text, by a pattern of MySQL's % letters.",
            syntax: "formatDateTime(date, pattern[, zone])",
            examples: &[Example {
                sql: "SELECT formatDateTime(toDateTime('2024-02-05 03:04:05'), '%d.%m.%Y %H:%i')",
                result: "05.02.2024 03:04",
            }],
            total: true,
            ..Record::DEFAULT
        },
        bind: |name, args, ctx| bind(name, args, ctx, false),
        execute,
    },
    Plain {
        record: Record {
            name: "formatDateTimeInJodaSyntax",
            summary: "A date or moment as text, by a pattern of repeated letters as Joda-Time has them.",
            syntax: "formatDateTimeInJodaSyntax(date, pattern[, zone])",
            examples: &[Example {
                sql: "SELECT formatDateTimeInJodaSyntax(toDateTime('2024-02-05 03:04:05'), 'yyyy-MM-dd HH:mm')",
                result: "2024-02-05 03:04",
            }],
            total: true,
            ..Record::DEFAULT
        },
        bind: |name, args, ctx| bind(name, args, ctx, true),
        execute,
    },
];

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}
