//! From the keys of right rows to the rows. Integers that lie close together index an array (a perfect hash); any other keys
//! are in a hash table. Where no two rows have equal keys, finding the key is finding the row.

use crate::hash_table::{GroupTable, KeyLayout, NO_GROUP, extreme_rows, integer_bias};
use crate::operators::join::NO_ROW;
use chalet_base::Result;
use chalet_columns::{BooleanBuffer, Column};
use chalet_types::DataType;
use std::sync::Arc;

/// The rows of a table by their keys.
pub(super) struct KeyIndex {
    keys: Keys,
    rows: Rows,
}

enum Keys {
    /// There are no key columns: all rows are equal.
    None,
    Dense(Dense),
    Hashed(Box<GroupTable>),
}

enum Rows {
    /// A group is a row.
    Unique,
    /// Rows of group `g`: `order[starts[g]..starts[g + 1]]`, in the order of the table.
    Lists { starts: Vec<u32>, order: Vec<u32> },
}

/// Integers as distances from the least one.
struct Dense {
    layout: Arc<KeyLayout>,
    /// Turns the bits of signed integers into bits that order as they do.
    bias: u64,
    least: u64,
    /// By distance: the row, or [`NO_ROW`]. Empty where keys are not unique: then the distance is the group.
    rows: Vec<u32>,
}

/// A range with more integers than this for each row is not worth an array.
const INTEGERS_PER_ROW: usize = 8;

/// A range up to here always is.
const SMALL_RANGE: usize = 1 << 16;

/// Rows that are looked up between two questions whether to stop.
const ROWS_AT_ONCE: usize = 1 << 18;

