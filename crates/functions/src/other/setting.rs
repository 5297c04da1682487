//! `getSetting`, `getSettingOrDefault`: the values of settings; `timezoneOf`.

use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Context, Example, Nulls, Record, ScalarFunction, Volatility,
};
use chalet_types::{DataType, Value};

const GET_SETTING: Record = Record {
    name: "getSetting",
    summary: "The value of a setting.",
    syntax: "getSetting(name)",
    examples: &[Example { sql: "SELECT getSetting('max_block_size') > 0", result: "1" }],
    nulls: Nulls::Seen,
    volatility: Volatility::PerQuery,
    ..Record::DEFAULT
};

const GET_SETTING_OR_DEFAULT: Record = Record {
    name: "getSettingOrDefault",
    summary: "The value of a setting, or the second argument when there is no such setting.",
    syntax: "getSettingOrDefault(name, default)",
    examples: &[Example { sql: "SELECT getSettingOrDefault('no_such_setting', 5)", result: "5" }],
    ..GET_SETTING
};

const TIME_ZONE_OF: Record = Record {
    name: "timezoneOf",
    aliases: &["timeZoneOf"],
    summary: "The name of the time zone of a DateTime or DateTime64.",
    syntax: "timezoneOf(datetime)",
    examples: &[Example {
        sql: "SELECT timezoneOf(toDateTime('2024-01-01 00:00:00', 'Europe/Berlin'))",
        result: "Europe/Berlin",
    }],
    ..GET_SETTING
};

struct Known(Vector);

pub struct GetSetting {
    record: &'static Record,
}

pub const GET_SETTING_FUNCTION: GetSetting = GetSetting { record: &GET_SETTING };
pub const GET_SETTING_OR_DEFAULT_FUNCTION: GetSetting = GetSetting { record: &GET_SETTING_OR_DEFAULT };

impl ScalarFunction for GetSetting {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        let arity = if self.record.name == GET_SETTING.name { 1 } else { 2 };
        check_arity(self.record.name, args.len(), arity..=arity)?;
        ensure!(
            args[0].ty.bare().is_string(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "The argument of function {} should be a constant string with the name of a setting",
            self.record.name
        );
        let name = args[0].constant_str(self.record.name, "1")?;
        let (value, ty) = match (ctx.settings.all.0(name), args.get(1)) {
            (Some(found), _) => found,
            (None, Some(default)) => match &default.constant {
                Some(value) => (value.clone(), default.ty.clone()),
                None => bail!(ILLEGAL_COLUMN, "The default of getSettingOrDefault must be a constant"),
            },
            (None, None) => bail!(UNKNOWN_SETTING, "Unknown setting '{name}'"),
        };
        Ok(Bound::with_state(ty.clone(), Known(Vector::of_value(&value, &ty)?)))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let Known(vector) = call.state()?;
        Ok(Column::constant(vector.clone(), call.n_rows))
    }
}

pub struct TimeZoneOf;

impl ScalarFunction for TimeZoneOf {
    fn record(&self) -> &'static Record {
        &TIME_ZONE_OF
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        check_arity(TIME_ZONE_OF.name, args.len(), 1..=1)?;
        let ty = args[0].ty.bare();
        ensure!(
            matches!(ty, DataType::DateTime(_) | DataType::DateTime64(..)),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "A value of illegal type was provided as 1st argument 'datetime' to function 'timezoneOf'. Expected: DateTime or DateTime64, got: {ty}"
        );
        let name = ty.time_zone().unwrap_or(&ctx.time_zone).name();
        let vector = Vector::of_value(&Value::string(name), &DataType::String)?;
        Ok(Bound::with_state(DataType::String, Known(vector)))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let Known(vector) = call.state()?;
        Ok(Column::constant(vector.clone(), call.n_rows))
    }
}
