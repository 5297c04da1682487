//! `groupArrayMovingSum`, `groupArrayMovingAvg`: running sums and means over all rows or the last few.

use crate::arrays::parameters::optional_limit;
use crate::check::{illegal_type, one_argument};
use crate::collect::{Collector, collecting};
use crate::floats::{Floats, integer};
use chalet_base::{Result, bail, err};
use chalet_columns::builder::Values;
use chalet_columns::{Builder, Data, Vector};
use chalet_function_api::aggregate::AggregateNulls;
use chalet_function_api::{Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example};
use chalet_types::{DataType, I256, Value};
use std::sync::Arc;

const SUM: AggregateRecord = AggregateRecord {
    name: "groupArrayMovingSum",
    summary: "For every row the sum of all values up to it, or of the last `window` ones, as an array.",
    syntax: "groupArrayMovingSum([window])(x)",
    examples: &[Example {
        sql: "SELECT groupArrayMovingSum(number), groupArrayMovingSum(2)(number) FROM numbers(5)",
        result: "[0,1,3,6,10]\t[0,1,3,5,7]",
    }],
    nulls: AggregateNulls::SkipPlainResult,
    null_flag: false,
    order_dependent: true,
    ..AggregateRecord::DEFAULT
};

const AVG: AggregateRecord = AggregateRecord {
    name: "groupArrayMovingAvg",
    summary: "For every row the sum of the last `window` values (of all if not given), divided by the window's size.",
    syntax: "groupArrayMovingAvg([window])(x)",
    examples: &[Example {
        sql: "SELECT groupArrayMovingAvg(2)(number) FROM numbers(5)",
        result: "[0,0.5,1.5,2.5,3.5]",
    }],
    ..SUM
};

pub struct Moving {
    record: &'static AggregateRecord,
    mean: bool,
}

impl Moving {
    pub const ALL: [Moving; 2] = [Moving { record: &SUM, mean: false }, Moving { record: &AVG, mean: true }];
}

impl AggregateFunction for Moving {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let name = self.record.name;
        let window = optional_limit(name, parameters)?;
        one_argument(name, args)?;
        let ty = &args[0].ty;
        let total = crate::sum::total_type(ty).ok_or_else(|| illegal_type(name, ty))?;
        let result = if self.mean && !total.is_decimal() { DataType::Float64 } else { total };
        Ok(collecting(Windows { result, window, mean: self.mean }, args))
    }
}

struct Windows {
    result: DataType,
    window: Option<usize>,
    mean: bool,
}

impl Windows {
    /// Sums of windows from running totals.
    fn sums<T: Copy>(
        &self,
        values: impl Iterator<Item = T>,
        zero: T,
        plus: fn(T, T) -> T,
        minus: fn(T, T) -> T,
    ) -> Vec<T> {
        let mut totals = vec![zero];
        for value in values {
            totals.push(plus(totals[totals.len() - 1], value));
        }
        let window = self.window.unwrap_or(usize::MAX);
        (1..totals.len()).map(|end| minus(totals[end], totals[end.saturating_sub(window)])).collect()
    }
}

impl Collector for Windows {
    fn result_type(&self) -> DataType {
        self.result.clone().array()
    }

    fn finish(&self, args: &[Vector], rows: &[u32], out: &mut Builder) -> Result<()> {
        let Values::List(list) = &mut out.values else {
            bail!(LOGICAL_ERROR, "Moving sums are not a list");
        };
        let size = self.window.unwrap_or(rows.len()).max(1);
        let floats = Floats::of(&args[0], 1.0)?;
        let to = &mut list.values.values;
        if let (Values::F64(to), true) =
            (&mut *to, matches!(args[0].data, Data::F64(_) | Data::F32(_) | Data::BF16(_)))
        {
            let sums =
                self.sums(rows.iter().map(|&row| floats.get(row as usize)), 0.0, |a, b| a + b, |a, b| a - b);
            to.extend(sums.into_iter().map(|sum| if self.mean { sum / size as f64 } else { sum }));
        } else if let Some(value) = narrow(&args[0].data) {
            // Sums of fewer than 2^64 values of 64 bits fit 128.
            let sums =
                self.sums(rows.iter().map(|&row| value(row as usize)), 0i128, |a, b| a + b, |a, b| a - b);
            match to {
                Values::F64(to) => to.extend(sums.into_iter().map(|sum| sum as f64 / size as f64)),
                Values::U64(to) => to.extend(sums.into_iter().map(|sum| sum as u64)),
                Values::I64(to) => to.extend(sums.into_iter().map(|sum| sum as i64)),
                Values::I128(to) if self.mean => to.extend(sums.into_iter().map(|sum| sum / size as i128)),
                Values::I128(to) => to.extend(sums),
                _ => return Err(err!(LOGICAL_ERROR, "Moving sums are of no known type")),
            }
        } else {
            let values = rows.iter().map(|&row| integer(&args[0].data, row as usize));
            let sums = self.sums(values, I256::ZERO, I256::wrapping_add, I256::wrapping_sub);
            for sum in sums {
                match to {
                    Values::F64(to) => to.push(sum.as_f64() / size as f64),
                    Values::U64(to) => to.push(sum.as_u64()),
                    Values::I64(to) => to.push(sum.as_i64()),
                    Values::U128(to) => to.push(sum.as_u128()),
                    Values::U256(to) => to.push(sum.as_u256()),
                    Values::I128(to) if self.mean => to.push(sum.as_i128() / size as i128),
                    Values::I128(to) => to.push(sum.as_i128()),
                    Values::I256(to) if self.mean => to.push(sum / I256::from(size as u64)),
                    Values::I256(to) => to.push(sum),
                    _ => return Err(err!(LOGICAL_ERROR, "Moving sums are of no known type")),
                }
            }
        }
        list.close();
        Ok(())
    }
}

/// Integers of up to 64 bits by row; none of other data.
fn narrow(data: &Data) -> Option<Box<dyn Fn(usize) -> i128 + '_>> {
    fn values<T: Copy + Into<i128>>(values: &[T]) -> Option<Box<dyn Fn(usize) -> i128 + '_>> {
        Some(Box::new(|row| values[row].into()))
    }
    match data {
        Data::U8(v) => values(v),
        Data::U16(v) => values(v),
        Data::U32(v) => values(v),
        Data::U64(v) => values(v),
        Data::I8(v) => values(v),
        Data::I16(v) => values(v),
        Data::I32(v) => values(v),
        Data::I64(v) => values(v),
        _ => None,
    }
}
