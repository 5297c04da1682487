//! `coalesce`, `ifNull`: the first value that is not NULL.

use super::branches::{MixesScales, common_or_variant, pick, types_to_mix};
use chalet_base::Result;
use chalet_columns::{Column, Vector, bits};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Example, Lazy, Nulls, Record, ScalarFunction, SeveralTypes,
};
use chalet_types::DataType;

const COALESCE: Record = Record {
    name: "coalesce",
    shown: chalet_function_api::ShownType::OfFirst,
    several_types: SeveralTypes::Seen,
    case_insensitive: true,
    summary: "The first argument that is not NULL, or NULL when all are.",
    syntax: "coalesce(x, ...)",
    examples: &[Example { sql: "SELECT coalesce(NULL, 'a', 'b'), coalesce(NULL, NULL)", result: "a\t\\N" }],
    nulls: Nulls::Seen,
    constants: Constants::Seen,
    lazy: Lazy::FirstNonNull,
    total: true,
    ..Record::DEFAULT
};

const IF_NULL: Record = Record {
    name: "ifNull",
    summary: "The first argument, or the second one when the first is NULL.",
    syntax: "ifNull(x, otherwise)",
    examples: &[Example { sql: "SELECT ifNull('a', 'b'), ifNull(NULL, 'b')", result: "a\tb" }],
    ..COALESCE
};

pub struct Coalesce {
    record: &'static Record,
}

pub const COALESCE_FUNCTION: Coalesce = Coalesce { record: &COALESCE };
pub const IF_NULL_FUNCTION: Coalesce = Coalesce { record: &IF_NULL };

/// The arguments that may be the result: none that is only NULL, none behind one that cannot be NULL.
fn candidates<'a>(types: impl Iterator<Item = &'a DataType>) -> Vec<usize> {
    let mut found = Vec::new();
    for (index, ty) in types.enumerate() {
        if ty.is_only_null() {
            continue;
        }
        found.push(index);
        if !ty.is_nullable() {
            break;
        }
    }
    found
}

impl ScalarFunction for Coalesce {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        if self.record.name == IF_NULL.name {
            check_arity(IF_NULL.name, args.len(), 2..=2)?;
        }
        let found = candidates(args.iter().map(|arg| &arg.ty));
        let Some(&last) = found.last() else {
            return Ok(DataType::Nothing.nullable().into());
        };
        let result = common_or_variant(&types_to_mix(found.iter().map(|&i| &args[i])), ctx)?;
        let result = result.without_nullable().clone();
        let result = if args[last].ty.is_nullable() { result.nullable() } else { result };
        let (first, last) = (&args[found[0]], &args[last]);
        let by_row = found.len() == 2 && (self.record.name == IF_NULL.name || first.constant.is_none());
        Ok(Bound::with_state(result, MixesScales::of(&first.ty, &last.ty, by_row)))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let found = candidates(call.args.iter().map(|arg| arg.ty));
        let Some(last) = found.len().checked_sub(1) else {
            return Ok(Column::constant(Vector::defaults(call.result, 1), call.n_rows));
        };
        MixesScales::check(call)?;
        let mut choice = vec![last as u8; call.n_rows];
        for (index, &arg) in found[..last].iter().enumerate().rev() {
            let arg = &call.args[arg];
            match &arg.vector.validity {
                None => choice.fill(index as u8),
                Some(_) if arg.constant => {}
                Some(validity) => choice
                    .iter_mut()
                    .zip(bits::to_bytes(validity.inner()))
                    .for_each(|(c, valid)| *c = if valid != 0 { index as u8 } else { *c }),
            }
        }
        pick(call, &found, &choice)
    }
}
