//! `timeSlots`: the starts of the slots that a span of time touches.

use super::timestamps::ticks_per_second;
use crate::lanes::{Operand, unary};
use crate::plain::Plain;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::DataType;

/// Length of a slot where none is given, in seconds.
const HALF_HOUR: i64 = 1800;

/// Digits of seconds in a number.
fn digits(ty: &DataType) -> u8 {
    match ty {
        DataType::DateTime64(scale, _) | DataType::Decimal { scale, .. } => *scale,
        _ => 0,
    }
}

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=3)?;
    let is_decimal64 = |ty: &DataType| matches!(ty, DataType::Decimal { precision: 10..=18, .. });
    let fits = match &args[0].ty {
        DataType::DateTime(_) => {
            args[1].ty == DataType::UInt32 && args.get(2).is_none_or(|arg| arg.ty.is_unsigned())
        }
        DataType::DateTime64(..) => args[1..].iter().all(|arg| is_decimal64(&arg.ty)),
        _ => false,
    };
    if !fits {
        bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal types of arguments of function {name}: a DateTime goes with numbers UInt32, a DateTime64 with Decimal64"
        );
    }
    let scale = args.iter().map(|arg| digits(&arg.ty)).max().unwrap_or(0);
    let slot = match args.get(2) {
        None => HALF_HOUR * 10i64.pow(scale.into()),
        Some(arg) => match arg.constant.as_ref().and_then(|value| value.as_i64()) {
            Some(slot) => slot.saturating_mul(10i64.pow(u32::from(scale - digits(&arg.ty)))),
            None => bail!(ILLEGAL_COLUMN, "Argument at index 2 for function {name} must be constant"),
        },
    };
    ensure!(slot > 0, ILLEGAL_COLUMN, "Third argument for function {name} must be greater than zero");
    let element = match &args[0].ty {
        DataType::DateTime64(_, zone) => DataType::DateTime64(scale, zone.clone()),
        other => other.clone(),
    };
    Ok(Bound::with_state(element.array(), slot))
}

fn execute(call: &Call) -> Result<Column> {
    let slot = *call.state::<i64>()?;
    let DataType::Array(element) = call.result else {
        bail!(LOGICAL_ERROR, "{} is not an array", call.result);
    };
    let ticks = ticks_per_second(element);
    let scaled = |index: usize| {
        let factor = ticks / 10i64.pow(digits(call.args[index].ty).into());
        unary(Operand::of(call, index), call.n_rows, move |x: i64| x.saturating_mul(factor))
    };
    let mut offsets = vec![0i64];
    let mut starts = Vec::new();
    for (begin, length) in scaled(0)?.into_iter().zip(scaled(1)?) {
        let (first, last) = (begin.div_euclid(slot), begin.saturating_add(length).div_euclid(slot));
        ensure!(
            last - first < 1_000_000,
            TOO_LARGE_ARRAY_SIZE,
            "Too large array size in the result of function timeSlots"
        );
        starts.extend((first..=last).map(|number| number * slot));
        offsets.push(starts.len() as i64);
    }
    let values: Vector = match **element {
        DataType::DateTime(_) => starts.into_iter().map(|x| x as u32).collect::<Vec<u32>>().into(),
        _ => starts.into(),
    };
    Ok(crate::lists::list(offsets, values).into())
}

static FUNCTION: Plain = Plain {
    record: Record {
        name: "timeSlots",
        summary: "The starts of the slots, of half an hour or the given length, that a span of time touches.",
        syntax: "timeSlots(begin, duration[, slot])",
        examples: &[Example {
            sql: "SELECT timeSlots(toDateTime('2024-02-29 10:41:12'), toUInt32(1800))",
            result: "['2024-02-29 10:30:00','2024-02-29 11:00:00']",
        }],
        ..Record::DEFAULT
    },
    bind,
    execute,
};

pub fn register(registry: &mut Registry) {
    registry.add_scalar(&FUNCTION);
}
