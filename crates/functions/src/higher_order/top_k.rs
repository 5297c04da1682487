//! `arrayTopK` and `arrayBottomK`: the greatest or least elements in order, without NULLs.

use super::lambda::{Elements, HigherOrder, maybe_lambda};
use super::sort::sorted;
use crate::lanes::{Operand, unary};
use crate::lists::list;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;

macro_rules! top_k {
    ($($id:ident $name:literal $reverse:literal $summary:literal $sql:literal => $result:literal;)*) => {$(
        pub static $id: HigherOrder = HigherOrder {
            record: Record {
                name: $name,
                summary: $summary,
                syntax: concat!($name, "([x -> ...,] k, arr, ...)"),
                examples: &[Example { sql: $sql, result: $result }],
                ..Record::DEFAULT
            },
            bind,
            execute: |call| execute(call, $name, $reverse),
            skipped: 1,
        };
    )*};
}

top_k! {
    TOP "arrayTopK" true
        "The k greatest elements in descending order, compared by what a lambda makes of them if there is one. NULL does not count."
        "SELECT arrayTopK(2, [1, 5, NULL, 3]), arrayTopK(x -> -x, 2, [5, 9, 1, 3])" => "[5,3]\t[1,3]";
    BOTTOM "arrayBottomK" false
        "The k least elements in ascending order, compared by what a lambda makes of them if there is one. NULL does not count."
        "SELECT arrayBottomK(2, [1, 5, NULL, 3])" => "[1,3]";
}

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    let first = usize::from(args.first().is_some_and(|arg| arg.is_lambda));
    ensure!(
        args.len() >= first + 2,
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Function {name} needs at least {} arguments, passed {}",
        first + 2,
        args.len()
    );
    let k = &args[first].ty;
    if k.is_only_null() {
        return Ok(k.clone().into());
    }
    ensure!(
        k.is_integer() && k.physical().width().unwrap_or(16) <= 8 && !k.is_nullable(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {k} of the K argument of function {name} (must be a native integer: UInt8/16/32/64 or Int8/16/32/64)"
    );
    maybe_lambda(name, args, 1)?;
    let DataType::Array(element) = &args[first + 1].ty else {
        bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Argument {} of function {name} must be Array. Found {} instead",
            first + 2,
            args[first + 1].ty
        );
    };
    Ok(element.without_nullable().clone().array().into())
}

fn execute(call: &Call, name: &str, greatest: bool) -> Result<Column> {
    let k = Operand::of(call, usize::from(call.args[0].lambda.is_some()));
    if k.ty.is_only_null() {
        return Ok(Column::constant(Vector::defaults(call.result, 1), call.n_rows));
    }
    let unsigned = k.ty.is_unsigned();
    let counts = unary::<i64, i64>(k, call.n_rows, |x| x)?;
    let elements = Elements::of(call, 1)?;
    let places = sorted(&elements, greatest);
    let counted = |place: &&u32| {
        let place = **place as usize;
        !elements.first.is_null(place) && !elements.mapped.is_null(place)
    };
    let (mut chosen, mut offsets) = (Vec::new(), vec![0i64]);
    for (range, count) in elements.ranges().zip(counts) {
        ensure!(
            count >= 0 || unsigned,
            BAD_ARGUMENTS,
            "Argument K of function {name} must be non-negative, got {count}"
        );
        let count = if count < 0 { usize::MAX } else { count as usize };
        chosen.extend(places[range].iter().filter(counted).take(count));
        offsets.push(chosen.len() as i64);
    }
    Ok(list(offsets, elements.first.without_nulls().gather(&chosen)).into())
}
