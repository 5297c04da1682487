//! From the keys of right rows to the rows. Integers that lie close together index an array (a perfect hash); any other keys
//! are in a hash table. Where no two rows have equal keys, finding the key is finding the row. Many rows with keys of up to 8 bytes are
//! indexed by all workers.

use super::dense::Dense;
use crate::hash_table::row_table::{GroupRows, MANY, MOST_ROWS, RowTable};
use crate::hash_table::{GroupTable, KeyLayout, NO_GROUP};
use crate::operators::join::NO_ROW;
use crate::tasks::Team;
use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_base::hash::fetch;
use chalet_columns::{BooleanBuffer, Column};
use chalet_types::DataType;
use std::hint::select_unpredictable;
use std::ops::Range;
use std::sync::Arc;

/// The rows of a table by their keys.
pub struct KeyIndex {
    keys: Keys,
    rows: Rows,
}

enum Keys {
    /// There are no key columns: all rows are equal.
    None,
    Dense(Dense),
    Hashed(Box<GroupTable>),
    /// Of many rows, keys of up to 8 bytes.
    Partitioned(Box<RowTable>),
}

pub enum Rows {
    /// A group is a row.
    Unique,
    /// Rows of group `g`: `order[starts[g]..starts[g + 1]]`, in the order of the table.
    Lists { starts: Vec<u32>, order: Vec<u32> },
    /// As in [`GroupRows::Packed`].
    Packed { lists: Vec<u32>, n_groups: usize },
}

/// Rows that lie side by side in an order.
#[derive(Clone, Copy)]
pub struct Span {
    pub start: u32,
    pub len: u32,
    /// The first of them, [`NO_ROW`] where there is none.
    pub first: u32,
}

impl Span {
    pub const NONE: Span = Span { start: 0, len: 0, first: NO_ROW };
}

/// Rows that are looked up between two questions whether to stop.
const ROWS_AT_ONCE: usize = 1 << 18;

impl KeyIndex {
    /// The index of rows with these keys. Rows that are not `valid` equal nothing and are left out. All of the team builds it
    /// where there are `parallel_from` rows, and keys have up to 8 bytes. `in_lists` is for who asks for [`each_list`](Self::each_list) and
    /// places.
    pub fn new(
        keys: &[Column],
        types: &[DataType],
        valid: &BooleanBuffer,
        team: &Team,
        parallel_from: usize,
        in_lists: bool,
    ) -> Result<KeyIndex> {
        let n_rows = valid.len();
        if keys.is_empty() {
            let rows = Rows::lists(&vec![0; n_rows], valid, 1);
            return Ok(KeyIndex { keys: Keys::None, rows });
        }
        let layout = Arc::new(KeyLayout::new(types));
        if layout.has_words() && (parallel_from.max(1)..MOST_ROWS).contains(&n_rows) {
            events::count(Event::ParallelJoinBuilds);
            if let Some((dense, rows)) = Dense::of_many(keys, types, valid, &layout, team)? {
                return Ok(KeyIndex { keys: Keys::Dense(dense), rows });
            }
            let (table, rows) = RowTable::new(&layout, keys, valid, team, in_lists)?;
            let rows = match rows {
                GroupRows::Unique => Rows::Unique,
                GroupRows::Lists { starts, order } => Rows::Lists { starts, order },
                GroupRows::Packed { lists, n_groups } => Rows::Packed { lists, n_groups },
            };
            return Ok(KeyIndex { keys: Keys::Partitioned(Box::new(table)), rows });
        }
        if let Some((dense, rows)) = Dense::of(keys, types, valid, &layout) {
            return Ok(KeyIndex { keys: Keys::Dense(dense), rows });
        }
        let mut table = GroupTable::with_room(layout, n_rows);
        let mut groups = Vec::with_capacity(n_rows);
        for start in (0..n_rows).step_by(ROWS_AT_ONCE) {
            team.check()?;
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
            Keys::Dense(dense) => dense.memory(),
            Keys::Hashed(table) => table.memory(),
            Keys::Partitioned(table) => table.memory(),
        };
        let rows = match &self.rows {
            Rows::Unique => 0,
            Rows::Packed { lists, .. } => lists.len() * 4,
            Rows::Lists { starts, order } => (starts.len() + order.len()) * 4,
        };
        keys + rows
    }

