//! `toUInt8(x)` and its kin: one function per type, and what to do with text that is no value of it.

use super::cast::{Mode, Rules, check, convert};
use super::cast_function::{null_instead, with_zone_of};
use super::or_default;
use super::{monotonic_range, never_falls};
use crate::date_time::zones_of_rows::in_zones_of_rows;
use chalet_base::{Error, Result, bail, codes, ensure, err};
use chalet_columns::{Column, Data, NullBuffer, Strings, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Record, ScalarFunction, SeveralTypes};
use chalet_text::read::address;
use chalet_text::{Cursor, DateTimeInput};
use chalet_types::{DataType, TimeZone};
use std::any::Any;
use std::borrow::Cow;
use std::ops::RangeInclusive;

/// What a function does where the value cannot be converted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    Throw,
    Zero,
    Null,
    /// The value of an argument, or that of [`Failure::Zero`].
    Default,
}

/// The type that a function makes, or what it needs to know about it.
pub enum Target {
    Type(DataType),
    /// Date or Date32: a zone may follow the value.
    Day(DataType),
    /// A zone may follow the value, or a scale, which makes it DateTime64.
    DateTime,
    /// A scale follows, then perhaps a zone.
    DateTime64,
    /// A scale may follow the value, which makes it Time64.
    Time,
    Time64,
    /// A scale follows; digits of the width.
    Decimal(u8),
    /// A length follows.
    FixedString,
    /// A zone may follow a timestamp.
    String,
}

pub struct ToType {
    pub record: &'static Record,
    pub target: Target,
    pub failure: Failure,
}

/// What `bind` decides.
struct Plan {
    to: DataType,
    zone: Option<TimeZone>,
    /// The argument that names a zone for each row.
    zones: Option<usize>,
    /// The argument that holds the default.
    default: usize,
    /// What cannot be converted is NULL.
    lenient: bool,
    /// NULL stays NULL where everything else that has no value of the type becomes the default.
    keeps_nulls: bool,
}

impl ToType {
    fn takes_scale(&self) -> bool {
        match self.target {
            Target::Decimal(_) | Target::FixedString => true,
            // The scale of timestamps may be left out where failures become zero or NULL.
            Target::DateTime64 => matches!(self.failure, Failure::Throw | Failure::Default),
            Target::Time64 => self.failure == Failure::Throw,
            _ => false,
        }
    }

    /// A scale makes a DateTime64 of a DateTime and a Time64 of a Time, where failures are not caught.
    fn may_be_fine(&self) -> bool {
        matches!(self.target, Target::DateTime | Target::Time) && self.failure == Failure::Throw
    }

    /// Is it one of those that read text and have NULL or zero for what they cannot read?
    fn reads_only(&self) -> bool {
        matches!(self.failure, Failure::Zero | Failure::Null)
    }

    /// Does it take numbers too where failures are NULL?
    fn takes_timestamps(&self) -> bool {
        matches!(&self.target, Target::Day(DataType::Date) | Target::DateTime | Target::DateTime64)
    }

