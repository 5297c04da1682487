//! ArrayJoin: one row per element of one or more arrays in step. Keeps order, holds no memory.

use crate::control::QueryControl;
use crate::expression::Program;
use crate::pipeline::{Emit, Flow, Operator, OperatorWorker};
use chalet_base::{Result, bail};
use chalet_columns::{Block, Column, Vector};
use chalet_types::DataType;
use std::sync::Arc;

/// The operator of ARRAY JOIN.
pub struct ArrayJoin {
    pub arrays: Program,
    /// Types of the elements.
    pub elements: Vec<DataType>,
    /// A row without elements stays, with default elements.
    pub left: bool,
    /// Shorter arrays are filled with defaults instead of refused.
    pub unaligned: bool,
    pub control: Arc<QueryControl>,
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
            control: self.control.clone(),
        }))
    }
}

struct Worker {
    arrays: Program,
    elements: Vec<DataType>,
    left: bool,
    unaligned: bool,
    control: Arc<QueryControl>,
}

/// Rows of a block that is put out, where no input row has more elements.
const MOST_ROWS: usize = 1 << 16;

impl OperatorWorker for Worker {
    fn push(&mut self, block: Block, emit: Emit) -> Result<Flow> {
        let arrays = self.arrays.evaluate(&block)?;
        let mut start = 0;
        while start < block.n_rows() {
            // A few rows may become very many, more than the host should wait for.
            self.control.check_with_interrupt()?;
            let offsets = self.offsets(&arrays, start, block.n_rows())?;
            let n_rows = offsets.len() - 1;
            if let Some(joined) = self.joined(&block, &arrays, start, &offsets)?
                && emit(joined)? == Flow::Stop
            {
                return Ok(Flow::Stop);
            }
            start += n_rows;
        }
        Ok(Flow::Continue)
    }
}

impl Worker {
    /// Of some rows, from `start` on, where their output rows end; of as many as fill a block.
    fn offsets(&self, arrays: &[Column], start: usize, end: usize) -> Result<Vec<i64>> {
        let mut offsets = vec![0i64];
        for row in start..end {
            let mut longest: Option<usize> = None;
            for array in arrays {
                let (array, row) = array.locate(row);
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
            let before = offsets[row - start];
            if before > 0 && before as usize + len > MOST_ROWS {
                break;
            }
            offsets.push(before + len as i64);
        }
        Ok(offsets)
    }

    /// The rows that some rows become, if there are any.
    fn joined(
        &self,
        block: &Block,
        arrays: &[Column],
        start: usize,
        offsets: &[i64],
    ) -> Result<Option<Block>> {
        let n = offsets.len() - 1;
        let n_rows = offsets[n] as usize;
        if n_rows == 0 {
            return Ok(None);
        }
        let mut columns: Vec<Column> =
            block.columns().iter().map(|column| column.slice(start, n).replicate(offsets)).collect();
        for (array, ty) in arrays.iter().zip(&self.elements) {
            let array = array.slice(start, n).into_flat();
            columns.push(Column::Flat(elements(&array, ty, offsets)?));
        }
        Ok(Some(Block::new(columns, n_rows)))
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
