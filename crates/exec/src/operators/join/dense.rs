//! Integers that lie close together index an array (a perfect hash). Of many rows it is filled by all workers.

use super::NO_ROW;
use super::index::{Rows, sort_by_group};
use crate::hash_table::partitioned_rows::{PartitionedRows, chunks};
use crate::hash_table::pieces::Pieces;
use crate::hash_table::{KeyLayout, NO_GROUP, extreme_rows, integer_bias};
use crate::tasks::Team;
use chalet_base::Result;
use chalet_columns::{BooleanBuffer, Column};
use chalet_types::DataType;
use std::hint::select_unpredictable;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// Integers as distances from the least one.
pub(super) struct Dense {
    layout: Arc<KeyLayout>,
    /// Turns the bits of signed integers into bits that order as they do.
    bias: u64,
    least: u64,
    /// The greatest distance and one.
    len: usize,
    places: Places,
}

/// What there is at each distance.
enum Places {
    /// The row, or [`NO_ROW`].
    Rows(Vec<u32>),
    /// Rows that are sorted by keys without a gap: the distance is the row.
    Sorted,
    /// Keys are not unique: the distance is the group.
    Groups,
}

/// A range with more integers than this for each row is not worth an array.
const INTEGERS_PER_ROW: usize = 8;

/// Rows that are looked at before all are.
const FIRST_ROWS: usize = 1 << 10;

/// A range up to here always is.
const SMALL_RANGE: usize = 1 << 16;

/// The groups of a partition, at least: their counters fit the cache of a core.
const GROUP_BITS: u32 = 15;

/// Partitions at most, as a power of 2.
const MOST_BITS: u32 = 9;

impl Dense {
    /// The index of integers that lie close together; none of any other keys.
    pub fn of(
        keys: &[Column],
        types: &[DataType],
        valid: &BooleanBuffer,
        layout: &Arc<KeyLayout>,
    ) -> Option<(Dense, Rows)> {
        let [ty] = types else { return None };
        let bias = integer_bias(ty)?;
        let n_rows = valid.len();
        let words = layout.words(keys, n_rows)?;
        let extremes = extreme_rows(&words, valid, bias).map(|(a, b)| (words[a] ^ bias, words[b] ^ bias));
        let (least, len) = range(extremes, n_rows)?;
        let distance = |row: usize| ((words[row] ^ bias) - least) as usize;
        let mut rows = vec![NO_ROW; len];
        let is_unique = valid.set_indices().all(|row| {
            let known = std::mem::replace(&mut rows[distance(row)], row as u32);
            known == NO_ROW
        });
        let dense = |places| Dense { layout: layout.clone(), bias, least, len, places };
        if is_unique {
            return Some((dense(Places::of(rows)), Rows::Unique));
        }
        let group = |row| if valid.value(row) { distance(row) as u32 } else { NO_GROUP };
        let groups: Vec<u32> = (0..n_rows).map(group).collect();
        Some((dense(Places::Groups), Rows::lists(&groups, valid, len)))
    }

    /// As [`of`](Self::of), by all of a team.
    pub fn of_many(
        keys: &[Column],
        types: &[DataType],
        valid: &BooleanBuffer,
        layout: &Arc<KeyLayout>,
        team: &Team,
    ) -> Result<Option<(Dense, Rows)>> {
        let [ty] = types else { return Ok(None) };
        let Some(bias) = integer_bias(ty) else { return Ok(None) };
        let words = Words { layout: layout.clone(), keys: keys.to_vec(), valid: valid.clone(), bias };
        if !words.may_be_close() {
            return Ok(None);
        }
        let Some(extremes) = words.extremes(team)? else { return Ok(None) };
        let Some((least, len)) = range(extremes, valid.len()) else { return Ok(None) };
        let dense = |places| Dense { layout: layout.clone(), bias, least, len, places };
        Ok(Some(match words.unique_rows(least, len, team)? {
            Some(rows) => (dense(Places::of(rows)), Rows::Unique),
            None => (dense(Places::Groups), words.lists(least, len, team)?),
        }))
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        match &self.places {
            Places::Rows(rows) => rows.len() * 4,
            Places::Sorted | Places::Groups => 0,
        }
    }

    /// The row at a distance, or [`NO_ROW`], where keys are unique.
    #[inline]
    fn row(&self, distance: usize) -> u32 {
        match &self.places {
            Places::Rows(rows) => rows.get(distance).copied().unwrap_or(NO_ROW),
            Places::Sorted if distance < self.len => distance as u32,
            Places::Sorted | Places::Groups => NO_ROW,
        }
    }

