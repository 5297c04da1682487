//! `groupArrayMovingSum`, `groupArrayMovingAvg`: running sums and means over all rows or the last few.

use crate::arrays::parameters::optional_limit;
use crate::check::{illegal_type, one_argument};
use crate::collect::{Collector, collecting};
use crate::floats::{Floats, integer};
use chalet_base::{Result, bail};
use chalet_columns::builder::{ListBuilder, Values};
use chalet_columns::rows::RowCodec;
use chalet_columns::wire::{put_len, take_count};
use chalet_columns::{Builder, Data, Vector};
use chalet_function_api::aggregate::{AggregateNulls, RowOrder};
use chalet_function_api::{Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example};
use chalet_types::{DataType, I256, Physical, U256, Value};
use std::ops::Range;
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
    row_order: RowOrder::Merged,
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
    /// The sum of the window that ends at each of the rows, in the type of the result. Sums of integers wrap around, as in the kernel.
    fn sums(&self, kept: &Vector, rows: &[u32]) -> Result<Data> {
        macro_rules! sums {
            ($values:expr, $zero:expr, $plus:expr, $minus:expr) => {
                self.moving(rows.iter().map(|&row| $values[row as usize]), $zero, $plus, $minus).into()
            };
        }
        Ok(match &kept.data {
            Data::F64(v) => Data::F64(sums!(v, 0.0, |a, b| a + b, |a, b| a - b)),
            Data::U64(v) => Data::U64(sums!(v, 0, u64::wrapping_add, u64::wrapping_sub)),
            Data::I64(v) => Data::I64(sums!(v, 0, i64::wrapping_add, i64::wrapping_sub)),
            Data::U128(v) => Data::U128(sums!(v, 0, u128::wrapping_add, u128::wrapping_sub)),
            Data::I128(v) => Data::I128(sums!(v, 0, i128::wrapping_add, i128::wrapping_sub)),
            Data::U256(v) => Data::U256(sums!(v, U256::ZERO, U256::wrapping_add, U256::wrapping_sub)),
            Data::I256(v) => Data::I256(sums!(v, I256::ZERO, I256::wrapping_add, I256::wrapping_sub)),
            _ => bail!(LOGICAL_ERROR, "Moving sums are of no known type"),
        })
    }

    /// The values in the type of their sums.
    fn widened(&self, arg: &Vector) -> Result<Data> {
        let n = arg.len();
        let result = self.result.physical();
        if matches!(arg.data, Data::F64(_) | Data::F32(_) | Data::BF16(_)) {
            let floats = Floats::of(arg, 1.0)?;
            return Ok(Data::F64((0..n).map(|row| floats.get(row)).collect()));
        }
        if let Some(value) = narrow(&arg.data) {
            return Ok(match result {
                Physical::F64 => Data::F64((0..n).map(|row| value(row) as f64).collect()),
                Physical::U64 => Data::U64((0..n).map(|row| value(row) as u64).collect()),
                Physical::I64 => Data::I64((0..n).map(|row| value(row) as i64).collect()),
                Physical::I128 => Data::I128((0..n).map(value).collect()),
                _ => bail!(LOGICAL_ERROR, "Moving sums are of no known type"),
            });
        }
        let value = |row| integer(&arg.data, row);
        Ok(match result {
            Physical::F64 => Data::F64((0..n).map(|row| value(row).as_f64()).collect()),
            Physical::U64 => Data::U64((0..n).map(|row| value(row).as_u64()).collect()),
            Physical::I64 => Data::I64((0..n).map(|row| value(row).as_i64()).collect()),
            Physical::U128 => Data::U128((0..n).map(|row| value(row).as_u128()).collect()),
            Physical::U256 => Data::U256((0..n).map(|row| value(row).as_u256()).collect()),
            Physical::I128 => Data::I128((0..n).map(|row| value(row).as_i128()).collect()),
            Physical::I256 => Data::I256((0..n).map(value).collect()),
            _ => bail!(LOGICAL_ERROR, "Moving sums are of no known type"),
        })
    }

    /// Sums of windows from running totals.
    fn moving<T: Copy>(
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

    /// Appends the elements of a group whose sums stand at `at`.
    fn append(&self, sums: &Data, at: Range<usize>, out: &mut ListBuilder) -> Result<()> {
        let size = self.window.unwrap_or(at.len()).max(1);
        let to = &mut out.values.values;
        match (sums, to) {
            (Data::F64(sums), Values::F64(to)) if self.mean => {
                to.extend(sums[at].iter().map(|sum| sum / size as f64));
            }
            (Data::I128(sums), Values::I128(to)) if self.mean => {
                to.extend(sums[at].iter().map(|sum| sum / size as i128));
            }
            (Data::I256(sums), Values::I256(to)) if self.mean => {
                to.extend(sums[at].iter().map(|sum| *sum / I256::from(size as u64)));
            }
            (Data::F64(sums), Values::F64(to)) => to.extend_from_slice(&sums[at]),
            (Data::U64(sums), Values::U64(to)) => to.extend_from_slice(&sums[at]),
            (Data::I64(sums), Values::I64(to)) => to.extend_from_slice(&sums[at]),
            (Data::U128(sums), Values::U128(to)) => to.extend_from_slice(&sums[at]),
            (Data::I128(sums), Values::I128(to)) => to.extend_from_slice(&sums[at]),
            (Data::U256(sums), Values::U256(to)) => to.extend_from_slice(&sums[at]),
            (Data::I256(sums), Values::I256(to)) => to.extend_from_slice(&sums[at]),
            _ => bail!(LOGICAL_ERROR, "Moving sums are of no known type"),
        }
        out.close();
        Ok(())
    }
}

