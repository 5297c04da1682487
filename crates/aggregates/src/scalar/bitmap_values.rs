//! Functions between bitmaps and numbers: `bitmapBuild`, `bitmapToArray`, `bitmapContains`, the parts of bitmaps, and
//! `bitmapTransform`.

use super::bitmaps::{bitmap_argument, bitmap_type, bitmaps, push_numbers};
use crate::bitmap::{Bitmap, Element};
use crate::floats::Unsigned;
use crate::floyd_rivest::select_first;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Builder, Column, Data, List, StringBuilder, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry, ScalarFunction};
use chalet_types::DataType;
use std::sync::Arc;

const BUILD: Record = Record {
    name: "bitmapBuild",
    summary: "The bitmap of the integers of an array.",
    syntax: "bitmapBuild(array)",
    examples: &[Example { sql: "SELECT bitmapToArray(bitmapBuild([3, 1, 3]))", result: "[3,1]" }],
    ..Record::DEFAULT
};

const TO_ARRAY: Record = Record {
    name: "bitmapToArray",
    summary: "The integers of a bitmap: as they came, or in order if there are many.",
    syntax: "bitmapToArray(bitmap)",
    examples: &[Example { sql: "SELECT bitmapToArray(bitmapBuild([1, 2]))", result: "[1,2]" }],
    ..Record::DEFAULT
};

const CONTAINS: Record = Record {
    name: "bitmapContains",
    summary: "Is the integer in the bitmap?",
    syntax: "bitmapContains(bitmap, x)",
    examples: &[Example { sql: "SELECT bitmapContains(bitmapBuild([1, 2]), 2)", result: "1" }],
    ..Record::DEFAULT
};

const IN_RANGE: Record = Record {
    name: "bitmapSubsetInRange",
    summary: "The integers of a bitmap from `start` on and below `end`.",
    syntax: "bitmapSubsetInRange(bitmap, start, end)",
    examples: &[Example {
        sql: "SELECT bitmapToArray(bitmapSubsetInRange(bitmapBuild([1, 2, 3]), 2, 3))",
        result: "[2]",
    }],
    ..Record::DEFAULT
};

const LIMIT: Record = Record {
    name: "bitmapSubsetLimit",
    summary: "The first `limit` integers of a bitmap from `start` on, in order.",
    syntax: "bitmapSubsetLimit(bitmap, start, limit)",
    examples: &[Example {
        sql: "SELECT bitmapToArray(bitmapSubsetLimit(bitmapBuild([1, 2, 3]), 2, 1))",
        result: "[2]",
    }],
    ..Record::DEFAULT
};

const SUB: Record = Record {
    name: "subBitmap",
    summary: "The `limit` integers of a bitmap, in order, behind the first `offset` ones.",
    syntax: "subBitmap(bitmap, offset, limit)",
    examples: &[Example {
        sql: "SELECT bitmapToArray(subBitmap(bitmapBuild([1, 2, 3]), 1, 1))",
        result: "[2]",
    }],
    ..Record::DEFAULT
};

const TRANSFORM: Record = Record {
    name: "bitmapTransform",
    summary: "The bitmap with the integers of the first array replaced by those of the second, one after the other.",
    syntax: "bitmapTransform(bitmap, from, to)",
    examples: &[Example {
        sql: "SELECT bitmapToArray(bitmapTransform(bitmapBuild([1, 2]), [2], [5]))",
        result: "[1,5]",
    }],
    ..Record::DEFAULT
};

pub fn register(registry: &mut Registry) {
    registry.add_scalar(Build);
    registry.add_scalar(ToArray);
    registry.add_scalar(Contains);
    Part::ALL.into_iter().for_each(|f| registry.add_scalar(f));
    registry.add_scalar(Transform);
}

struct Build;

impl ScalarFunction for Build {
    fn record(&self) -> &'static Record {
        &BUILD
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(BUILD.name, args.len(), 1..=1)?;
        let DataType::Array(inner) = &args[0].ty else {
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "First argument for function {} must be an array but it has type {}",
                BUILD.name,
                args[0].ty
            );
        };
        let Some(element) = Element::of(inner).filter(|_| !inner.is_nullable()) else {
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Unexpected type {} of argument of function {}",
                args[0].ty,
                BUILD.name
            );
        };
        Ok(Bound::with_state(bitmap_type(inner)?, element))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let element = call.state::<Element>()?;
        let list = call.vector(0).list()?;
        let numbers = Unsigned::of(&list.values);
        let mut out = StringBuilder::with_capacity(call.n_rows);
        for row in 0..call.n_rows {
            let values = list.range(row).map(|at| element.held(numbers.get(at)));
            out.push_with(|bytes| Bitmap::of(values).put(*element, bytes));
        }
        Ok(Vector::from(out.finish()).into())
    }
}

struct ToArray;

impl ScalarFunction for ToArray {
    fn record(&self) -> &'static Record {
        &TO_ARRAY
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(TO_ARRAY.name, args.len(), 1..=1)?;
        let (ty, element) = bitmap_argument(TO_ARRAY.name, args, 0)?;
        Ok(Bound::with_state(ty.array(), element))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let &element = call.state::<Element>()?;
        let mut values = Builder::new(&call.result.element().unwrap_or(DataType::Nothing));
        let mut offsets = vec![0i64];
        for bitmap in bitmaps(call.vector(0), element)? {
            push_numbers(bitmap?.values(), element, &mut values)?;
            offsets.push(values.len() as i64);
        }
        let values = Arc::new(values.finish());
        Ok(Vector::from(Data::List(List { offsets: offsets.into(), values })).into())
    }
}