    /// The group of each key.
    pub fn find(&self, keys: &[Column], n_rows: usize, rows: &Rows) -> Vec<u32> {
        let words = self.layout.words(keys, n_rows).unwrap_or_default();
        let distance = |word: &u64| (word ^ self.bias).wrapping_sub(self.least) as usize;
        match rows {
            // Whether a key is there cannot be predicted, but that it lies between the least and the greatest.
            Rows::Lists { starts, .. } => {
                let group = |word: &u64| {
                    let group = distance(word);
                    if group >= self.len {
                        return NO_GROUP;
                    }
                    select_unpredictable(starts[group] < starts[group + 1], group as u32, NO_GROUP)
                };
                words.iter().map(group).collect()
            }
            _ => match &self.places {
                Places::Rows(rows) => {
                    words.iter().map(|word| rows.get(distance(word)).copied().unwrap_or(NO_ROW)).collect()
                }
                _ => words.iter().map(|word| self.row(distance(word))).collect(),
            },
        }
    }

    /// The least key, under the bias of its type, and how many integers there are from it to the greatest; none where there is no key.
    pub fn range(&self) -> Option<(u64, usize)> {
        (self.len > 0).then_some((self.least, self.len))
    }

    /// A row of the least and one of the greatest key, which there must be.
    pub fn extreme_rows(&self, rows: &Rows) -> (u32, u32) {
        let row = |at: usize| match rows {
            Rows::Lists { starts, order } => order[starts[at] as usize],
            _ => self.row(at),
        };
        (row(0), row(self.len - 1))
    }

    /// Which of 64 integers from this distance on are keys, as bits.
    pub fn bits(&self, rows: &Rows, from: usize) -> u64 {
        let places = from..self.len.min(from + 64);
        let bit = |is_key: bool, at: usize| u64::from(is_key) << at;
        match rows {
            Rows::Lists { starts, .. } => {
                let windows = starts[places.start..=places.end].windows(2).enumerate();
                windows.fold(0, |bits, (at, window)| bits | bit(window[0] < window[1], at))
            }
            _ => places.enumerate().fold(0, |bits, (at, place)| bits | bit(self.row(place) != NO_ROW, at)),
        }
    }
}

impl Places {
    /// Of rows by distance.
    fn of(rows: Vec<u32>) -> Places {
        let is_sorted = rows.iter().zip(0..).all(|(&row, at)| row == at);
        if is_sorted { Places::Sorted } else { Places::Rows(rows) }
    }
}

/// The least of integers and the number of those from it to the greatest, if that is worth an array.
fn range(extremes: Option<(u64, u64)>, n_rows: usize) -> Option<(u64, usize)> {
    let Some((least, greatest)) = extremes else { return Some((0, 0)) };
    let len = usize::try_from(greatest - least).ok()?.checked_add(1)?;
    let is_large = len > SMALL_RANGE.max(n_rows.saturating_mul(INTEGERS_PER_ROW)) || len >= NO_GROUP as usize;
    (!is_large).then_some((least, len))
}

/// Integers of many rows, as words that order as they do.
#[derive(Clone)]
struct Words {
    layout: Arc<KeyLayout>,
    keys: Vec<Column>,
    valid: BooleanBuffer,
    bias: u64,
}

impl Words {
    /// The words of some rows; none where a key is not one.
    fn of(&self, rows: Range<usize>) -> Option<Vec<u64>> {
        let some: Vec<Column> = self.keys.iter().map(|key| key.slice(rows.start, rows.len())).collect();
        let words = self.layout.words(&some, rows.len())?;
        Some(words.iter().map(|word| word ^ self.bias).collect())
    }