impl Windows {
    /// An array of each range of sums.
    fn arrays(&self, sums: Data, ranges: &[Range<usize>]) -> Result<Vector> {
        if !self.mean {
            return Ok(Data::List(Vector::from(sums).lists(ranges)).into());
        }
        let mut out = Builder::new(&self.result_type());
        let to = list(&mut out)?;
        to.values.reserve(ranges.iter().map(Range::len).sum());
        ranges.iter().try_for_each(|range| self.append(&sums, range.clone(), to))?;
        Ok(out.finish())
    }
}

fn list(out: &mut Builder) -> Result<&mut ListBuilder> {
    match &mut out.values {
        Values::List(list) => Ok(list),
        _ => bail!(LOGICAL_ERROR, "Moving sums are not a list"),
    }
}

impl Collector for Windows {
    fn result_type(&self) -> DataType {
        self.result.clone().array()
    }

    fn kept_types(&self) -> Option<Vec<DataType>> {
        Some(vec![self.result.clone()])
    }

    fn keep(&self, args: &[Vector]) -> Result<Vec<Vector>> {
        Ok(vec![self.widened(&args[0])?.into()])
    }

    /// The kernel's states hold the running totals.
    fn put_rows(&self, args: &[Vector], rows: &[u32], out: &mut Vec<u8>) -> Result<bool> {
        let all = Windows { result: self.result.clone(), window: None, mean: false };
        let totals = Vector::from(all.sums(&args[0], rows)?);
        put_len(totals.len(), out);
        let codec = RowCodec::new(&self.result);
        (0..totals.len()).for_each(|row| codec.put(&totals, row, out));
        Ok(true)
    }

    fn take_rows(&self, bytes: &mut &[u8], args: &mut [Builder]) -> Result<Option<usize>> {
        let codec = RowCodec::new(&self.result);
        let mut totals = Builder::new(&self.result);
        let n = take_count(bytes, codec.width().unwrap_or(1))?;
        (0..n).try_for_each(|_| codec.take(bytes, &mut totals))?;
        fn differences<T: Copy>(totals: &[T], zero: T, out: &mut Vec<T>, minus: fn(T, T) -> T) {
            let before = std::iter::once(&zero).chain(totals);
            out.extend(totals.iter().zip(before).map(|(&total, &before)| minus(total, before)));
        }
        match (&totals.finish().data, &mut args[0].values) {
            (Data::F64(v), Values::F64(out)) => differences(v, 0.0, out, missing_term),
            (Data::U64(v), Values::U64(out)) => differences(v, 0, out, u64::wrapping_sub),
            (Data::I64(v), Values::I64(out)) => differences(v, 0, out, i64::wrapping_sub),
            (Data::U128(v), Values::U128(out)) => differences(v, 0, out, u128::wrapping_sub),
            (Data::I128(v), Values::I128(out)) => differences(v, 0, out, i128::wrapping_sub),
            (Data::U256(v), Values::U256(out)) => differences(v, U256::ZERO, out, U256::wrapping_sub),
            (Data::I256(v), Values::I256(out)) => differences(v, I256::ZERO, out, I256::wrapping_sub),
            _ => bail!(LOGICAL_ERROR, "Moving sums are of no known type"),
        }
        Ok(Some(n))
    }

    fn finish(&self, args: &[Vector], rows: &[u32], out: &mut Builder) -> Result<()> {
        self.append(&self.sums(&args[0], rows)?, 0..rows.len(), list(out)?)
    }

    fn finish_growing(&self, args: &[Vector], rows: &[u32], ends: &[usize]) -> Result<Vector> {
        let sums = self.sums(&args[0], &rows[..ends.last().copied().unwrap_or(0)])?;
        let ranges: Vec<_> = ends.iter().map(|&end| 0..end).collect();
        self.arrays(sums, &ranges)
    }

    fn of_ranges(&self, args: &[Vector], ranges: &[Range<usize>]) -> Result<Option<Vector>> {
        let (mut sums, mut places) = (Vec::new(), Vec::with_capacity(ranges.len()));
        let mut before = 0;
        for group in ranges.chunk_by(|a, b| a.start == b.start) {
            let rows: Vec<u32> = match group.iter().max_by_key(|range| range.end) {
                Some(longest) => longest.clone().map(|row| row as u32).collect(),
                None => Vec::new(),
            };
            places.extend(group.iter().map(|range| before..before + range.len()));
            before += rows.len();
            sums.push(Vector::from(self.sums(&args[0], &rows)?));
        }
        if sums.is_empty() {
            return Ok(None);
        }
        let sums = Vector::concat(&sums.iter().collect::<Vec<_>>()).data;
        self.arrays(sums, &places).map(Some)
    }
}

/// What was added to `before` to give `total`: of the numbers near the difference one that does, if there is one.
fn missing_term(total: f64, before: f64) -> f64 {
    let term = total - before;
    let near =
        [term, term.next_up(), term.next_down(), term.next_up().next_up(), term.next_down().next_down()];
    near.into_iter().find(|term| before + term == total).unwrap_or(term)
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
