//! ArrayJoin: one row per element of one or more arrays in step. Keeps order, holds no memory.

use crate::control::QueryControl;
use crate::expression::Program;
use crate::pipeline::{Emit, Flow, Operator, OperatorWorker};
use chalet_base::{Result, bail};
use chalet_columns::{Block, Column, Vector};
use chalet_types::DataType;
use std::sync::Arc;

/// The operator of ARRAY JOIN.
#[derive(Clone)]
pub struct ArrayJoin {
    pub arrays: Program,
    /// Types of the elements.
    pub elements: Vec<DataType>,
    /// A row without elements stays, with default elements.
    pub left: bool,
    /// Shorter arrays are filled with defaults instead of refused.
    pub unaligned: bool,
    /// Positions of columns that nobody reads of the rows of elements.
    pub unread: Vec<usize>,
    pub control: Arc<QueryControl>,
}

impl ArrayJoin {
    /// The first of the rows that a block becomes.
    pub fn first_row(&self, block: Block) -> Result<Option<Block>> {
        let mut first = None;
        self.worker()?.push(block, &mut |joined| {
            first = Some(joined.slice(0, 1));
            Ok(Flow::Stop)
        })?;
        Ok(first)
    }
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
            unread: self.unread.clone(),
            control: self.control.clone(),
        }))
    }
}

struct Worker {
    arrays: Program,
    elements: Vec<DataType>,
    left: bool,
    unaligned: bool,
    unread: Vec<usize>,
    control: Arc<QueryControl>,
}

/// Rows of a block that is put out.
const MOST_ROWS: usize = 1 << 16;

impl OperatorWorker for Worker {
    fn push(&mut self, block: Block, emit: Emit) -> Result<Flow> {
        let arrays = self.arrays.evaluate(&block)?;
        let mut at = Place::default();
        while at.row < block.n_rows() {
            // A few rows may become very many, more than the host should wait for.
            self.control.check_with_interrupt()?;
            let (offsets, next) = self.offsets(&arrays, at, block.n_rows())?;
            if let Some(joined) = self.joined(&block, &arrays, at, &offsets)?
                && emit(joined)? == Flow::Stop
            {
                return Ok(Flow::Stop);
            }
            at = next;
        }
        Ok(Flow::Continue)
    }
}

/// Where the next output row comes from: a row of the input, and how many output rows it has made already.
#[derive(Clone, Copy, Default)]
struct Place {
    row: usize,
    done: usize,
}

impl Worker {
    /// Of some rows, from a place on, where their output rows end, of as many as fill a block; and the place after them.
    fn offsets(&self, arrays: &[Column], at: Place, end: usize) -> Result<(Vec<i64>, Place)> {
        let mut offsets = vec![0i64];
        let mut done = at.done;
        for row in at.row..end {
            let len = self.output_rows(arrays, row)? - done;
            let before = offsets[row - at.row];
            if before as usize + len > MOST_ROWS {
                if before > 0 {
                    return Ok((offsets, Place { row, done: 0 }));
                }
                offsets.push(MOST_ROWS as i64);
                return Ok((offsets, Place { row, done: done + MOST_ROWS }));
            }
            done = 0;
            offsets.push(before + len as i64);
        }
        Ok((offsets, Place { row: end, done: 0 }))
    }

    /// How many rows a row becomes.
    fn output_rows(&self, arrays: &[Column], row: usize) -> Result<usize> {
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
        Ok(if self.left { len.max(1) } else { len })
    }

    /// The rows that some rows become, if there are any.
    fn joined(&self, block: &Block, arrays: &[Column], at: Place, offsets: &[i64]) -> Result<Option<Block>> {
        let n = offsets.len() - 1;
        let n_rows = offsets[n] as usize;
        if n_rows == 0 {
            return Ok(None);
        }
        let of_rows = block.columns().iter().enumerate().map(|(position, column)| {
            if self.unread.contains(&position) {
                return Column::constant(column.slice(at.row, 1).into_flat(), n_rows);
            }
            column.slice(at.row, n).replicate(offsets)
        });
        let mut columns: Vec<Column> = of_rows.collect();
        for (array, ty) in arrays.iter().zip(&self.elements) {
            let array = array.slice(at.row, n).into_flat();
            columns.push(Column::Flat(elements(&array, ty, offsets, at.done)?));
        }
        Ok(Some(Block::new(columns, n_rows)))
    }
}

/// The elements, one per output row, without the `skipped` first of the first array; defaults where an array is too short.
fn elements(array: &Vector, ty: &DataType, offsets: &[i64], skipped: usize) -> Result<Vector> {
    let list = array.list()?.normalised();
    if skipped == 0 && list.offsets[..] == *offsets {
        return Ok(Vector::clone(&list.values));
    }
    let wanted = offsets[offsets.len() - 1] as usize;
    if offsets.len() == 2 && list.range(0).len() >= skipped + wanted {
        return Ok(list.values.slice(list.range(0).start + skipped, wanted));
    }
    let with_default = Vector::concat(&[&list.values, &Vector::defaults(ty, 1)]);
    let default = list.values.len() as u32;
    let mut rows = Vec::with_capacity(wanted);
    for (row, window) in offsets.windows(2).enumerate() {
        let own = list.range(row).skip(if row == 0 { skipped } else { 0 });
        rows.extend(own.take((window[1] - window[0]) as usize).map(|e| e as u32));
        rows.resize(window[1] as usize, default);
    }
    Ok(with_default.gather(&rows))
}
