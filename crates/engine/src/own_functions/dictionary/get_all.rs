//! `dictGetAll`: all values that a dictionary of regular expressions has for a key. No other layout has it.

use super::lookup::{BASE, Keys, all_null, dictionary};
use crate::dictionaries::loaded::Loaded;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::vector::Struct;
use chalet_columns::{Column, Data};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Record};
use chalet_functions::plain::Plain;
use chalet_types::{DataType, TupleField, Value};
use std::sync::Arc;

pub(super) static FUNCTION: Plain = Plain {
    record: Record {
        name: "dictGetAll",
        summary: "The values of an attribute of all nodes of a dictionary of regular expressions that match a key.",
        syntax: "dictGetAll('dictionary', 'attribute', key[, limit])",
        ..BASE
    },
    bind,
    execute,
};

struct Lookup {
    loaded: Arc<Loaded>,
    keys: Keys,
    attributes: Vec<usize>,
    /// The second argument is a tuple, and so the result.
    is_tuple: bool,
    limit: usize,
}

fn bind(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 3..=4)?;
    super::get::check_names(name, &args[1])?;
    let loaded = dictionary(name, args, ctx)?;
    let layout = loaded.definition.layout.type_name;
    ensure!(
        loaded.patterns.is_some(),
        NOT_IMPLEMENTED,
        "Method getColumnAllValues is not supported for dictionaries of the layout {layout}"
    );
    let (attributes, is_tuple) = super::get::attributes(name, &args[1], &loaded.definition)?;
    let limit = match args.get(3) {
        None => usize::MAX,
        Some(limit) => match limit.constant.as_ref().and_then(Value::as_u64) {
            Some(limit) => limit as usize,
            None => bail!(
                ILLEGAL_COLUMN,
                "Illegal column of fourth argument of function {name}. Must be const unsigned integer"
            ),
        },
    };
    let keys = Keys::new(name, &args[2].ty, &loaded.definition)?;
    let of = |at: usize| &loaded.definition.attributes[at];
    let array = |at: usize| DataType::Array(Arc::new(of(at).ty.clone()).into());
    let result = match is_tuple {
        false => array(attributes[0]),
        true => {
            let fields =
                attributes.iter().map(|&at| TupleField { name: Some(of(at).name.clone()), ty: array(at) });
            DataType::Tuple(fields.collect())
        }
    };
    let result = keys.result(result);
    Ok(Bound::with_state(result, Lookup { loaded, keys, attributes, is_tuple, limit }))
}

fn execute(call: &Call) -> Result<Column> {
    let Lookup { loaded, keys, attributes, is_tuple, limit } = call.state()?;
    if keys.is_null {
        return Ok(Column::Flat(all_null(call)));
    }
    let (vectors, _) = keys.vectors(call.vector(2), call.ctx)?;
    let missing = || err!(LOGICAL_ERROR, "A dictionary has no expressions");
    let patterns = loaded.patterns.as_ref().ok_or_else(missing)?;
    let arrays = attributes.iter().map(|&at| patterns.arrays(&vectors[0], at, *limit));
    let mut fields = arrays.collect::<Result<Vec<_>>>()?;
    if !is_tuple {
        return Ok(Column::Flat(fields.swap_remove(0)));
    }
    let len = vectors[0].len();
    Ok(Column::Flat(Data::Struct(Struct { fields, len }).into()))
}
