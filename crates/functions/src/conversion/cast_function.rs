//! `CAST(x, 'Type')` and its accurate relatives.

use super::cast::{Mode, Rules, check, convert};
use super::{monotonic_range, never_falls};
use chalet_base::{Error, Result, bail, codes, ensure};
use chalet_columns::Column;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Dictionaries, Example, Nulls, Record, ScalarFunction,
    SeveralTypes, ShownType,
};
use chalet_types::{DataType, Value};
use std::any::Any;
use std::ops::RangeInclusive;

const BASE: Record = Record {
    several_types: SeveralTypes::Seen,
    nulls: Nulls::Seen,
    dictionaries: Dictionaries::Decoded,
    shown: ShownType::Written,
    ..Record::DEFAULT
};

const CAST: Record = Record {
    name: "CAST",
    case_insensitive: true,
    summary: "Converts a value to a type. Integers wrap, fractions are cut, dates are held in their range.",
    syntax: "CAST(x, 'Type')",
    examples: &[Example {
        sql: "SELECT CAST('2020-01-02', 'Date'), CAST(300, 'UInt8'), CAST([1, 2], 'Array(String)')",
        result: "2020-01-02\t44\t['1','2']",
    }],
    ..BASE
};

const INTERNAL_CAST: Record = Record {
    name: "_CAST",
    summary: "CAST as the engine itself calls it: NULL stays NULL only when the type says so.",
    syntax: "_CAST(x, 'Type')",
    ..BASE
};

const ACCURATE: Record = Record {
    name: "accurateCast",
    summary: "Converts a value to a type, and fails when the type cannot hold the value.",
    syntax: "accurateCast(x, 'Type')",
    examples: &[Example { sql: "SELECT accurateCast(-1, 'Int8')", result: "-1" }],
    ..BASE
};

const OR_NULL: Record = Record {
    name: "accurateCastOrNull",
    summary: "Converts a value to a type; NULL when the type cannot hold the value.",
    syntax: "accurateCastOrNull(x, 'Type')",
    examples: &[Example { sql: "SELECT accurateCastOrNull(-1, 'UInt8')", result: "\\N" }],
    ..BASE
};

const OR_DEFAULT: Record = Record {
    name: "accurateCastOrDefault",
    summary: "Converts a value to a type; the given default, or that of the type, when the type cannot hold the value.",
    syntax: "accurateCastOrDefault(x, 'Type'[, default])",
    examples: &[Example { sql: "SELECT accurateCastOrDefault(-1, 'UInt8', 5::UInt8)", result: "5" }],
    constants: Constants::Seen,
    dictionaries: Dictionaries::PerValue,
    ..BASE
};

/// One of the casts that take the name of a type.
pub struct CastFunction(&'static Record, Mode);

impl CastFunction {
    pub const CAST: CastFunction = CastFunction(&CAST, Mode::Cast);
    pub const INTERNAL: CastFunction = CastFunction(&INTERNAL_CAST, Mode::Cast);
    pub const ACCURATE: CastFunction = CastFunction(&ACCURATE, Mode::Accurate);
    pub const OR_NULL: CastFunction = CastFunction(&OR_NULL, Mode::OrNull);
}

/// The type that the second argument names.
fn target(name: &str, args: &[Argument], ctx: &Context) -> Result<DataType> {
    let text = match args[1].constant.as_ref().and_then(Value::as_str) {
        Some(text) if args[1].ty.bare().is_string() => text,
        _ => bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Second argument to {name} must be a constant string describing type. Instead there is a column with the \
             following structure: {}",
            args[1].ty
        ),
    };
    let ty: DataType = text.parse()?;
    if !ctx.settings.allow_suspicious_low_cardinality_types {
        check_low_cardinality(&ty)?;
    }
    // What the engine itself casts to was made of types that were given.
    if !ctx.settings.allow_suspicious_variant_types && name != INTERNAL_CAST.name {
        ty.check_suspicious_variants()?;
    }
    let long_allowed = || {
        let setting = ctx.settings.all.0("allow_suspicious_fixed_string_types");
        setting.is_some_and(|(value, _)| value.as_u64() == Some(1))
    };
    if name != INTERNAL_CAST.name && ty.check_long_fixed_strings().is_err() && !long_allowed() {
        ty.check_long_fixed_strings()?;
    }
    Ok(ty)
}

/// Dictionaries of values that are no wider than their codes are refused.
fn check_low_cardinality(ty: &DataType) -> Result<()> {
    match ty {
        DataType::LowCardinality(inner) => {
            let narrow = inner.bare().physical().width().is_some_and(|width| width <= 8);
            ensure!(
                !narrow || inner.bare().is_string(),
                SUSPICIOUS_TYPE_FOR_LOW_CARDINALITY,
                "Creating columns of type {ty} is prohibited by default due to expected negative impact on performance. \
                 It can be enabled with the `allow_suspicious_low_cardinality_types` setting"
            );
            Ok(())
        }
        DataType::Array(inner) => check_low_cardinality(inner),
        DataType::Nullable(inner) => check_low_cardinality(inner),
        DataType::Map(key, value) => {
            check_low_cardinality(key)?;
            check_low_cardinality(value)
        }
        DataType::Tuple(fields) => fields.iter().try_for_each(|f| check_low_cardinality(&f.ty)),
        _ => Ok(()),
    }
}

