//! The columns of a DataFrame, an Arrow table or a dict of arrays as a block, for INSERT: read where they lie, no object is made of a value.
//! The engine casts them where the table has other types.

use crate::given_rows::Raised;
use crate::sources::borrowed::BorrowedMemory;
use chalet_base::{Result, bail, err};
use chalet_columns::{Block, Buf, Column, Data, Vector};
use chalet_engine::InsertData;
use chalet_engine::replacement_scan::{HeldRows, Opened, Source};
use chalet_types::DataType;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::sync::{Arc, PoisonError};

/// Tells the columns of an object; none if it has none.
pub type Describe =
    fn(Python<'_>, &Bound<'_, PyAny>, &Arc<BorrowedMemory>) -> Result<Option<Arc<dyn Source>>>;

/// An object with columns, of which those are taken that the statement names.
pub struct GivenFrame {
    pub frame: Py<PyAny>,
    pub describe: Describe,
    /// What Python raised while it was looked at, for the caller to raise.
    pub raised: Raised,
}

impl GivenFrame {
    pub fn into_data(self) -> InsertData {
        InsertData::Rows(Box::new(move |wanted, _| self.block(wanted)))
    }

    fn block(&self, wanted: &[(String, DataType)]) -> Result<(Vec<DataType>, Block)> {
        let borrowed = Arc::new(BorrowedMemory::default());
        let source = Python::attach(|py| (self.describe)(py, self.frame.bind(py), &borrowed))?;
        let Some(source) = source else {
            let kind = Python::attach(|py| self.frame.bind(py).get_type().to_string());
            let error =
                PyTypeError::new_err(format!("rows are a list, or an object with columns, not {kind}"));
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            bail!(PY_EXCEPTION_OCCURED, "What is given has no columns");
        };
        let known = source.columns();
        let place = |name: &String| {
            let found = known.iter().position(|(known, _)| **known == **name);
            found.ok_or_else(|| {
                err!(NO_SUCH_COLUMN_IN_TABLE, "There is no column {name} in what is given for the INSERT")
            })
        };
        let places = wanted.iter().map(|(name, _)| place(name)).collect::<Result<Vec<usize>>>()?;
        let all: Vec<usize> = (0..places.len()).collect();
        let mut blocks = Vec::new();
        match source.open(&places, &[])? {
            Opened::Held(held) => read(&*held, &all, &mut blocks)?,
            Opened::Stream(mut stream) => {
                while let Some(held) = stream.next()? {
                    read(&*held, &all, &mut blocks)?;
                }
            }
        }
        let block = match blocks.len() {
            0 => Block::new(places.iter().map(|&at| empty(&known[at].1)).collect(), 0),
            1 => blocks.swap_remove(0),
            _ => Block::concat(&blocks),
        };
        // The table may keep the rows: they are its own, whatever becomes of the frame.
        let ranges = borrowed.ranges();
        let is_borrowed = |address: usize| ranges.iter().any(|range| range.contains(&address));
        let n_rows = block.n_rows();
        let (mut types, mut columns) = (Vec::new(), Vec::new());
        for ((column, &at), (_, wanted)) in block.into_columns().into_iter().zip(&places).zip(wanted) {
            let vector = column.into_flat().detached(&is_borrowed);
            let (ty, vector) = with_nan(known[at].1.clone(), vector, wanted);
            types.push(ty);
            columns.push(Column::Flat(vector));
        }
        Ok((types, Block::new(columns, n_rows)))
    }
}

fn read(held: &dyn HeldRows, all: &[usize], blocks: &mut Vec<Block>) -> Result<()> {
    for (run, &n) in held.runs().iter().enumerate().filter(|(_, n)| **n > 0) {
        blocks.push(Block::new(held.read(run, 0..n, all)?, n));
    }
    Ok(())
}

fn empty(ty: &DataType) -> Column {
    Column::Flat(Vector::defaults(ty, 0))
}

/// What is missing in floats of a frame is NULL, or NaN where the table has no NULL.
fn with_nan(ty: DataType, vector: Vector, wanted: &DataType) -> (DataType, Vector) {
    let (true, Some(validity)) = (wanted.is_float() && ty.is_nullable(), &vector.validity) else {
        return (ty, vector);
    };
    let data = match &vector.data {
        Data::F64(values) => Data::F64(filled(values, f64::NAN, |at| validity.is_valid(at))),
        Data::F32(values) => Data::F32(filled(values, f32::NAN, |at| validity.is_valid(at))),
        _ => return (ty, vector),
    };
    (ty.without_nullable().clone(), Vector::new(data, None))
}

fn filled<T: chalet_columns::Native>(
    values: &Buf<T>,
    missing: T,
    is_valid: impl Fn(usize) -> bool,
) -> Buf<T> {
    let all = values.iter().enumerate();
    Buf::from_vec(all.map(|(at, &value)| if is_valid(at) { value } else { missing }).collect())
}
