//! `mapContainsKey` and `mapContainsValue`: whether a map has a key or a value.

use crate::comparison::{Order, Plan, Planner, Side};
use crate::lanes::Operand;
use crate::lists::{list_of, map_types, pairs};
use crate::plain::Plain;
use chalet_base::{Result, bail};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Dictionaries, Example, Nulls, Record, Search,
};
use chalet_types::DataType;
use chalet_types::supertype::common_supertype;

const CONTAINS: Record = Record {
    nulls: Nulls::Seen,
    constants: Constants::Seen,
    dictionaries: Dictionaries::Decoded,
    ..Record::DEFAULT
};

pub static KEY: Plain = Plain {
    record: Record {
        name: "mapContainsKey",
        aliases: &["mapContains"],
        summary: "Whether a map has a key.",
        syntax: "mapContainsKey(map, key)",
        examples: &[Example { sql: "SELECT mapContainsKey(map('k1', 1), 'k1')", result: "1" }],
        search: Search::Key,
        ..CONTAINS
    },
    bind: |name, args, ctx| bind(name, args, ctx, 0),
    execute: |call| execute(call, 0),
};

pub static VALUE: Plain = Plain {
    record: Record {
        name: "mapContainsValue",
        summary: "Whether a map has a value.",
        syntax: "mapContainsValue(map, value)",
        examples: &[Example { sql: "SELECT mapContainsValue(map('k1', 'v1'), 'v1')", result: "1" }],
        search: Search::Value,
        ..CONTAINS
    },
    bind: |name, args, ctx| bind(name, args, ctx, 1),
    execute: |call| execute(call, 1),
};

/// The type of the keys (0) or values (1).
fn side<'a>(name: &str, args: &'a [Argument], part: usize) -> Result<&'a DataType> {
    let (key, value) = map_types(name, args, 0)?;
    Ok(if part == 0 { key } else { value })
}

fn bind(name: &'static str, args: &[Argument], ctx: &Context, part: usize) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    let element = side(name, args, part)?;
    common_supertype(&[element.bare().clone(), args[1].ty.bare().clone()])?;
    let planner = Planner { function: name, order: Order::Equal, reads_text: false, ctx };
    let plan =
        planner.plan(Side { ty: element, constant: None }, Side { ty: &args[1].ty, constant: None })?;
    Ok(Bound::with_state(DataType::UInt8, plan))
}

fn execute(call: &Call, part: usize) -> Result<Column> {
    let plan: &Plan = call.state()?;
    let list = list_of(&call.args[0], call.n_rows)?;
    let DataType::Map(key, value) = call.args[0].ty else {
        bail!(LOGICAL_ERROR, "{} is not a map", call.args[0].ty)
    };
    let (keys, values) = pairs(&list)?;
    let (ty, vector) = if part == 0 { (key, keys) } else { (value, values) };
    let (left, wanted) = (Operand { ty, vector, constant: false }, Operand::of(call, 1));
    let same = if wanted.constant {
        plan.same(left, wanted, vector.len(), call.ctx)?
    } else {
        let repeated = Column::Flat(wanted.vector.clone()).replicate(&list.offsets).into_flat();
        plan.same(left, Operand { vector: &repeated, ..wanted }, vector.len(), call.ctx)?
    };
    let answers = list.ranges().map(|range| u8::from(same[range].contains(&1)));
    Ok(Vector::from(answers.collect::<Vec<u8>>()).into())
}
