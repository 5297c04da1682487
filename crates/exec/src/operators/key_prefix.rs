//! Sorting rows by their normalized keys. A row is one number of 128 bits: eight bytes of its key and where the row is, so that
//! most comparisons touch no key. Bytes that all keys share are left out of these eight: of several small integers in wide
//! types, or of strings with a common beginning, the eight bytes often are all that differs. Rows that are equal in them get the
//! next eight bytes, and are sorted again.

use chalet_base::Result;
use chalet_base::hash::fetch;
use chalet_columns::keys::RowKeys;
use std::ops::Range;

/// A row to be sorted: eight bytes of its key, the number of its block, and its number there. Rows with equal keys sort by where
/// they are.
pub type Entry = u128;

/// The entry of a row.
#[inline(always)]
pub fn entry(prefix: u64, block: u32, row: u32) -> Entry {
    u128::from(prefix) << 64 | u128::from(block) << 32 | u128::from(row)
}

/// Block and row of an entry.
#[inline(always)]
pub fn place(entry: Entry) -> (u32, u32) {
    ((entry >> 32) as u32, entry as u32)
}

/// The entry of a row that stands elsewhere in its block now.
#[inline(always)]
pub fn moved(entry: Entry, row: u32) -> Entry {
    entry >> 32 << 32 | u128::from(row)
}

/// The first eight bytes that are compared of the key of an entry.
#[inline(always)]
pub fn prefix(entry: Entry) -> u64 {
    (entry >> 64) as u64
}

/// A row to be sorted with all bytes of its key that are compared, 24 at most: eight, sixteen behind them, and where the row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WideEntry {
    prefix: u64,
    rest: Rest,
    place: u64,
}

/// Sixteen bytes of a key.
pub type Rest = [u64; 2];

impl WideEntry {
    pub fn new(entry: Entry, rest: Rest) -> WideEntry {
        WideEntry { prefix: prefix(entry), rest, place: entry as u64 }
    }

    /// The same row with eight bytes of its key.
    pub fn entry(self) -> Entry {
        u128::from(self.prefix) << 64 | u128::from(self.place)
    }
}

/// What is sorted by eight bytes first.
pub trait Prefixed: Copy + Ord {
    fn prefix(self) -> u64;
}

impl Prefixed for Entry {
    #[inline(always)]
    fn prefix(self) -> u64 {
        prefix(self)
    }
}

impl Prefixed for WideEntry {
    #[inline(always)]
    fn prefix(self) -> u64 {
        self.prefix
    }
}

/// So many first bytes of keys are looked at for bytes that all share.
const WINDOW: usize = 64;
const WORD: usize = 8;

/// How the keys of some rows differ. No key is the beginning of another.
#[derive(Clone, Debug, Default)]
pub struct KeySpread {
    /// Of keys of one byte, which those of NULL are beside texts: the first one, and the bits in which others differ from it. They
    /// say nothing of what all other keys share.
    lone: Option<(u8, u8)>,
    /// The beginning of the first key.
    first: Option<[u64; WINDOW / WORD]>,
    /// Bits in which a key differs from the first one.
    differing: [u64; WINDOW / WORD],
    /// Bytes of the shortest key and of the longest.
    shortest: usize,
    longest: usize,
}