    /// How many keys there are, one where there are no key columns.
    pub fn n_lists(&self) -> usize {
        match &self.rows {
            Rows::Unique => usize::MAX,
            Rows::Lists { starts, .. } => starts.len() - 1,
            Rows::Packed { n_groups, .. } => *n_groups,
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
    pub fn all_rows(&self, n_rows: usize) -> Vec<u32> {
        match &self.rows {
            Rows::Lists { order, .. } => order.clone(),
            Rows::Unique | Rows::Packed { .. } => (0..n_rows as u32).collect(),
        }
    }

    /// Where the rows of a group are in [`all_rows`](Self::all_rows).
    pub fn places_of(&self, group: u32) -> Range<usize> {
        match &self.rows {
            _ if group == NO_GROUP => 0..0,
            Rows::Lists { starts, .. } => {
                starts[group as usize] as usize..starts[group as usize + 1] as usize
            }
            Rows::Unique | Rows::Packed { .. } => group as usize..group as usize + 1,
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
            Keys::Partitioned(table) => table.find(keys, n_rows),
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

    /// How many of these keys there are.
    pub fn count_found(&self, keys: &[Column], valid: &BooleanBuffer) -> usize {
        self.find(keys, valid).into_iter().filter(|&group| group != NO_GROUP).count()
    }

    /// What the spans of groups of several rows lie in; none where a group is a row.
    pub fn order(&self) -> Option<&[u32]> {
        match &self.rows {
            Rows::Unique => None,
            Rows::Lists { order, .. } | Rows::Packed { lists: order, .. } => Some(order),
        }
    }

    /// Where the rows of each of these groups are in [`order`](Self::order). No branch depends on the groups, and what one of them asks of
    /// memory is on its way while others do.
    pub fn spans(&self, groups: &[u32], spans: &mut [Span]) {
        let ask = |order: &[u32], place: usize| fetch(order.as_ptr().wrapping_add(place));
        match &self.rows {
            Rows::Unique => {
                for (span, &group) in spans.iter_mut().zip(groups) {
                    *span = Span { start: group, len: u32::from(group != NO_GROUP), first: group };
                }
            }
            Rows::Lists { starts, order } if !order.is_empty() => {
                for (span, &group) in spans.iter_mut().zip(groups) {
                    let is_none = group == NO_GROUP;
                    let group = select_unpredictable(is_none, 0, group as usize);
                    let (start, end) = (starts[group], starts[group + 1]);
                    let len = select_unpredictable(is_none, 0, end - start);
                    *span = Span { start, len, first: NO_ROW };
                    ask(order, start as usize);
                }
                for span in &mut spans[..groups.len()] {
                    let first = order[(span.start as usize).min(order.len() - 1)];
                    span.first = select_unpredictable(span.len == 0, NO_ROW, first);
                }
            }
            Rows::Packed { lists, .. } if !lists.is_empty() => {
                let list_of = |group: u32| {
                    let is_list = (group & MANY != 0) & (group != NO_GROUP);
                    (is_list, select_unpredictable(is_list, group & !MANY, 0))
                };
                groups.iter().for_each(|&group| ask(lists, list_of(group).1 as usize));
                for (span, &group) in spans.iter_mut().zip(groups) {
                    let (is_list, place) = list_of(group);
                    let (len, first) = (lists[place as usize], lists[place as usize + 1]);
                    *span = Span {
                        start: place + 1,
                        len: select_unpredictable(is_list, len, u32::from(group != NO_GROUP)),
                        first: select_unpredictable(is_list, first, group),
                    };
                }
            }
            // There are no rows.
            _ => spans.fill(Span::NONE),
        }
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
            Rows::Packed { .. } if group & MANY == 0 => std::slice::from_ref(group),
            Rows::Packed { lists, .. } => {
                let (len, rows) = lists[(group & !MANY) as usize..].split_at(1);
                &rows[..len[0] as usize]
            }
        }
    }

    /// The keys, where they are integers that lie close together.
    pub fn as_dense(&self) -> Option<(&Dense, &Rows)> {
        if let Keys::Dense(dense) = &self.keys { Some((dense, &self.rows)) } else { None }
    }

    /// The table of the keys, where it has partitions.
    pub fn as_partitioned(&self) -> Option<&RowTable> {
        if let Keys::Partitioned(table) = &self.keys { Some(table) } else { None }
    }

    /// The first row of each group, or the last, [`NO_ROW`] for [`NO_GROUP`].
    pub fn one_row_each(&self, groups: Vec<u32>, last: bool) -> Vec<u32> {
        const { assert!(NO_GROUP == NO_ROW) };
        match &self.rows {
            Rows::Unique => groups,
            Rows::Lists { .. } | Rows::Packed { .. } => {
                let of_group = |group| {
                    let rows = self.rows_of(group);
                    let row = if last { rows.last() } else { rows.first() };
                    row.copied().unwrap_or(NO_ROW)
                };
                groups.iter().map(of_group).collect()
            }
        }
    }
}

impl Rows {
    /// Valid rows by their groups: a counting sort. Of many groups in two steps, so that what is written stays in the cache: rows are
    /// partitioned by the upper bits of their groups first.
    pub(super) fn lists(groups: &[u32], valid: &BooleanBuffer, n_groups: usize) -> Rows {
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
pub(super) fn sort_by_group<R: Iterator<Item = (usize, u32)>>(
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

#[cfg(test)]
mod tests {
    use super::*;
    use chalet_columns::{Builder, Vector};
    use chalet_types::Value;

    fn team() -> Team {
        Team::alone(&Arc::new(crate::QueryControl::new(crate::Limits::default(), None, None)))
    }

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
                for (parallel_from, in_lists) in [(0, false), (0, true), (usize::MAX, false)] {
                    let index = KeyIndex::new(
                        &[column(&ty, &keys)],
                        &types,
                        &valid,
                        &team(),
                        parallel_from,
                        in_lists,
                    )
                    .unwrap();
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
    }

    #[test]
    fn rows_that_are_not_valid_are_left_out() {
        let keys = [Column::Flat(Vector::from(vec![1u32, 2, 1, 3]))];
        let valid = BooleanBuffer::from(vec![true, true, false, true]);
        for (parallel_from, in_lists) in [(0, false), (0, true), (usize::MAX, false)] {
            let index =
                KeyIndex::new(&keys, &[DataType::UInt32], &valid, &team(), parallel_from, in_lists).unwrap();
            assert!(index.is_unique());
            assert_eq!(found(&index, &keys[0]), [vec![0], vec![1], vec![0], vec![3]]);
            assert_eq!(index.find(&keys, &valid)[2], NO_GROUP);
            assert_eq!(index.one_row_each(vec![NO_GROUP, 3], false), [NO_ROW, 3]);
        }
    }
}
