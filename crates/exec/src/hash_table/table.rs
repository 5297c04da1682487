//! Open addressing from keys to group numbers. A slot holds half of the hash beside the number, so that most misses
//! end in the slot; keys of one or two bytes index an array instead.

use super::dense::Dense;
use super::key_layout::{BlockKeys, Kind, Values};
use super::runs::Runs;
use super::store::valid_of;
use super::word_set::WordSet;
use super::{KeyLayout, Store, empty_slots};
use chalet_base::Result;
use chalet_base::hash::{fetch, hash_u64};
use chalet_columns::strings::INLINE;
use chalet_columns::{Block, Column, StringBuilder, Strings};
use std::sync::Arc;

/// From keys to consecutive group numbers.
pub struct GroupTable {
    layout: Arc<KeyLayout>,
    slots: Slots,
    store: Store,
    /// A shortcut to the slots, of words that lie close together.
    dense: Dense,
    /// Keys that are in the store and not in the slots.
    appended: usize,
    /// Rows whose keys were looked up or appended.
    looked_at: usize,
}

/// In place of a group number: the key is in no group.
pub const NO_GROUP: u32 = u32::MAX;

const FIRST_SLOTS: usize = 256;

/// Half of the hash above, the group number + 1 below; 0 is empty.
type Slot = u64;

const TAG: u64 = !0 << 32;

enum Slots {
    Hashed(Vec<Slot>),
    /// By the key itself: the group number + 1.
    Direct(Vec<u32>),
    /// Nobody asks which group a key is in.
    Unnumbered(WordSet),
}

impl GroupTable {
    /// An empty table.
    pub fn new(layout: Arc<KeyLayout>) -> Self {
        GroupTable::with_room(layout, 0)
    }

    /// Room for so many groups.
    pub fn with_room(layout: Arc<KeyLayout>, groups: usize) -> Self {
        let slots = match layout.kind {
            Kind::Words(width) if width <= 2 => Slots::Direct(vec![0; 1 << (8 * width)]),
            _ => Slots::Hashed(empty_slots((groups * 2).next_power_of_two().max(FIRST_SLOTS))),
        };
        GroupTable::over(layout, slots, groups)
    }

    /// Of keys that are only collected: [`add`](Self::add) adds them, and nobody asks for their numbers.
    pub fn unnumbered(layout: Arc<KeyLayout>, groups: usize) -> Self {
        match layout.kind {
            Kind::Words(width) if width > 2 => {
                GroupTable::over(layout, Slots::Unnumbered(WordSet::with_room(groups)), groups)
            }
            _ => GroupTable::with_room(layout, groups),
        }
    }

    fn over(layout: Arc<KeyLayout>, slots: Slots, groups: usize) -> Self {
        let store = Store::with_capacity(&layout, groups);
        let dense = Dense::of_width(layout.word_width());
        GroupTable { layout, slots, store, dense, appended: 0, looked_at: 0 }
    }

    /// Whether keys can only be added.
    pub fn is_unnumbered(&self) -> bool {
        matches!(self.slots, Slots::Unnumbered(_))
    }

    /// The number of groups.
    pub fn len(&self) -> usize {
        self.store.len()
    }

    /// Rows whose keys were looked up or appended, since all groups were forgotten: of neighbours with equal keys the first.
    pub fn looked_at(&self) -> usize {
        self.looked_at
    }

    /// The layout of the keys.
    pub fn layout(&self) -> &Arc<KeyLayout> {
        &self.layout
    }

