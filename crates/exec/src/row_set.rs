//! Sets of rows: for IN, DISTINCT, INTERSECT. One fixed-width column of up to 8 bytes has a table of words; anything
//! else goes through row keys.

use chalet_base::hash::HashSet;
use chalet_columns::keys::group_keys;
use chalet_columns::{Block, BooleanBuffer, Column, Data, Vector};

/// A set of rows, by their values.
#[derive(Default)]
pub struct RowSet {
    words: HashSet<u64>,
    keys: HashSet<Box<[u8]>>,
    holds_null: bool,
    n_bytes: usize,
}

impl RowSet {
    /// The number of different rows.
    pub fn len(&self) -> usize {
        self.words.len() + self.keys.len() + usize::from(self.holds_null)
    }

    /// Has it no rows?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.words.capacity() * 9 + self.keys.capacity() * 17 + self.n_bytes
    }

    /// Adds the rows of some columns; returns the numbers of the rows that were not there yet.
    pub fn insert(&mut self, columns: &[&Column], n_rows: usize) -> Vec<u32> {
        let mut fresh = Vec::new();
        if let [column] = columns {
            let flat = column.flat();
            if let Some(words) = words_of(&flat) {
                for row in 0..n_rows {
                    let is_new = if flat.is_null(row) {
                        !std::mem::replace(&mut self.holds_null, true)
                    } else {
                        self.words.insert(words(row))
                    };
                    if is_new {
                        fresh.push(row as u32);
                    }
                }
                return fresh;
            }
        }
        let keys = group_keys(columns, n_rows);
        for row in 0..n_rows {
            let key = keys.get(row);
            if !self.keys.contains(key) {
                self.n_bytes += key.len();
                self.keys.insert(key.into());
                fresh.push(row as u32);
            }
        }
        fresh
    }

    /// Adds all rows of a block.
    pub fn insert_block(&mut self, block: &Block) {
        let columns: Vec<&Column> = block.columns().iter().collect();
        self.insert(&columns, block.n_rows());
    }

    /// Which rows are in the set. NULL is found when the set holds NULL.
    pub fn contains(&self, columns: &[Column], n_rows: usize) -> BooleanBuffer {
        if let [column] = columns {
            let flat = column.flat();
            if let Some(words) = words_of(&flat) {
                return BooleanBuffer::collect_bool(n_rows, |row| {
                    if flat.is_null(row) { self.holds_null } else { self.words.contains(&words(row)) }
                });
            }
        }
        let keys = group_keys(&columns.iter().collect::<Vec<_>>(), n_rows);
        BooleanBuffer::collect_bool(n_rows, |row| self.keys.contains(keys.get(row)))
    }
}

/// The values as words that are equal when the values are; `None` when they do not fit. Floats go through keys, where
/// zeros and NaNs are made equal.
fn words_of(vector: &Vector) -> Option<Box<dyn Fn(usize) -> u64 + '_>> {
    Some(match &vector.data {
        Data::U8(v) => Box::new(|row| v[row].into()),
        Data::U16(v) => Box::new(|row| v[row].into()),
        Data::U32(v) => Box::new(|row| v[row].into()),
        Data::U64(v) => Box::new(|row| v[row]),
        Data::I8(v) => Box::new(|row| v[row] as u64),
        Data::I16(v) => Box::new(|row| v[row] as u64),
        Data::I32(v) => Box::new(|row| v[row] as u64),
        Data::I64(v) => Box::new(|row| v[row] as u64),
        _ => return None,
    })
}
