//! `arrayLevenshteinDistance`, its weighted form, and `arraySimilarity`: how much two arrays differ.

use super::concat::all_arrays;
use crate::ids::ids;
use crate::lanes::{Operand, unary};
use crate::lists::list_of;
use crate::plain::Plain;
use crate::widen::widen;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;
use chalet_types::supertype::common_supertype;

pub static PLAIN: Plain = Plain {
    record: Record {
        name: "arrayLevenshteinDistance",
        summary: "The least number of insertions, removals and replacements of elements that turn one array into the other.",
        syntax: "arrayLevenshteinDistance(from, to)",
        examples: &[Example { sql: "SELECT arrayLevenshteinDistance([1, 2, 4], [1, 2, 3])", result: "1" }],
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        check_arity(name, args.len(), 2..=2)?;
        bind_elements(name, args, DataType::UInt32)
    },
    execute: |call| {
        let pairs = Pairs::of(call)?;
        let distance = |row: usize| {
            let (a, b) = pairs.row(row);
            unweighted(a, b)
        };
        Ok(Vector::from((0..call.n_rows).map(distance).collect::<Vec<u32>>()).into())
    },
};

pub static WEIGHTED: Plain = Plain {
    record: Record {
        name: "arrayLevenshteinDistanceWeighted",
        summary: "As arrayLevenshteinDistance, where removing or inserting an element costs its weight and replacing costs both.",
        syntax: "arrayLevenshteinDistanceWeighted(from, to, from_weights, to_weights)",
        examples: &[Example {
            sql: "SELECT arrayLevenshteinDistanceWeighted(['A', 'B', 'C'], ['A', 'K', 'L'], [1.0, 2, 3], [3.0, 4, 5])",
            result: "14",
        }],
        ..Record::DEFAULT
    },
    bind: bind_weighted,
    execute: |call| execute_weighted(call, |distance, _| distance),
};

pub static SIMILARITY: Plain = Plain {
    record: Record {
        name: "arraySimilarity",
        summary: "One minus the weighted distance of two arrays divided by the sum of all weights.",
        syntax: "arraySimilarity(from, to, from_weights, to_weights)",
        examples: &[Example {
            sql: "SELECT arraySimilarity(['A', 'B', 'C'], ['A', 'K', 'L'], [1.0, 2, 3], [3.0, 4, 5])",
            result: "0.2222222222222222",
        }],
        ..Record::DEFAULT
    },
    bind: bind_weighted,
    execute: |call| {
        execute_weighted(call, |distance, total| if total == 0.0 { 1.0 } else { 1.0 - distance / total })
    },
};

/// The type in which elements compare.
struct Common(DataType);

fn bind_elements(name: &'static str, args: &[Argument], result: DataType) -> Result<Bound> {
    all_arrays(name, args)?;
    let types: Vec<DataType> = args[..2].iter().filter_map(|arg| arg.ty.element()).collect();
    Ok(Bound::with_state(result, Common(common_supertype(&types)?)))
}

fn bind_weighted(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 4..=4)?;
    all_arrays(name, args)?;
    let weight = |index: usize| args[index].ty.element().unwrap_or(DataType::Nothing);
    ensure!(
        weight(2) == weight(3) && weight(2).is_number(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Arguments 3 and 4 of function {name} must be arrays of the same types. Found {} and {} instead",
        weight(2),
        weight(3)
    );
    bind_elements(name, args, DataType::Float64)
}

/// The elements of the first two arguments as numbers.
struct Pairs {
    offsets: [Vec<i64>; 2],
    numbers: Vec<u64>,
    split: usize,
}

impl Pairs {
    fn of(call: &Call) -> Result<Pairs> {
        let Common(common) = call.state()?;
        let (a, b) = (list_of(&call.args[0], call.n_rows)?, list_of(&call.args[1], call.n_rows)?);
        let own = |index: usize| call.args[index].ty.element().unwrap_or(DataType::Nothing);
        let left = widen(&a.values, &own(0), common, call.ctx)?;
        let right = widen(&b.values, &own(1), common, call.ctx)?;
        let numbers = ids(&Vector::concat(&[&left, &right]));
        Ok(Pairs { offsets: [a.offsets.to_vec(), b.offsets.to_vec()], numbers, split: left.len() })
    }

    fn row(&self, row: usize) -> (&[u64], &[u64]) {
        let (x, y) = self.numbers.split_at(self.split);
        let range = |o: &Vec<i64>| o[row] as usize..o[row + 1] as usize;
        (&x[range(&self.offsets[0])], &y[range(&self.offsets[1])])
    }
}

fn execute_weighted(call: &Call, finish: fn(f64, f64) -> f64) -> Result<Column> {
    let pairs = Pairs::of(call)?;
    let mut weights = Vec::new();
    for (index, arg) in call.args[2..].iter().enumerate() {
        let list = list_of(arg, call.n_rows)?;
        ensure!(
            list.offsets[..] == pairs.offsets[index][..],
            SIZES_OF_ARRAYS_DONT_MATCH,
            "Arguments {} and {} of the function must be of the same size",
            index + 1,
            index + 3
        );
        let operand = Operand { ty: arg.ty, vector: &list.values, constant: false };
        weights.push(unary::<f64, f64>(operand, list.values.len(), |x| x)?);
    }
    let mut out: Vec<f64> = Vec::with_capacity(call.n_rows);
    for row in 0..call.n_rows {
        let (a, b) = pairs.row(row);
        let from = &weights[0][pairs.offsets[0][row] as usize..][..a.len()];
        let to = &weights[1][pairs.offsets[1][row] as usize..][..b.len()];
        let total: f64 = from.iter().chain(to).sum();
        out.push(finish(weighted(a, b, |i| from[i], |j| to[j]), total));
    }
    Ok(Vector::from(out).into())
}

/// The least number of steps, where replacing is one.
fn unweighted(a: &[u64], b: &[u64]) -> u32 {
    let mut previous: Vec<u32> = (0..=b.len() as u32).collect();
    for x in a {
        let mut diagonal = previous[0];
        previous[0] += 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + u32::from(x != y);
            diagonal = previous[j + 1];
            previous[j + 1] = replaced.min(diagonal + 1).min(previous[j] + 1);
        }
    }
    previous[b.len()]
}

/// The least sum of weights of what has to be removed from `a` and inserted from `b`; replacing costs both.
fn weighted(a: &[u64], b: &[u64], from: impl Fn(usize) -> f64, to: impl Fn(usize) -> f64) -> f64 {
    let mut previous: Vec<f64> = vec![0.0];
    previous.extend((0..b.len()).scan(0.0, |sum, j| {
        *sum += to(j);
        Some(*sum)
    }));
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = previous[0];
        previous[0] += from(i);
        for (j, y) in b.iter().enumerate() {
            let replaced = if x == y { diagonal } else { diagonal + from(i) + to(j) };
            diagonal = previous[j + 1];
            previous[j + 1] = replaced.min(diagonal + from(i)).min(previous[j] + to(j));
        }
    }
    previous[b.len()]
}