struct Contains;

impl ScalarFunction for Contains {
    fn record(&self) -> &'static Record {
        &CONTAINS
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(CONTAINS.name, args.len(), 2..=2)?;
        let (_, element) = bitmap_argument(CONTAINS.name, args, 0)?;
        ensure!(
            Element::of(&args[1].ty).is_some(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Second argument for function {} must be an native integer type but it has type {}",
            CONTAINS.name,
            args[1].ty
        );
        Ok(Bound::with_state(DataType::UInt8, element))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let &element = call.state::<Element>()?;
        let numbers = Unsigned::of(call.vector(1));
        let found = bitmaps(call.vector(0), element)?.enumerate().map(|(row, bitmap)| {
            // The number counts as an unsigned one of 64 bits, so that a negative one is in none but the widest bitmaps.
            let held = element.held_unsigned(numbers.get(row));
            let bitmap = bitmap?;
            Ok(u8::from(held.is_some_and(|held| bitmap.contains(held))))
        });
        Ok(Vector::from(found.collect::<Result<Vec<u8>>>()?).into())
    }
}

/// A part of a bitmap, between two numbers.
struct Part {
    record: &'static Record,
    choose: fn(Bitmap, Element, u64, u64) -> Vec<u64>,
}

impl Part {
    const ALL: [Part; 3] = [
        Part {
            record: &IN_RANGE,
            choose: |bitmap, element, start, end| {
                let mut values = bitmap.into_values();
                values.retain(|&held| (start..end).contains(&element.unsigned(held)));
                values
            },
        },
        Part {
            record: &LIMIT,
            choose: |bitmap, element, start, limit| {
                let limit = usize::try_from(limit).unwrap_or(usize::MAX);
                let few = bitmap.is_small();
                let mut values = bitmap.into_values();
                values.retain(|&held| element.unsigned(held) >= start);
                // Few numbers are in no order, and the kernel does not sort them for this.
                if few {
                    select_first(&mut values, limit, &mut |&a, &b| element.unsigned(a) < element.unsigned(b));
                }
                values.truncate(limit);
                values
            },
        },
        Part {
            record: &SUB,
            choose: |bitmap, _, offset, limit| {
                let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
                bitmap.into_sorted().into_iter().skip(size(offset)).take(size(limit)).collect()
            },
        },
    ];
}

impl ScalarFunction for Part {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let name = self.record.name;
        check_arity(name, args.len(), 3..=3)?;
        let (_, element) = bitmap_argument(name, args, 0)?;
        for arg in &args[1..] {
            ensure!(
                arg.ty.is_unsigned() && Element::of(&arg.ty).is_some(),
                ILLEGAL_TYPE_OF_ARGUMENT,
                "The second and third arguments for function {name} must be one of [UInt8, UInt16, UInt32, UInt64] but one of \
                 them has type {}",
                arg.ty
            );
        }
        Ok(Bound::with_state(args[0].ty.clone(), element))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let &element = call.state::<Element>()?;
        let mut out = StringBuilder::with_capacity(call.n_rows);
        let (first, second) = (Unsigned::of(call.vector(1)), Unsigned::of(call.vector(2)));
        for (row, bitmap) in bitmaps(call.vector(0), element)?.enumerate() {
            let part = (self.choose)(bitmap?, element, first.get(row), second.get(row));
            out.push_with(|bytes| Bitmap::of_part(part).put(element, bytes));
        }
        Ok(Vector::from(out.finish()).into())
    }
}

struct Transform;

impl ScalarFunction for Transform {
    fn record(&self) -> &'static Record {
        &TRANSFORM
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(TRANSFORM.name, args.len(), 3..=3)?;
        let (_, element) = bitmap_argument(TRANSFORM.name, args, 0)?;
        for arg in &args[1..] {
            let numbers = arg.ty.element().is_some_and(|ty| ty.is_unsigned() && Element::of(&ty).is_some());
            ensure!(
                numbers,
                ILLEGAL_TYPE_OF_ARGUMENT,
                "The second and third arguments for function {} must be an one of [Array(UInt8), Array(UInt16), Array(UInt32), \
                 Array(UInt64)] but one of them has type {}",
                TRANSFORM.name,
                arg.ty
            );
        }
        Ok(Bound::with_state(args[0].ty.clone(), element))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let &element = call.state::<Element>()?;
        let (from, to) = (call.vector(1).list()?, call.vector(2).list()?);
        let mut out = StringBuilder::with_capacity(call.n_rows);
        for (row, bitmap) in bitmaps(call.vector(0), element)?.enumerate() {
            let (old, new) = (from.range(row), to.range(row));
            ensure!(old.len() == new.len(), BAD_ARGUMENTS, "From array size and to array size mismatch");
            let mut values: std::collections::BTreeSet<u64> = bitmap?.values().iter().copied().collect();
            let number = |list: &List, at: usize| Unsigned::of(&list.values).get(at);
            for (old, new) in old.zip(new) {
                let replacement = number(to, new);
                let Some(replacement) = element.held_unsigned(replacement) else {
                    bail!(
                        BAD_ARGUMENTS,
                        "Replacement value {replacement} does not fit into the bitmap element type, the maximum is {}",
                        element.max_unsigned()
                    );
                };
                let old = element.held_unsigned(number(from, old));
                if old.is_some_and(|old| values.remove(&old)) {
                    values.insert(replacement);
                }
            }
            let large = Bitmap::large(values.into_iter().collect());
            out.push_with(|bytes| large.put(element, bytes));
        }
        Ok(Vector::from(out.finish()).into())
    }
}
