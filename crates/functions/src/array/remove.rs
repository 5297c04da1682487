//! `arrayExcept` and `arrayRemove`: arrays without some of their elements.

use crate::comparison::{Order, Plan, Planner, Side};
use crate::ids::ids;
use crate::lanes::Operand;
use crate::lists::{array_element, gathered, list_of};
use crate::plain::Plain;
use chalet_base::hash::HashSet;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Nulls, Record};
use chalet_types::DataType;

pub static EXCEPT: Plain = Plain {
    record: Record {
        name: "arrayExcept",
        summary: "The elements of the first array that do not occur in the second.",
        syntax: "arrayExcept(source, except)",
        examples: &[Example { sql: "SELECT arrayExcept([1, 2, 3, 2], [2, 5])", result: "[1,3]" }],
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        check_arity(name, args.len(), 2..=2)?;
        let (a, b) = (array_element(name, args, 0)?, array_element(name, args, 1)?);
        ensure!(
            a.without_nullable() == b.without_nullable(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Function {name} requires both arrays to have exactly the same element type. Got {} and {}",
            args[0].ty,
            args[1].ty
        );
        Ok(args[0].ty.clone().into())
    },
    execute: except,
};

pub static REMOVE: Plain = Plain {
    record: Record {
        name: "arrayRemove",
        any_case_aliases: &["array_remove"],
        summary: "The elements of an array that are not equal to a value. NULL is equal to NULL.",
        syntax: "arrayRemove(arr, x)",
        examples: &[Example { sql: "SELECT arrayRemove([1, 2, 1, NULL], 1)", result: "[2,NULL]" }],
        nulls: Nulls::Seen,
        ..Record::DEFAULT
    },
    bind: bind_remove,
    execute: remove,
};

/// So many elements are compared one by one, which is quicker than to hash them.
const FEW: usize = 16;

fn except(call: &Call) -> Result<Column> {
    let (a, b) = (list_of(&call.args[0], call.n_rows)?, list_of(&call.args[1], call.n_rows)?);
    let numbers = ids(&Vector::concat(&[&a.values, &b.values]));
    let (mut elements, mut offsets) = (Vec::new(), vec![0]);
    let mut excluded: HashSet<u64> = HashSet::default();
    for (own, other) in a.ranges().zip(b.ranges()) {
        let others = &numbers[a.values.len()..][other];
        if others.len() <= FEW {
            elements.extend(own.filter(|&e| !others.contains(&numbers[e])).map(|e| e as u32));
        } else {
            excluded.clear();
            excluded.extend(others);
            elements.extend(own.filter(|&e| !excluded.contains(&numbers[e])).map(|e| e as u32));
        }
        offsets.push(elements.len() as i64);
    }
    Ok(gathered(offsets, &a.values, &elements))
}

fn bind_remove(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    let element = array_element(name, args, 0)?;
    let planner = Planner { function: name, order: Order::Equal, reads_text: false, ctx };
    let item = Side { ty: &args[1].ty, constant: None };
    let plan = planner.plan(Side { ty: element, constant: None }, item)?;
    Ok(Bound::with_state(args[0].ty.clone(), plan))
}

fn remove(call: &Call) -> Result<Column> {
    let plan: &Plan = call.state()?;
    let list = list_of(&call.args[0], call.n_rows)?;
    let element = call.args[0].ty.element().unwrap_or(DataType::Nothing);
    let items = Column::Flat(call.vector(1).clone()).replicate(&list.offsets).into_flat();
    let left = Operand { ty: &element, vector: &list.values, constant: false };
    let right = Operand { ty: call.args[1].ty, vector: &items, constant: false };
    let same = plan.same(left, right, items.len(), call.ctx)?;
    let (mut elements, mut offsets) = (Vec::new(), vec![0]);
    for range in list.ranges() {
        elements.extend(range.filter(|&e| same[e] == 0).map(|e| e as u32));
        offsets.push(elements.len() as i64);
    }
    Ok(gathered(offsets, &list.values, &elements))
}