    /// The keys of the groups.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        let slots = match &self.slots {
            Slots::Hashed(slots) => slots.len() * size_of::<Slot>(),
            Slots::Direct(groups) => groups.len() * 4,
            Slots::Unnumbered(words) => words.memory(),
        };
        slots + self.store.memory() + self.dense.memory()
    }

    /// The key columns of all groups, in order of their numbers.
    pub fn into_columns(self) -> Result<Block> {
        self.layout.columns(self.store)
    }

    /// The keys of all groups.
    pub fn into_store(self) -> Store {
        self.store
    }

    /// Forgets all groups, and gives their keys.
    pub fn take(&mut self) -> Store {
        self.dense = Dense::of_width(self.layout.word_width());
        // There may be many more slots than keys.
        if self.appended < self.len() {
            match &mut self.slots {
                Slots::Hashed(slots) => slots.fill(0),
                Slots::Direct(groups) => groups.fill(0),
                Slots::Unnumbered(words) => words.clear(),
            }
        }
        self.appended = 0;
        self.looked_at = 0;
        std::mem::replace(&mut self.store, Store::new(&self.layout))
    }

    /// The group of every row; new keys become new groups in order of appearance.
    pub fn groups(&mut self, columns: &[Column], n_rows: usize) -> Vec<u32> {
        self.of_all(columns, n_rows, GroupTable::groups_of_rows)
    }

    /// Neighbours with equal keys, and the keys of the first of each, where it is worth while to look these up only.
    fn runs(&self, columns: &[Column], n_rows: usize) -> Option<(Runs, Vec<Column>)> {
        // An array answers as fast.
        if matches!(self.slots, Slots::Direct(_)) || self.dense.is_used() {
            return None;
        }
        let runs = Runs::of(columns, n_rows)?;
        let heads = columns.iter().map(|column| column.gather(&runs.heads)).collect();
        Some((runs, heads))
    }

    fn groups_of_rows(&mut self, columns: &[Column], n_rows: usize) -> Vec<u32> {
        self.looked_at += n_rows;
        let layout = self.layout.clone();
        let Some(words) = layout.words(columns, n_rows) else {
            return self.insert(&layout.keys(columns, n_rows));
        };
        match layout.valid(columns) {
            Some(valid) => self.groups_beside_null(&words, &valid, GroupTable::groups_of_words),
            None => self.groups_of_words(&words),
        }
    }

    /// Gives words to `work` in which those of NULLs are replaced by others that are there. NULL becomes a group when it comes, whose
    /// number is given.
    fn beside_null(&mut self, words: &[u64], valid: &[u8], mut work: impl FnMut(&mut Self, &[u64])) -> u32 {
        let Store::Words { nulls, .. } = &self.store else { unreachable!("keys of another form") };
        let mut start = 0;
        if nulls.is_empty() {
            start = valid.iter().position(|&valid| valid == 0).unwrap_or(words.len());
            work(self, &words[..start]);
        }
        let Store::Words { words: store, nulls } = &mut self.store else {
            unreachable!("keys of another form")
        };
        if nulls.is_empty() {
            nulls.push(store.len() as u32);
            store.push(0);
        }
        let null = nulls[0];
        if let Some(row) = valid.iter().position(|&valid| valid != 0) {
            let other = words[row];
            let rest = words[start..].iter().zip(&valid[start..]);
            let replaced: Vec<u64> =
                rest.map(|(&word, &valid)| if valid != 0 { word } else { other }).collect();
            work(self, &replaced);
        }
        null
    }

    /// The group of every row, of which those that are not `valid` are NULL; `groups_of` gives those of words.
    fn groups_beside_null(
        &mut self,
        words: &[u64],
        valid: &[u8],
        groups_of: impl Fn(&mut Self, &[u64]) -> Vec<u32>,
    ) -> Vec<u32> {
        let mut groups = Vec::new();
        let null = self.beside_null(words, valid, |table, words| {
            let some = groups_of(table, words);
            if groups.is_empty() { groups = some } else { groups.extend_from_slice(&some) }
        });
        groups.resize(words.len(), null);
        for (group, &valid) in groups.iter_mut().zip(valid) {
            *group = if valid != 0 { *group } else { null };
        }
        groups
    }

    fn groups_of_words(&mut self, words: &[u64]) -> Vec<u32> {
        let Store::Words { words: store, nulls } = &mut self.store else {
            unreachable!("keys of another form")
        };
        match &mut self.slots {
            Slots::Direct(direct) => insert_direct(direct, store, words),
            Slots::Hashed(slots) => {
                let insert = |words: &[u64]| {
                    let hashes: Vec<u64> = words.iter().map(|&word| hash_u64(word)).collect();
                    let mut store = HeldWords { words: &mut *store, null: nulls.first().copied() };
                    insert(slots, &mut store, &hashes, |row| words[row])
                };
                self.dense.groups(words, insert)
            }
            Slots::Unnumbered(_) => unreachable!("groups of a table without numbers"),
        }
    }

    /// New keys become new groups in order of appearance.
    pub fn add(&mut self, columns: &[Column], n_rows: usize) {
        self.with_heads(columns, n_rows, |table, columns, n_rows| {
            if !table.is_unnumbered() {
                table.groups_of_rows(columns, n_rows);
                return;
            }
            table.looked_at += n_rows;
            let layout = table.layout.clone();
            let words = layout.words(columns, n_rows).unwrap_or_default();
            match layout.valid(columns) {
                Some(valid) => {
                    table.beside_null(&words, &valid, GroupTable::add_words);
                }
                None => table.add_words(&words),
            }
        });
    }

    fn add_words(&mut self, words: &[u64]) {
        if let (Slots::Unnumbered(set), Store::Words { words: store, .. }) =
            (&mut self.slots, &mut self.store)
        {
            set.insert(words, store);
        }
    }

    /// Works on the first rows of runs where there are runs, else on all rows. The runs, where there are some.
    fn with_heads<R>(
        &mut self,
        columns: &[Column],
        n_rows: usize,
        work: impl FnOnce(&mut Self, &[Column], usize) -> R,
    ) -> (R, Option<Runs>) {
        match self.runs(columns, n_rows) {
            Some((runs, heads)) => (work(self, &heads, runs.heads.len()), Some(runs)),
            None => (work(self, columns, n_rows), None),
        }
    }

    /// The group of every row, where `work` gives those of the first rows of runs.
    fn of_all(
        &mut self,
        columns: &[Column],
        n_rows: usize,
        work: impl FnOnce(&mut Self, &[Column], usize) -> Vec<u32>,
    ) -> Vec<u32> {
        match self.with_heads(columns, n_rows, work) {
            (groups, Some(runs)) => runs.spread(&groups),
            (groups, None) => groups,
        }
    }

    /// Keys of a store of the same layout become new groups where they are new. Strings are copied.
    pub fn add_store(&mut self, keys: &Store) {
        match keys {
            Store::Words { words, nulls } if self.is_unnumbered() && nulls.is_empty() => {
                self.add_words(words)
            }
            Store::Words { words, nulls } if self.is_unnumbered() => {
                self.beside_null(words, &valid_of(words.len(), nulls), GroupTable::add_words);
            }
            _ => {
                self.insert_store(keys);
            }
        }
    }

    /// The group of every key.
    pub fn insert(&mut self, keys: &BlockKeys) -> Vec<u32> {
        let hashes = &keys.hashes;
        match &keys.values {
            Values::Words(words) => self.insert_keys(hashes, Keys::<Strings>::Words(words)),
            Values::DoubleWords(words) => self.insert_keys(hashes, Keys::<Strings>::DoubleWords(words)),
            Values::Bytes(texts) => self.insert_keys(hashes, Keys::Text(texts)),
            Values::WordText(words, texts) => self.insert_keys(hashes, Keys::WordText(words, texts)),
        }
    }

    /// The group of every key of a store of the same layout. Strings are copied, so that those of the groups lie close
    /// together.
    pub fn insert_store(&mut self, keys: &Store) -> Vec<u32> {
        if let Store::Words { words, nulls } = keys
            && !nulls.is_empty()
        {
            return self.groups_beside_null(words, &valid_of(words.len(), nulls), |table, words| {
                let hashes: Vec<u64> = words.iter().map(|&word| hash_u64(word)).collect();
                table.insert_keys(&hashes, Keys::<Strings>::Words(words))
            });
        }
        let hashes = &keys.hashes();
        match keys {
            Store::Words { words, .. } => self.insert_keys(hashes, Keys::<Strings>::Words(words)),
            Store::DoubleWords(words) => self.insert_keys(hashes, Keys::<Strings>::DoubleWords(words)),
            Store::Bytes { keys, .. } => self.insert_keys(hashes, Keys::Text(keys)),
            Store::WordText { words, keys, .. } => self.insert_keys(hashes, Keys::WordText(words, keys)),
        }
    }

    fn insert_keys<T: StringLookup>(&mut self, new: &[u64], keys: Keys<T>) -> Vec<u32> {
        match (&mut self.slots, &mut self.store, keys) {
            (Slots::Direct(direct), Store::Words { words: store, .. }, Keys::Words(words)) => {
                insert_direct(direct, store, words)
            }
            (Slots::Hashed(slots), Store::Words { words: store, nulls }, Keys::Words(words)) => {
                let mut store = HeldWords { words: store, null: nulls.first().copied() };
                insert(slots, &mut store, new, |row| words[row])
            }
            (Slots::Hashed(slots), Store::DoubleWords(store), Keys::DoubleWords(words)) => {
                insert(slots, store, new, |row| words[row])
            }
            (Slots::Hashed(slots), Store::Bytes { keys, hashes }, Keys::Text(texts)) => {
                insert(slots, &mut (keys, hashes), new, |row| texts.text(row))
            }
            (
                Slots::Hashed(slots),
                Store::WordText { words: store, keys, hashes },
                Keys::WordText(words, texts),
            ) => insert(slots, &mut (store, (keys, hashes)), new, |row| (words[row], texts.text(row))),
            _ => unreachable!("keys of another form"),
        }
    }

    /// Every key becomes a group of its own, whether it is there or not. Only [`take`](Self::take) makes the table
    /// usable for looking up again.
    pub fn append(&mut self, columns: &[Column], n_rows: usize) -> std::ops::Range<u32> {
        let before = self.len();
        self.appended += n_rows;
        self.looked_at += n_rows;
        match (&mut self.store, self.layout.words(columns, n_rows)) {
            (Store::Words { words: store, nulls }, Some(words)) => {
                store.extend_from_slice(&words);
                for (row, _) in
                    self.layout.valid(columns).iter().flatten().enumerate().filter(|(_, valid)| **valid == 0)
                {
                    store[before + row] = 0;
                    nulls.push((before + row) as u32);
                }
            }
            (store, _) => store.append(&self.layout.keys(columns, n_rows)),
        }
        before as u32..self.len() as u32
    }

    /// As [`append`](Self::append), but neighbours with equal keys become one group. The group of every row.
    pub fn append_runs(&mut self, columns: &[Column], n_rows: usize) -> Vec<u32> {
        self.of_all(columns, n_rows, |table, columns, n_rows| table.append(columns, n_rows).collect())
    }

    /// As [`append_runs`](Self::append_runs), when nobody asks for the groups: of a single column NULL comes once.
    pub fn append_distinct(&mut self, columns: &[Column], n_rows: usize) {
        self.with_heads(columns, n_rows, |table, columns, n_rows| {
            let layout = table.layout.clone();
            let Some((valid, words)) = layout.valid(columns).zip(layout.words(columns, n_rows)) else {
                table.append(columns, n_rows);
                return;
            };
            table.looked_at += n_rows;
            table.appended += table.store.append_beside_null(&words, &valid);
        });
    }

    /// The group of every row, [`NO_GROUP`] for keys that are not there.
    pub fn find(&self, columns: &[Column], n_rows: usize) -> Vec<u32> {
        let mut groups = self.find_keys(columns, n_rows);
        if let (Some(valid), Store::Words { nulls, .. }) = (self.layout.valid(columns), &self.store) {
            let null = nulls.first().copied().unwrap_or(NO_GROUP);
            for (group, valid) in groups.iter_mut().zip(valid) {
                *group = if valid != 0 { *group } else { null };
            }
        }
        groups
    }

    fn find_keys(&self, columns: &[Column], n_rows: usize) -> Vec<u32> {
        let keys = self.layout.keys(columns, n_rows);
        match (&self.slots, &self.store, &keys.values) {
            // An empty slot holds 0: one below is `NO_GROUP`.
            (Slots::Direct(direct), _, Values::Words(words)) => {
                words.iter().map(|&word| direct[word as usize].wrapping_sub(1)).collect()
            }
            (Slots::Hashed(slots), Store::Words { words: store, .. }, Values::Words(words)) => {
                find(slots, store, &keys.hashes, |row| words[row])
            }
            (Slots::Hashed(slots), Store::DoubleWords(store), Values::DoubleWords(words)) => {
                find(slots, store, &keys.hashes, |row| words[row])
            }
            (Slots::Hashed(slots), Store::Bytes { keys: store, .. }, Values::Bytes(strings)) => {
                find(slots, store, &keys.hashes, |row| strings.text(row))
            }
            (
                Slots::Hashed(slots),
                Store::WordText { words: in_words, keys: store, .. },
                Values::WordText(words, strings),
            ) => find(slots, &(in_words, store), &keys.hashes, |row| (words[row], strings.text(row))),
            _ => unreachable!("keys of another form"),
        }
    }
}

