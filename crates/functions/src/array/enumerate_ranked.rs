//! `arrayEnumerateUniqRanked` and `arrayEnumerateDenseRanked`: occurrences in arrays of arrays, at chosen depths.

use super::enumerate::{dense, occurrences};
use crate::ids::{ids, paired};
use crate::lists::{list, list_of};
use crate::plain::Plain;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;

pub static UNIQ: Plain = Plain {
    record: Record {
        name: "arrayEnumerateUniqRanked",
        summary: "As arrayEnumerateUniq for arrays of arrays: counting begins anew at the arrays of clear_depth, and looks at the elements down to the depth that follows each array.",
        syntax: "arrayEnumerateUniqRanked([clear_depth,] arr[, depth], ...)",
        examples: &[Example {
            sql: "SELECT arrayEnumerateUniqRanked([[1, 2], [2, 3]])",
            result: "[[1,1],[2,1]]",
        }],
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, occurrences),
};

pub static DENSE: Plain = Plain {
    record: Record {
        name: "arrayEnumerateDenseRanked",
        summary: "As arrayEnumerateDense for arrays of arrays, at chosen depths.",
        syntax: "arrayEnumerateDenseRanked([clear_depth,] arr[, depth], ...)",
        examples: &[Example {
            sql: "SELECT arrayEnumerateDenseRanked([[1, 2], [2, 3]])",
            result: "[[1,2],[2,3]]",
        }],
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, dense),
};

struct Depths {
    clear: usize,
    /// Argument and depth of each array.
    arrays: Vec<(usize, usize)>,
    max: usize,
}

fn depth_of(mut ty: &DataType) -> usize {
    let mut depth = 0;
    while let DataType::Array(inner) = ty {
        depth += 1;
        ty = inner;
    }
    depth
}

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    ensure!(
        !args.is_empty(),
        TOO_FEW_ARGUMENTS_FOR_FUNCTION,
        "Number of arguments for function {name} doesn't match: passed 0, should be at least 1."
    );
    let mut depths = Depths { clear: 1, arrays: Vec::new(), max: 0 };
    let number = |arg: &Argument| match arg.constant.as_ref().and_then(|value| value.as_i64()) {
        Some(depth) if depth > 0 && arg.ty.is_unsigned() => Ok(depth as usize),
        None if arg.constant.is_none() => bail!(
            BAD_ARGUMENTS,
            "Incorrect argument type of function {name}. Expected an Array or Const(UInt64), got {}",
            arg.ty
        ),
        _ => bail!(
            BAD_ARGUMENTS,
            "Incorrect arguments for function {name}: depths must be positive constant integers"
        ),
    };
    for (index, arg) in args.iter().enumerate() {
        match (&arg.ty, depths.arrays.last_mut()) {
            (DataType::Array(_), _) => depths.arrays.push((index, depth_of(&arg.ty))),
            (_, None) if index == 0 => depths.clear = number(arg)?,
            (_, Some((array, depth))) if *array + 1 == index => {
                let wanted = number(arg)?;
                ensure!(
                    wanted <= *depth,
                    BAD_ARGUMENTS,
                    "Incorrect arguments for function {name}: required depth '{wanted}' is larger than the array depth ({depth})"
                );
                *depth = wanted;
            }
            _ => bail!(BAD_ARGUMENTS, "Incorrect arguments for function {name}: array expected"),
        }
    }
    ensure!(!depths.arrays.is_empty(), BAD_ARGUMENTS, "Incorrect arguments for function {name}: no array");
    depths.max = depths.arrays.iter().map(|(_, depth)| *depth).max().unwrap_or(1);
    ensure!(
        depths.clear <= depths.max,
        BAD_ARGUMENTS,
        "Incorrect arguments for function {name}: clear_depth ({}) can't be larger than max_array_depth ({})",
        depths.clear,
        depths.max
    );
    let result = (0..depths.max).fold(DataType::UInt32, |ty, _| ty.array());
    Ok(Bound::with_state(result, depths))
}

fn execute(call: &Call, rank: fn(&[i64], &[u64]) -> Vec<u32>) -> Result<Column> {
    let depths: &Depths = call.state()?;
    let mut arrays = Vec::new();
    for &(index, depth) in &depths.arrays {
        let mut current = list_of(&call.args[index], call.n_rows)?;
        let mut levels = vec![current.offsets.to_vec()];
        for _ in 1..depth {
            current = current.values.list()?.normalised();
            levels.push(current.offsets.to_vec());
        }
        arrays.push((levels, ids(&current.values)));
    }
    let deepest = arrays.iter().position(|(levels, _)| levels.len() == depths.max).unwrap_or(0);
    let levels = arrays[deepest].0.clone();
    let mut numbers: Option<Vec<u64>> = None;
    for (own, mut ids) in arrays {
        ensure!(
            levels[..own.len()] == own[..],
            SIZES_OF_ARRAYS_DONT_MATCH,
            "Lengths and depths of all arrays passed to the function must be equal"
        );
        // An element of a shallower array stands for all elements below its place.
        for level in &levels[own.len()..] {
            let repeated = level.windows(2).enumerate();
            ids = repeated.flat_map(|(i, w)| std::iter::repeat_n(ids[i], (w[1] - w[0]) as usize)).collect();
        }
        numbers = Some(match numbers {
            None => ids,
            Some(before) => paired(before, &ids),
        });
    }
    // Where counting begins anew, in terms of the deepest elements.
    let mut starts = levels[depths.clear - 1].clone();
    for level in &levels[depths.clear..] {
        starts.iter_mut().for_each(|start| *start = level[*start as usize]);
    }
    let ranks = rank(&starts, &numbers.unwrap_or_default());
    let nested = levels.into_iter().rev().fold(Vector::from(ranks), |values, level| list(level, values));
    Ok(nested.into())
}
