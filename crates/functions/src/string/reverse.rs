//! `reverse`: the bytes of a string, or the elements of an array or a tuple, in reverse order.

use chalet_base::{Result, bail};
use chalet_columns::{Column, Data, Fixed, List, StringBuilder, Strings, Struct, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, ScalarFunction, ShownType};
use chalet_types::DataType;
use std::sync::Arc;

const RECORD: Record = Record {
    name: "reverse",
    case_insensitive: true,
    summary: "Reverses the order of the elements of an array or a tuple or the bytes of a string.",
    syntax: "reverse(x)",
    examples: &[Example { sql: "SELECT reverse('abc'), reverse([1, 2, 3])", result: "cba\t[3,2,1]" }],
    total: true,
    shown: ShownType::OfFirst,
    ..Record::DEFAULT
};

pub struct Reverse;

impl ScalarFunction for Reverse {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(RECORD.name, args.len(), 1..=1)?;
        match &args[0].ty {
            ty @ (DataType::String | DataType::FixedString(_) | DataType::Array(_)) => Ok(ty.clone().into()),
            DataType::Tuple(fields) => Ok(DataType::Tuple(fields.iter().rev().cloned().collect()).into()),
            ty => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {ty} of argument of function reverse"),
        }
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let vector = call.vector(0);
        let data = match &vector.data {
            Data::Str(strings) => Data::Str(reverse_strings(strings)),
            Data::Fixed(fixed) => Data::Fixed(reverse_fixed(fixed)),
            Data::Struct(tuple) => {
                Data::Struct(Struct { fields: tuple.fields.iter().rev().cloned().collect(), len: tuple.len })
            }
            _ => Data::List(reverse_lists(vector.list()?)),
        };
        Ok(Vector::from(data).into())
    }
}

fn reverse_strings(strings: &Strings) -> Strings {
    let mut out = StringBuilder::with_capacity(strings.len());
    for s in strings.iter() {
        out.push_with(|bytes| bytes.extend(s.iter().rev()));
    }
    out.finish()
}

fn reverse_fixed(fixed: &Fixed) -> Fixed {
    Fixed { width: fixed.width, bytes: fixed.iter().flat_map(|value| value.iter().rev().copied()).collect() }
}

fn reverse_lists(list: &List) -> List {
    let list = list.normalised();
    let elements: Vec<u32> = list.ranges().flat_map(|range| range.rev()).map(|e| e as u32).collect();
    List { offsets: list.offsets, values: Arc::new(list.values.gather(&elements)) }
}