    fn plan(&self, args: &[Argument], ctx: &Context) -> Result<Plan> {
        let name = self.record.name;
        let from = args.first().map(|a| a.ty.bare());
        let timely = from.is_some_and(|ty| matches!(ty, DataType::DateTime(_) | DataType::DateTime64(..)));
        let takes_zone = match self.target {
            Target::Day(_) => !self.reads_only(),
            Target::DateTime | Target::DateTime64 => true,
            Target::String => timely,
            _ => false,
        };
        let optional_scale =
            matches!(self.target, Target::DateTime64 | Target::Time64) && !self.takes_scale();
        let least = 1 + usize::from(self.takes_scale());
        let most = least
            + usize::from(optional_scale || self.may_be_fine())
            + usize::from(takes_zone)
            + usize::from(self.failure == Failure::Default);
        self.check_count(args, least, most)?;
        ensure!(
            !matches!(self.target, Target::Time) || args.len() < 2 || !args[1].ty.is_string(),
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "An incorrect number of arguments was specified for function '{name}'. Expected 1 argument, got 2 arguments"
        );
        if let (true, Some(arg)) = (optional_scale, args.get(1)) {
            ensure!(
                arg.ty.is_integer(),
                ILLEGAL_TYPE_OF_ARGUMENT,
                "A value of illegal type was provided as 2nd argument 'precision' to function '{name}'. Expected: const UInt8, got: {}",
                arg.ty
            );
        }
        let integer = |arg: &Argument| arg.ty.is_integer().then(|| arg.constant.as_ref()?.as_i64()).flatten();
        let mut rest = 1;
        let mut number = None;
        if self.takes_scale() {
            let fixed = matches!(self.target, Target::FixedString);
            number = Some(integer(&args[1]).ok_or_else(|| {
                match args[1].ty.is_integer() && args[1].constant.is_none() {
                    true => err!(ILLEGAL_COLUMN, "Second argument for function {name} must be constant"),
                    false if fixed => {
                        err!(ILLEGAL_COLUMN, "Second argument for function {name} must be unsigned integer")
                    }
                    false => err!(
                        ILLEGAL_TYPE_OF_ARGUMENT,
                        "Illegal type {} of argument 2 of function {name}",
                        args[1].ty
                    ),
                }
            })?);
            rest = 2;
        } else if let (true, Some(arg)) = (optional_scale || self.may_be_fine(), args.get(1))
            && (arg.ty.is_unsigned() || arg.ty.is_integer() && optional_scale)
        {
            let scale = integer(arg);
            number = Some(scale.ok_or_else(|| {
                err!(ILLEGAL_COLUMN, "Second argument for function {name} must be constant")
            })?);
            rest = 2;
        }
        let mut zone = None;
        let mut zones = None;
        if matches!(self.target, Target::String)
            && let Some(arg) = args.get(rest)
            && arg.ty.is_string()
            && arg.constant.is_none()
        {
            zones = Some(rest);
            rest += 1;
        }
        if takes_zone
            && let Some(arg) = args.get(rest)
            && arg.ty.is_string()
            && !(self.failure == Failure::Default && rest + 1 == args.len() && arg.constant.is_none())
        {
            zone = Some(TimeZone::named(arg.constant_str(name, &format!("{}", rest + 1))?)?);
            rest += 1;
        }
        let zone_missing = zone.is_none() && matches!(self.target, Target::DateTime | Target::DateTime64);
        if (self.failure != Failure::Default || zone_missing) && rest < args.len() {
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type {} of argument {} of function {name}",
                args[rest].ty,
                rest + 1
            );
        }
        let to = self.type_of(number, zone.clone())?;
        let to = if zone.is_none() { with_zone_of(to, &args[0].ty) } else { to };
        let zero_instead = ctx.settings.cast_ipv4_ipv6_default_on_conversion_error
            && matches!(to, DataType::IPv4 | DataType::IPv6);
        let lenient = self.failure == Failure::Null
            || self.failure == Failure::Throw && null_for_text(&args[0], &to) && !zero_instead;
        let keeps_nulls = self.failure == Failure::Default
            && ctx.settings.cast_keep_nullable
            && matches!(args[0].ty.without_low_cardinality(), DataType::Nullable(_));
        Ok(Plan { to, zone, zones, default: rest, lenient, keeps_nulls })
    }

    /// Fails for too few and too many arguments. A wrong first one is told before, but not where a function that reads text has more
    /// than any of its kind takes.
    fn check_count(&self, args: &[Argument], least: usize, most: usize) -> Result<()> {
        let too_many = self.reads_only() && args.len() > most.max(2);
        // The scale of a Decimal is asked for first.
        let too_few = args.len() == 1
            && !args[0].is_lambda
            && self.reads_only()
            && matches!(self.target, Target::Decimal(_));
        if let (Some(first), false) = (args.first(), too_many || too_few) {
            self.check_text(&first.ty)?;
        }
        check_arity(self.record.name, args.len(), least..=most)
    }

    /// Functions that catch failures read text; some of them take numbers too.
    fn check_text(&self, from: &DataType) -> Result<()> {
        let name = self.record.name;
        let taken = match self.failure {
            Failure::Throw | Failure::Default => true,
            Failure::Null if from.integer_range().is_some() && self.takes_timestamps() => true,
            Failure::Zero | Failure::Null => from.is_string(),
        };
        ensure!(
            taken,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {from} of first argument of function {name}. Conversion functions with postfix 'OrZero' or \
             'OrNull' should take String argument"
        );
        Ok(())
    }

    /// The functions of decimals have other codes for types without a conversion.
    fn refused(&self, e: Error, from: &DataType) -> Error {
        let (name, of) = (self.record.name, "of first argument of function");
        match (&self.target, from.bare()) {
            (Target::Decimal(_), DataType::Array(_) | DataType::Tuple(_) | DataType::Map(..)) => {
                err!(ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {from} {of} {name}")
            }
            (Target::Decimal(_), _) if e.code() == codes::CANNOT_CONVERT_TYPE => {
                err!(ILLEGAL_COLUMN, "Illegal column {from} {of} {name}")
            }
            _ => e,
        }
    }

    fn type_of(&self, number: Option<i64>, zone: Option<TimeZone>) -> Result<DataType> {
        let scale = |family: &str, number: i64| {
            u8::try_from(number).ok().filter(|scale| *scale <= 9).ok_or_else(|| {
                err!(
                    ARGUMENT_OUT_OF_BOUND,
                    "Scale {number} is too large for {family}. Maximum is up to nanoseconds (9)"
                )
            })
        };
        Ok(match &self.target {
            Target::Type(ty) | Target::Day(ty) => ty.clone(),
            Target::String => DataType::String,
            Target::DateTime => match number {
                Some(number) if number != 0 => DataType::DateTime64(scale("DateTime64", number)?, zone),
                _ => DataType::DateTime(zone),
            },
            Target::DateTime64 => DataType::DateTime64(scale("DateTime64", number.unwrap_or(3))?, zone),
            Target::Time => match number {
                None | Some(0) => DataType::Time,
                Some(number) => {
                    let scale = u8::try_from(number).ok().filter(|scale| *scale <= 9).ok_or_else(|| {
                        err!(BAD_ARGUMENTS, "DataTypeTime64 scale {number} is too large, maximum is 9")
                    })?;
                    DataType::Time64(scale)
                }
            },
            Target::Time64 => DataType::Time64(scale("Time64", number.unwrap_or(3))?),
            Target::Decimal(precision) => {
                let number = number.unwrap_or(0);
                let scale =
                    u8::try_from(number).ok().filter(|scale| scale <= precision).ok_or_else(|| {
                        err!(
                            ARGUMENT_OUT_OF_BOUND,
                            "Scale {number} is out of bounds (max scale: {precision})"
                        )
                    })?;
                DataType::Decimal { precision: *precision, scale }
            }
            Target::FixedString => {
                let length = number.unwrap_or(0);
                ensure!(
                    length >= 0,
                    ILLEGAL_COLUMN,
                    "Second argument for function {} must be unsigned integer",
                    self.record.name
                );
                ensure!(length > 0, ARGUMENT_OUT_OF_BOUND, "FixedString size must be positive");
                ensure!(length <= 0xff_ffff, ARGUMENT_OUT_OF_BOUND, "FixedString size is too large");
                DataType::FixedString(length as u32)
            }
        })
    }
}

