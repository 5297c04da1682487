//! `toUnixTimestamp`, `toUnixTimestamp64Milli` and their kin: between timestamps and unix seconds.

use super::cast::{Mode, Rules, check, convert};
use super::to_type::null_for_text;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, ScalarFunction};
use chalet_types::calendar::SECONDS_PER_DAY;
use chalet_types::{DataType, TimeZone};
use std::any::Any;

const TO: Record = Record {
    name: "toUnixTimestamp",
    summary: "Seconds since 1970-01-01 00:00:00 UTC of a moment, a date or a text.",
    syntax: "toUnixTimestamp(x[, timezone])",
    examples: &[Example {
        sql: "SELECT toUnixTimestamp('2020-01-01 00:00:00', 'UTC')",
        result: "1577836800",
    }],
    ..Record::DEFAULT
};

pub struct ToUnixTimestamp;

impl ScalarFunction for ToUnixTimestamp {
    fn record(&self) -> &'static Record {
        &TO
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        check_arity(TO.name, args.len(), 1..=2)?;
        check(&args[0].ty, &DataType::DateTime(None))?;
        check(&args[0].ty, &DataType::UInt32)?;
        let zone = match args.get(1) {
            Some(zone) => TimeZone::named(zone.constant_str(TO.name, "timezone")?)?,
            None => ctx.time_zone.clone(),
        };
        let lenient = null_for_text(&args[0], &DataType::DateTime(None));
        let result = if lenient { DataType::UInt32.nullable() } else { DataType::UInt32 };
        Ok(Bound::with_state(result, zone))
    }

    fn never_falls(
        &self,
        from: &DataType,
        _: &DataType,
        _: Option<&(dyn Any + Send + Sync)>,
        _: &Context,
    ) -> bool {
        matches!(from, DataType::DateTime(_))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let mode = if call.result.is_nullable() { Mode::OrNull } else { Mode::Cast };
        let mut rules = Rules::new(mode, call.ctx);
        rules.text.time_zone = call.state::<TimeZone>()?.clone();
        let (vector, from) = (call.vector(0), call.args[0].ty);
        let seconds = match from {
            DataType::Date | DataType::Date32 | DataType::String | DataType::FixedString(_) => {
                convert(vector, from, &DataType::DateTime(None), &rules)?
            }
            _ => convert(vector, from, &DataType::UInt32, &rules)?,
        };
        Ok(seconds.into())
    }
}

/// `toUnixTimestamp64Milli` and its kin, and their inverses: ticks of a fixed scale.
pub struct Unix64 {
    pub record: &'static Record,
    pub scale: u8,
    pub inverse: bool,
}