impl KeySpread {
    /// Takes more keys in.
    pub fn add(&mut self, keys: &RowKeys) {
        let len = |row: usize| keys.offsets[row + 1] - keys.offsets[row];
        let words = |row: usize| {
            let (start, end) = (keys.offsets[row], keys.offsets[row + 1]);
            let n_words = (end - start).min(WINDOW).div_ceil(WORD);
            (0..n_words).map(move |at| word_at(&keys.bytes, start + at * WORD, end))
        };
        let first = match self.first.or_else(|| {
            let row = (0..keys.len()).find(|&row| len(row) != 1)?;
            let mut of_first = [0; WINDOW / WORD];
            words(row).zip(&mut of_first).for_each(|(word, first)| *first = word);
            self.shortest = usize::MAX;
            Some(of_first)
        }) {
            Some(first) => first,
            None => {
                keys.bytes.iter().for_each(|&byte| self.add_lone(byte, 0));
                return;
            }
        };
        self.first = Some(first);
        let mut differing = self.differing;
        let width = if keys.is_empty() { 0 } else { len(0) };
        if width >= WORD && keys.offsets.windows(2).all(|ends| ends[1] - ends[0] == width) {
            self.shortest = self.shortest.min(width);
            self.longest = self.longest.max(width);
            let bytes = &keys.bytes[keys.offsets[0]..keys.offsets[keys.len()]];
            for (at, (first, differing)) in first.iter().zip(&mut differing).enumerate() {
                *differing |= bits_unlike(*first, bytes, width, at * WORD);
            }
            self.differing = differing;
            return;
        }
        for row in 0..keys.len() {
            let len = len(row);
            if len == 1 {
                self.add_lone(keys.bytes[keys.offsets[row]], 0);
                continue;
            }
            self.shortest = self.shortest.min(len);
            self.longest = self.longest.max(len);
            for ((word, first), differing) in words(row).zip(&first).zip(&mut differing) {
                *differing |= word ^ first;
            }
        }
        self.differing = differing;
    }

    /// Takes keys of one byte in, which differ from this one in some bits.
    #[inline(always)]
    fn add_lone(&mut self, byte: u8, differing: u8) {
        let (first, others) = self.lone.unwrap_or((byte, 0));
        self.lone = Some((first, others | differing | (first ^ byte)));
    }

    /// Of those keys that lie between two, with a number of four bytes, at most `most`, behind each; no more exact than what all
    /// keys show and what the two share. None where keys are of several widths or wider than what is looked at.
    pub fn between(&self, first: &[u8], last: &[u8], most: u32) -> Option<KeySpread> {
        let width = self.longest;
        let with_number = width + size_of::<u32>();
        let is_known =
            self.first.is_some() && self.lone.is_none() && self.shortest == width && with_number <= WINDOW;
        if !is_known || first.len() != with_number || last.len() != with_number {
            return None;
        }
        let word = |key: &[u8], at: usize| word_at(key, at * WORD, key.len());
        let shared = first.iter().zip(last).take_while(|(a, b)| a == b).count();
        let mut differs = [0; WINDOW];
        for (at, differs) in differs.iter_mut().enumerate().take(width).skip(shared) {
            *differs = self.differing[at / WORD].to_be_bytes()[at % WORD];
        }
        differs[width..with_number]
            .copy_from_slice(&(u32::MAX >> most.leading_zeros().min(31)).to_be_bytes());
        let (mut of_first, mut differing) = ([0; WINDOW / WORD], [0; WINDOW / WORD]);
        for at in 0..WINDOW / WORD {
            (of_first[at], differing[at]) = (word(first, at), word(&differs, at));
        }
        Some(KeySpread {
            lone: None,
            first: Some(of_first),
            differing,
            shortest: with_number,
            longest: with_number,
        })
    }

    /// Takes the keys of another in.
    pub fn merge(&mut self, other: &KeySpread) {
        if let Some((byte, differing)) = other.lone {
            self.add_lone(byte, differing);
        }
        let (Some(first), Some(others)) = (self.first, other.first) else {
            if self.first.is_none() {
                *self = KeySpread { lone: self.lone, ..other.clone() };
            }
            return;
        };
        for at in 0..first.len() {
            self.differing[at] |= other.differing[at] | (first[at] ^ others[at]);
        }
        self.shortest = self.shortest.min(other.shortest);
        self.longest = self.longest.max(other.longest);
    }