/// Keys that a table compares.
trait Compared {
    type Key<'a>: Copy;
    fn equals(&self, group: usize, key: Self::Key<'_>) -> bool;
    /// Fetches what [`equals`](Self::equals) looks at.
    #[inline(always)]
    fn prefetch(&self, group: usize) {
        let _ = group;
    }
}

/// Keys that a table holds.
trait Held: Compared {
    fn len(&self) -> usize;
    fn push(&mut self, key: Self::Key<'_>, hash: u64);
    /// None where no slot leads to the group.
    fn hash(&self, group: usize) -> Option<u64>;
}

impl Compared for Vec<u64> {
    type Key<'a> = u64;
    #[inline(always)]
    fn equals(&self, group: usize, key: u64) -> bool {
        self[group] == key
    }
    #[inline(always)]
    fn prefetch(&self, group: usize) {
        fetch(&raw const self[group]);
    }
}

/// Words that a table holds, one of which may stand for NULL: no slot leads to it.
struct HeldWords<'a> {
    words: &'a mut Vec<u64>,
    null: Option<u32>,
}

impl Compared for HeldWords<'_> {
    type Key<'a> = u64;
    #[inline(always)]
    fn equals(&self, group: usize, key: u64) -> bool {
        self.words[group] == key
    }
}

