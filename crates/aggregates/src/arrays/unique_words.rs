//! `groupUniqArray` of numbers of up to 64 bits: a small table per group, whose slots are as wide as the numbers, so that those of
//! a thousand groups stay in the cache together.

use crate::arrays::unique::{ordered, running_sets};
use crate::kernel_rows::KernelCodec;
use crate::key_counts::TOGETHER;
use chalet_base::hash::{fetch, hash_u64};
use chalet_base::{Result, ensure, err};
use chalet_columns::rows::{RowCodec, take_row};
use chalet_columns::wire::{put_bytes, put_len, take_count, take_len};
use chalet_columns::{Buf, Builder, Native, Vector, each_native};
use chalet_function_api::States;
use chalet_function_api::states::same_states;
use chalet_types::DataType;
use std::any::Any;
use std::ops::Range;

/// The bits of a number.
pub trait Word: Native + Eq + Into<u64> {
    /// Of as many bytes as it has.
    fn of(bytes: &[u8]) -> Self;
}

macro_rules! words {
    ($($ty:ty),*) => {$(
        impl Word for $ty {
            #[inline(always)]
            fn of(bytes: &[u8]) -> $ty {
                bytes.first_chunk().map_or(0, |bytes| <$ty>::from_le_bytes(*bytes))
            }
        }
    )*};
}

words!(u8, u16, u32, u64);

/// Words of a group that are looked through one by one.
const FEW: usize = 4;

/// The different words of a group, in the order in which they came.
struct Group<W> {
    /// How many of `few` there are.
    len: u32,
    few: [W; FEW],
    many: Option<Box<Many<W>>>,
}

impl<W: Word> Default for Group<W> {
    fn default() -> Self {
        Group { len: 0, few: [W::default(); FEW], many: None }
    }
}

struct Many<W> {
    words: Vec<W>,
    /// Open addressing: a power of two of them, at most half of them used; 0 is empty.
    slots: Vec<W>,
    has_zero: bool,
}

impl<W: Word> Group<W> {
    fn words(&self) -> &[W] {
        match &self.many {
            Some(many) => &many.words,
            None => &self.few[..self.len as usize],
        }
    }

    /// Fetches into the cache where a word is looked for first.
    #[inline(always)]
    fn fetch(&self, word: W) {
        if let Some(many) = &self.many {
            fetch(&raw const many.slots[many.first_slot(word)]);
        }
    }

    #[inline]
    fn insert(&mut self, word: W, limit: usize) {
        if let Some(many) = &mut self.many {
            if many.words.len() < limit {
                many.insert(word);
            }
            return;
        }
        let len = self.len as usize;
        if len >= limit || self.few[..len].contains(&word) {
            return;
        }
        if len < FEW {
            self.few[len] = word;
            self.len += 1;
            return;
        }
        let mut many = Many { words: Vec::new(), slots: vec![W::default(); 4 * FEW], has_zero: false };
        self.few.iter().chain([&word]).for_each(|&word| many.insert(word));
        self.many = Some(Box::new(many));
    }
}

impl<W: Word> Many<W> {
    #[inline(always)]
    fn first_slot(&self, word: W) -> usize {
        hash_u64(word.into()) as usize & (self.slots.len() - 1)
    }

    #[inline]
    fn insert(&mut self, word: W) {
        if word == W::default() {
            if !std::mem::replace(&mut self.has_zero, true) {
                self.words.push(word);
            }
            return;
        }
        let mask = self.slots.len() - 1;
        let mut at = self.first_slot(word);
        while self.slots[at] != W::default() {
            if self.slots[at] == word {
                return;
            }
            at = (at + 1) & mask;
        }
        self.slots[at] = word;
        self.words.push(word);
        if self.words.len() * 2 > self.slots.len() {
            self.grow();
        }
    }

    /// Twice as many slots.
    #[cold]
    fn grow(&mut self) {
        let n = self.slots.len() * 2;
        self.slots = vec![W::default(); n];
        for &word in self.words.iter().filter(|&&word| word != W::default()) {
            let mut at = hash_u64(word.into()) as usize & (n - 1);
            while self.slots[at] != W::default() {
                at = (at + 1) & (n - 1);
            }
            self.slots[at] = word;
        }
    }

    fn memory(&self) -> usize {
        size_of::<Self>() + (self.words.capacity() + self.slots.capacity()) * size_of::<W>()
    }
}

struct UniqueWords<W> {
    ty: DataType,
    codec: RowCodec,
    /// In states values lie one behind the other; else each is behind its length.
    is_plain: bool,
    limit: usize,
    groups: Vec<Group<W>>,
}

