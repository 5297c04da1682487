//! `runningDifference`, `neighbor`: other rows of the same block. Deprecated, as in the kernel, behind a setting.

use crate::lanes::{Operand, unary};
use crate::number::Integer;
use crate::widen::widen;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Context, Dictionaries, Example, Nulls, Record, ScalarFunction, Volatility,
};
use chalet_types::supertype::common_supertype;
use chalet_types::{DataType, I256};

const DIFFERENCE: Record = Record {
    name: "runningDifference",
    counts_rows: true,
    summary: "The difference to the row before in the same block, 0 for the first one. Use window functions instead.",
    syntax: "runningDifference(x)",
    examples: &[Example {
        sql: "SELECT runningDifference(1) SETTINGS allow_deprecated_error_prone_window_functions = 1",
        result: "0",
    }],
    dictionaries: Dictionaries::Decoded,
    nulls: Nulls::Seen,
    volatility: Volatility::PerRow,
    ..Record::DEFAULT
};

const DIFFERENCE_FROM_FIRST: Record = Record {
    name: "runningDifferenceStartingWithFirstValue",
    summary: "As runningDifference, but the value itself for the first row.",
    syntax: "runningDifferenceStartingWithFirstValue(x)",
    examples: &[Example {
        sql: "SELECT runningDifferenceStartingWithFirstValue(materialize(5)) SETTINGS allow_deprecated_error_prone_window_functions = 1",
        result: "5",
    }],
    ..DIFFERENCE
};

const NEIGHBOR: Record = Record {
    name: "neighbor",
    counts_rows: true,
    summary: "The value of the row at the given distance in the same block, or the default. Use window functions instead.",
    syntax: "neighbor(x, offset[, default])",
    examples: &[Example {
        sql: "SELECT neighbor(1, 1, 5) SETTINGS allow_deprecated_error_prone_window_functions = 1",
        result: "5",
    }],
    ..DIFFERENCE
};

fn check_allowed(name: &str, ctx: &Context) -> Result<()> {
    let setting = ctx.settings.all.0("allow_deprecated_error_prone_window_functions");
    ensure!(
        setting.is_some_and(|(value, _)| value.as_u64() == Some(1)),
        DEPRECATED_FUNCTION,
        "Function {name} is deprecated since its usage is error-prone (see docs). Please use proper window function or set `allow_deprecated_error_prone_window_functions` setting to enable it"
    );
    Ok(())
}

pub struct Difference {
    record: &'static Record,
    from_first: bool,
}

pub const DIFFERENCE_FUNCTION: Difference = Difference { record: &DIFFERENCE, from_first: false };
pub const DIFFERENCE_FROM_FIRST_FUNCTION: Difference =
    Difference { record: &DIFFERENCE_FROM_FIRST, from_first: true };

impl ScalarFunction for Difference {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        let name = self.record.name;
        check_allowed(name, ctx)?;
        check_arity(name, args.len(), 1..=1)?;
        let ty = args[0].ty.without_nullable();
        let result = match ty {
            DataType::UInt8 | DataType::Int8 => DataType::Int16,
            DataType::UInt16 | DataType::Int16 | DataType::Date => DataType::Int32,
            DataType::Float32 | DataType::Float64 => DataType::Float64,
            DataType::UInt32
            | DataType::UInt64
            | DataType::Int32
            | DataType::Int64
            | DataType::DateTime(_) => DataType::Int64,
            DataType::UInt128 | DataType::Int128 => DataType::Int128,
            DataType::UInt256 | DataType::Int256 => DataType::Int256,
            _ => chalet_base::bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Argument for function {name} must have numeric type"
            ),
        };
        Ok(if args[0].ty.is_nullable() { result.nullable() } else { result }.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let (x, n) = (Operand::of(call, 0), call.n_rows);
        let validity = x.vector.validity.as_ref();
        let is_valid = |row: usize| validity.is_none_or(|validity| validity.is_valid(row));
        let vector = if *call.result.without_nullable() == DataType::Float64 {
            let values = unary::<f64, f64>(x, n, |x| x)?;
            Vector::from(self.differences(&values, is_valid, |x, before| x - before))
        } else if x.ty.physical().width().unwrap_or(8) > 8 {
            let values = unary::<I256, I256>(x, n, |x| x)?;
            let all = Vector::from(self.differences(&values, is_valid, I256::sub));
            crate::arithmetic::convert_numbers(all, call.result.physical(), n)?
        } else {
            let values = unary::<i64, i64>(x, n, |x| x)?;
            let all = Vector::from(self.differences(&values, is_valid, i64::wrapping_sub));
            crate::arithmetic::convert_numbers(all, call.result.physical(), n)?
        };
        let validity = validity.cloned();
        Ok(Vector::new(vector.data, validity).into())
    }
}

impl Difference {
    /// What each value is more than the last one before it that is not NULL.
    fn differences<T: Copy + Default>(
        &self,
        values: &[T],
        is_valid: impl Fn(usize) -> bool,
        minus: impl Fn(T, T) -> T,
    ) -> Vec<T> {
        let mut before = None;
        let difference = |(row, &x): (usize, &T)| {
            if !is_valid(row) {
                return T::default();
            }
            match before.replace(x) {
                Some(before) => minus(x, before),
                None if self.from_first => x,
                None => T::default(),
            }
        };
        values.iter().enumerate().map(difference).collect()
    }
}

pub struct Neighbor;

/// Rows that are further away than this are refused, as in the kernel.
const MAX_OFFSET: u64 = 1 << 30;

impl ScalarFunction for Neighbor {
    fn record(&self) -> &'static Record {
        &NEIGHBOR
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        check_allowed(NEIGHBOR.name, ctx)?;
        check_arity(NEIGHBOR.name, args.len(), 2..=3)?;
        ensure!(
            args[1].ty.is_integer(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of second argument of function neighbor - can not be Nullable",
            args[1].ty
        );
        match args.get(2) {
            None => Ok(args[0].ty.clone().into()),
            Some(default) => Ok(common_supertype(&[args[0].ty.clone(), default.ty.clone()])?.into()),
        }
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let n = call.n_rows;
        let x = widen(call.vector(0), call.args[0].ty, call.result, call.ctx)?;
        let offsets = unary::<i64, i64>(Operand::of(call, 1), n, |x| x)?;
        let default = match call.args.get(2) {
            Some(arg) => widen(&arg.vector, arg.ty, call.result, call.ctx)?,
            None => Vector::defaults(call.result, n),
        };
        // Rows from n on are the defaults.
        let joined = Vector::concat(&[&x, &default]);
        let rows = offsets.iter().enumerate().map(|(row, &offset)| {
            ensure!(
                offset.unsigned_abs() <= MAX_OFFSET,
                ARGUMENT_OUT_OF_BOUND,
                "Too large offset: {offset} in function neighbor"
            );
            let wanted = row as i64 + offset;
            Ok(if (0..n as i64).contains(&wanted) { wanted as u32 } else { (n + row) as u32 })
        });
        let rows = rows.collect::<Result<Vec<u32>>>()?;
        Ok(joined.gather(&rows).into())
    }
}