impl Held for HeldWords<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.words.len()
    }
    #[inline(always)]
    fn push(&mut self, key: u64, _: u64) {
        self.words.push(key);
    }
    fn hash(&self, group: usize) -> Option<u64> {
        (self.null != Some(group as u32)).then(|| hash_u64(self.words[group]))
    }
}

impl Compared for Vec<u128> {
    type Key<'a> = u128;
    #[inline(always)]
    fn equals(&self, group: usize, key: u128) -> bool {
        self[group] == key
    }
    #[inline(always)]
    fn prefetch(&self, group: usize) {
        fetch(&raw const self[group]);
    }
}

impl Held for Vec<u128> {
    #[inline(always)]
    fn len(&self) -> usize {
        Vec::len(self)
    }
    #[inline(always)]
    fn push(&mut self, key: u128, _: u64) {
        Vec::push(self, key);
    }
    fn hash(&self, group: usize) -> Option<u64> {
        Some(super::key_layout::double_hash(self[group]))
    }
}

/// A string with its view, whose first half tells most strings apart.
#[derive(Clone, Copy)]
struct Text<'a> {
    view: u128,
    bytes: &'a [u8],
}

/// New keys, in the layout of the table.
enum Keys<'a, T> {
    Words(&'a [u64]),
    DoubleWords(&'a [u128]),
    Text(&'a T),
    WordText(&'a [u128], &'a T),
}

/// Access by row to string keys that are looked up.
trait StringLookup {
    fn text(&self, row: usize) -> Text<'_>;
}

impl StringLookup for Strings {
    #[inline(always)]
    fn text(&self, row: usize) -> Text<'_> {
        Text { view: self.views()[row], bytes: self.get(row) }
    }
}

impl StringLookup for StringBuilder {
    #[inline(always)]
    fn text(&self, row: usize) -> Text<'_> {
        Text { view: self.view(row), bytes: self.get(row) }
    }
}

