//! `arrayCompact`: runs of equal elements as one.

use super::lambda::{Elements, HigherOrder, maybe_lambda};
use crate::ids::ids;
use crate::lists::gathered;
use chalet_base::Result;
use chalet_columns::{Column, Vector};
use chalet_function_api::{Call, Example, Record};

pub static FUNCTION: HigherOrder = HigherOrder {
    record: Record {
        name: "arrayCompact",
        summary: "The elements of an array without those that are equal to the one before, or for which a lambda gives what it gave for the one before.",
        syntax: "arrayCompact([x -> ...,] arr, ...)",
        examples: &[Example { sql: "SELECT arrayCompact([1, 1, 2, 2, 1])", result: "[1,2,1]" }],
        ..Record::DEFAULT
    },
    bind: |name, args, _| Ok(maybe_lambda(name, args, 0)?.elements.swap_remove(0).array().into()),
    execute,
    skipped: 0,
};

fn execute(call: &Call) -> Result<Column> {
    let elements = Elements::of(call, 0)?;
    // All NaN of Float64 are one.
    let numbers = match elements.mapped.values::<f64>() {
        Ok(floats) if floats.iter().any(|x| x.is_nan()) => {
            let one = |x: &f64| if x.is_nan() { f64::NAN } else { *x };
            let validity = elements.mapped.validity.clone();
            let floats = Vector::from(floats.iter().map(one).collect::<Vec<f64>>());
            ids(&Vector::new(floats.data, validity))
        }
        _ => ids(&elements.mapped),
    };
    let (mut kept, mut offsets) = (Vec::new(), vec![0]);
    for range in elements.ranges() {
        let start = range.start;
        kept.extend(range.filter(|&e| e == start || numbers[e] != numbers[e - 1]).map(|e| e as u32));
        offsets.push(kept.len() as i64);
    }
    Ok(gathered(offsets, &elements.first, &kept))
}
