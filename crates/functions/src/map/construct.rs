//! `map`: a map of pairs of arguments.

use crate::conditional::branches::types_to_mix;
use crate::lists::{even_offsets, interleave, list};
use crate::plain::Plain;
use crate::widen::widen_element;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Data, Struct, Vector};
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Dictionaries, Example, Nulls, Record, SeveralTypes,
};
use chalet_types::DataType;
use chalet_types::variant::common_or_variant;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "map",
        several_types: SeveralTypes::Seen,
        summary: "A map of the arguments: a key, its value, the next key, and so on.",
        syntax: "map(key1, value1, key2, value2, ...)",
        examples: &[Example { sql: "SELECT map('a', 1, 'b', 2)", result: "{'a':1,'b':2}" }],
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
    ensure!(
        args.len() % 2 == 0,
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Function map requires even number of arguments, but {} given",
        args.len()
    );
    let types = |first: usize| types_to_mix(args.iter().skip(first).step_by(2));
    let common = |types: &[DataType]| common_or_variant(types, ctx.settings.use_variant_as_common_type);
    let (key, value) = (common(&types(0))?, common(&types(1))?);
    check_key(&key)?;
    Ok(DataType::map(key, value).into())
}

/// Keys of maps are never NULL.
pub fn check_key(key: &DataType) -> Result<()> {
    ensure!(
        !key.is_nullable() || key.is_of_several_types(),
        BAD_ARGUMENTS,
        "Map cannot have a key of type {key}"
    );
    Ok(())
}

fn execute(call: &Call) -> Result<Column> {
    let DataType::Map(key, value) = call.result else {
        bail!(LOGICAL_ERROR, "{} is not a map", call.result);
    };
    let n_pairs = call.args.len() / 2;
    let column = |first: usize, ty: &DataType| -> Result<Vector> {
        if n_pairs == 0 {
            return Ok(Vector::defaults(ty, 0));
        }
        let parts = call.args.iter().skip(first).step_by(2);
        let parts: Vec<Vector> =
            parts.map(|arg| widen_element(&arg.vector, arg.ty, ty, call.ctx)).collect::<Result<_>>()?;
        Ok(interleave(&parts, call.n_rows))
    };
    let fields = vec![column(0, key)?, column(1, value)?];
    let len = n_pairs * call.n_rows;
    let pairs = Data::Struct(Struct { fields, len });
    Ok(list(even_offsets(call.n_rows, n_pairs), pairs.into()).into())
}