impl KeyIndex {
    /// The index of rows with these keys. Rows that are not `valid` equal nothing and are left out. Asks `check` now and then
    /// whether to go on.
    pub fn new(
        keys: &[Column],
        types: &[DataType],
        valid: &BooleanBuffer,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<KeyIndex> {
        let n_rows = valid.len();
        if keys.is_empty() {
            let rows = Rows::lists(&vec![0; n_rows], valid, 1);
            return Ok(KeyIndex { keys: Keys::None, rows });
        }
        let layout = Arc::new(KeyLayout::new(types));
        if let Some(index) = dense(keys, types, valid, &layout) {
            return Ok(index);
        }
        let mut table = GroupTable::with_room(layout, n_rows);
        let mut groups = Vec::with_capacity(n_rows);
        for start in (0..n_rows).step_by(ROWS_AT_ONCE) {
            check()?;
            let n = ROWS_AT_ONCE.min(n_rows - start);
            let some: Vec<Column> = keys.iter().map(|key| key.slice(start, n)).collect();
            groups.extend(table.groups(&some, n));
        }
        // Groups are numbered in the order of the rows that they appear in.
        let is_unique = table.len() == n_rows && valid.count_set_bits() == n_rows;
        let rows = if is_unique { Rows::Unique } else { Rows::lists(&groups, valid, table.len()) };
        Ok(KeyIndex { keys: Keys::Hashed(Box::new(table)), rows })
    }

    /// Has every key one row at most?
    pub fn is_unique(&self) -> bool {
        matches!(self.rows, Rows::Unique)
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        let keys = match &self.keys {
            Keys::None => 0,
            Keys::Dense(dense) => dense.rows.len() * 4,
            Keys::Hashed(table) => table.memory(),
        };
        let rows = match &self.rows {
            Rows::Unique => 0,
            Rows::Lists { starts, order } => (starts.len() + order.len()) * 4,
        };
        keys + rows
    }

    /// How many keys there are, one where there are no key columns.
    pub fn n_lists(&self) -> usize {
        match &self.rows {
            Rows::Unique => usize::MAX,
            Rows::Lists { starts, .. } => starts.len() - 1,
        }
    }

    /// Lets work on the rows of every key, for sorting them.
    pub fn each_list(&mut self, mut work: impl FnMut(&mut [u32])) {
        if let Rows::Lists { starts, order } = &mut self.rows {
            for window in starts.windows(2) {
                work(&mut order[window[0] as usize..window[1] as usize]);
            }
        }
    }

    /// The rows of all keys, one key after the other.
    pub fn order(&self, n_rows: usize) -> Vec<u32> {
        match &self.rows {
            Rows::Unique => (0..n_rows as u32).collect(),
            Rows::Lists { order, .. } => order.clone(),
        }
    }

    /// Where the rows of a group are in [`order`](Self::order).
    pub fn places_of(&self, group: u32) -> std::ops::Range<usize> {
        match &self.rows {
            _ if group == NO_GROUP => 0..0,
            Rows::Unique => group as usize..group as usize + 1,
            Rows::Lists { starts, .. } => {
                starts[group as usize] as usize..starts[group as usize + 1] as usize
            }
        }
    }

    /// The group of rows that equal each of these keys, for [`rows_of`](Self::rows_of); [`NO_GROUP`] where there is none.
    pub fn find(&self, keys: &[Column], valid: &BooleanBuffer) -> Vec<u32> {
        let n_rows = valid.len();
        let mut groups = match &self.keys {
            Keys::None => match &self.rows {
                Rows::Lists { order, .. } if order.is_empty() => vec![NO_GROUP; n_rows],
                _ => vec![0; n_rows],
            },
            Keys::Dense(dense) => dense.find(keys, n_rows, &self.rows),
            Keys::Hashed(table) => table.find(keys, n_rows),
        };
        if valid.count_set_bits() < n_rows {
            for (row, group) in groups.iter_mut().enumerate() {
                if !valid.value(row) {
                    *group = NO_GROUP;
                }
            }
        }
        groups
    }

    /// The rows of a group; none for [`NO_GROUP`].
    #[inline]
    pub fn rows_of<'a>(&'a self, group: &'a u32) -> &'a [u32] {
        if *group == NO_GROUP {
            return &[];
        }
        match &self.rows {
            Rows::Unique => std::slice::from_ref(group),
            Rows::Lists { starts, order } => {
                let group = *group as usize;
                &order[starts[group] as usize..starts[group + 1] as usize]
            }
        }
    }

    /// The first row of each group, [`NO_ROW`] for [`NO_GROUP`].
    pub fn first_rows(&self, groups: Vec<u32>) -> Vec<u32> {
        const { assert!(NO_GROUP == NO_ROW) };
        match &self.rows {
            Rows::Unique => groups,
            Rows::Lists { .. } => {
                groups.iter().map(|group| self.rows_of(group).first().copied().unwrap_or(NO_ROW)).collect()
            }
        }
    }
}

impl Rows {
    /// Valid rows by their groups: a counting sort. Of many groups in two steps, so that what is written stays in the cache: rows are
    /// partitioned by the upper bits of their groups first.
    fn lists(groups: &[u32], valid: &BooleanBuffer, n_groups: usize) -> Rows {
        let mut starts = vec![0u32; n_groups + 1];
        if n_groups <= GROUPS_AT_ONCE {
            let rows = || valid.set_indices().map(|row| (groups[row] as usize, row as u32));
            let mut order = vec![0; valid.count_set_bits()];
            sort_by_group(rows, &mut starts, 0, &mut order);
            return Rows::Lists { starts, order };
        }
        let partition = |group: u32| group as usize / GROUPS_AT_ONCE;
        let n_partitions = n_groups.div_ceil(GROUPS_AT_ONCE);
        let mut ends = vec![0usize; n_partitions + 1];
        valid.set_indices().for_each(|row| ends[partition(groups[row]) + 1] += 1);
        for at in 0..n_partitions {
            ends[at + 1] += ends[at];
        }
        let mut partitioned = vec![(0u32, 0u32); ends[n_partitions]];
        for row in valid.set_indices() {
            let end = &mut ends[partition(groups[row])];
            partitioned[*end] = (groups[row], row as u32);
            *end += 1;
        }
        let mut order = vec![0; partitioned.len()];
        let mut start = 0;
        for (at, &end) in ends[..n_partitions].iter().enumerate() {
            let first = at * GROUPS_AT_ONCE;
            let last = n_groups.min(first + GROUPS_AT_ONCE);
            let part = &partitioned[start..end];
            let rows = || part.iter().map(|&(group, row)| (group as usize - first, row));
            sort_by_group(rows, &mut starts[first..=last], start as u32, &mut order[start..end]);
            start = end;
        }
        Rows::Lists { starts, order }
    }
}

/// So many groups are counted at once: their counters fit the cache of a core.
const GROUPS_AT_ONCE: usize = 1 << 15;

/// Sorts rows by their groups, keeping their order; `rows` gives them with their groups. `starts` becomes where the rows of each group begin and
/// where the last one ends, counted from `base`; all of its items behind the first were 0.
fn sort_by_group<R: Iterator<Item = (usize, u32)>>(
    rows: impl Fn() -> R,
    starts: &mut [u32],
    base: u32,
    order: &mut [u32],
) {
    starts[0] = base;
    rows().for_each(|(group, _)| starts[group + 1] += 1);
    for group in 1..starts.len() {
        starts[group] += starts[group - 1];
    }
    let mut next = starts[..starts.len() - 1].to_vec();
    for (group, row) in rows() {
        order[(next[group] - base) as usize] = row;
        next[group] += 1;
    }
}

/// The index of integers that lie close together; none of any other keys.
fn dense(
    keys: &[Column],
    types: &[DataType],
    valid: &BooleanBuffer,
    layout: &Arc<KeyLayout>,
) -> Option<KeyIndex> {
    let [ty] = types else { return None };
    let bias = integer_bias(ty)?;
    let n_rows = valid.len();
    let words = layout.words(keys, n_rows)?;
    let (least, len) = match extreme_rows(&words, valid, bias) {
        Some((least, greatest)) => {
            let (least, greatest) = (words[least] ^ bias, words[greatest] ^ bias);
            (least, usize::try_from(greatest - least).ok()?.checked_add(1)?)
        }
        None => (0, 0),
    };
    if len > SMALL_RANGE.max(n_rows.saturating_mul(INTEGERS_PER_ROW)) || len >= NO_GROUP as usize {
        return None;
    }
    let distance = |row: usize| ((words[row] ^ bias) - least) as usize;
    let mut rows = vec![NO_ROW; len];
    let is_unique = valid.set_indices().all(|row| {
        let known = std::mem::replace(&mut rows[distance(row)], row as u32);
        known == NO_ROW
    });
    let dense = |rows| Keys::Dense(Dense { layout: layout.clone(), bias, least, rows });
    if is_unique {
        return Some(KeyIndex { keys: dense(rows), rows: Rows::Unique });
    }
    let groups: Vec<u32> =
        (0..n_rows).map(|row| if valid.value(row) { distance(row) as u32 } else { NO_GROUP }).collect();
    Some(KeyIndex { keys: dense(Vec::new()), rows: Rows::lists(&groups, valid, len) })
}

impl Dense {
    fn find(&self, keys: &[Column], n_rows: usize, rows: &Rows) -> Vec<u32> {
        let words = self.layout.words(keys, n_rows).unwrap_or_default();
        let distance = |word: &u64| (word ^ self.bias).wrapping_sub(self.least) as usize;
        match rows {
            Rows::Unique => {
                words.iter().map(|word| self.rows.get(distance(word)).copied().unwrap_or(NO_ROW)).collect()
            }
            Rows::Lists { starts, .. } => {
                let group = |word: &u64| {
                    let group = distance(word);
                    match starts.get(group..group.saturating_add(2)) {
                        Some(&[start, end]) if start < end => group as u32,
                        _ => NO_GROUP,
                    }
                };
                words.iter().map(group).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chalet_columns::{Builder, Vector};
    use chalet_types::Value;

    fn column(ty: &DataType, values: &[i64]) -> Column {
        let mut builder = Builder::new(ty);
        values.iter().for_each(|&v| builder.push_value(&Value::Int(v)).unwrap());
        Column::Flat(builder.finish())
    }

    fn found(index: &KeyIndex, keys: &Column) -> Vec<Vec<u32>> {
        let groups = index.find(std::slice::from_ref(keys), &BooleanBuffer::new_set(keys.len()));
        groups.iter().map(|group| index.rows_of(group).to_vec()).collect()
    }

    /// Signed integers on both sides of 0, with and without equal ones, near and far from each other.
    #[test]
    fn rows_are_found_by_their_keys() {
        for ty in [DataType::Int32, DataType::Int64] {
            for (keys, is_dense, is_unique) in [
                (vec![-3, 5, 0, 4], true, true),
                (vec![-3, 5, -3, 4, 5, 5], true, false),
                (vec![-2_000_000_000, 7, 2_000_000_000], false, true),
                (vec![-2_000_000_000, 7, 7], false, false),
            ] {
                let valid = BooleanBuffer::new_set(keys.len());
                let types = [ty.clone()];
                let index = KeyIndex::new(&[column(&ty, &keys)], &types, &valid, &|| Ok(())).unwrap();
                assert_eq!(matches!(index.keys, Keys::Dense(_)), is_dense, "{keys:?}");
                assert_eq!(index.is_unique(), is_unique, "{keys:?}");
                let asked = [-2_000_000_000, -4, -3, 0, 4, 5, 6, 7, 2_000_000_000, 2_000_000_001];
                let expected: Vec<Vec<u32>> = asked
                    .iter()
                    .map(|a| (0..keys.len() as u32).filter(|&row| keys[row as usize] == *a).collect())
                    .collect();
                assert_eq!(found(&index, &column(&ty, &asked)), expected, "{keys:?}");
            }
        }
    }

    #[test]
    fn rows_that_are_not_valid_are_left_out() {
        let keys = [Column::Flat(Vector::from(vec![1u32, 2, 1, 3]))];
        let valid = BooleanBuffer::from(vec![true, true, false, true]);
        let index = KeyIndex::new(&keys, &[DataType::UInt32], &valid, &|| Ok(())).unwrap();
        assert!(index.is_unique());
        assert_eq!(found(&index, &keys[0]), [vec![0], vec![1], vec![0], vec![3]]);
        assert_eq!(index.find(&keys, &valid)[2], NO_GROUP);
        assert_eq!(index.first_rows(vec![NO_GROUP, 3]), [NO_ROW, 3]);
    }
}