    /// Which bytes of the keys tell rows apart.
    pub fn packing(&self) -> Packing {
        // Behind the end of the shortest key, bytes differ by being there or not.
        let rest = match (self.first, self.lone) {
            (Some(_), _) => self.shortest.min(WINDOW),
            (None, lone) => usize::from(lone.is_some()),
        };
        let first_byte = self.first.map(|first| first[0].to_be_bytes()[0]);
        let differs_alone = self
            .lone
            .is_some_and(|(byte, differing)| differing != 0 || first_byte.is_some_and(|first| first != byte));
        let differs =
            |at: &usize| self.differing[at / WORD].to_be_bytes()[at % WORD] != 0 || *at == 0 && differs_alone;
        let positions: Vec<usize> = (0..rest).filter(differs).collect();
        let len = positions.len() + self.longest.saturating_sub(rest);
        let mut packing = Packing { positions, rest, len, words: Default::default() };
        packing.words = [0, 1, 2].map(|word| packing.stretches(word * WORD));
        packing
    }
}

/// Bits in which the words at `start` of some keys differ from the first one's; the keys have all one width, of a word at least.
fn bits_unlike(first: u64, bytes: &[u8], width: usize, start: usize) -> u64 {
    if start >= width {
        return 0;
    }
    // The last word of a key that is not all words is taken from where it ends.
    let from = start.min(width - WORD);
    let shift = 8 * (start - from) as u32;
    let mut differing = 0;
    for key in bytes.chunks_exact(width) {
        let mut word = [0; WORD];
        word.copy_from_slice(&key[from..from + WORD]);
        differing |= (u64::from_be_bytes(word) << shift) ^ first;
    }
    differing
}

/// Eight bytes of `bytes` from `start` on, big-endian, with zeros for those from `end` on.
#[inline(always)]
fn word_at(bytes: &[u8], start: usize, end: usize) -> u64 {
    if start >= end {
        return 0;
    }
    let len = end - start;
    // Mostly there are bytes of other keys behind the end, and reading eight at once is cheaper than reading fewer.
    match bytes.get(start..start + WORD) {
        Some(whole) => {
            let mut word = [0; WORD];
            word.copy_from_slice(whole);
            let word = u64::from_be_bytes(word);
            if len >= WORD { word } else { word & (!0 << (8 * (WORD - len))) }
        }
        // Of a long key the last eight bytes, moved: copying fewer than eight is a call.
        None if end >= WORD && end == bytes.len() => {
            let mut word = [0; WORD];
            word.copy_from_slice(&bytes[end - WORD..end]);
            u64::from_be_bytes(word) << (8 * (WORD - len))
        }
        None => {
            let mut word = [0; WORD];
            word[..len].copy_from_slice(&bytes[start..end]);
            u64::from_be_bytes(word)
        }
    }
}

/// The bytes of keys that are compared, in their order.
#[derive(Clone, Debug)]
pub struct Packing {
    /// Positions among the first bytes at which keys differ.
    positions: Vec<usize>,
    /// From here on all bytes are compared.
    rest: usize,
    /// Bytes that are compared of the longest key.
    len: usize,
    /// The first three times eight bytes.
    words: [Vec<Stretch>; 3],
}

/// Bytes that are compared and stand side by side.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    start: usize,
    len: usize,
}

/// Rows that are equal in so many times eight bytes, beside those that all of them share, are compared as byte strings.
const MOST_LEVELS: usize = 5;
/// So few rows with an equal prefix are compared as byte strings too.
const FEW: usize = 4;
/// Rows that are sorted between two questions whether to stop.
pub const STEP: usize = 1 << 20;

impl Packing {
    /// The place in a key of the byte that is compared as the `at`-th.
    fn position(&self, at: usize) -> usize {
        match self.positions.get(at) {
            Some(&position) => position,
            None => self.rest + (at - self.positions.len()),
        }
    }

    /// Eight bytes that are compared, from the `first`-th on.
    fn stretches(&self, first: usize) -> Vec<Stretch> {
        let mut stretches: Vec<Stretch> = Vec::new();
        for position in (first..first + WORD).map(|at| self.position(at)) {
            match stretches.last_mut() {
                Some(last) if last.start + last.len == position => last.len += 1,
                _ => stretches.push(Stretch { start: position, len: 1 }),
            }
        }
        stretches
    }