impl ScalarFunction for Unix64 {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let name = self.record.name;
        check_arity(name, args.len(), 1..=1 + usize::from(self.inverse))?;
        let ty = &args[0].ty;
        if !self.inverse {
            ensure!(
                matches!(ty, DataType::DateTime64(..)),
                ILLEGAL_TYPE_OF_ARGUMENT,
                "A value of illegal type was provided as 1st argument 'value' to function '{name}'. Expected: DateTime64, \
                 got: {ty}"
            );
            return Ok(DataType::Int64.into());
        }
        ensure!(
            ty.is_integer(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "The first argument for function {name} must be integer"
        );
        let zone = match args.get(1) {
            Some(zone) => Some(TimeZone::named(zone.constant_str(name, "timezone")?)?),
            None => None,
        };
        Ok(DataType::DateTime64(self.scale, zone).into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let (vector, name) = (call.vector(0), self.record.name);
        if self.inverse {
            let rules = Rules::new(Mode::Cast, call.ctx);
            return Ok(convert(vector, call.args[0].ty, &DataType::Int64, &rules)?.into());
        }
        let DataType::DateTime64(scale, _) = call.args[0].ty else {
            bail!(LOGICAL_ERROR, "Function {name} was bound to another type");
        };
        let ticks = vector.values::<i64>()?.iter();
        let moved: Vec<i64> = if self.scale >= *scale {
            let factor = 10i64.pow((self.scale - scale).into());
            let moved: Option<Vec<i64>> = ticks.map(|t| t.checked_mul(factor)).collect();
            match moved {
                Some(moved) => moved,
                None => bail!(DECIMAL_OVERFLOW, "Decimal overflow in {name}"),
            }
        } else {
            let divisor = 10i64.pow((scale - self.scale).into());
            ticks.map(|t| t / divisor).collect()
        };
        Ok(Vector::from(moved).into())
    }
}

macro_rules! unix64 {
    ($name:literal, $scale:literal, $inverse:literal, $summary:literal, $sql:literal => $result:literal) => {
        $crate::conversion::unix_timestamp::Unix64 {
            record: const {
                &chalet_function_api::Record {
                    name: $name,
                    summary: $summary,
                    syntax: concat!($name, "(x)"),
                    examples: &[chalet_function_api::Example { sql: $sql, result: $result }],
                    ..chalet_function_api::Record::DEFAULT
                }
            },
            scale: $scale,
            inverse: $inverse,
        }
    };
}
pub(super) use unix64;

const PACKED: &str = "Makes a date of a number whose digits are those of the date.";

/// `YYYYMMDDToDate` and its kin.
pub struct Packed {
    pub record: &'static Record,
    pub shape: Shape,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Date,
    Date32,
    DateTime,
    DateTime64,
}

macro_rules! packed {
    ($name:literal, $any_case:literal, $shape:ident, $sql:literal => $result:literal) => {
        Packed {
            record: const {
                &Record {
                    name: $name,
                    case_insensitive: $any_case,
                    summary: PACKED,
                    syntax: concat!($name, "(n)"),
                    examples: &[Example { sql: $sql, result: $result }],
                    ..Record::DEFAULT
                }
            },
            shape: Shape::$shape,
        }
    };
}

impl Packed {
    pub fn all() -> [Packed; 4] {
        [
            packed!("YYYYMMDDToDate", true, Date, "SELECT YYYYMMDDToDate(20200102)" => "2020-01-02"),
            packed!("YYYYMMDDToDate32", true, Date32, "SELECT YYYYMMDDToDate32(18000102)" => "1800-01-02"),
            packed!(
                "YYYYMMDDhhmmssToDateTime", true, DateTime,
                "SELECT YYYYMMDDhhmmssToDateTime(20200102030405, 'UTC')" => "2020-01-02 03:04:05"
            ),
            packed!(
                "YYYYMMDDhhmmssToDateTime64", false, DateTime64,
                "SELECT YYYYMMDDhhmmssToDateTime64(20200102030405, 3, 'UTC')" => "2020-01-02 03:04:05.000"
            ),
        ]
    }
}

/// The digits of the first and the last second of DateTime64, and of one that is behind the last of DateTime.
const FIRST_SECOND: f64 = 19_000_101_000_000.0;
const LAST_FINE_SECOND: f64 = 22_991_231_235_959.0;
const LAST_SECOND: f64 = 99_991_231_235_959.0;

impl ScalarFunction for Packed {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let name = self.record.name;
        let most = match self.shape {
            Shape::Date | Shape::Date32 => 1,
            Shape::DateTime => 2,
            Shape::DateTime64 => 3,
        };
        check_arity(name, args.len(), 1..=most)?;
        ensure!(
            args[0].ty.is_number(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "A value of illegal type was provided as 1st argument to function '{name}'. Expected: Number, got: {}",
            args[0].ty
        );
        let zone = |index: usize| match args.get(index) {
            Some(zone) => Ok(Some(TimeZone::named(zone.constant_str(name, "timezone")?)?)),
            None => Ok::<_, chalet_base::Error>(None),
        };
        Ok(match self.shape {
            Shape::Date => DataType::Date,
            Shape::Date32 => DataType::Date32,
            Shape::DateTime => DataType::DateTime(zone(1)?),
            Shape::DateTime64 => {
                if let Some(scale) = args.get(1) {
                    ensure!(
                        scale.ty.is_number(),
                        ILLEGAL_TYPE_OF_ARGUMENT,
                        "A value of illegal type was provided as 2nd argument 'precision' to function '{name}'. Expected: const \
                         Number, got: {}",
                        scale.ty
                    );
                    ensure!(
                        scale.constant.is_some(),
                        ILLEGAL_COLUMN,
                        "A value of illegal type was provided as 2nd argument 'precision' to function '{name}'. Expected: const \
                         Number, got: {}",
                        scale.ty
                    );
                }
                let scale = args.get(1).map_or(Some(3), |a| a.constant.as_ref()?.as_u64());
                match scale {
                    Some(scale @ 0..=9) => DataType::DateTime64(scale as u8, zone(2)?),
                    _ => bail!(ARGUMENT_OUT_OF_BOUND, "Precision of function {name} must be from 0 to 9"),
                }
            }
        }
        .into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        use chalet_types::calendar::{Civil, LocalTime};
        let vector = call.vector(0);
        let rules = Rules::new(Mode::Cast, call.ctx);
        let floats = convert(vector, call.args[0].ty, &DataType::Float64, &rules)?;
        let numbers = floats.values::<f64>()?.iter();
        ensure!(
            numbers.clone().all(|x| x.is_finite()),
            BAD_ARGUMENTS,
            "Argument for function {} must be finite",
            self.record.name
        );
        // Days behind a month's last one carry over to the next month.
        let date = |digits: i64| {
            let year = i32::try_from(digits / 10_000).ok().filter(|year| (0..=9999).contains(year))?;
            let (month, day) = ((digits / 100 % 100) as u8, (digits % 100) as i32);
            let sound = (1..=12).contains(&month) && (1..=31).contains(&day);
            sound.then(|| Civil::new(year, month, 1).days() + day - 1)
        };
        let local = LocalTime::new(call.result.time_zone().unwrap_or(&call.ctx.time_zone));
        let seconds = |x: f64| {
            let digits = x as i64;
            let clock = digits.rem_euclid(1_000_000);
            let of_day = clock / 10_000 * 3600 + clock / 100 % 100 * 60 + clock % 100;
            let days = date(digits / 1_000_000)?;
            Some(local.to_timestamp(i64::from(days) * SECONDS_PER_DAY + of_day))
        };
        // Numbers with a fraction are rounded to whole days.
        let out: Vector = match self.shape {
            Shape::Date => numbers
                .map(|x| date(x.round() as i64).filter(|d| (0..=65_535).contains(d)).unwrap_or(0) as u16)
                .collect::<Vec<_>>()
                .into(),
            Shape::Date32 => {
                numbers.map(|x| date(x.round() as i64).unwrap_or(0)).collect::<Vec<i32>>().into()
            }
            Shape::DateTime => numbers
                .map(|x| match seconds(x.min(LAST_SECOND)) {
                    Some(seconds) => seconds.clamp(0, u32::MAX.into()) as u32,
                    None => 0,
                })
                .collect::<Vec<_>>()
                .into(),
            Shape::DateTime64 => {
                let DataType::DateTime64(scale, _) = call.result else {
                    bail!(LOGICAL_ERROR, "Function {} was bound to another type", self.record.name);
                };
                let factor = 10i64.pow((*scale).into());
                let (first, last) = (seconds(FIRST_SECOND), seconds(LAST_FINE_SECOND));
                numbers
                    .map(|&x| {
                        let (whole, fraction) = match x {
                            _ if x < FIRST_SECOND => (first, 0.0),
                            _ if x >= LAST_FINE_SECOND + 1e8 => (last, 0.0),
                            _ => (seconds(x).or(first), x.fract()),
                        };
                        let fraction = (fraction * factor as f64).round() as i64;
                        let ticks = whole.unwrap_or(0).checked_mul(factor);
                        ticks
                            .and_then(|ticks| ticks.checked_add(fraction))
                            .ok_or_else(|| err!(DECIMAL_OVERFLOW, "Decimal math overflow"))
                    })
                    .collect::<Result<Vec<i64>>>()?
                    .into()
            }
        };
        Ok(out.into())
    }
}
