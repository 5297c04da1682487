//! `clamp`: a value, but no less than one bound and no more than another.

use crate::plain::Plain;
use crate::select::{Branch, select};
use crate::widen::widen;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record};
use chalet_types::supertype::common_supertype;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "clamp",
        summary: "The value, the minimum where it is less than that, or the maximum where it is greater than that.",
        syntax: "clamp(value, min, max)",
        examples: &[Example { sql: "SELECT clamp(1, 2, 3), clamp(2.5, 1, 3)", result: "2\t2.5" }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        check_arity(name, args.len(), 3..=3)?;
        Ok(common_supertype(&args.iter().map(|arg| arg.ty.clone()).collect::<Vec<_>>())?.into())
    },
    execute: |call: &Call| -> Result<Column> {
        let vectors = call.args.iter().map(|arg| widen(&arg.vector, arg.ty, call.result, call.ctx));
        let vectors: Vec<Vector> = vectors.collect::<Result<_>>()?;
        let branches: Vec<Branch> = vectors
            .iter()
            .zip(call.args)
            .map(|(vector, arg)| Branch { vector, constant: arg.constant })
            .collect();
        let row_of = |which: usize, row: usize| if branches[which].constant { 0 } else { row };
        let compare =
            |a: usize, b: usize, row: usize| vectors[a].compare(row_of(a, row), &vectors[b], row_of(b, row));
        let mut choice = Vec::with_capacity(call.n_rows);
        for row in 0..call.n_rows {
            ensure!(
                compare(1, 2, row).is_le(),
                BAD_ARGUMENTS,
                "The minimum value cannot be greater than the maximum value for function clamp"
            );
            choice.push(if compare(0, 1, row).is_lt() {
                1
            } else if compare(0, 2, row).is_gt() {
                2
            } else {
                0
            });
        }
        Ok(select(&branches, &choice)?.into())
    },
};