    /// How many of the bytes that are compared are among the first `n_bytes` of keys that are not longer than others.
    pub fn n_before(&self, n_bytes: usize) -> usize {
        let n_first = self.positions.iter().filter(|&&position| position < n_bytes).count();
        n_first + n_bytes.min(self.rest + self.len - self.positions.len()).saturating_sub(self.rest)
    }

    /// How many of the lowest bits of the first eight bytes are of no key, where one or two bytes tell all keys apart.
    pub fn unused_bits(&self) -> Option<u32> {
        (1..=2).contains(&self.len).then(|| u64::BITS - 8 * self.len as u32)
    }

    /// Do the first eight bytes tell all keys apart that differ?
    pub fn is_whole(&self) -> bool {
        self.len <= WORD
    }

    /// The first eight bytes that are compared of the key that is `bytes[start..end]`.
    #[inline(always)]
    pub fn prefix(&self, bytes: &[u8], start: usize, end: usize) -> u64 {
        packed(&self.words[0], bytes, start, end)
    }

    /// The sixteen bytes behind these.
    #[inline(always)]
    pub fn rest(&self, bytes: &[u8], start: usize, end: usize) -> Rest {
        [packed(&self.words[1], bytes, start, end), packed(&self.words[2], bytes, start, end)]
    }

    /// Do the first eight bytes not tell all keys apart, and these with the sixteen behind them do?
    pub fn is_wide(&self) -> bool {
        !self.is_whole() && self.len <= 3 * WORD
    }

    /// Sorts entries that hold the first eight bytes of their keys; afterwards they hold others. With `has_runs` long stretches
    /// of them are in order already.
    pub fn sort<'a>(
        &self,
        entries: &mut [Entry],
        has_runs: bool,
        key: &impl Fn(Entry) -> &'a [u8],
        check: &dyn Fn() -> Result<()>,
    ) -> Result<()> {
        if has_runs {
            entries.sort();
        } else {
            for step in entries.chunks_mut(STEP) {
                sort_by_number(step);
                check()?;
            }
            if entries.len() > STEP {
                entries.sort();
            }
        }
        check()?;
        if !self.is_whole() {
            // Behind the last of the first eight bytes.
            let from = self.position(WORD - 1) + 1;
            let groups = equal_prefixes(entries, 0..entries.len());
            let mut unchecked = 0;
            for some in groups.chunks(GROUPS_AT_ONCE) {
                // Keys lie anywhere: those of many groups are on their way before the first is looked at.
                if some
                    .last()
                    .zip(some.first())
                    .is_some_and(|(last, first)| last.end - first.start <= FETCHED)
                {
                    let all = some.iter().flat_map(|group| &entries[group.clone()]);
                    all.for_each(|&entry| fetch(key(entry).as_ptr().wrapping_add(from)));
                }
                for group in some {
                    unchecked += group.len();
                    if unchecked > STEP {
                        unchecked = 0;
                        check()?;
                    }
                    sort_equals(&mut entries[group.clone()], from, 1, key);
                }
            }
        }
        Ok(())
    }
}

/// The bytes of some stretches of the key that is `bytes[start..end]`.
#[inline(always)]
fn packed(stretches: &[Stretch], bytes: &[u8], start: usize, end: usize) -> u64 {
    if let [Stretch { start: from, .. }] = stretches {
        return word_at(bytes, start + from, end);
    }
    stretches.iter().fold(0, |word, stretch| {
        let part = word_at(bytes, start + stretch.start, end) >> (8 * (WORD - stretch.len));
        word << (8 * stretch.len) | part
    })
}

/// Groups of equal prefixes whose keys are fetched together, and the entries that these have at most.
const GROUPS_AT_ONCE: usize = 64;
const FETCHED: usize = 1 << 10;

