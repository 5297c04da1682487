//! Rows of Python objects whose types are declared, as clients send tables along with a query.

use super::raised;
use super::rows::Blocks;
use crate::given_rows::{GivenRows, Raised};
use chalet_base::{Result, bail};
use chalet_columns::Block;
use chalet_engine::replacement_scan::{ColumnRange, Opened, Source};
use chalet_types::{DataType, TimeZone};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::{Arc, PoisonError};

/// Columns, converted.
pub struct Typed {
    columns: Vec<(Arc<str>, DataType)>,
    block: Block,
}

/// Converts rows, which are sequences. A value that is none of its column's type is an error.
pub fn rows(py: Python<'_>, rows: &Bound<'_, PyList>, columns: &[(String, String)]) -> Result<Typed> {
    let parsed = columns
        .iter()
        .map(|(name, ty)| Ok((name.clone(), ty.parse::<DataType>()?.without_low_cardinality().clone())));
    let wanted = parsed.collect::<Result<Vec<_>>>()?;
    let failure = Raised::default();
    let given = GivenRows { rows: rows.clone().unbind(), keys: None, raised: failure.clone() };
    let (types, block) = given.block(py, &wanted, &TimeZone::utc()).map_err(|error| {
        let failure = failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        failure.map_or(error, |failure| raised(py, &failure))
    })?;
    for ((name, wanted), ty) in wanted.iter().zip(&types) {
        if ty != wanted {
            bail!(TYPE_MISMATCH, "A value of column {name} is not of its type {wanted}");
        }
    }
    Ok(Typed { columns: wanted.into_iter().map(|(name, ty)| (name.into(), ty)).collect(), block })
}

impl Source for Typed {
    fn columns(&self) -> Vec<(Arc<str>, DataType)> {
        self.columns.clone()
    }

    fn n_rows(&self) -> Option<u64> {
        Some(self.block.n_rows() as u64)
    }

    fn open(&self, columns: &[usize], _: &[ColumnRange]) -> Result<Opened> {
        let chosen = columns.iter().map(|&at| self.block.column(at).clone()).collect();
        Ok(Opened::Held(Arc::new(Blocks::new(vec![Block::new(chosen, self.block.n_rows())]))))
    }
}
