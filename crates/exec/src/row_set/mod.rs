//! Sets of rows: for IN, DISTINCT, INTERSECT. One column of integers of up to 8 bytes or of strings has a set of its own kind;
//! anything else goes through row keys.

mod integers;
mod strings;

use chalet_base::hash::HashSet;
use chalet_columns::keys::group_keys;
use chalet_columns::{Block, Column, Data, Vector, bits};
use integers::IntegerSet;
use strings::StringSet;

/// A set of rows, by their values.
#[derive(Default)]
pub struct RowSet {
    integers: IntegerSet,
    strings: StringSet,
    keys: HashSet<Box<[u8]>>,
    key_bytes: usize,
    holds_null: bool,
}

/// Does `$do` with the values of a column of integers of up to 8 bytes, or `$do_strings` with strings; floats go through keys, where zeros and NaNs are made
/// equal.
macro_rules! each_integer_or_string {
    ($data:expr, $values:ident => $do:expr, $strings:ident => $do_strings:expr, _ => $otherwise:expr) => {
        match $data {
            Data::U8($values) => $do,
            Data::U16($values) => $do,
            Data::U32($values) => $do,
            Data::U64($values) => $do,
            Data::I8($values) => $do,
            Data::I16($values) => $do,
            Data::I32($values) => $do,
            Data::I64($values) => $do,
            Data::Str($strings) => $do_strings,
            _ => $otherwise,
        }
    };
}

impl RowSet {
    /// The number of different rows.
    pub fn len(&self) -> usize {
        self.integers.len() + self.strings.len() + self.keys.len() + usize::from(self.holds_null)
    }

    /// Has it no rows?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.integers.memory() + self.strings.memory() + self.keys.capacity() * 17 + self.key_bytes
    }

    /// Adds the rows of some columns; returns the numbers of the rows that were not there yet.
    pub fn insert(&mut self, columns: &[&Column], n_rows: usize) -> Vec<u32> {
        if let [column] = columns {
            let flat = column.flat();
            let fresh = each_integer_or_string!(&flat.data,
                values => Some(self.insert_each(&flat, n_rows, |set, row| set.integers.insert(values[row]))),
                strings => Some(self.insert_each(&flat, n_rows, |set, row| set.strings.insert(strings.get(row)))),
                _ => None);
            if let Some(fresh) = fresh {
                return fresh;
            }
        }
        let keys = group_keys(columns, n_rows);
        let mut fresh = Vec::new();
        for row in 0..n_rows {
            let key = keys.get(row);
            if !self.keys.contains(key) {
                self.key_bytes += key.len();
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

    /// 1 for each row that is in the set, 0 for others. NULL is found when the set holds NULL.
    pub fn find(&self, columns: &[Column], n_rows: usize) -> Vec<u8> {
        if let [column] = columns {
            let flat = column.flat();
            let found = each_integer_or_string!(&flat.data,
                values => Some(self.integers.find(&values[..n_rows])),
                strings => Some(self.strings.find(strings)),
                _ => None);
            if let Some(mut found) = found {
                if let Some(validity) = flat.validity.as_ref().filter(|validity| validity.null_count() > 0) {
                    let null = u8::from(self.holds_null);
                    // A choice without a branch: which rows are NULL cannot be guessed.
                    for (found, valid) in found.iter_mut().zip(bits::to_bytes(validity.inner())) {
                        *found = if valid != 0 { *found } else { null };
                    }
                }
                return found;
            }
        }
        let keys = group_keys(&columns.iter().collect::<Vec<_>>(), n_rows);
        (0..n_rows).map(|row| u8::from(self.keys.contains(keys.get(row)))).collect()
    }

    /// Adds the rows of one column with a function that adds a value and says whether it was new.
    fn insert_each(
        &mut self,
        column: &Vector,
        n_rows: usize,
        mut insert: impl FnMut(&mut RowSet, usize) -> bool,
    ) -> Vec<u32> {
        let mut fresh = Vec::new();
        for row in 0..n_rows {
            let is_new = match column.is_null(row) {
                true => !std::mem::replace(&mut self.holds_null, true),
                false => insert(self, row),
            };
            if is_new {
                fresh.push(row as u32);
            }
        }
        fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chalet_columns::{NullBuffer, StringBuilder};

    fn strings(texts: &[&str]) -> Vector {
        let mut builder = StringBuilder::with_capacity(texts.len());
        texts.iter().for_each(|text| builder.push(text.as_bytes()));
        builder.finish().into()
    }

    /// Finds what was put in and nothing else, whatever the lookup: few values, a dense range, or hashes.
    #[test]
    fn finds_what_was_put_in() {
        let needles: Vec<i64> = (-3000..3000).chain([i64::MIN, i64::MAX]).collect();
        let sets: [&[i64]; 6] = [
            &[],
            &[5],
            &[i64::MIN, -1, 7, 2999],
            &(0..100).map(|i| i * 3).collect::<Vec<_>>(),
            &(0..100).map(|i| i * 0x1234_5678_9abc).chain([17, -2000]).collect::<Vec<_>>(),
            &[i64::MIN, i64::MAX, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        ];
        for values in sets {
            let mut set = RowSet::default();
            let column = Column::Flat(Vector::from(values.to_vec()));
            assert_eq!(set.insert(&[&column], values.len()).len(), values.len());
            assert!(set.insert(&[&column], values.len()).is_empty());
            let found = set.find(&[Column::Flat(Vector::from(needles.clone()))], needles.len());
            let expected: Vec<u8> = needles.iter().map(|n| u8::from(values.contains(n))).collect();
            assert_eq!(found, expected, "{values:?}");
        }
    }

    /// A value that is put in after a search is found too.
    #[test]
    fn grows_after_a_search() {
        let mut set = RowSet::default();
        for value in 0..40u8 {
            let column = Column::Flat(Vector::from(vec![value]));
            assert_eq!(set.find(std::slice::from_ref(&column), 1), [0]);
            set.insert(&[&column], 1);
            assert_eq!(set.find(std::slice::from_ref(&column), 1), [1]);
        }
        assert_eq!(set.len(), 40);
    }

    #[test]
    fn strings_and_nulls() {
        let long = "a string that does not fit into a view";
        let texts = ["", "a", "ab", "abcd", "abcde", "abcdefghijkl", long, "abcdefghijklm"];
        let needles =
            ["", "a", "b", "abcd", "abcdf", "abcde", long, "a string that does not fit into a VIEW"];
        for n in 0..=texts.len() {
            let mut set = RowSet::default();
            for text in &texts[..n] {
                set.insert(&[&Column::Flat(strings(&[*text]))], 1);
            }
            let valid: Vec<bool> = (0..needles.len()).map(|i| i != 1).collect();
            let column = strings(&needles).with_nulls(Some(&NullBuffer::from(valid.clone())));
            let expected: Vec<u8> = needles
                .iter()
                .zip(&valid)
                .map(|(needle, valid)| u8::from(*valid && texts[..n].contains(needle)))
                .collect();
            assert_eq!(set.find(&[Column::Flat(column.clone())], needles.len()), expected, "{n} strings");
            set.insert(&[&Column::Flat(column.slice(1, 1))], 1);
            assert_eq!(set.find(&[Column::Flat(column)], needles.len())[1], 1);
        }
    }
}