impl Compared for StringBuilder {
    type Key<'a> = Text<'a>;
    #[inline(always)]
    fn equals(&self, group: usize, key: Text) -> bool {
        let view = self.view(group);
        if view as u32 as usize <= INLINE {
            return view == key.view;
        }
        view as u64 == key.view as u64 && self.get(group) == key.bytes
    }
}

impl Compared for (&Vec<u128>, &StringBuilder) {
    type Key<'a> = (u128, Text<'a>);
    #[inline(always)]
    fn equals(&self, group: usize, (word, text): (u128, Text)) -> bool {
        self.0[group] == word && self.1.equals(group, text)
    }
}

/// Strings and their hashes.
impl Compared for (&mut StringBuilder, &mut Vec<u64>) {
    type Key<'a> = Text<'a>;
    #[inline(always)]
    fn equals(&self, group: usize, key: Text) -> bool {
        self.0.equals(group, key)
    }
}

impl Held for (&mut StringBuilder, &mut Vec<u64>) {
    #[inline(always)]
    fn len(&self) -> usize {
        self.1.len()
    }
    #[inline(always)]
    fn push(&mut self, key: Text, hash: u64) {
        self.0.push_viewed(key.view, key.bytes);
        self.1.push(hash);
    }
    fn hash(&self, group: usize) -> Option<u64> {
        Some(self.1[group])
    }
}

