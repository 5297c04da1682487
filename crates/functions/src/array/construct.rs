//! `array`: an array of its arguments, as values of their common type.

use crate::conditional::branches::types_to_mix;
use crate::lists::{even_offsets, interleave, list, result_element};
use crate::plain::Plain;
use crate::widen::widen_element;
use chalet_base::Result;
use chalet_columns::{Column, Vector};
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Dictionaries, Example, Nulls, Record, SeveralTypes,
};
use chalet_types::variant::common_or_variant;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "array",
        several_types: SeveralTypes::Seen,
        summary: "An array of the arguments, which need a common type.",
        syntax: "array(x1, x2, ...)",
        examples: &[Example { sql: "SELECT array(1, 2.5, NULL)", result: "[1,2.5,NULL]" }],
        nulls: Nulls::Seen,
        constants: Constants::Seen,
        dictionaries: Dictionaries::InTypes,
        total: true,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

fn bind(_: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    let types = types_to_mix(args.iter());
    Ok(common_or_variant(&types, ctx.settings.use_variant_as_common_type)?.array().into())
}

fn execute(call: &Call) -> Result<Column> {
    let element = result_element(call)?;
    let offsets = even_offsets(call.n_rows, call.args.len());
    if call.args.is_empty() {
        return Ok(list(offsets, Vector::defaults(element, 0)).into());
    }
    let columns: Vec<Vector> = call
        .args
        .iter()
        .map(|arg| widen_element(&arg.vector, arg.ty, element, call.ctx))
        .collect::<Result<_>>()?;
    Ok(list(offsets, interleave(&columns, call.n_rows)).into())
}
