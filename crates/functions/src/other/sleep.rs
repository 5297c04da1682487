//! `sleep`, `sleepEachRow`: pauses, in naps that a cancelled query ends.

use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, ScalarFunction, Volatility};
use chalet_types::DataType;
use std::time::{Duration, Instant};

const SLEEP: Record = Record {
    name: "sleep",
    summary: "Waits for the given number of seconds, at most 3, for each block. 0.",
    syntax: "sleep(seconds)",
    examples: &[Example { sql: "SELECT sleep(0)", result: "0" }],
    volatility: Volatility::PerRow,
    ..Record::DEFAULT
};

const SLEEP_EACH_ROW: Record = Record {
    name: "sleepEachRow",
    summary: "Waits for the given number of seconds for each row, at most 3 for a block. 0.",
    syntax: "sleepEachRow(seconds)",
    examples: &[Example { sql: "SELECT sleepEachRow(0)", result: "0" }],
    ..SLEEP
};

/// The kernel's bound for one block.
const LONGEST: Duration = Duration::from_secs(3);
/// How long a cancelled query may sleep on.
const NAP: Duration = Duration::from_millis(20);

pub struct Sleep {
    record: &'static Record,
    each_row: bool,
}

pub const SLEEP_FUNCTION: Sleep = Sleep { record: &SLEEP, each_row: false };
pub const SLEEP_EACH_ROW_FUNCTION: Sleep = Sleep { record: &SLEEP_EACH_ROW, each_row: true };

impl ScalarFunction for Sleep {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let name = self.record.name;
        check_arity(name, args.len(), 1..=1)?;
        let ty = &args[0].ty;
        ensure!(
            ty.is_float() || ty.is_unsigned() && *ty != DataType::Bool,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "A value of illegal type was provided as 1st argument 'seconds' to function '{name}'. Expected: UInt* or Float*, got: {ty}"
        );
        let seconds = args[0].constant.as_ref().and_then(|value| value.as_f64());
        let Some(seconds) = seconds else {
            chalet_base::bail!(ILLEGAL_COLUMN, "The argument of function {name} must be constant");
        };
        ensure!(
            seconds.is_finite() && seconds >= 0.0,
            BAD_ARGUMENTS,
            "Cannot sleep infinite or negative time (not implemented)"
        );
        Ok(Bound::with_state(DataType::UInt8, seconds))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let seconds: &f64 = call.state()?;
        let times = if self.each_row { call.n_rows as f64 } else { f64::from(call.n_rows > 0) };
        let total = seconds * times;
        ensure!(
            total <= LONGEST.as_secs_f64(),
            TOO_SLOW,
            "The maximum sleep time is {} microseconds. Requested: {} microseconds",
            LONGEST.as_micros(),
            (total * 1e6) as u64
        );
        let end = Instant::now() + Duration::from_secs_f64(total);
        loop {
            call.ctx.interrupt.check()?;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            std::thread::sleep(left.min(NAP));
        }
        Ok(Vector::from(vec![0u8; call.n_rows]).into())
    }
}