/// Words, strings and their hashes.
impl Compared for (&mut Vec<u128>, (&mut StringBuilder, &mut Vec<u64>)) {
    type Key<'a> = (u128, Text<'a>);
    #[inline(always)]
    fn equals(&self, group: usize, (word, text): (u128, Text)) -> bool {
        self.0[group] == word && self.1.equals(group, text)
    }
}

impl Held for (&mut Vec<u128>, (&mut StringBuilder, &mut Vec<u64>)) {
    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len()
    }
    #[inline(always)]
    fn push(&mut self, (word, text): (u128, Text), hash: u64) {
        self.0.push(word);
        self.1.push(text, hash);
    }
    fn hash(&self, group: usize) -> Option<u64> {
        self.1.hash(group)
    }
}

/// The group of the key, or the place of the empty slot where it would be.
#[inline(always)]
fn probe<S: Compared>(
    slots: &[Slot],
    store: &S,
    hash: u64,
    key: S::Key<'_>,
) -> std::result::Result<u32, usize> {
    let mask = slots.len() - 1;
    let mut at = hash as usize & mask;
    loop {
        let slot = slots[at];
        let group = slot as u32;
        if group == 0 {
            return Err(at);
        }
        if (slot ^ hash) & TAG == 0 && store.equals(group as usize - 1, key) {
            return Ok(group - 1);
        }
        at = (at + 1) & mask;
    }
}

/// How many keys ahead of the one looked up slots are fetched: a table that has outgrown the cache would else wait for
/// each in turn.
const AHEAD: usize = 12;

#[inline(always)]
pub(super) fn prefetch(slots: &[Slot], hash: u64) {
    fetch(&raw const slots[hash as usize & (slots.len() - 1)]);
}

fn insert<'k, S: Held>(
    slots: &mut Vec<Slot>,
    store: &mut S,
    hashes: &[u64],
    key: impl Fn(usize) -> S::Key<'k>,
) -> Vec<u32> {
    let mut groups = Vec::with_capacity(hashes.len());
    for (row, &hash) in hashes.iter().enumerate() {
        if let Some(ahead) = hashes.get(row + AHEAD) {
            prefetch(slots, *ahead);
        }
        let key = key(row);
        groups.push(probe(slots, store, hash, key).unwrap_or_else(|at| {
            let group = store.len() as u32;
            slots[at] = hash & TAG | u64::from(group + 1);
            store.push(key, hash);
            if store.len() * 2 > slots.len() {
                grow(slots, store);
            }
            group
        }));
    }
    groups
}

/// Keys that are looked up together.
const FOUND_AT_ONCE: usize = 256;

/// Looks keys up in two steps, so that the processor waits for many of them at a time: which group could it be by its half of
/// the hash, then whether it is.
fn find<'k, S: Compared>(
    slots: &[Slot],
    store: &S,
    hashes: &[u64],
    key: impl Fn(usize) -> S::Key<'k>,
) -> Vec<u32> {
    let mask = slots.len() - 1;
    let mut groups = Vec::with_capacity(hashes.len());
    for start in (0..hashes.len()).step_by(FOUND_AT_ONCE) {
        let end = hashes.len().min(start + FOUND_AT_ONCE);
        for row in start..end {
            if let Some(ahead) = hashes.get(row + AHEAD) {
                prefetch(slots, *ahead);
            }
            let hash = hashes[row];
            let mut at = hash as usize & mask;
            let mut slot = slots[at];
            // One branch for both ends, not `&&`: which of them it is cannot be guessed.
            while (slot as u32 != 0) & ((slot ^ hash) & TAG != 0) {
                at = (at + 1) & mask;
                slot = slots[at];
            }
            let group = (slot as u32).wrapping_sub(1);
            if group != NO_GROUP {
                store.prefetch(group as usize);
            }
            groups.push(group);
        }
        for row in start..end {
            let group = groups[row];
            // Two keys may have half of the hash in common.
            if group != NO_GROUP && !store.equals(group as usize, key(row)) {
                groups[row] = probe(slots, store, hashes[row], key(row)).unwrap_or(NO_GROUP);
            }
        }
    }
    groups
}

