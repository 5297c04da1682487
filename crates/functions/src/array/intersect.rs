//! `arrayIntersect` and `arrayJaccardIndex`: the elements that arrays have in common.

use super::concat::all_arrays;
use crate::arithmetic::convert_numbers;
use crate::distinct::Distinct;
use crate::ids::ids;
use crate::lists::{list, list_of, result_element};
use crate::plain::Plain;
use crate::widen::widen;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;
use chalet_types::supertype::common_supertype;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "arrayIntersect",
        summary: "The elements that occur in all arrays, each once.",
        syntax: "arrayIntersect(arr1, arr2, ...)",
        examples: &[Example { sql: "SELECT arrayIntersect([1, 2, 3], [2, 4], [2])", result: "[2]" }],
        ..Record::DEFAULT
    },
    bind,
    execute,
};

pub static JACCARD: Plain = Plain {
    record: Record {
        name: "arrayJaccardIndex",
        summary: "The size of the intersection of two arrays divided by the size of their union.",
        syntax: "arrayJaccardIndex(arr1, arr2)",
        examples: &[Example {
            sql: "SELECT arrayJaccardIndex([1, 2], [2, 3])",
            result: "0.3333333333333333",
        }],
        ..Record::DEFAULT
    },
    bind: |name, args, ctx| {
        check_arity(name, args.len(), 2..=2)?;
        let Bound { state, .. } = bind(name, args, ctx)?;
        ensure!(
            args.iter().any(|arg| arg.ty.element() != Some(DataType::Nothing)),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "array aggregate functions cannot be performed on two empty arrays"
        );
        Ok(Bound { result: DataType::Float64, state })
    },
    execute: jaccard,
};

/// The type in which elements compare.
struct Common(DataType);

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=usize::MAX)?;
    all_arrays(name, args)?;
    let types: Vec<DataType> = args.iter().map(|arg| arg.ty.element().unwrap_or(DataType::Nothing)).collect();
    let numbers = types.iter().all(|ty| ty.bare().is_integer());
    let common = match common_supertype(&types) {
        Ok(common) => common,
        // 64-bit integers of both signs have no common type, but compare.
        Err(_) if numbers => {
            let nullable = types.iter().any(DataType::is_nullable);
            if nullable { DataType::Int256.nullable() } else { DataType::Int256 }
        }
        Err(e) => return Err(e),
    };
    Ok(Bound::with_state(subtype(&types, &common).array(), Common(common)))
}

/// The least type that holds what all arrays have in common.
fn subtype(types: &[DataType], common: &DataType) -> DataType {
    let nullable = types.iter().all(DataType::is_nullable);
    let bare: Vec<&DataType> = types.iter().map(DataType::bare).collect();
    let width = |ty: &DataType| ty.physical().width().unwrap_or(0);
    let least = |test: fn(&DataType) -> bool| bare.iter().filter(|ty| test(ty)).min_by_key(|ty| width(ty));
    let result = if bare.contains(&&DataType::Nothing) {
        DataType::Nothing
    } else if bare.iter().all(|ty| ty.is_integer() || ty.is_float()) {
        match (least(DataType::is_unsigned), least(DataType::is_signed), least(DataType::is_float)) {
            (Some(u), Some(s), _) => DataType::clone(if width(u) <= width(s) { u } else { s }),
            (Some(one), None, _) | (None, Some(one), _) | (None, None, Some(one)) => DataType::clone(one),
            (None, None, None) => common.bare().clone(),
        }
    } else {
        common.bare().clone()
    };
    if nullable { result.nullable() } else { result }
}

/// Per argument its offsets and the numbers of its elements, and the elements of all.
struct Numbered {
    lists: Vec<(Vec<i64>, usize)>,
    numbers: Vec<u64>,
    values: Vector,
}

fn numbered(call: &Call) -> Result<Numbered> {
    let Common(common) = call.state()?;
    let (mut lists, mut parts, mut start) = (Vec::new(), Vec::new(), 0);
    for arg in call.args {
        let list = list_of(arg, call.n_rows)?;
        let own = arg.ty.element().unwrap_or(DataType::Nothing);
        let values = if *common.bare() == DataType::Int256
            && *own.bare() != DataType::Int256
            && own.bare().is_integer()
        {
            convert_numbers(list.values.as_ref().clone(), common.physical(), list.values.len())?
        } else {
            widen(&list.values, &own, common, call.ctx)?
        };
        lists.push((list.offsets.to_vec(), start));
        start += values.len();
        parts.push(values);
    }
    let values = Vector::concat(&parts.iter().collect::<Vec<_>>());
    Ok(Numbered { lists, numbers: ids(&values), values })
}

impl Numbered {
    /// Elements of one row of one argument, as places among all elements.
    fn places(&self, argument: usize, row: usize) -> std::ops::Range<usize> {
        let (offsets, start) = &self.lists[argument];
        start + offsets[row] as usize..start + offsets[row + 1] as usize
    }
}

fn execute(call: &Call) -> Result<Column> {
    let all = numbered(call)?;
    let (mut elements, mut offsets) = (Vec::new(), vec![0]);
    // The values of the first array, and in how many of the arguments each occurred.
    let (mut first, mut counts) = (Distinct::default(), Vec::new());
    for row in 0..call.n_rows {
        first.clear();
        for argument in 0..call.args.len() {
            if argument == 0 {
                all.places(0, row).for_each(|place| {
                    first.insert(all.numbers[place]);
                });
                counts.clear();
                counts.resize(first.n_numbers(), 1);
                continue;
            }
            for place in all.places(argument, row) {
                if let Some(value) = first.place(all.numbers[place])
                    && counts[value] == argument
                {
                    counts[value] += 1;
                }
            }
        }
        for place in all.places(0, row) {
            if let Some(value) = first.place(all.numbers[place])
                && counts[value] == call.args.len()
            {
                counts[value] = 0;
                elements.push(place as u32);
            }
        }
        offsets.push(elements.len() as i64);
    }
    let found = all.values.gather(&elements);
    let element = result_element(call)?;
    let found = match element.bare() {
        DataType::Nothing => Vector::defaults(element, found.len()),
        ty if ty.is_integer() || ty.is_float() => convert_numbers(found, ty.physical(), elements.len())?,
        _ => found,
    };
    Ok(list(offsets, if element.is_nullable() { found } else { found.without_nulls() }).into())
}

fn jaccard(call: &Call) -> Result<Column> {
    let all = numbered(call)?;
    let mut out: Vec<f64> = Vec::with_capacity(call.n_rows);
    let (mut a, mut b) = (Distinct::default(), Distinct::default());
    for row in 0..call.n_rows {
        a.clear();
        b.clear();
        all.places(0, row).for_each(|place| {
            a.insert(all.numbers[place]);
        });
        let both = all.places(1, row).filter(|&place| {
            let number = all.numbers[place];
            b.is_new(number) && a.place(number).is_some()
        });
        let both = both.count();
        out.push(both as f64 / (a.n_numbers() + b.n_numbers() - both) as f64);
    }
    Ok(Vector::from(out).into())
}
