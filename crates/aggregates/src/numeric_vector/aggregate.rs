//! `groupNumericIndexedVector`: pairs of index and value as a vector, whose result is the sum of its values.

use super::{Bits, NumericVector, check_types, sum};
use crate::check::two_arguments;
use crate::floats::integer;
use chalet_base::hash::HashMap;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Builder, Data, Vector};
use chalet_function_api::aggregate::AggregateNulls;
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, Value};
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "groupNumericIndexedVector",
    summary: "The sum of the values of a sparse vector; its state is the vector: values of the same index are added up.",
    syntax: "groupNumericIndexedVector(index, value)",
    examples: &[Example {
        sql: "SELECT groupNumericIndexedVector(number, number + 0.5) FROM (SELECT number::UInt32 AS number FROM numbers(3))",
        result: "4.5",
    }],
    nulls: AggregateNulls::SkipPlainResult,
    null_flag: false,
    ..AggregateRecord::DEFAULT
};

pub struct GroupNumericIndexedVector;

/// How values are held, as the parameters ask.
fn parameters(parameters: &[Value], bits: Bits) -> Result<Bits> {
    let name = RECORD.name;
    let Some(kind) = parameters.first() else { return Ok(bits) };
    match kind.as_str() {
        Some("BSI") => {}
        Some(other) => {
            bail!(BAD_ARGUMENTS, "Unsupported first parameter {other} of AggregateFunction {name}")
        }
        None => bail!(BAD_ARGUMENTS, "First parameter of AggregateFunction {name} must be 'BSI'"),
    }
    let [_, whole, fraction] = parameters else {
        bail!(NUMBER_OF_ARGUMENTS_DOESNT_MATCH, "AggregateFunction {name} requires zero/three parameters");
    };
    let number = |value: &Value| {
        value
            .as_f64()
            .map(|x| x as i64 as u32)
            .ok_or_else(|| err!(CANNOT_CONVERT_TYPE, "Cannot convert a parameter of {name} to unsigned int"))
    };
    let (whole, fraction) = (number(whole)?, number(fraction)?);
    ensure!(
        bits.float || fraction == 0,
        BAD_ARGUMENTS,
        "fraction_bit_num should be zero when value type is Int/UInt"
    );
    ensure!(
        whole <= 64 && fraction <= 24,
        BAD_ARGUMENTS,
        "integer_bit_num({whole}) and fraction_bit_num({fraction}) must <= 64 and 24 respectly"
    );
    ensure!(
        whole + fraction <= 64,
        BAD_ARGUMENTS,
        "integer_bit_num({whole}) + fraction_bit_num({fraction}) must <= 64"
    );
    ensure!(whole > 0, NOT_IMPLEMENTED, "Values of vectors without an integer bit are not supported");
    Ok(Bits { whole: whole as u8, fraction: fraction as u8, ..bits })
}

impl AggregateFunction for GroupNumericIndexedVector {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, given: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        two_arguments(RECORD.name, args)?;
        let bits = check_types(&args[0].ty, &args[1].ty)?;
        Ok(EachState::of(Group { bits: parameters(given, bits)? }))
    }
}

struct Group {
    bits: Bits,
}

/// The bits of a value of a column.
pub fn raw(bits: Bits, values: &Data, row: usize) -> Result<i64> {
    match values {
        Data::F32(values) => bits.raw(values[row].into()),
        Data::F64(values) => bits.raw(values[row]),
        Data::U64(values) => match i64::try_from(values[row]) {
            Ok(value) => Ok(bits.wrap(value)),
            Err(_) => bail!(
                INCORRECT_DATA,
                "Value {} does not fit in Int64. It should, even when using UInt64",
                values[row]
            ),
        },
        other => Ok(bits.wrap(integer(other, row).as_i64())),
    }
}

impl RowAggregate for Group {
    type State = HashMap<i64, i64>;
    type Input<'a> = (&'a Data, &'a Data);

    fn result_type(&self) -> DataType {
        DataType::Float64
    }

    fn empty(&self) -> Self::State {
        HashMap::default()
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<Self::Input<'a>> {
        Ok((&args[0].data, &args[1].data))
    }

    fn add(&self, state: &mut Self::State, input: &Self::Input<'_>, row: usize) -> Result<()> {
        let value = raw(self.bits, input.1, row)?;
        let sum = state.entry(integer(input.0, row).as_i64()).or_insert(0);
        *sum = self.bits.wrap(sum.wrapping_add(value));
        Ok(())
    }

    fn merge(&self, state: &mut Self::State, other: Self::State) -> Result<()> {
        for (index, value) in other {
            let sum = state.entry(index).or_insert(0);
            *sum = self.bits.wrap(sum.wrapping_add(value));
        }
        Ok(())
    }

    fn serialise(&self, state: &Self::State, out: &mut Vec<u8>) {
        let mut pairs: Vec<(i64, i64)> = state.iter().map(|(index, value)| (*index, *value)).collect();
        pairs.sort_unstable();
        NumericVector { bits: self.bits, pairs }.put(out);
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let vector = NumericVector::take(bytes)?;
        let shift = |value: i64| {
            let (from, to) = (vector.bits.fraction, self.bits.fraction);
            self.bits.wrap(if to >= from { value << (to - from) } else { value >> (from - to) })
        };
        Ok(vector.pairs.iter().map(|&(index, value)| (index, shift(value))).collect())
    }

    fn finish(&self, state: &mut Self::State, out: &mut Builder) -> Result<()> {
        out.natives::<f64>()?.push(sum(self.bits, state.values().copied()));
        Ok(())
    }

    fn heap_memory(&self, state: &Self::State) -> usize {
        state.capacity() * size_of::<(i64, i64)>() * 8 / 7
    }
}
