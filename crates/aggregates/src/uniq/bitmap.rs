//! `groupBitmap`: the number of different integers, in the type of the integers.

use crate::bitmap::{Bitmap, Element, MAX_SMALL, put_large};
use crate::check::{illegal_type, no_parameters, one_argument};
use crate::floats::{integer, push_integer};
use chalet_base::hash::HashSet;
use chalet_base::{Result, bail};
use chalet_columns::{Builder, Vector};
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, I256, Value};
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "groupBitmap",
    summary: "The number of different integers of up to 64 bits, as a number of their own type.",
    syntax: "groupBitmap(x)",
    examples: &[Example { sql: "SELECT groupBitmap(number % 3) FROM numbers(10)", result: "3" }],
    ..AggregateRecord::DEFAULT
};

pub struct GroupBitmap;

impl AggregateFunction for GroupBitmap {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        no_parameters(RECORD.name, parameters)?;
        one_argument(RECORD.name, args)?;
        if matches!(args[0].ty, DataType::AggregateFunction(_)) {
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "The type {} of argument for aggregate function {} is illegal, because it cannot be used in Bitmap operations",
                args[0].ty,
                RECORD.name
            );
        }
        let ty = if args[0].ty == DataType::Bool { DataType::UInt8 } else { args[0].ty.clone() };
        let element = Element::of(&ty).ok_or_else(|| illegal_type(RECORD.name, &ty))?;
        Ok(EachState::of(Numbers { ty, element }))
    }
}

struct Numbers {
    ty: DataType,
    element: Element,
}

/// Numbers as [`Element::held`] has them.
enum Set {
    /// In the order in which they came.
    Small(Vec<u64>),
    Large(HashSet<u64>),
}

impl Set {
    #[inline]
    fn insert(&mut self, value: u64) {
        match self {
            Set::Large(values) => {
                values.insert(value);
            }
            Set::Small(values) if values.contains(&value) => {}
            Set::Small(values) if values.len() < MAX_SMALL => values.push(value),
            Set::Small(values) => {
                let mut all: HashSet<u64> = values.iter().copied().collect();
                all.insert(value);
                *self = Set::Large(all);
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            Set::Small(values) => values.len(),
            Set::Large(values) => values.len(),
        }
    }
}

impl RowAggregate for Numbers {
    type State = Set;
    type Input<'a> = &'a Vector;

    fn result_type(&self) -> DataType {
        self.ty.clone()
    }

    fn empty(&self) -> Set {
        Set::Small(Vec::new())
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<&'a Vector> {
        Ok(&args[0])
    }

    fn add(&self, state: &mut Set, values: &&Vector, row: usize) -> Result<()> {
        state.insert(self.element.held(integer(&values.data, row).as_u64()));
        Ok(())
    }

    fn merge(&self, state: &mut Set, other: Set) -> Result<()> {
        match other {
            Set::Small(values) => values.into_iter().for_each(|value| state.insert(value)),
            Set::Large(mut values) => {
                match state {
                    Set::Small(own) => values.extend(own.iter().copied()),
                    Set::Large(own) if own.len() > values.len() => {
                        own.extend(values);
                        return Ok(());
                    }
                    Set::Large(own) => values.extend(own.iter().copied()),
                }
                *state = Set::Large(values);
            }
        }
        Ok(())
    }

    fn serialise(&self, state: &Set, out: &mut Vec<u8>) {
        match state {
            Set::Small(values) => Bitmap::Small(values.clone()).put(self.element, out),
            Set::Large(values) => {
                let mut values: Vec<u64> = values.iter().copied().collect();
                values.sort_unstable();
                put_large(&values, self.element, out);
            }
        }
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<Set> {
        Ok(match Bitmap::take(self.element, bytes)? {
            Bitmap::Small(values) => Set::Small(values),
            Bitmap::Large(values) => Set::Large(values.into_iter().collect()),
        })
    }

    fn finish(&self, state: &mut Set, out: &mut Builder) -> Result<()> {
        push_integer(I256::from(state.len() as u64), out)
    }

    fn heap_memory(&self, state: &Set) -> usize {
        match state {
            Set::Small(values) => values.capacity() * size_of::<u64>(),
            Set::Large(values) => values.capacity() * 2 * size_of::<u64>(),
        }
    }
}
