//! `dictGetKeys`: the keys of a dictionary whose attribute has a value.

use super::lookup::{BASE, dictionary, exactly};
use crate::dictionaries::loaded::Loaded;
use chalet_base::hash::HashMap;
use chalet_base::{Result, bail, err};
use chalet_columns::rows::RowCodec;
use chalet_columns::vector::Struct;
use chalet_columns::{Column, Data, List, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Record};
use chalet_functions::plain::Plain;
use chalet_types::{DataType, TupleField, Value};
use std::sync::Arc;

pub(super) static FUNCTION: Plain = Plain {
    record: Record {
        name: "dictGetKeys",
        summary: "The keys for which an attribute of a dictionary has a value, as an array.",
        syntax: "dictGetKeys('dictionary', 'attribute', value)",
        ..BASE
    },
    bind,
    execute,
};

struct Inverse {
    loaded: Arc<Loaded>,
    ty: DataType,
    /// Rows by the bytes of the attribute's value.
    rows: HashMap<Vec<u8>, Vec<u32>>,
    codec: RowCodec,
}

fn bind(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 3..=3)?;
    let loaded = dictionary(name, args, ctx)?;
    let definition = loaded.definition.clone();
    let Some(attribute) = args[1].constant.as_ref().and_then(Value::as_str) else {
        bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of second argument of function {name}, expected String",
            args[1].ty
        );
    };
    let attribute = definition
        .attribute(attribute)
        .ok_or_else(|| err!(ILLEGAL_COLUMN, "Dictionary has no attribute '{attribute}'"))?;
    let ty = definition.attributes[attribute].ty.clone();
    let codec = RowCodec::new(&ty);
    let values = loaded.rows.column(definition.first_attribute() + attribute).flat();
    let mut rows: HashMap<Vec<u8>, Vec<u32>> = HashMap::default();
    for row in (0..values.len()).filter(|row| !values.is_null(*row)) {
        rows.entry(bytes(&codec, &values, row)).or_default().push(row as u32);
    }
    let keys = definition.keys();
    let key = match keys {
        [key] => key.ty.clone(),
        keys => {
            DataType::Tuple(keys.iter().map(|key| TupleField { name: None, ty: key.ty.clone() }).collect())
        }
    };
    drop(values);
    Ok(Bound::with_state(key.array(), Inverse { loaded, ty, rows, codec }))
}

fn bytes(codec: &RowCodec, vector: &Vector, row: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    codec.put(vector, row, &mut bytes);
    bytes
}

fn execute(call: &Call) -> Result<Column> {
    let Inverse { loaded, ty, rows, codec } = call.state()?;
    let values = exactly(call.vector(2), call.args[2].ty, ty, call.ctx)?;
    let mut found: Vec<u32> = Vec::new();
    let mut offsets: Vec<i64> = vec![0];
    for row in 0..values.len() {
        if !values.is_null(row) {
            found.extend(rows.get(&bytes(codec, &values, row)).into_iter().flatten());
        }
        offsets.push(found.len() as i64);
    }
    let n_keys = loaded.definition.n_keys;
    let mut keys: Vec<Vector> =
        loaded.rows.columns()[..n_keys].iter().map(|column| column.flat().gather(&found)).collect();
    let keys = match n_keys {
        1 => keys.remove(0),
        _ => Data::Struct(Struct { fields: keys, len: found.len() }).into(),
    };
    Ok(Vector::from(Data::List(List { offsets: offsets.into_iter().collect(), values: Arc::new(keys) }))
        .into())
}
