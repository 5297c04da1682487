//! `groupBitmapAnd`, `groupBitmapOr`, `groupBitmapXor`: the numbers in all, in any, in an odd number of the bitmaps.

use super::{Bitmap, Element, NONE};
use crate::check::{illegal_type, no_parameters, one_argument};
use crate::floats::push_integer;
use chalet_base::Result;
use chalet_columns::{Builder, Strings, Vector};
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, I256, Value};
use std::sync::Arc;

const AND: AggregateRecord = AggregateRecord {
    name: "groupBitmapAnd",
    name_in_types: "groupBitmap",
    summary: "The number of integers that are in all of the bitmaps; its state is the bitmap of these.",
    syntax: "groupBitmapAnd(bitmap)",
    examples: &[Example {
        sql: "SELECT groupBitmapAnd(bitmapBuild(range(number + 2))) FROM numbers(3)",
        result: "2",
    }],
    ..AggregateRecord::DEFAULT
};

const OR: AggregateRecord = AggregateRecord {
    name: "groupBitmapOr",
    summary: "The number of integers that are in any of the bitmaps; its state is the bitmap of these.",
    syntax: "groupBitmapOr(bitmap)",
    examples: &[Example {
        sql: "SELECT groupBitmapOr(bitmapBuild(range(number + 2))) FROM numbers(3)",
        result: "4",
    }],
    ..AND
};

const XOR: AggregateRecord = AggregateRecord {
    name: "groupBitmapXor",
    summary: "The number of integers that are in an odd number of the bitmaps; its state is the bitmap of these.",
    syntax: "groupBitmapXor(bitmap)",
    examples: &[Example {
        sql: "SELECT groupBitmapXor(bitmapBuild(range(number + 2))) FROM numbers(3)",
        result: "3",
    }],
    ..AND
};

#[derive(Clone, Copy)]
enum Operation {
    And,
    Or,
    Xor,
}

pub struct Combine {
    record: &'static AggregateRecord,
    operation: Operation,
}

impl Combine {
    pub const ALL: [Combine; 3] = [
        Combine { record: &AND, operation: Operation::And },
        Combine { record: &OR, operation: Operation::Or },
        Combine { record: &XOR, operation: Operation::Xor },
    ];
}

/// The type of the numbers of bitmaps of a type.
pub fn element_type(ty: &DataType) -> Option<&DataType> {
    match ty {
        DataType::AggregateFunction(states) if states.function() == "groupBitmap" => {
            states.arguments().first()
        }
        _ => None,
    }
}

impl AggregateFunction for Combine {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        no_parameters(self.record.name, parameters)?;
        one_argument(self.record.name, args)?;
        let ty = element_type(&args[0].ty);
        let found = ty.and_then(|ty| Some((ty, Element::of(ty)?)));
        let (ty, element) = found.ok_or_else(|| illegal_type(self.record.name, &args[0].ty))?;
        let result = if *ty == DataType::Bool { DataType::UInt8 } else { ty.clone() };
        Ok(EachState::of(Bound { operation: self.operation, result, element }))
    }

    fn state_arguments(&self, args: &[Argument]) -> Option<Vec<DataType>> {
        Some(vec![element_type(&args.first()?.ty)?.clone()])
    }
}

struct Bound {
    operation: Operation,
    result: DataType,
    element: Element,
}

impl RowAggregate for Bound {
    /// None without a bitmap.
    type State = Option<Bitmap>;
    type Input<'a> = &'a Strings;

    fn result_type(&self) -> DataType {
        self.result.clone()
    }

    fn empty(&self) -> Option<Bitmap> {
        None
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<&'a Strings> {
        args[0].strings()
    }

    fn add(&self, state: &mut Option<Bitmap>, states: &&Strings, row: usize) -> Result<()> {
        let bitmap = Bitmap::take(self.element, &mut states.get(row))?;
        self.merge(state, Some(bitmap))
    }

    fn merge(&self, state: &mut Option<Bitmap>, other: Option<Bitmap>) -> Result<()> {
        let Some(other) = other else { return Ok(()) };
        *state = Some(match (state.take(), self.operation) {
            (None, _) => other,
            (Some(bitmap), Operation::And) => bitmap.and(&other),
            (Some(bitmap), Operation::Or) => bitmap.or(&other),
            (Some(bitmap), Operation::Xor) => bitmap.xor(&other),
        });
        Ok(())
    }

    fn serialise(&self, state: &Option<Bitmap>, out: &mut Vec<u8>) {
        match state {
            Some(bitmap) => bitmap.put(self.element, out),
            None => out.push(NONE),
        }
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<Option<Bitmap>> {
        let is_none = bytes.first() == Some(&NONE);
        let bitmap = Bitmap::take(self.element, bytes)?;
        Ok(if is_none { None } else { Some(bitmap) })
    }

    fn finish(&self, state: &mut Option<Bitmap>, out: &mut Builder) -> Result<()> {
        let count = state.as_ref().map_or(0, |bitmap| bitmap.values().len());
        push_integer(I256::from(count as u64), out)
    }

    fn heap_memory(&self, state: &Option<Bitmap>) -> usize {
        state.as_ref().map_or(0, |bitmap| bitmap.values().len() * 8)
    }
}