/// A DateTime without a zone keeps the zone of what it is made from.
pub fn with_zone_of(to: DataType, from: &DataType) -> DataType {
    match (to, from.bare().time_zone()) {
        (DataType::DateTime(None), Some(zone)) => DataType::DateTime(Some(zone.clone())),
        (DataType::DateTime64(scale, None), Some(zone)) => DataType::DateTime64(scale, Some(zone.clone())),
        (DataType::Nullable(inner), Some(_)) => with_zone_of(DataType::clone(&inner), from).nullable(),
        (to, _) => to,
    }
}

/// Fails where NULL alone cannot be converted.
fn check_null(from: &DataType, to: &DataType) -> Result<()> {
    if from.is_only_null() && !to.is_nullable() {
        bail!(CANNOT_CONVERT_TYPE, "Cannot convert NULL to a non-nullable type");
    }
    Ok(())
}

/// Errors of whole types that become NULL, as those of single values do.
fn never_fits(e: &Error) -> bool {
    e.code() == codes::CANNOT_CONVERT_TYPE || e.code() == codes::TOO_LARGE_STRING_SIZE
}

/// Numbers that have no conversion to a type count as values that do not fit.
pub(super) fn null_instead(from: &DataType, to: &DataType) -> bool {
    let (from, to) = (from.bare(), to.bare());
    let address = matches!(to, DataType::Uuid | DataType::IPv4 | DataType::IPv6);
    let number = from.is_integer() || (from.is_float() && (address || *from != DataType::BFloat16));
    let container = matches!(to, DataType::Array(_) | DataType::Tuple(_) | DataType::Map(..));
    number && !(to.is_string() || to.is_enum() || *to == DataType::Nothing || container)
}

impl ScalarFunction for CastFunction {
    fn record(&self) -> &'static Record {
        self.0
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        check_arity(self.0.name, args.len(), 2..=2)?;
        let mut to = target(self.0.name, args, ctx)?;
        let from = &args[0].ty;
        if self.1 == Mode::OrNull {
            ensure!(
                to.can_be_nullable() || to.is_nullable(),
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Type {to} is not supported for accurateCastOrNull because it cannot be inside Nullable"
            );
            return match check(from, &to) {
                Err(e) if !null_instead(from, &to) && !never_fits(&e) => Err(e),
                _ => Ok(with_zone_of(to, from).nullable().into()),
            };
        }
        let keeps = ctx.settings.cast_keep_nullable && self.0.name != INTERNAL_CAST.name;
        if keeps && from.is_nullable() && to.can_be_nullable() {
            to = to.nullable();
        }
        check_null(from, &to)?;
        to = with_zone_of(to, from);
        // An integer is never exactly an address.
        let address = matches!(to.bare(), DataType::IPv4 | DataType::IPv6);
        if self.1 == Mode::Accurate && from.bare().is_integer() && address {
            bail!(CANNOT_CONVERT_TYPE, "Value in column {from} cannot be safely converted into type {to}");
        }
        if let Err(e) = check(from, &to) {
            // What has no conversion at all cannot be converted accurately either.
            if self.1 == Mode::Accurate && null_instead(from, &to) {
                bail!(CANNOT_CONVERT_TYPE, "{}", e.message());
            }
            // Of a constant NULL the kernel says first that it is NULL.
            let address = matches!(to, DataType::Uuid | DataType::IPv4 | DataType::IPv6);
            if address && args[0].constant == Some(Value::Null) {
                bail!(
                    CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN,
                    "Cannot convert NULL value to non-Nullable type"
                );
            }
            return Err(e);
        }
        Ok(to.into())
    }

    fn monotonic_range(&self, from: &DataType, result: &DataType) -> Option<RangeInclusive<i128>> {
        if self.1 == Mode::Cast { monotonic_range(from, result) } else { None }
    }

    fn never_falls(
        &self,
        from: &DataType,
        result: &DataType,
        _: Option<&(dyn Any + Send + Sync)>,
        ctx: &Context,
    ) -> bool {
        self.1 == Mode::Cast && never_falls(from, result, &ctx.time_zone)
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let rules = Rules::new(self.1, call.ctx);
        let from = call.args[0].ty;
        let address = matches!(call.result.bare(), DataType::IPv4 | DataType::IPv6);
        let never = check(from, call.result).is_err() || from.bare().is_integer() && address;
        if self.1 == Mode::OrNull && never {
            return Ok(chalet_columns::Vector::defaults(call.result, call.n_rows).into());
        }
        Ok(convert(call.vector(0), from, call.result, &rules)?.into())
    }
}

/// `accurateCastOrDefault`.
pub struct OrDefault;

impl ScalarFunction for OrDefault {
    fn record(&self) -> &'static Record {
        &OR_DEFAULT
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        check_arity(OR_DEFAULT.name, args.len(), 2..=3)?;
        let mut to = target(OR_DEFAULT.name, args, ctx)?;
        if ctx.settings.cast_keep_nullable && args[0].ty.is_nullable() && to.can_be_nullable() {
            to = to.nullable();
        }
        check(args[0].ty.without_nullable(), &to)
            .or_else(|e| if null_instead(&args[0].ty, &to) || never_fits(&e) { Ok(()) } else { Err(e) })?;
        if let Some(default) = args.get(2) {
            ensure!(
                default.ty == to || default.ty.is_only_null(),
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Default value type should be same as cast type. Expected {to}. Actual {}",
                default.ty
            );
        }
        Ok(to.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let from = call.args[0].ty;
        let rules = Rules::new(Mode::OrNull, call.ctx);
        let converted = match check(from, call.result) {
            Ok(()) => convert(call.vector(0), from, call.result, &rules)?,
            Err(_) => {
                let nullable = call.result.clone().nullable();
                chalet_columns::Vector::defaults(&nullable, call.n_rows)
            }
        };
        super::or_default::filled(converted, call, 2)
    }
}
