//! Columns that are read each for itself: of a pandas DataFrame, a dict of arrays, a list of dicts.

use chalet_base::Result;
use chalet_columns::Column;
use chalet_engine::replacement_scan::{ColumnRange, HeldRows, Opened, Source};
use chalet_types::DataType;
use std::ops::Range;
use std::sync::Arc;

/// The values of one column of somebody else.
pub trait Values: Send + Sync {
    fn ty(&self) -> DataType;

    /// Told once before a scan reads: the time to say no, and to say what memory is shared.
    fn open(&self) -> Result<()> {
        Ok(())
    }

    /// Makes a type certain that was taken from a sample of the values; whether it is another one now.
    fn settle(&self) -> Result<bool> {
        Ok(false)
    }

    fn read(&self, rows: Range<usize>) -> Result<Column>;
}

pub type SharedValues = Arc<dyn Values>;

/// Columns of one length.
pub struct Columns {
    pub n_rows: usize,
    pub columns: Vec<(Arc<str>, SharedValues)>,
}

impl Source for Columns {
    fn columns(&self) -> Vec<(Arc<str>, DataType)> {
        self.columns.iter().map(|(name, values)| (name.clone(), values.ty())).collect()
    }

    fn n_rows(&self) -> Option<u64> {
        Some(self.n_rows as u64)
    }

    fn settle(&self, columns: &[usize]) -> Result<bool> {
        columns.iter().try_fold(false, |any, &c| Ok(any | self.columns[c].1.settle()?))
    }

    fn open(&self, columns: &[usize], _: &[ColumnRange]) -> Result<Opened> {
        let columns: Vec<SharedValues> = columns.iter().map(|&c| self.columns[c].1.clone()).collect();
        columns.iter().try_for_each(|values| values.open())?;
        Ok(Opened::Held(Arc::new(OpenColumns { runs: [self.n_rows], columns })))
    }
}

struct OpenColumns {
    runs: [usize; 1],
    columns: Vec<SharedValues>,
}

impl HeldRows for OpenColumns {
    fn runs(&self) -> &[usize] {
        &self.runs
    }

    fn read(&self, _run: usize, rows: Range<usize>, columns: &[usize]) -> Result<Vec<Column>> {
        columns.iter().map(|&c| self.columns[c].read(rows.clone())).collect()
    }
}

/// A column that cannot be read, which matters only to statements that read it.
pub struct Refused(pub String);

impl Values for Refused {
    fn ty(&self) -> DataType {
        DataType::String
    }

    fn open(&self) -> Result<()> {
        Err(chalet_base::err!(NOT_IMPLEMENTED, "{}", self.0))
    }

    fn read(&self, _: Range<usize>) -> Result<Column> {
        Err(chalet_base::err!(NOT_IMPLEMENTED, "{}", self.0))
    }
}
