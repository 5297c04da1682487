//! `getSetting`, `getSettingOrDefault`: the values of settings.

use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Context, Example, Nulls, Record, ScalarFunction, Volatility,
};

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