impl ScalarFunction for ToType {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        let plan = self.plan(args, ctx)?;
        let from = &args[0].ty;
        let nullable = plan.lenient || plan.keeps_nulls;
        let result = if nullable { plan.to.clone().nullable() } else { plan.to.clone() };
        match self.failure {
            // Casts refuse wide integers, these functions take them.
            Failure::Throw if matches!(self.target, Target::Decimal(_)) && from.is_integer() => {}
            // Casts read no address of version 4 from a FixedString.
            Failure::Throw
                if plan.to == DataType::IPv4 && matches!(from.bare(), DataType::FixedString(_)) => {}
            Failure::Throw => check(from, &plan.to).map_err(|e| self.refused(e, from))?,
            Failure::Zero | Failure::Null => {}
            Failure::Default => {
                if let Some(default) = args.get(plan.default) {
                    ensure!(
                        default.ty == result,
                        BAD_ARGUMENTS,
                        "Default value type should be same as cast type. Expected {result}. Actual {}",
                        default.ty
                    );
                }
                check(from.without_nullable(), &plan.to)
                    .or_else(|e| if null_instead(from, &plan.to) { Ok(()) } else { Err(e) })
                    .map_err(|e| self.refused(e, from))?;
            }
        }
        Ok(Bound::with_state(result, plan))
    }

    fn monotonic_range(&self, from: &DataType, result: &DataType) -> Option<RangeInclusive<i128>> {
        if self.failure == Failure::Throw { monotonic_range(from, result) } else { None }
    }

    fn never_falls(
        &self,
        from: &DataType,
        result: &DataType,
        state: Option<&(dyn Any + Send + Sync)>,
        ctx: &Context,
    ) -> bool {
        let Some(plan) = state.and_then(|state| state.downcast_ref::<Plan>()) else { return false };
        let is_plain = plan.zone.is_none() && plan.zones.is_none() && !plan.lenient;
        self.failure == Failure::Throw && is_plain && never_falls(from, result, &ctx.time_zone)
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let plan: &Plan = call.state()?;
        let mode = if self.failure == Failure::Throw && !plan.lenient { Mode::Cast } else { Mode::OrNull };
        let mut rules = Rules::new(mode, call.ctx);
        // Those that fill a default in are made of casts.
        rules.padded_addresses = self.failure != Failure::Default;
        if matches!(self.failure, Failure::Null | Failure::Zero) {
            // Unlike casts, these functions never guess, whatever the setting says.
            rules.text.date_time_input_format = DateTimeInput::Basic;
        }
        if let Some(zones) = plan.zones {
            let shown = |zone: &TimeZone, times: &Vector| {
                convert(times, &in_zone(call.args[0].ty, zone), &DataType::String, &rules)
            };
            return Ok(in_zones_of_rows(call, zones, shown)?.into());
        }
        let mut from = call.args[0].ty.clone();
        if let Some(zone) = &plan.zone {
            rules.text.time_zone = zone.clone();
            from = in_zone(&from, zone);
        }
        let mut vector = Cow::Borrowed(call.vector(0));
        let nulls = vector.validity.clone();
        if self.failure == Failure::Default {
            // NULL has no value of the type either.
            from = from.without_nullable().clone();
            vector = Cow::Owned(vector.without_nulls());
        }
        let is_value =
            from == DataType::FixedString(16) && matches!(plan.to, DataType::Uuid | DataType::IPv6);
        let is_fixed = matches!(from, DataType::FixedString(_)) && !is_value;
        let reads_address = self.failure == Failure::Throw && plan.to == DataType::IPv4;
        let reads_text =
            matches!(self.failure, Failure::Zero | Failure::Null) || plan.lenient || reads_address;
        if reads_text && is_fixed {
            // Unlike casts, these functions read it as they read String.
            let texts = convert(&vector, &from, &DataType::String, &rules)?;
            vector = Cow::Owned(if plan.to.is_integer() { zero_for_empty(&texts)? } else { texts });
            from = DataType::String;
        }
        // Casts refuse text that is no interval, also where NULL may be the answer; it is read as the number that it holds.
        let to = match &plan.to {
            DataType::Interval(_) if plan.lenient => &DataType::Int64,
            to => to,
        };
        let converted = if self.failure == Failure::Default && check(&from, &plan.to).is_err() {
            Vector::defaults(&plan.to.clone().nullable(), vector.len())
        } else {
            convert(&vector, &from, to, &rules).map_err(|e| no_address(e, &vector, &plan.to))?
        };
        let converted = match &nulls {
            Some(nulls) if self.failure == Failure::Default => converted.with_nulls(Some(nulls)),
            _ => converted,
        };
        let converted = if call.args[0].constant { converted.repeat(call.n_rows) } else { converted };
        match self.failure {
            Failure::Default if plan.keeps_nulls && call.args.len() == plan.default => Ok(converted.into()),
            Failure::Default if plan.keeps_nulls => {
                let filled = or_default::filled(converted, call, plan.default)?.into_flat();
                let constant_null = call.args[0].constant && nulls.is_some();
                let nulls = if constant_null { Some(NullBuffer::new_null(call.n_rows)) } else { nulls };
                Ok(filled.with_nulls(nulls.as_ref()).into())
            }
            Failure::Throw | Failure::Null => Ok(converted.into()),
            Failure::Zero => or_default::zeros(converted, &plan.to),
            Failure::Default => or_default::filled(converted, call, plan.default),
        }
    }
}

