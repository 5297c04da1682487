//! `tupleHammingDistance`: the number of elements in which two tuples differ.

use crate::comparison::{Order, Plan, Planner, Side};
use crate::lanes::Operand;
use crate::plain::Plain;
use chalet_base::{Result, bail};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "tupleHammingDistance",
        summary: "The number of places at which two tuples of one size have different elements.",
        syntax: "tupleHammingDistance(tuple1, tuple2)",
        examples: &[Example { sql: "SELECT tupleHammingDistance((1, 2, 3), (3, 2, 1))", result: "2" }],
        ..Record::DEFAULT
    },
    bind,
    execute,
};

struct Plans(Vec<Plan>);

fn bind(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    let (DataType::Tuple(x), DataType::Tuple(y)) = (&args[0].ty, &args[1].ty) else {
        bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Arguments of function {name} should be tuples, got {} and {}",
            args[0].ty,
            args[1].ty
        );
    };
    if x.len() != y.len() {
        bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Expected tuples of the same size as arguments of function {name}. Got {} and {}",
            args[0].ty,
            args[1].ty
        );
    }
    let planner = Planner { function: "notEquals", order: Order::Equal, reads_text: false, ctx };
    let plans = x
        .iter()
        .zip(y.iter())
        .map(|(f, g)| planner.plan(Side { ty: &f.ty, constant: None }, Side { ty: &g.ty, constant: None }));
    // The kernel adds one UInt8 per element, and sums widen by one step.
    let result = match x.len() {
        0 | 1 => DataType::UInt8,
        2 => DataType::UInt16,
        3 => DataType::UInt32,
        _ => DataType::UInt64,
    };
    let plans = Plans(plans.collect::<Result<_>>()?);
    let fields = || x.iter().chain(y.iter()).map(|field| &field.ty);
    if fields().any(DataType::is_only_null) {
        return Ok(Bound::with_state(DataType::Nothing.nullable(), plans));
    }
    let nullable = fields().any(DataType::is_nullable);
    Ok(Bound::with_state(if nullable { result.nullable() } else { result }, plans))
}

fn execute(call: &Call) -> Result<Column> {
    let Plans(plans) = call.state()?;
    if call.result.is_only_null() {
        return Ok(Column::constant(Vector::defaults(call.result, 1), call.n_rows));
    }
    let (DataType::Tuple(x), DataType::Tuple(y)) = (call.args[0].ty, call.args[1].ty) else {
        bail!(LOGICAL_ERROR, "Not tuples");
    };
    let (a, b) = (call.vector(0).structure()?, call.vector(1).structure()?);
    let mut distances = vec![0u64; call.n_rows];
    for (index, plan) in plans.iter().enumerate() {
        let left = Operand { ty: &x[index].ty, vector: &a.fields[index], constant: false };
        let right = Operand { ty: &y[index].ty, vector: &b.fields[index], constant: false };
        let same = plan.same(left, right, call.n_rows, call.ctx)?;
        distances.iter_mut().zip(same).for_each(|(distance, same)| *distance += u64::from(same == 0));
    }
    let distances =
        crate::arithmetic::convert_numbers(Vector::from(distances), call.result.physical(), call.n_rows)?;
    if !call.result.is_nullable() {
        return Ok(distances.into());
    }
    // A NULL on either side makes the distance unknown.
    let fields = || a.fields.iter().chain(b.fields.iter());
    let validity = (0..call.n_rows).map(|row| fields().all(|field| !field.is_null(row))).collect();
    Ok(Vector::new(distances.data, Some(validity)).into())
}
