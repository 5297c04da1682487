//! `has`, `indexOf`, `countEqual`: looking for one value in an array.

use crate::comparison::{Order, Plan, Planner, Side};
use crate::lanes::Operand;
use crate::lists::{list_of, pairs};
use crate::plain::Plain;
use chalet_base::{Result, bail, err};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Dictionaries, Example, Nulls, Record, Search, SeveralTypes,
};
use chalet_types::DataType;
use chalet_types::supertype::common_supertype;
use std::ops::Range;

const FIND: Record = Record {
    nulls: Nulls::Seen,
    constants: Constants::Seen,
    dictionaries: Dictionaries::Decoded,
    several_types: SeveralTypes::Seen,
    total: true,
    ..Record::DEFAULT
};

pub static HAS: Plain = Plain {
    record: Record {
        name: "has",
        summary: "Whether an array has an element equal to a value, or a map has a key equal to it. NULL is equal to NULL.",
        syntax: "has(arr, x)",
        examples: &[Example { sql: "SELECT has([1, 2, NULL], NULL), has(['a'], 'b')", result: "1\t0" }],
        search: Search::Element,
        ..FIND
    },
    bind: |name, args, ctx| bind(name, args, ctx, DataType::UInt8),
    execute: |call| match call.args[0].ty {
        DataType::Json(_) => Ok(paths(call, u8::from)?.into()),
        _ => Ok(search(call, |same, range| u8::from(same[range].contains(&1)))?.into()),
    },
};

pub static NOT_HAS: Plain = Plain {
    record: Record {
        name: "notHas",
        summary: "Whether an array has no element equal to a value, or a map no key equal to it. NULL is equal to NULL.",
        syntax: "notHas(arr, x)",
        examples: &[Example { sql: "SELECT notHas([1, 2, 3], 2), notHas([1, 2, 3], 4)", result: "0\t1" }],
        ..FIND
    },
    bind: |_, args, ctx| bind(HAS.record.name, args, ctx, DataType::UInt8),
    execute: |call| match call.args[0].ty {
        DataType::Json(_) => Ok(paths(call, |found| u8::from(!found))?.into()),
        _ => Ok(search(call, |same, range| u8::from(!same[range].contains(&1)))?.into()),
    },
};

pub static INDEX_OF: Plain = Plain {
    record: Record {
        name: "indexOf",
        summary: "The position of the first element equal to a value, from 1; 0 when there is none.",
        syntax: "indexOf(arr, x)",
        examples: &[Example { sql: "SELECT indexOf([1, 3, NULL, NULL], NULL)", result: "3" }],
        ..FIND
    },
    bind: |name, args, ctx| bind(name, args, ctx, DataType::UInt64),
    execute: index_of,
};

pub static INDEX_OF_SORTED: Plain = Plain {
    record: Record {
        name: "indexOfAssumeSorted",
        summary: "As indexOf, for an array that is sorted in ascending order.",
        syntax: "indexOfAssumeSorted(arr, x)",
        examples: &[Example { sql: "SELECT indexOfAssumeSorted([1, 3, 3, 4], 3)", result: "2" }],
        ..FIND
    },
    bind: |name, args, ctx| bind(name, args, ctx, DataType::UInt64),
    execute: index_of,
};

pub static COUNT_EQUAL: Plain = Plain {
    record: Record {
        name: "countEqual",
        summary: "The number of elements equal to a value. NULL is equal to NULL.",
        syntax: "countEqual(arr, x)",
        examples: &[Example { sql: "SELECT countEqual([1, 2, NULL, NULL], NULL)", result: "2" }],
        ..FIND
    },
    bind: |name, args, ctx| bind(name, args, ctx, DataType::UInt64),
    execute: |call| {
        let count = |same: &[u8], range: Range<usize>| same[range].iter().map(|&s| u64::from(s)).sum::<u64>();
        Ok(search(call, count)?.into())
    },
};

fn index_of(call: &Call) -> Result<Column> {
    let position = |same: &[u8], range: Range<usize>| {
        same[range].iter().position(|&s| s != 0).map_or(0, |index| index as u64 + 1)
    };
    Ok(search(call, position)?.into())
}