/// Sorts entries whose keys are equal before the byte `from`, by the eight bytes behind all that they share.
fn sort_equals<'a>(entries: &mut [Entry], from: usize, level: usize, key: &impl Fn(Entry) -> &'a [u8]) {
    if entries.len() <= FEW || level >= MOST_LEVELS {
        let rest = |entry: Entry| key(entry).get(from..).unwrap_or_default();
        let compare = |a: &Entry, b: &Entry| rest(*a).cmp(rest(*b)).then((*a as u64).cmp(&(*b as u64)));
        entries.sort_unstable_by(compare);
        return;
    }
    let shared = shared_bytes(entries, from, key);
    let mut is_whole = true;
    for entry in entries.iter_mut() {
        let key = key(*entry);
        is_whole &= key.len() <= shared + WORD;
        *entry = u128::from(word_at(key, shared, key.len())) << 64 | u128::from(*entry as u64);
    }
    sort_by_number(entries);
    if !is_whole {
        for group in equal_prefixes(entries, 0..entries.len()) {
            sort_equals(&mut entries[group], shared + WORD, level + 1, key);
        }
    }
}

/// How many first bytes the keys of all entries share, of which they share `from` for sure.
fn shared_bytes<'a>(entries: &[Entry], from: usize, key: &impl Fn(Entry) -> &'a [u8]) -> usize {
    let first = key(entries[0]);
    let mut shared = first.len().max(from);
    for &entry in &entries[1..] {
        let other = key(entry);
        let mut at = from;
        while at < shared {
            let differing = word_at(first, at, first.len()) ^ word_at(other, at, other.len());
            if differing != 0 {
                at += differing.leading_zeros() as usize / 8;
                break;
            }
            at += WORD;
        }
        shared = shared.min(at);
        if shared == from {
            break;
        }
    }
    shared
}

/// Fewer entries are sorted by comparing them.
const FEW_TO_SPREAD: usize = 1 << 10;
/// Entries are spread over at most so many bins.
const MOST_BIN_BITS: u32 = 12;

/// Sorts entries as numbers: spreads them over bins by the first bits in which they differ, then sorts each bin.
pub fn sort_by_number<E: Prefixed>(entries: &mut [E]) {
    if entries.len() < FEW_TO_SPREAD {
        return entries.sort_unstable();
    }
    let (least, most) = entries.iter().fold((u64::MAX, 0), |(least, most), &entry| {
        let prefix = entry.prefix();
        (least.min(prefix), most.max(prefix))
    });
    if least == most {
        return entries.sort_unstable();
    }
    // About eight entries a bin, if their prefixes are spread evenly.
    let bits = (entries.len().ilog2() - 3).min(MOST_BIN_BITS);
    let shift = (u64::BITS - (most - least).leading_zeros()).saturating_sub(bits);
    let bin = |entry: E| ((entry.prefix() - least) >> shift) as usize;
    let mut ends = vec![0u32; (1 << bits) + 1];
    entries.iter().for_each(|&entry| ends[bin(entry) + 1] += 1);
    (1..ends.len()).for_each(|at| ends[at] += ends[at - 1]);
    let mut spread = vec![entries[0]; entries.len()];
    for &entry in entries.iter() {
        let at = &mut ends[bin(entry)];
        spread[*at as usize] = entry;
        *at += 1;
    }
    entries.copy_from_slice(&spread);
    drop(spread);
    let mut rest = entries;
    let mut start = 0;
    for &end in &ends[..1 << bits] {
        let (bin, behind) = rest.split_at_mut((end - start) as usize);
        (rest, start) = (behind, end);
        if shift > 0 { sort_by_number(bin) } else { bin.sort_unstable() }
    }
}

