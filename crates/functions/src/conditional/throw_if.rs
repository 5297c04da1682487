//! `throwIf`: fails when its argument is true.

use crate::lanes::Operand;
use crate::ternary_logic::as_bools;
use chalet_base::{Error, ErrorCode, Result, bail, codes, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Example, Record, ScalarFunction, Volatility,
};
use chalet_types::{DataType, Value};

const RECORD: Record = Record {
    name: "throwIf",
    summary: "Fails with the given message when the first argument is not zero, else 0.",
    syntax: "throwIf(condition[, message[, code]])",
    examples: &[Example { sql: "SELECT throwIf(1 = 2, 'Too many')", result: "0" }],
    constants: Constants::Seen,
    // Without rows it does not fail, not even of a constant.
    volatility: Volatility::PerRow,
    ..Record::DEFAULT
};

pub struct ThrowIf;

struct Failure {
    code: ErrorCode,
    message: String,
}

/// The code that the third argument says, by the name that it has if it is one of ours.
fn code(arg: &Argument) -> Result<ErrorCode> {
    ensure!(
        matches!(arg.ty, DataType::Int8 | DataType::Int16 | DataType::Int32)
            || arg.constant.is_some() && matches!(arg.ty, DataType::UInt8),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Third argument of function throwIf must be Int8, Int16 or Int32 (passed: {})",
        arg.ty
    );
    let number = arg.constant.as_ref().and_then(Value::as_i256).and_then(|number| i32::try_from(number).ok());
    let Some(number) = number else {
        bail!(ILLEGAL_COLUMN, "Third argument of function throwIf must be a constant")
    };
    let known = codes::ALL.iter().find(|known| known.number == number);
    Ok(known.copied().unwrap_or(ErrorCode { number, name: Default::default() }))
}

impl ScalarFunction for ThrowIf {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        let setting = (ctx.settings.all.0)("allow_custom_error_code_in_throwif");
        let takes_code = setting.and_then(|found| found.0.as_u64()).is_some_and(|flag| flag != 0);
        check_arity(RECORD.name, args.len(), 1..=if takes_code { 3 } else { 2 })?;
        let ty = &args[0].ty;
        ensure!(
            ty.is_number(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "First argument of function throwIf must be a number (passed: {ty})"
        );
        let message = match args.get(1) {
            None => "Value passed to 'throwIf' function is non-zero".to_string(),
            Some(arg) => match &arg.constant {
                Some(Value::Bytes(text)) => String::from_utf8_lossy(text).into_owned(),
                _ if !arg.ty.is_string() => bail!(
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "Second argument of function throwIf must be a string (passed: {})",
                    arg.ty
                ),
                _ => bail!(ILLEGAL_COLUMN, "Second argument of function throwIf must be a constant string"),
            },
        };
        let code = match args.get(2) {
            None => codes::FUNCTION_THROW_IF_VALUE_IS_NON_ZERO,
            Some(arg) => code(arg)?,
        };
        Ok(Bound::with_state(DataType::UInt8, Failure { code, message }))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let Failure { code, message } = call.state()?;
        let operand = Operand::of(call, 0);
        if as_bools(operand, call.n_rows)?.contains(&1) {
            return Err(Error::new(*code, message.as_str()));
        }
        Ok(Vector::from(vec![0u8; call.n_rows]).into())
    }
}
