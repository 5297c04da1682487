//! `arrayWithConstant` and `replicate`: one value many times.

use crate::lanes::{Operand, unary};
use crate::lists::{list, list_of};
use crate::plain::Plain;
use chalet_base::{Result, ensure};
use chalet_columns::Column;
use chalet_function_api::scalar::{check_arity, check_type};
use chalet_function_api::{Argument, Bound, Call, Context, Example, Nulls, Record};
use chalet_types::DataType;

/// The most elements that the kernel allows in an array that a function makes.
pub const MAX_ELEMENTS: i128 = 1 << 30;

/// The most bytes of an array of one value many times.
const MAX_ARRAY_BYTES: i128 = 1_000_000_000;

pub static WITH_CONSTANT: Plain = Plain {
    record: Record {
        name: "arrayWithConstant",
        summary: "An array of the given length of one value.",
        syntax: "arrayWithConstant(length, x)",
        examples: &[Example { sql: "SELECT arrayWithConstant(3, 'a')", result: "['a','a','a']" }],
        nulls: Nulls::Seen,
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        check_arity(name, args.len(), 2..=2)?;
        check_type(name, args, 0, |ty| ty.is_narrow_integer() || ty.is_float(), "Integer")?;
        Ok(args[1].ty.clone().array().into())
    },
    execute: with_constant,
};

pub static REPLICATE: Plain = Plain {
    record: Record {
        name: "replicate",
        summary: "An array of one value, as long as the array of the second argument.",
        syntax: "replicate(x, arr)",
        examples: &[Example { sql: "SELECT replicate('a', [1, 2])", result: "['a','a']" }],
        nulls: Nulls::Seen,
        ..Record::DEFAULT
    },
    bind: bind_replicate,
    execute: |call| {
        let list_of_first = list_of(&call.args[1], call.n_rows)?;
        for (index, arg) in call.args.iter().enumerate().skip(2) {
            ensure!(
                list_of(arg, call.n_rows)?.offsets[..] == list_of_first.offsets[..],
                SIZES_OF_ARRAYS_DONT_MATCH,
                "Array argument {} of function replicate must have equal sizes",
                index + 1
            );
        }
        let values = Column::Flat(call.vector(0).clone()).replicate(&list_of_first.offsets).into_flat();
        Ok(list(list_of_first.offsets.to_vec(), values).into())
    },
};

fn bind_replicate(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=usize::MAX)?;
    for (index, arg) in args.iter().enumerate().skip(1) {
        ensure!(
            matches!(arg.ty, DataType::Array(_)),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "A value of illegal type was provided as argument {} 'array' to function '{name}'. Expected: Array, got: {}",
            index + 1,
            arg.ty
        );
    }
    Ok(args[0].ty.clone().array().into())
}

fn with_constant(call: &Call) -> Result<Column> {
    let lengths = unary::<i128, i128>(Operand::of(call, 0), call.n_rows, |x| x)?;
    let sizes = crate::other::byte_sizes(call.vector(1), call.args[1].ty);
    let element_size = sizes.iter().sum::<u64>().checked_div(sizes.len() as u64).unwrap_or(0);
    let longest = MAX_ARRAY_BYTES.checked_div(element_size.into()).unwrap_or(i128::MAX);
    let mut offsets = Vec::with_capacity(call.n_rows + 1);
    let mut total = 0i128;
    offsets.push(0i64);
    for length in lengths {
        ensure!(length >= 0, TOO_LARGE_ARRAY_SIZE, "Array size {length} cannot be negative");
        ensure!(
            length <= longest,
            TOO_LARGE_ARRAY_SIZE,
            "Array size {length} with element size {element_size} bytes is too large"
        );
        total += length;
        ensure!(
            total <= MAX_ELEMENTS,
            TOO_LARGE_ARRAY_SIZE,
            "Too large array size {total} (will generate at least {total} elements), maximum: {MAX_ELEMENTS}"
        );
        offsets.push(total as i64);
    }
    let values = Column::Flat(call.vector(1).clone()).replicate(&offsets).into_flat();
    Ok(list(offsets, values).into())
}
