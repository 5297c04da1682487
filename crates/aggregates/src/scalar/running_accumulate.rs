//! `runningAccumulate`: results over the states of a block so far. Deprecated, as in the kernel, behind a setting.

use super::array_reduce::Found;
use super::named::aggregate_of;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Builder, Column};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Context, Dictionaries, Example, Nulls, Record, ScalarFunction, Volatility,
};
use chalet_types::DataType;

const RECORD: Record = Record {
    name: "runningAccumulate",
    counts_rows: true,
    summary: "The result over the states of this row and those before it in the same block, anew wherever the grouping changes. \
              Use window functions instead.",
    syntax: "runningAccumulate(state[, grouping])",
    examples: &[Example {
        sql: "SELECT runningAccumulate(initializeAggregation('sumState', number)) FROM numbers(1) SETTINGS allow_deprecated_error_prone_window_functions = 1",
        result: "0",
    }],
    nulls: Nulls::Seen,
    dictionaries: Dictionaries::Decoded,
    volatility: Volatility::PerRow,
    ..Record::DEFAULT
};

pub struct RunningAccumulate;

impl ScalarFunction for RunningAccumulate {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        let setting = ctx.settings.all.0("allow_deprecated_error_prone_window_functions");
        ensure!(
            setting.is_some_and(|(value, _)| value.as_u64() == Some(1)),
            DEPRECATED_FUNCTION,
            "Function {} is deprecated since its usage is error-prone (see docs). Please use proper window function or set \
             `allow_deprecated_error_prone_window_functions` setting to enable it",
            RECORD.name
        );
        check_arity(RECORD.name, args.len(), 1..=2)?;
        let DataType::AggregateFunction(ty) = &args[0].ty else {
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Argument for function {} must have type AggregateFunction - state of aggregate function",
                RECORD.name
            );
        };
        let found = aggregate_of(ty, ctx)?;
        Ok(Bound::with_state(found.result, Found(found.aggregate)))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let Found(aggregate) = call.state()?;
        let bytes = call.vector(0).strings()?;
        let mut out = Builder::new(call.result);
        let mut states = aggregate.states();
        states.grow(1);
        for row in 0..call.n_rows {
            let changes = call
                .args
                .get(1)
                .is_some_and(|group| row > 0 && group.vector.compare(row - 1, &group.vector, row).is_ne());
            if changes {
                states = aggregate.states();
                states.grow(1);
            }
            states.deserialise(0, &mut bytes.get(row))?;
            out.push_from(&states.finish(1)?, 0);
        }
        Ok(out.finish().into())
    }
}