fn insert_direct(direct: &mut [u32], store: &mut Vec<u64>, words: &[u64]) -> Vec<u32> {
    let group_of = |&word: &u64| {
        let slot = &mut direct[word as usize];
        if *slot == 0 {
            store.push(word);
            *slot = store.len() as u32;
        }
        *slot - 1
    };
    words.iter().map(group_of).collect()
}

#[cold]
fn grow<S: Held>(slots: &mut Vec<Slot>, store: &S) {
    *slots = empty_slots(slots.len() * 4);
    let mask = slots.len() - 1;
    for group in 0..store.len() {
        let Some(hash) = store.hash(group) else { continue };
        let mut at = hash as usize & mask;
        while slots[at] != 0 {
            at = (at + 1) & mask;
        }
        slots[at] = hash & TAG | (group as u64 + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chalet_columns::Builder;
    use chalet_types::{DataType, Value};

    fn column(ty: &DataType, values: &[Value]) -> Column {
        let mut builder = Builder::new(ty);
        values.iter().for_each(|v| builder.push_value(v).unwrap());
        Column::Flat(builder.finish())
    }

    /// Every layout gives the keys back that were put in, once each.
    #[test]
    fn keys_come_back() {
        let n = 3000;
        let number = |i: usize| Value::Int((i % 700) as i64 - 300);
        let text = |i: usize| Value::from(format!("{}{}", "long prefix ".repeat(i % 3), i % 500).as_str());
        let near = |i: usize| Value::Int((i % 700 + i / 1000 * 500) as i64);
        let far = |i: usize| Value::Int((i % 3 * 1_000_000_000) as i64);
        let nullable = |i: usize| if i % 7 == 0 { Value::Null } else { number(i) };
        let some_text = |i: usize| match i % 7 {
            0 => Value::Null,
            1 => Value::from(""),
            _ => text(i),
        };
        type Make<'a> = &'a dyn Fn(usize) -> Value;
        let cases: &[&[(&str, Make)]] = &[
            &[("Int16", &number)],
            &[("Int64", &number)],
            &[("Int64", &near)],
            &[("UInt32", &near), ("UInt32", &far)],
            &[("Nullable(Int32)", &nullable)],
            &[("Nullable(Int64)", &nullable)],
            &[("Nullable(Int16)", &|i| if i > 2000 { nullable(i) } else { number(i) })],
            &[("Nullable(Float64)", &|_| Value::Null)],
            &[("Int64", &number), ("Nullable(Int32)", &nullable)],
            &[("String", &text)],
            &[("String", &text), ("Int32", &number)],
            &[("Nullable(Int32)", &nullable), ("String", &text), ("Int64", &number)],
            &[("Nullable(String)", &some_text)],
            &[("Int32", &number), ("Nullable(String)", &some_text)],
            &[("LowCardinality(Nullable(String))", &some_text)],
            &[("String", &text), ("String", &text)],
            &[("Int256", &number), ("Nullable(Int128)", &nullable)],
        ];
        for case in cases {
            let types: Vec<DataType> = case.iter().map(|(ty, _)| ty.parse().unwrap()).collect();
            let columns: Vec<Column> = case
                .iter()
                .zip(&types)
                .map(|((_, make), ty)| column(ty, &(0..n).map(make).collect::<Vec<_>>()))
                .collect();
            for layout in [KeyLayout::new(&types), KeyLayout::of_groups(&types)] {
                check_keys(&types, &columns, n, &Arc::new(layout));
            }
        }
    }

    fn check_keys(types: &[DataType], columns: &[Column], n: usize, layout: &Arc<KeyLayout>) {
        let mut table = GroupTable::new(layout.clone());
        let groups = table.groups(columns, n);
        assert_eq!(table.groups(columns, n), groups);
        assert_eq!(table.find(columns, n), groups);
        let mut other = GroupTable::new(layout.clone());
        let n_groups = table.len() as u32;
        // As keys that were spilled.
        let mut bytes = Vec::new();
        table.into_store().write(&mut bytes);
        let store = Store::read(layout, &mut &bytes[..]).unwrap();
        let renumbered = other.insert_store(&store);
        assert!(renumbered.iter().copied().eq(0..n_groups));
        let keys = other.into_columns().unwrap();
        for (row, &group) in groups.iter().enumerate() {
            for (column, key) in columns.iter().zip(keys.columns()) {
                assert_eq!(column.value(row), key.value(group as usize), "{types:?} row {row}");
            }
        }
    }
}
