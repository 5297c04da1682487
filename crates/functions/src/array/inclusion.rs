//! `hasAll`, `hasAny`, `hasSubstr`: whether elements of one array occur in another.

use super::concat::all_arrays;
use crate::ids::ids;
use crate::lists::list_of;
use crate::plain::Plain;
use crate::widen::widen;
use chalet_base::Result;
use chalet_base::hash::HashSet;
use chalet_columns::{Column, Data, List, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Search};
use chalet_types::DataType;
use chalet_types::supertype::common_supertype;
use std::hash::Hash;

pub static ALL: Plain = Plain {
    record: Record {
        name: "hasAll",
        summary: "Whether every element of the second array occurs in the first.",
        syntax: "hasAll(set, subset)",
        examples: &[Example { sql: "SELECT hasAll([1, 2, 3], [3, 1]), hasAll([1], [])", result: "1\t1" }],
        search: Search::AllElements,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| each_row(call, Test::All),
};

pub static ANY: Plain = Plain {
    record: Record {
        name: "hasAny",
        summary: "Whether an element of the second array occurs in the first.",
        syntax: "hasAny(arr1, arr2)",
        examples: &[Example { sql: "SELECT hasAny([1, 2], [2, 5]), hasAny([1], [])", result: "1\t0" }],
        search: Search::AnyElement,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| each_row(call, Test::Any),
};

pub static SUBSTR: Plain = Plain {
    record: Record {
        name: "hasSubstr",
        summary: "Whether the elements of the second array occur in the first one after the other.",
        syntax: "hasSubstr(arr1, arr2)",
        examples: &[Example {
            sql: "SELECT hasSubstr([1, 2, 3], [2, 3]), hasSubstr([1, 2, 3], [1, 3])",
            result: "1\t0",
        }],
        ..Record::DEFAULT
    },
    bind,
    execute: |call| each_row(call, Test::Run),
};

/// What is asked about the elements of the second array.
#[derive(Clone, Copy)]
enum Test {
    All,
    Any,
    /// Do they occur one after the other?
    Run,
}

impl Test {
    fn holds<T: Copy + Eq + Hash>(self, set: &[T], items: &[T]) -> bool {
        // Short arrays are looked through, long ones hashed.
        let hashed = || set.iter().copied().collect::<HashSet<T>>();
        match self {
            Test::All if set.len() <= FEW => items.iter().all(|item| set.contains(item)),
            Test::Any if set.len() <= FEW => items.iter().any(|item| set.contains(item)),
            Test::All => {
                let set = hashed();
                items.iter().all(|item| set.contains(item))
            }
            Test::Any => {
                let set = hashed();
                items.iter().any(|item| set.contains(item))
            }
            Test::Run => items.is_empty() || set.windows(items.len()).any(|window| window == items),
        }
    }
}

/// Arrays of so many elements are not hashed.
const FEW: usize = 16;

/// The type in which elements compare.
struct Common(DataType);

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    all_arrays(name, args)?;
    let types: Vec<DataType> = args.iter().map(|arg| arg.ty.element().unwrap_or(DataType::Nothing)).collect();
    Ok(Bound::with_state(DataType::UInt8, Common(common_supertype(&types)?)))
}

fn each_row(call: &Call, test: Test) -> Result<Column> {
    let Common(common) = call.state()?;
    let (a, b) = (list_of(&call.args[0], call.n_rows)?, list_of(&call.args[1], call.n_rows)?);
    let own = |index: usize| call.args[index].ty.element().unwrap_or(DataType::Nothing);
    let left = widen(&a.values, &own(0), common, call.ctx)?;
    let right = widen(&b.values, &own(1), common, call.ctx)?;
    fn answers<T: Copy + Eq + Hash>(a: &List, x: &[T], b: &List, y: &[T], test: Test) -> Vector {
        let rows = a.ranges().zip(b.ranges());
        rows.map(|(r, s)| u8::from(test.holds(&x[r], &y[s]))).collect::<Vec<u8>>().into()
    }
    macro_rules! each_integer {
        ($($variant:ident),*) => {
            match (&left.data, &right.data) {
                $((Data::$variant(x), Data::$variant(y)) => Some(answers(&a, x, &b, y, test)),)*
                (Data::Str(x), Data::Str(y)) => {
                    let (x, y): (Vec<&[u8]>, Vec<&[u8]>) = (x.iter().collect(), y.iter().collect());
                    Some(answers(&a, &x, &b, &y, test))
                }
                _ => None,
            }
        };
    }
    // Values that are equal when their bytes are need no numbers.
    if left.validity.is_none()
        && right.validity.is_none()
        && let Some(answers) = each_integer!(U8, U16, U32, U64, I8, I16, I32, I64)
    {
        return Ok(answers.into());
    }
    let numbers = ids(&Vector::concat(&[&left, &right]));
    let (x, y) = numbers.split_at(left.len());
    Ok(answers(&a, x, &b, y, test).into())
}