    /// Lets all work on chunks of rows: on the number of the first row, the words and which are valid.
    fn each_chunk<T: Send + 'static>(
        &self,
        team: &Team,
        work: impl Fn(usize, &[u64], &BooleanBuffer) -> T + Send + Sync + 'static,
    ) -> Result<Vec<T>> {
        let ranges: Vec<Range<usize>> = chunks(self.valid.len()).collect();
        let own = self.clone();
        team.collect_all(ranges.len(), move |at| {
            let rows = ranges[at].clone();
            let words = own.of(rows.clone()).unwrap_or_default();
            Ok(work(rows.start, &words, &own.valid.slice(rows.start, words.len())))
        })
    }

    /// Do the first rows leave it open whether all words lie close together?
    fn may_be_close(&self) -> bool {
        let n_rows = self.valid.len().min(FIRST_ROWS);
        let words = self.of(0..n_rows).unwrap_or_default();
        let extremes = extreme_rows(&words, &self.valid.slice(0, words.len()), 0);
        range(extremes.map(|(least, greatest)| (words[least], words[greatest])), self.valid.len()).is_some()
    }

    /// The least and the greatest word, if there is one; none where keys are no words.
    fn extremes(&self, team: &Team) -> Result<Option<Option<(u64, u64)>>> {
        if !self.layout.has_words() {
            return Ok(None);
        }
        let of_chunks = self.each_chunk(team, |_, words, valid| {
            extreme_rows(words, valid, 0).map(|(least, greatest)| (words[least], words[greatest]))
        })?;
        let all = of_chunks.into_iter().flatten();
        Ok(Some(all.reduce(|(least, greatest), (a, b)| (least.min(a), greatest.max(b)))))
    }

    /// By distance from the least the row, if all keys are different.
    fn unique_rows(&self, least: u64, len: usize, team: &Team) -> Result<Option<Vec<u32>>> {
        let rows: Arc<Vec<AtomicU32>> = Arc::new((0..len).map(|_| AtomicU32::new(NO_ROW)).collect());
        let is_unique = Arc::new(AtomicBool::new(true));
        let (all, unique) = (rows.clone(), is_unique.clone());
        self.each_chunk(team, move |first, words, valid| {
            let mut is_new = true;
            for row in valid.set_indices() {
                let place = &all[(words[row] - least) as usize];
                is_new &= place.load(Relaxed) == NO_ROW;
                place.store((first + row) as u32, Relaxed);
                if row % 4096 == 0 && !unique.load(Relaxed) {
                    break;
                }
            }
            if !is_new {
                unique.store(false, Relaxed);
            }
        })?;
        // Two workers may have found the place of a key empty at once: one of them has lost it.
        if is_unique.load(Relaxed) && !team.is_alone() {
            let (all, unique) = (rows.clone(), is_unique.clone());
            self.each_chunk(team, move |first, words, valid| {
                let is_there =
                    |row: usize| all[(words[row] - least) as usize].load(Relaxed) == (first + row) as u32;
                if !valid.set_indices().all(is_there) {
                    unique.store(false, Relaxed);
                }
            })?;
        }
        if !is_unique.load(Relaxed) {
            return Ok(None);
        }
        let rows = Arc::into_inner(rows).unwrap_or_default();
        Ok(Some(rows.into_iter().map(AtomicU32::into_inner).collect()))
    }

    /// Rows by their distances from the least: partitioned by the upper bits of these first.
    fn lists(&self, least: u64, len: usize, team: &Team) -> Result<Rows> {
        let bits = GROUP_BITS.max((len.ilog2() + 1).saturating_sub(MOST_BITS));
        let n_partitions = len.div_ceil(1 << bits);
        let own = self.clone();
        let words = move |rows| {
            let words = own.of(rows).unwrap_or_default();
            // What is not valid may lie anywhere: it is left out, but has a partition.
            let distance = |word: u64| word.wrapping_sub(least).min(len as u64 - 1);
            words.into_iter().map(distance).collect()
        };
        let partition = move |distance| (distance >> bits) as usize;
        let rows = PartitionedRows::new(team, &self.valid, n_partitions, words, partition)?;
        let order = Arc::new(Pieces::new((0..n_partitions).map(|at| rows.len(at))));
        // Behind the starts of all groups comes the end of the last.
        let groups = move |at: usize| len.min((at + 1) << bits) - (at << bits);
        let starts = Arc::new(Pieces::new((0..n_partitions).map(groups)));
        let (own_order, own_starts) = (order.clone(), starts.clone());
        team.collect_all(n_partitions, move |at| {
            let (first, n_groups) = (at << bits, groups(at));
            let base = own_order.bounds()[at] as u32;
            let mut counted = vec![0; n_groups + 1];
            let entries = || rows.entries(at).map(|entry| (entry.word as usize - first, entry.row));
            sort_by_group(entries, &mut counted, base, &mut own_order.lock(at, 0));
            own_starts.lock(at, 0).copy_from_slice(&counted[..n_groups]);
            Ok(())
        })?;
        let whole =
            |pieces| Arc::into_inner(pieces).map_or_else(Vec::new, |pieces: Pieces<u32>| pieces.into_vec(0));
        let (order, mut starts) = (whole(order), whole(starts));
        starts.push(order.len() as u32);
        Ok(Rows::Lists { starts, order })
    }
}
