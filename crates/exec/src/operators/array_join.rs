//! ArrayJoin: one row per element of one or more arrays in step. Keeps order, holds no memory.

use crate::expression::Program;
use crate::pipeline::{Emit, Flow, Operator, OperatorWorker};
use chalet_base::{Result, bail};
use chalet_columns::{Block, Column, Vector};
use chalet_types::DataType;
use std::sync::Arc;

pub struct ArrayJoin {
    pub arrays: Program,
    /// Types of the elements.
    pub elements: Vec<DataType>,
    /// A row without elements stays, with default elements.
    pub left: bool,
    /// Shorter arrays are filled with defaults instead of refused.
    pub unaligned: bool,
}

impl Operator for ArrayJoin {
    fn name(&self) -> &'static str {
        "ArrayJoin"
    }

    fn worker(&self) -> Result<Box<dyn OperatorWorker>> {
        Ok(Box::new(Worker {
            arrays: self.arrays.clone(),
            elements: self.elements.clone(),
            left: self.left,
            unaligned: self.unaligned,
        }))
    }
}

struct Worker {
    arrays: Program,
    elements: Vec<DataType>,
    left: bool,
    unaligned: bool,
}

impl OperatorWorker for Worker {
    fn push(&mut self, block: Block, emit: Emit) -> Result<Flow> {
        let arrays: Vec<Vector> = self.arrays.evaluate(&block)?.into_iter().map(Column::into_flat).collect();
        let offsets = self.offsets(&arrays, block.n_rows())?;
        let mut columns: Vec<Column> = block.columns().iter().map(|c| c.replicate(&offsets)).collect();
        let n_rows = offsets[block.n_rows()] as usize;
        if n_rows == 0 {
            return Ok(Flow::Continue);
        }
        for (array, ty) in arrays.iter().zip(&self.elements) {
            columns.push(Column::Flat(elements(array, ty, &offsets)?));
        }
        emit(Block::new(columns, n_rows))
    }
}

impl Worker {
    /// Where the rows of each input row end in the output.
    fn offsets(&self, arrays: &[Vector], n_rows: usize) -> Result<Arc<[i64]>> {
        let mut offsets = Vec::with_capacity(n_rows + 1);
        offsets.push(0i64);
        for row in 0..n_rows {
            let mut longest: Option<usize> = None;
            for array in arrays {
                let len = array.list()?.range(row).len();
                match longest {
                    Some(other) if other != len && !self.unaligned => {
                        bail!(SIZES_OF_ARRAYS_DONT_MATCH, "Sizes of ARRAY-JOIN-ed arrays do not match")
                    }
                    other => longest = Some(other.unwrap_or(0).max(len)),
                }
            }
            let len = longest.unwrap_or(0);
            let len = if self.left { len.max(1) } else { len };
            offsets.push(offsets[row] + len as i64);
        }
        Ok(offsets.into())
    }
}

/// The elements, one per output row; defaults where the array is too short.
fn elements(array: &Vector, ty: &DataType, offsets: &[i64]) -> Result<Vector> {
    let list = array.list()?.normalised();
    if list.offsets[..] == *offsets {
        return Ok(Vector::clone(&list.values));
    }
    let with_default = Vector::concat(&[&list.values, &Vector::defaults(ty, 1)]);
    let default = list.values.len() as u32;
    let mut rows = Vec::with_capacity(offsets[offsets.len() - 1] as usize);
    for (row, window) in offsets.windows(2).enumerate() {
        let range = list.range(row);
        let missing = (window[1] - window[0]) as usize - range.len();
        rows.extend(range.map(|e| e as u32));
        rows.resize(rows.len() + missing, default);
    }
    Ok(with_default.gather(&rows))
}