/// Ranges of several entries with one prefix, from sorted ones.
fn equal_prefixes(entries: &[Entry], within: Range<usize>) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let mut start = within.start;
    for at in within.start + 1..=within.end {
        if at == within.end || prefix(entries[at]) != prefix(entries[start]) {
            if at - start > 1 {
                groups.push(start..at);
            }
            start = at;
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sorts keys in two blocks and compares with sorting them as byte strings.
    fn check(keys: &[Vec<u8>]) {
        let (left, right) = keys.split_at(keys.len() / 2);
        let blocks: [RowKeys; 2] = [left.iter().collect(), right.iter().collect()];
        let mut spreads = [KeySpread::default(), KeySpread::default()];
        spreads.iter_mut().zip(&blocks).for_each(|(spread, keys)| spread.add(keys));
        let mut spread = KeySpread::default();
        spreads.iter().for_each(|other| spread.merge(other));
        let packing = spread.packing();
        let get = |e: Entry| blocks[place(e).0 as usize].get(place(e).1 as usize);
        let rows =
            (0..2u32).flat_map(|block| (0..blocks[block as usize].len() as u32).map(move |row| (block, row)));
        let unsorted: Vec<Entry> = rows.map(|(block, row)| entry(0, block, row)).collect();
        let mut expected = unsorted.clone();
        expected.sort_by(|a, b| get(*a).cmp(get(*b)));
        for has_runs in [false, true] {
            let mut entries: Vec<Entry> = unsorted
                .iter()
                .map(|&e| e | u128::from(packing.prefix(get(e), 0, get(e).len())) << 64)
                .collect();
            packing.sort(&mut entries, has_runs, &get, &|| Ok(())).unwrap();
            let found: Vec<_> = entries.iter().map(|&e| place(e)).collect();
            assert_eq!(found, expected.iter().map(|&e| place(e)).collect::<Vec<_>>());
        }
    }

    fn noise(i: u64) -> u64 {
        chalet_base::hash::hash_u64(i)
    }

    #[test]
    fn numbers_are_spread() {
        for spread in [1, 7, 1 << 12, 1 << 40, u64::MAX] {
            for n in [10, 5000, 40_000] {
                // One far away leaves most bins empty.
                let far = entry(u64::MAX, 0, 0);
                let mut entries: Vec<Entry> = (0..n).map(|i| entry(noise(i) % spread, 3, i as u32)).collect();
                entries.push(far);
                let mut expected = entries.clone();
                expected.sort();
                sort_by_number(&mut entries);
                assert_eq!(entries, expected);
            }
        }
    }

    #[test]
    fn keys_of_one_width() {
        let wide = |i: u64| {
            [&[2][..], &(noise(i) % 50).to_be_bytes(), &[7], &(noise(i + 9) % 70_000).to_be_bytes()].concat()
        };
        check(&(0..5000).map(wide).collect::<Vec<_>>());
        check(&(0..500).map(|i| noise(i).to_be_bytes().repeat(11)).collect::<Vec<_>>());
        check(&(0..300).map(|_| vec![1, 2, 3]).collect::<Vec<_>>());
        check(&[]);
        check(&[vec![], vec![]]);
    }

    #[test]
    fn keys_of_many_lengths() {
        let text = |i: u64| {
            let mut text = b"https://example.org/".to_vec();
            text.extend(format!("{}", noise(i) % 9).repeat((noise(i) % 40) as usize).bytes());
            text.extend([0, 0]);
            text.extend((noise(i) % 5).to_be_bytes());
            text
        };
        check(&(0..4000).map(text).collect::<Vec<_>>());
        let or_null = |i: u64| if noise(i) % 4 == 0 { vec![2] } else { [vec![0], text(i)].concat() };
        check(&(0..4000).map(or_null).collect::<Vec<_>>());
        check(&(0..4000).map(|i| if i < 2500 { vec![2] } else { or_null(i) }).collect::<Vec<_>>());
        check(&(0..300).map(|i| vec![(noise(i) % 3) as u8]).collect::<Vec<_>>());
        check(&[
            b"b\0\0".to_vec(),
            b"\0\0".to_vec(),
            b"ab\0\0".to_vec(),
            b"a\0\0".to_vec(),
            b"a\0\xffa\0\0".to_vec(),
        ]);
    }
}
