//! WITH TOTALS: the aggregates over all rows, beside those of the groups.

use super::groups::{Groups, states};
use super::{Call, Shape};
use crate::expression::Program;
use chalet_base::Result;
use chalet_columns::{Block, BooleanBuffer, Column, Vector};
use chalet_types::DataType;
use std::sync::{Arc, OnceLock};

/// WITH TOTALS: what makes the row of totals.
pub struct Totals {
    /// HAVING over the output columns.
    pub having: Option<Program>,
    pub include_filtered: bool,
    /// Receives the row of totals.
    pub slot: Arc<OnceLock<Block>>,
}

impl Totals {
    /// The output filtered by HAVING; the totals of the groups that count go into the slot.
    pub(super) fn finish(&self, mut groups: Groups, shape: &Shape, key_types: &[DataType]) -> Result<Block> {
        let states = partial_states(&mut groups);
        let block = groups.finish()?;
        let first_set = first_set(&block, shape);
        let block = shape.output(block);
        let passed = match &self.having {
            Some(having) if !block.is_empty() => having.mask(&block)?,
            _ => BooleanBuffer::new_set(block.n_rows()),
        };
        let counts = |group: usize| {
            first_set.as_ref().is_none_or(|first| first[group])
                && (self.include_filtered || passed.value(group))
        };
        let mut columns: Vec<Column> =
            key_types.iter().map(|ty| Column::Flat(Vector::defaults(ty, 1))).collect();
        for (call, groups) in shape.calls.iter().zip(states) {
            columns.push(Column::Flat(total(call, &groups, &counts)?));
        }
        if shape.puts_set_number {
            columns.push(Column::constant(Vector::from(vec![0u64]), 1));
        }
        // A second run of the same plan does not happen: the slot is empty.
        let _ = self.slot.set(Block::new(columns, 1));
        Ok(block.filter(&passed))
    }
}

fn total(call: &Call, groups: &[Vec<u8>], counts: &dyn Fn(usize) -> bool) -> Result<Vector> {
    let mut total = states(std::slice::from_ref(call)).remove(0);
    total.grow(1);
    for (group, bytes) in groups.iter().enumerate() {
        if counts(group) {
            total.deserialise(0, &mut &bytes[..])?;
        }
    }
    total.finish(1)
}

/// The states of every group as bytes, because finishing may use them up.
fn partial_states(groups: &mut Groups) -> Vec<Vec<Vec<u8>>> {
    let n = groups.len();
    let states = groups.states.iter_mut().map(|states| {
        states.grow(n);
        let bytes = (0..n).map(|group| {
            let mut bytes = Vec::new();
            states.serialise(group, &mut bytes);
            bytes
        });
        bytes.collect()
    });
    states.collect()
}

/// Of grouping sets: which groups are of the first. Every set holds all rows, so totals need one of them.
fn first_set(block: &Block, shape: &Shape) -> Option<Vec<bool>> {
    if shape.layout.types().len() == shape.n_keys {
        return None;
    }
    let number = block.column(shape.n_keys);
    Some((0..block.n_rows()).map(|row| number.value(row).as_u64() == Some(0)).collect())
}
