//! The distinct rows of each granule.

use chalet_base::hash::HashSet;
use chalet_base::{Result, ensure};
use chalet_columns::keys::group_keys;
use chalet_columns::{Block, Column};
use chalet_formats::binary::{Cursor, put_var_uint};
use chalet_formats::native::{read_column, write_column};
use chalet_types::DataType;
use std::ops::Range;

/// Sets that are being gathered.
pub struct SetsBuilder {
    types: Vec<DataType>,
    most: usize,
    known: HashSet<Box<[u8]>>,
    current: Vec<Block>,
    /// There are too many rows in the current granule.
    is_full: bool,
    rows: Vec<Block>,
    /// Of each granule: one more than its rows, 0 for too many.
    lens: Vec<u64>,
}

impl SetsBuilder {
    pub fn new(types: &[DataType], most: usize) -> SetsBuilder {
        SetsBuilder {
            types: types.to_vec(),
            most: if most == 0 { usize::MAX } else { most },
            known: HashSet::default(),
            current: Vec::new(),
            is_full: false,
            rows: Vec::new(),
            lens: Vec::new(),
        }
    }

    /// More rows of the current granule.
    pub fn add(&mut self, rows: &Block) {
        if self.is_full {
            return;
        }
        let columns: Vec<&Column> = rows.columns().iter().collect();
        let keys = group_keys(&columns, rows.n_rows());
        let mut new = Vec::new();
        for row in 0..rows.n_rows() {
            if !self.known.contains(keys.get(row)) {
                self.known.insert(keys.get(row).into());
                new.push(row as u32);
            }
            if self.known.len() > self.most {
                self.is_full = true;
                self.current.clear();
                self.known.clear();
                return;
            }
        }
        if !new.is_empty() {
            let columns = rows.gather(&new).into_columns();
            let columns = columns.into_iter().map(|column| Column::Flat(column.into_flat().compact()));
            self.current.push(Block::new(columns.collect(), new.len()));
        }
    }

    /// The granule is whole.
    pub fn cut(&mut self) {
        let n: usize = self.current.iter().map(Block::n_rows).sum();
        self.lens.push(if self.is_full { 0 } else { n as u64 + 1 });
        self.rows.append(&mut self.current);
        self.known.clear();
        self.is_full = false;
    }

    pub fn finish(self, out: &mut Vec<u8>) -> Result<()> {
        self.lens.iter().for_each(|len| put_var_uint(out, *len));
        let rows = Block::concat(&self.rows);
        if rows.is_empty() {
            return Ok(());
        }
        for (column, ty) in rows.columns().iter().zip(&self.types) {
            write_column(out, ty, column)?;
        }
        Ok(())
    }
}

/// The distinct rows of all granules.
pub struct Sets {
    /// Of all granules one after the other.
    pub rows: Block,
    /// Where those of a granule are; none where there were too many.
    pub granules: Vec<Option<Range<usize>>>,
}

impl Sets {
    pub fn decode(from: &mut Cursor<'_>, types: &[DataType], n_granules: usize) -> Result<Sets> {
        ensure!(n_granules <= from.rest.len(), INCORRECT_DATA, "The sets of an index are cut short");
        let (mut granules, mut end) = (Vec::with_capacity(n_granules), 0usize);
        for _ in 0..n_granules {
            let n = from.var_uint()?.checked_sub(1);
            granules.push(n.map(|n| {
                let start = end;
                end = end.saturating_add(usize::try_from(n).unwrap_or(usize::MAX));
                start..end
            }));
        }
        let columns = match end {
            0 => Vec::new(),
            n => types.iter().map(|ty| read_column(from, ty, n)).collect::<Result<_>>()?,
        };
        ensure!(
            columns.iter().all(|column| column.len() == end),
            INCORRECT_DATA,
            "The sets of an index are cut short"
        );
        Ok(Sets { rows: Block::new(columns, end), granules })
    }
}
