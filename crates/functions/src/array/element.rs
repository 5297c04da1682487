//! `arrayElement` and `arrayElementOrNull`: the operator `[]` of arrays and maps.

use crate::arithmetic::convert_numbers;
use crate::comparison::{Order, Plan, Planner, Side};
use crate::lanes::{Operand, unary};
use crate::lists::{NONE, gather_or_default, list, pairs};
use crate::plain::Plain;
use crate::several::subcolumn;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, List, qbit};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record, Search};
use chalet_types::{DataType, Physical, Value};
use std::ops::Range;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "arrayElement",
        summary: "The element of an array at a position, which counts from 1, or from -1 at the end; the value of a map under a key. The default of the type when there is none.",
        syntax: "arr[n], map[key]",
        examples: &[Example { sql: "SELECT [1, 2, 3][-1], ['a'][2], map('k', 5)['k']", result: "3\t\t5" }],
        constants: Constants::Seen,
        total: true,
        search: Search::Subscript,
        ..Record::DEFAULT
    },
    bind: |name, args, ctx| bind(name, args, ctx, false),
    execute: |call| {
        check_index(call)?;
        execute(call)
    },
};

pub static OR_NULL: Plain = Plain {
    record: Record {
        name: "arrayElementOrNull",
        summary: "As arrayElement, with NULL for an element that does not exist.",
        syntax: "arrayElementOrNull(arr, n)",
        examples: &[Example { sql: "SELECT arrayElementOrNull([1, 2], 3)", result: "\\N" }],
        constants: Constants::Seen,
        total: true,
        ..Record::DEFAULT
    },
    bind: |name, args, ctx| bind(name, args, ctx, true),
    execute,
};

/// How keys of a map compare with the argument.
struct Keys(Plan);

fn bind(name: &'static str, args: &[Argument], ctx: &Context, or_null: bool) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    let outcome = |ty: &DataType| {
        if or_null { ty.clone().nullable() } else { ty.clone() }
    };
    match &args[0].ty {
        DataType::Map(key, value) => {
            let planner = Planner { function: name, order: Order::Equal, reads_text: false, ctx };
            let index = match key_as_index(key, &args[1].ty) {
                Some(ty) => Side { ty, constant: None },
                None => Side::from(&args[1]),
            };
            let float = key.is_integer() && args[1].ty.is_float();
            match planner.plan(Side { ty: key, constant: None }, index) {
                Ok(plan) if !float => Ok(Bound::with_state(outcome(value), Keys(plan))),
                _ => bail!(
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "Illegal types of arguments: {}, {} for function {name}",
                    args[0].ty,
                    args[1].ty
                ),
            }
        }
        DataType::Json(json) if args[1].ty.is_string() && !or_null => match args[1].constant {
            Some(Value::Bytes(_)) => Ok(DataType::Dynamic(json.max_dynamic_types).into()),
            _ => bail!(
                ILLEGAL_COLUMN,
                "Second argument of function {name} of a JSON must be a constant string"
            ),
        },
        DataType::QBit(vectors) => position_of(name, &args[1].ty, outcome(&vectors.element().data_type())),
        DataType::Array(element) => position_of(name, &args[1].ty, outcome(element)),
        ty => bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "First argument for function '{name}' must be array, got '{ty}' instead"
        ),
    }
}

/// The type of what stands at a position, or at each of several.
fn position_of(name: &str, position: &DataType, element: DataType) -> Result<Bound> {
    match position {
        ty if ty.is_narrow_integer() => Ok(element.into()),
        DataType::Array(ty) if ty.is_narrow_integer() => Ok(element.array().into()),
        ty => bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Second argument for function '{name}' must be integer or array of integers, got '{ty}' instead"
        ),
    }
}

/// The type that an integer takes when it is looked up among integer keys: it wraps, as in the kernel.
fn key_as_index<'a>(key: &'a DataType, index: &DataType) -> Option<&'a DataType> {
    (key.is_narrow_integer() && index.is_narrow_integer() && key != index).then_some(key)
}

/// The kernel refuses a constant 0 as the index of arrays that are not constant, and gives the default for any other 0.
fn check_index(call: &Call) -> Result<()> {
    let [container, index] = call.args else { return Ok(()) };
    let is_array = matches!(container.ty, DataType::Array(_) | DataType::QBit(_)) && index.ty.is_integer();
    if is_array && !container.constant && index.constant && call.n_rows > 0 {
        let zero = positions(Operand::of(call, 1), 1)?[0] == 0;
        ensure!(!zero, ZERO_ARRAY_OR_TUPLE_INDEX, "Array indices are 1-based");
    }
    Ok(())
}