/// The type of timestamps with another zone.
fn in_zone(ty: &DataType, zone: &TimeZone) -> DataType {
    match ty {
        DataType::DateTime(_) => DataType::DateTime(Some(zone.clone())),
        DataType::DateTime64(scale, _) => DataType::DateTime64(*scale, Some(zone.clone())),
        other => other.clone(),
    }
}

/// Text that may be NULL is NULL where it is no value of the type; of these types it has to be one.
pub(super) fn null_for_text(from: &Argument, to: &DataType) -> bool {
    let strict = matches!(
        to,
        DataType::Bool
            | DataType::String
            | DataType::FixedString(_)
            | DataType::DateTime64(..)
            | DataType::Time64(_)
    );
    from.was_nullable && from.ty.is_string() && !strict
}

/// Of text that is no address these functions tell where it ends to be one, as they do of other types; casts do not.
#[cold]
fn no_address(e: Error, texts: &Vector, to: &DataType) -> Error {
    if !matches!(e.code(), codes::CANNOT_PARSE_IPV4 | codes::CANNOT_PARSE_IPV6) {
        return e;
    }
    let Ok(strings) = texts.strings() else { return e };
    let rows = (0..texts.len()).filter(|&row| !texts.is_null(row));
    for text in rows.map(|row| strings.get(row)) {
        let mut cursor = Cursor::new(text);
        let read = match to {
            DataType::IPv4 => address::ipv4(&mut cursor).map(drop),
            _ => address::ipv6(&mut cursor).map(drop),
        };
        if let Err(e) = read {
            return e.context(format_args!("Cannot parse {to} from String"));
        }
        if !cursor.is_at_end() {
            let (shown, at) = (String::from_utf8_lossy(text), cursor.position());
            let parsed = String::from_utf8_lossy(&text[..at]);
            return err!(
                CANNOT_PARSE_TEXT,
                "Cannot parse string '{shown}' as {to}: syntax error at position {at} (parsed just '{parsed}')"
            );
        }
    }
    e
}

/// A FixedString of zero bytes alone reads as the integer 0.
fn zero_for_empty(texts: &Vector) -> Result<Vector> {
    let strings = texts.strings()?;
    let filled = strings.iter().map(|text| if text.is_empty() { &b"0"[..] } else { text });
    Ok(Vector::new(Data::Str(filled.collect::<Strings>()), texts.validity.clone()))
}

/// What the records of the family share.
pub const BASE: Record = Record {
    constants: Constants::Seen,
    several_types: SeveralTypes::Seen,
    null_before_arity: true,
    constant_arguments: &[1, 2],
    ..Record::DEFAULT
};