/// Sets of values of a type; none where they are no numbers of up to 64 bits.
pub fn unique_words(ty: &DataType, limit: usize) -> Option<Box<dyn States>> {
    fn states<W: Word>(ty: &DataType, codec: RowCodec, limit: usize) -> Option<Box<dyn States>> {
        let is_plain = KernelCodec::is_plain(ty);
        Some(Box::new(UniqueWords::<W> { ty: ty.clone(), codec, is_plain, limit, groups: Vec::new() }))
    }
    let codec = RowCodec::new(ty);
    // Values that lie there as their bytes.
    let is_number = each_native!(&Vector::defaults(ty, 0).data, _values => true, _ => false);
    match codec.width().filter(|_| is_number)? {
        1 => states::<u8>(ty, codec, limit),
        2 => states::<u16>(ty, codec, limit),
        4 => states::<u32>(ty, codec, limit),
        8 => states::<u64>(ty, codec, limit),
        _ => None,
    }
}

impl<W: Word> UniqueWords<W> {
    fn add_rows(&mut self, values: &Vector, rows: Range<usize>, group: impl Fn(usize) -> u32) -> Result<()> {
        let bytes = each_native!(&values.data, values => values.as_bytes(),
            _ => return Err(err!(LOGICAL_ERROR, "Values of groupUniqArray are no numbers")));
        let mut words = [W::default(); TOGETHER];
        for start in rows.clone().step_by(TOGETHER) {
            let some = start..rows.end.min(start + TOGETHER);
            let bytes = bytes[some.start * size_of::<W>()..].chunks_exact(size_of::<W>());
            for ((row, word), bytes) in some.clone().zip(&mut words).zip(bytes) {
                *word = W::of(bytes);
                self.groups[group(row) as usize].fetch(*word);
            }
            for (row, &word) in some.zip(&words) {
                self.groups[group(row) as usize].insert(word, self.limit);
            }
        }
        Ok(())
    }
}

impl<W: Word> States for UniqueWords<W> {
    fn grow(&mut self, n: usize) {
        if self.groups.len() < n {
            self.groups.resize_with(n, Group::default);
        }
    }

    fn add(&mut self, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        self.add_rows(&args[0], rows, |_| group as u32)
    }

    fn add_groups(&mut self, groups: &[u32], args: &[Vector]) -> Result<()> {
        self.add_rows(&args[0], 0..groups.len(), |row| groups[row])
    }

    fn merge(&mut self, other: &mut dyn States, from: &[u32], into: &[u32]) -> Result<()> {
        let other = same_states::<Self>(other)?;
        for (&from, &into) in from.iter().zip(into) {
            let theirs = std::mem::take(&mut other.groups[from as usize]);
            let own = &mut self.groups[into as usize];
            if own.words().is_empty() {
                *own = theirs;
            } else {
                theirs.words().iter().for_each(|&word| own.insert(word, self.limit));
            }
        }
        Ok(())
    }

    fn serialise(&self, group: usize, out: &mut Vec<u8>) {
        let words = self.groups[group].words();
        put_len(words.len(), out);
        let words = Buf::from_vec(words.to_vec());
        if self.is_plain {
            return out.extend_from_slice(words.as_bytes());
        }
        words.as_bytes().chunks(size_of::<W>()).for_each(|word| put_bytes(word, out));
    }

    fn deserialise(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        for _ in 0..take_count(bytes, size_of::<W>())? {
            if !self.is_plain {
                let width = take_len(bytes)?;
                ensure!(
                    width == size_of::<W>(),
                    CANNOT_READ_ALL_DATA,
                    "Aggregate state has a value of {width} bytes"
                );
            }
            let word = W::of(take_row(std::slice::from_ref(&self.codec), bytes)?);
            self.groups[group].insert(word, self.limit);
        }
        Ok(())
    }

    fn finish(&mut self, n: usize) -> Result<Vector> {
        self.grow(n);
        let groups = &self.groups[..n];
        let mut words = Vec::with_capacity(groups.iter().map(|group| group.words().len()).sum());
        let mut offsets = Vec::with_capacity(n + 1);
        offsets.push(0i64);
        for group in groups {
            words.extend_from_slice(group.words());
            offsets.push(words.len() as i64);
        }
        let mut values = Builder::new(&self.ty);
        self.codec.take_all(Buf::from_vec(words).as_bytes(), &mut values)?;
        Ok(ordered(&self.ty, values.finish(), offsets))
    }

    fn running(&mut self, args: &[Vector], from: usize, ends: &[usize]) -> Result<Vector> {
        running_sets(self, &self.ty.clone(), args, from, ends)
    }

    fn memory(&self) -> usize {
        let many = self.groups.iter().filter_map(|group| group.many.as_ref());
        self.groups.capacity() * size_of::<Group<W>>() + many.map(|many| many.memory()).sum::<usize>()
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