fn execute(call: &Call) -> Result<Column> {
    if let DataType::Json(json) = call.args[0].ty {
        let path = call.vector(1).strings()?.get(0).to_vec();
        let found = subcolumn::member(call.vector(0), json, &path)?;
        return Ok(if call.args[0].constant { found.repeat(call.n_rows) } else { found }.into());
    }
    let (container, index) = (Operand::of(call, 0), Operand::of(call, 1));
    let arrays;
    let rows = match container.ty {
        DataType::QBit(vectors) => {
            arrays = qbit::arrays(container.vector.fixed()?, *vectors);
            &arrays
        }
        _ => container.vector.list()?,
    };
    if let DataType::Map(..) = container.ty {
        let elements = find_keys(call, rows, container.constant, index)?;
        return Ok(gather_or_default(pairs(rows)?.1, &elements, call.result).into());
    }
    if let (DataType::Array(ty), DataType::Array(result)) = (index.ty, call.result) {
        let indexes = index.vector.list()?;
        let numbers = Operand { ty, vector: &indexes.values, constant: false };
        let numbers = positions(numbers, indexes.values.len())?;
        let (mut elements, mut offsets) = (Vec::new(), vec![0]);
        for row in 0..call.n_rows {
            let range = rows.range(container.row(row));
            elements.extend(indexes.range(index.row(row)).map(|i| pick(&range, numbers[i])));
            offsets.push(elements.len() as i64);
        }
        return Ok(list(offsets, gather_or_default(&rows.values, &elements, result)).into());
    }
    let mut elements = vec![NONE; call.n_rows];
    let numbers = positions(index, call.n_rows)?;
    for (row, element) in elements.iter_mut().enumerate() {
        *element = pick(&rows.range(container.row(row)), numbers[row]);
    }
    Ok(gather_or_default(&rows.values, &elements, call.result).into())
}

/// Positions as numbers of 64 bits: what does not fit is behind the end of any array, or before its beginning.
fn positions(numbers: Operand, n: usize) -> Result<Vec<i64>> {
    match numbers.ty.physical() {
        Physical::U64 => unary::<u64, i64>(numbers, n, |x| i64::try_from(x).unwrap_or(i64::MAX)),
        Physical::U128 | Physical::I128 | Physical::U256 | Physical::I256 => {
            unary::<i128, i64>(numbers, n, |x| x.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
        }
        _ => unary::<i64, i64>(numbers, n, |x| x),
    }
}

/// The number of the element at a position from 1, or from -1 at the end.
#[inline(always)]
fn pick(range: &Range<usize>, position: i64) -> u32 {
    let len = range.len() as u64;
    let (front, back) = ((position as u64).wrapping_sub(1), !(position as u64));
    if front < len {
        range.start as u32 + front as u32
    } else if back < len {
        range.end as u32 - 1 - back as u32
    } else {
        NONE
    }
}

/// For every row the number of the first pair whose key is the one asked for.
fn find_keys(call: &Call, rows: &List, constant: bool, key: Operand) -> Result<Vec<u32>> {
    let Keys(plan) = call.state()?;
    let (keys, _) = pairs(rows)?;
    let DataType::Map(key_type, _) = call.args[0].ty else { return Ok(Vec::new()) };
    let wrapped;
    let key = match key_as_index(key_type, key.ty) {
        Some(ty) => {
            wrapped = convert_numbers(key.vector.clone(), ty.physical(), key.vector.len())?;
            Operand { ty, vector: &wrapped, ..key }
        }
        None => key,
    };
    // A constant map meets one key a row: every pair of it is compared with every row.
    if constant {
        let range = rows.range(0);
        let mut found = vec![NONE; call.n_rows];
        for pair in range.rev() {
            let one = keys.slice(pair, 1);
            let left = Operand { ty: key_type, vector: &one, constant: true };
            let same = plan.same(left, key, call.n_rows, call.ctx)?;
            found.iter_mut().zip(same).filter(|(_, same)| *same != 0).for_each(|(f, _)| *f = pair as u32);
        }
        return Ok(found);
    }
    let list = rows.normalised();
    let (keys, _) = pairs(&list)?;
    let left = Operand { ty: key_type, vector: keys, constant: false };
    let same = if key.constant {
        plan.same(left, key, keys.len(), call.ctx)?
    } else {
        let repeated = Column::Flat(key.vector.clone()).replicate(&list.offsets).into_flat();
        plan.same(left, Operand { vector: &repeated, ..key }, keys.len(), call.ctx)?
    };
    let first = rows.offsets[0] as u32;
    Ok(list
        .ranges()
        .map(|range| {
            let start = range.start;
            same[range].iter().position(|&s| s != 0).map_or(NONE, |i| first + (start + i) as u32)
        })
        .collect())
}
