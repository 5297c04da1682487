//! `range`: an arithmetic progression as an array.

use crate::lanes::{Operand, unary};
use crate::lists::{list, result_element};
use crate::number::{Cast, Integer};
use crate::plain::Plain;
use crate::with_integer;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::{check_arity, check_type};
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record};
use chalet_types::DataType;
use chalet_types::supertype::common_supertype;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "range",
        summary: "The numbers from start (0 when left out) up to but without end, with the given step (1 when left out).",
        syntax: "range([start,] end[, step])",
        examples: &[Example {
            sql: "SELECT range(4), range(1, 4), range(1, 10, 3)",
            result: "[0,1,2,3]\t[1,2,3]\t[1,4,7]",
        }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=3)?;
    for index in 0..args.len() {
        check_type(name, args, index, |ty| ty.is_integer() || *ty == DataType::IPv4, "integer")?;
    }
    ensure!(
        args.iter().all(|arg| arg.ty.physical().width().is_some_and(|width| width <= 8)),
        ILLEGAL_COLUMN,
        "Illegal columns of arguments of function {name}, the function only implemented for unsigned/signed integers up to 64 bit"
    );
    ensure!(
        args.len() > 1 || args[0].ty != DataType::IPv4,
        ILLEGAL_COLUMN,
        "Illegal column IPv4 of argument of function {name}"
    );
    let types: Vec<DataType> = args
        .iter()
        .map(|arg| match &arg.ty {
            DataType::IPv4 => DataType::UInt32,
            other => other.clone(),
        })
        .collect();
    Ok(common_supertype(&types)?.array().into())
}

fn execute(call: &Call) -> Result<Column> {
    let n = call.n_rows;
    let numbers = |index: usize| unary::<i128, i128>(Operand::of(call, index), n, |x| x);
    let (starts, ends) = match call.args.len() {
        1 => (vec![0; n], numbers(0)?),
        _ => (numbers(0)?, numbers(1)?),
    };
    let steps = if call.args.len() == 3 { numbers(2)? } else { vec![1; n] };
    let only_end = call.args.len() == 1;
    let mut offsets = Vec::with_capacity(n + 1);
    offsets.push(0i64);
    let mut total = 0i128;
    for row in 0..n {
        let (start, end, step) = (starts[row], ends[row], steps[row]);
        ensure!(
            !only_end || end >= 0,
            ARGUMENT_OUT_OF_BOUND,
            "A call to function range overflows, only support positive values when only end is provided"
        );
        ensure!(
            step != 0,
            ARGUMENT_OUT_OF_BOUND,
            "A call to function range underflows, the 3rd argument step can't be less or equal to zero"
        );
        let span = if step > 0 { end - start } else { start - end };
        if span > 0 {
            let step = step.abs();
            total += (span + step - 1) / step;
        }
        let most = call.ctx.settings.function_range_max_elements_in_block;
        ensure!(
            total <= i128::from(most),
            ARGUMENT_OUT_OF_BOUND,
            "A call to function range would produce {total} array elements, which is greater than the allowed maximum of {most}"
        );
        offsets.push(total as i64);
    }
    fn fill<C: Integer>(starts: &[i128], steps: &[i128], offsets: &[i64]) -> Vector
    where
        i128: Cast<C>,
    {
        let mut values: Vec<C> = Vec::with_capacity(offsets[offsets.len() - 1] as usize);
        for (row, window) in offsets.windows(2).enumerate() {
            let (mut next, step): (C, C) = (starts[row].cast(), steps[row].cast());
            for _ in window[0]..window[1] {
                values.push(next);
                next = next.add(step);
            }
        }
        values.into()
    }
    let values = with_integer!(result_element(call)?.physical(),
        C => fill::<C>(&starts, &steps, &offsets),
        _ => bail!(LOGICAL_ERROR, "range of {}", call.result));
    Ok(list(offsets, values).into())
}