fn bind(name: &'static str, args: &[Argument], ctx: &Context, result: DataType) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    let element = match &args[0].ty {
        DataType::Array(element) => &**element,
        DataType::Json(_) if name == HAS.record.name => {
            let path = &args[1].ty;
            return match path {
                DataType::String => Ok(result.into()),
                _ => bail!(
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "Second argument for function {name} must be a String when the first one is JSON. Actual {path}"
                ),
            };
        }
        DataType::Map(key, _) if name == HAS.record.name => key,
        ty => bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "First argument for function {name} must be an array, map or JSON. Actual {ty}"
        ),
    };
    let planner = Planner { function: name, order: Order::Equal, reads_text: false, ctx };
    if let Some(plan) = of_several_types(element.bare(), args[1].ty.bare()) {
        return Ok(Bound::with_state(result, plan));
    }
    let item = Side { ty: &args[1].ty, constant: None };
    match planner.plan(Side { ty: element, constant: None }, item) {
        Ok(plan) => Ok(Bound::with_state(result, plan)),
        Err(_) => {
            let types = [element.bare().clone(), args[1].ty.bare().clone()];
            let error = common_supertype(&types).err();
            Err(error.unwrap_or_else(|| {
                err!(NO_COMMON_TYPE, "There is no supertype for types {element}, {}", args[1].ty)
            }))
        }
    }
}

/// How values are compared whose type is known in their rows only: they are equal where their types are too.
fn of_several_types(element: &DataType, item: &DataType) -> Option<Plan> {
    match (element, item) {
        (dynamic @ DataType::Dynamic(_), _) | (_, dynamic @ DataType::Dynamic(_)) => {
            Some(Plan::Widened(dynamic.clone()))
        }
        (DataType::Variant(_), _) if element == item => Some(Plan::Generic),
        _ => None,
    }
}

/// Whether the objects have a value at the path, or one below it. Paths that the type names are always there.
fn paths(call: &Call, answer: impl Fn(bool) -> u8) -> Result<Vector> {
    let DataType::Json(ty) = call.args[0].ty else { bail!(LOGICAL_ERROR, "{} is not JSON", call.args[0].ty) };
    let (objects, wanted) = (call.strings(0)?, call.strings(1)?);
    let is_there = |row| -> Result<u8> {
        let wanted = wanted.get(row);
        let at_or_below =
            |path: &[u8]| path.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest[0] == b'.');
        let typed = ty.typed.iter().any(|(path, _)| at_or_below(path.as_bytes()));
        let found = typed
            || chalet_columns::json::entries(objects.get(row))?.iter().any(|(path, _)| at_or_below(path));
        Ok(answer(found))
    };
    Ok((0..call.n_rows).map(is_there).collect::<Result<Vec<u8>>>()?.into())
}

/// Compares every element with the value of its row, and sums each row up.
fn search<T>(call: &Call, sum_up: impl Fn(&[u8], Range<usize>) -> T) -> Result<Vector>
where
    Vector: From<Vec<T>>,
{
    let plan: &Plan = call.state()?;
    let (n, item) = (call.n_rows, Operand::of(call, 1));
    let list = list_of(&call.args[0], n)?;
    let (element, values) = match call.args[0].ty {
        DataType::Array(element) => (&**element, &*list.values),
        DataType::Map(key, _) => (&**key, pairs(&list)?.0),
        other => bail!(LOGICAL_ERROR, "{other} has no elements"),
    };
    let left = Operand { ty: element, vector: values, constant: false };
    let same = if item.constant {
        plan.same(left, item, values.len(), call.ctx)?
    } else {
        let repeated = Column::Flat(item.vector.clone()).replicate(&list.offsets).into_flat();
        plan.same(left, Operand { vector: &repeated, ..item }, values.len(), call.ctx)?
    };
    Ok(Vector::from(list.ranges().map(|range| sum_up(&same, range)).collect::<Vec<T>>()))
}
