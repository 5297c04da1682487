//! How key columns become keys that a table can compare, and keys become columns again.

use super::store::{Store, valid_of};
use chalet_base::Result;
use chalet_base::hash::{combine, hash_bytes, hash_u64};
use chalet_columns::rows::RowCodec;
use chalet_columns::strings::INLINE;
use chalet_columns::{
    Block, BooleanBuffer, Buf, Builder, Column, Data, Fixed, Native, NullBuffer, StringBuilder, Strings,
    Vector, bits, each_native,
};
use chalet_types::{DataType, I256, Physical, U256, bf16};
use std::borrow::Cow;

/// How the keys of a table are laid out. Decided by their types, so that it is the same for every block.
pub struct KeyLayout {
    types: Vec<DataType>,
    /// Those that are packed.
    words: Vec<DataType>,
    codecs: Vec<RowCodec>,
    pub(super) kind: Kind,
    /// NULLs of the one key are told by their places, so that its words are those of its values.
    nulls_apart: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// All keys in so many bytes, up to 8; a Nullable key has one byte more.
    Words(usize),
    /// Up to 16 bytes.
    DoubleWords,
    /// One String, in which NULL has a view of its own.
    Text,
    /// One String, at this place, and others in up to 16 bytes.
    WordText(usize),
    /// Anything else: the bytes of a row.
    Rows,
}

/// The keys of the rows of a block.
pub struct BlockKeys {
    pub hashes: Vec<u64>,
    pub(super) values: Values,
}

pub(super) enum Values {
    Words(Vec<u64>),
    DoubleWords(Vec<u128>),
    Bytes(Strings),
    WordText(Vec<u128>, Strings),
}

/// What turns the bits of integers of a type, as [`KeyLayout::words`] gives them, into bits that order as the integers do, by
/// exclusive or; none for what are not integers of up to 8 bytes inside.
pub fn integer_bias(ty: &DataType) -> Option<u64> {
    match ty.physical() {
        _ if ty.is_nullable() => None,
        Physical::U8 | Physical::U16 | Physical::U32 | Physical::U64 => Some(0),
        Physical::I8 => Some(1 << 7),
        Physical::I16 => Some(1 << 15),
        Physical::I32 => Some(1 << 31),
        Physical::I64 => Some(1 << 63),
        _ => None,
    }
}

/// The rows of the least and of the greatest of integers, given as words of this bias; none where no row is valid.
pub fn extreme_rows(words: &[u64], valid: &BooleanBuffer, bias: u64) -> Option<(usize, usize)> {
    let mut rows = valid.set_indices();
    let first = rows.next()?;
    Some(rows.fold((first, first), |(least, greatest), row| {
        let word = words[row] ^ bias;
        if word < words[least] ^ bias {
            (row, greatest)
        } else if word > words[greatest] ^ bias {
            (least, row)
        } else {
            (least, greatest)
        }
    }))
}

impl KeyLayout {
    /// The layout of keys of these types.
    pub fn new(types: &[DataType]) -> KeyLayout {
        let kind = match packed_width(types) {
            Some(width) if width <= 8 => Kind::Words(width),
            Some(width) if width <= 16 => Kind::DoubleWords,
            _ => match types {
                [ty] if is_text(ty) => Kind::Text,
                _ => word_text(types).map_or(Kind::Rows, Kind::WordText),
            },
        };
        let words = if let Kind::WordText(place) = kind { without(types, place) } else { types.to_vec() };
        let codecs = types.iter().map(RowCodec::new).collect();
        KeyLayout { types: types.to_vec(), words, codecs, kind, nulls_apart: false }
    }

    /// The layout of keys of groups. Those of one Nullable column are as wide as its values: a table of groups knows which of them
    /// is NULL.
    pub fn of_groups(types: &[DataType]) -> KeyLayout {
        let width = match types {
            [ty] if ty.is_nullable() => ty.physical().width().filter(|&width| width <= 8),
            _ => None,
        };
        let layout = KeyLayout::new(types);
        match width {
            Some(width) => KeyLayout { kind: Kind::Words(width), nulls_apart: true, ..layout },
            None => layout,
        }
    }

    /// The types of the key columns.
    pub fn types(&self) -> &[DataType] {
        &self.types
    }

    /// Does a word hold all of a row's keys?
    pub fn has_words(&self) -> bool {
        matches!(self.kind, Kind::Words(_))
    }

    /// Bytes of a word that are used, where a word holds all keys of a row.
    pub(super) fn word_width(&self) -> usize {
        if let Kind::Words(width) = self.kind { width } else { 8 }
    }

    /// The keys of all rows, where a word holds all of a row's. Those of NULLs apart are any words.
    pub fn words<'a>(&self, columns: &'a [Column], n_rows: usize) -> Option<Cow<'a, [u64]>> {
        let Kind::Words(_) = self.kind else { return None };
        if let [Column::Flat(Vector { data, validity })] = columns
            && (validity.is_none() || self.nulls_apart)
        {
            match data {
                Data::U64(words) => return Some(Cow::Borrowed(words)),
                // SAFETY: integers of one size.
                Data::I64(words) => return Some(Cow::Borrowed(unsafe { words.align_to().1 })),
                _ => {}
            }
        }
        Some(Cow::Owned(pack(&self.words, &self.flat(columns), n_rows)))
    }

    fn flat<'a>(&self, columns: &'a [Column]) -> Vec<Cow<'a, Vector>> {
        let values = |column: &'a Column| {
            let flat = column.flat();
            match self.nulls_apart && flat.validity.is_some() {
                true => Cow::Owned(Vector::new(flat.data.clone(), None)),
                false => flat,
            }
        };
        columns.iter().map(values).collect()
    }

    /// Where NULLs are apart and some row is NULL: 1 for each row that is not.
    pub fn valid(&self, columns: &[Column]) -> Option<Vec<u8>> {
        let [column] = columns else { return None };
        if !self.nulls_apart {
            return None;
        }
        let flat = column.flat();
        let validity = flat.validity.as_ref().filter(|validity| validity.null_count() > 0)?;
        Some(bits::to_bytes(validity.inner()))
    }

    /// The keys of all rows.
    pub fn keys(&self, columns: &[Column], n_rows: usize) -> BlockKeys {
        let flat = self.flat(columns);
        match self.kind {
            Kind::Words(_) => {
                let words: Vec<u64> = pack(&self.words, &flat, n_rows);
                BlockKeys {
                    hashes: words.iter().map(|&word| hash_u64(word)).collect(),
                    values: Values::Words(words),
                }
            }
            Kind::DoubleWords => {
                let words: Vec<u128> = pack(&self.words, &flat, n_rows);
                BlockKeys {
                    hashes: words.iter().map(|&word| double_hash(word)).collect(),
                    values: Values::DoubleWords(words),
                }
            }
            Kind::Text => {
                let strings = strings_of(&flat[0], n_rows);
                BlockKeys { hashes: text_hashes(&strings), values: Values::Bytes(strings) }
            }
            Kind::WordText(place) => {
                let mut words = flat;
                let text = words.remove(place);
                let mut hashes = match &columns[place] {
                    // Once per value of the dictionary.
                    Column::Dict { codes, values } if values.len() < n_rows => {
                        let hashes = text_hashes(&strings_of(values, n_rows));
                        codes.iter().map(|&code| hashes[code as usize]).collect()
                    }
                    _ => text_hashes(&strings_of(&text, n_rows)),
                };
                let words: Vec<u128> = pack(&self.words, &words, n_rows);
                for (hash, &word) in hashes.iter_mut().zip(&words) {
                    *hash = combine(*hash, double_hash(word));
                }
                BlockKeys { hashes, values: Values::WordText(words, strings_of(&text, n_rows)) }
            }
            Kind::Rows => {
                let mut rows = StringBuilder::with_capacity(n_rows);
                for row in 0..n_rows {
                    rows.push_with(|out| {
                        self.codecs.iter().zip(&flat).for_each(|(codec, vector)| codec.put(vector, row, out));
                    });
                }
                let rows = rows.finish();
                BlockKeys { hashes: text_hashes(&rows), values: Values::Bytes(rows) }
            }
        }
    }

    /// The key columns of all keys of a store.
    pub fn columns(&self, store: Store) -> Result<Block> {
        let n_rows = store.len();
        let vectors: Vec<Vector> = match store {
            Store::Words { words, nulls } if self.nulls_apart => {
                let valid = valid_of(n_rows, &nulls).into_iter();
                let validity = Some(NullBuffer::new(bits::of_bytes(valid)));
                vec![Vector::new(unpack_data(self.types[0].physical(), &words, 0), validity)]
            }
            Store::Words { words, .. } => self.unpack(&words),
            Store::DoubleWords(words) => self.unpack(&words),
            Store::Bytes { keys, .. } if self.kind == Kind::Text => vec![self.text(0, keys.finish())],
            Store::WordText { words, keys, .. } => {
                let mut vectors = self.unpack(&words);
                let place = if let Kind::WordText(place) = self.kind { place } else { 0 };
                vectors.insert(place, self.text(place, keys.finish()));
                vectors
            }
            Store::Bytes { keys, .. } => {
                let mut builders: Vec<Builder> = self.types.iter().map(Builder::new).collect();
                for row in 0..n_rows {
                    let mut bytes = keys.get(row);
                    for (codec, builder) in self.codecs.iter().zip(&mut builders) {
                        codec.take(&mut bytes, builder)?;
                    }
                }
                builders.into_iter().map(Builder::finish).collect()
            }
        };
        Ok(Block::new(vectors.into_iter().map(Column::Flat).collect(), n_rows))
    }

    /// The key column at this place, of its strings.
    fn text(&self, place: usize, strings: Strings) -> Vector {
        if !self.types[place].is_nullable() {
            return strings.into();
        }
        let (strings, validity) = strings.without_null_views();
        Vector::new(Data::Str(strings), Some(validity))
    }

    fn unpack<W: Word>(&self, words: &[W]) -> Vec<Vector> {
        let mut shift = 0;
        let mut vectors = Vec::with_capacity(self.types.len());
        for ty in &self.words {
            let data = unpack_data(ty.physical(), words, shift);
            shift += 8 * ty.physical().width().unwrap_or(0) as u32;
            let mut validity = None;
            if ty.is_nullable() {
                let is_valid = words.iter().map(|w| u8::from(w.bits(shift) as u8 == 0));
                validity = Some(NullBuffer::new(bits::of_bytes(is_valid)));
                shift += 8;
            }
            vectors.push(Vector::new(data, validity));
        }
        vectors
    }
}

fn is_text(ty: &DataType) -> bool {
    ty.physical() == Physical::Str
}

/// The place of the one String among types that are otherwise narrow enough for words.
fn word_text(types: &[DataType]) -> Option<usize> {
    let place = types.iter().position(is_text)?;
    let others: Vec<DataType> = without(types, place);
    packed_width(&others).filter(|&width| width <= 16).map(|_| place)
}

fn without(types: &[DataType], place: usize) -> Vec<DataType> {
    types.iter().enumerate().filter(|(i, _)| *i != place).map(|(_, ty)| ty.clone()).collect()
}

/// The strings of a key column, NULL among them.
fn strings_of(vector: &Vector, n_rows: usize) -> Strings {
    match (&vector.data, &vector.validity) {
        (Data::Str(strings), Some(validity)) if validity.null_count() > 0 => {
            strings.with_null_views(validity)
        }
        (Data::Str(strings), _) => strings.clone(),
        _ => Strings::empties(n_rows),
    }
}

/// Short strings are hashed as their views, without a look at their length.
fn text_hashes(strings: &Strings) -> Vec<u64> {
    let hash = |(row, &view): (usize, &u128)| {
        if view as u32 as usize <= INLINE { double_hash(view) } else { hash_bytes(strings.get(row)) }
    };
    strings.views().iter().enumerate().map(hash).collect()
}

#[inline(always)]
pub(super) fn double_hash(word: u128) -> u64 {
    combine(hash_u64(word as u64), (word >> 64) as u64)
}

/// Bytes of all keys together when each has a fixed width.
fn packed_width(types: &[DataType]) -> Option<usize> {
    types.iter().map(|ty| Some(ty.physical().width()? + usize::from(ty.is_nullable()))).sum()
}

/// A packed key.
trait Word: Copy + Default {
    fn or(self, bytes: &[u8], shift: u32) -> Self;
    /// The bits of both.
    fn with(self, other: Self) -> Self;
    /// From a bit on, as many bits as fit.
    fn bits(self, shift: u32) -> u128;
}

impl Word for u64 {
    #[inline(always)]
    fn or(self, bytes: &[u8], shift: u32) -> Self {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        self | u64::from_le_bytes(word) << shift
    }

    #[inline(always)]
    fn with(self, other: Self) -> Self {
        self | other
    }

    #[inline(always)]
    fn bits(self, shift: u32) -> u128 {
        (self >> shift).into()
    }
}

impl Word for u128 {
    #[inline(always)]
    fn or(self, bytes: &[u8], shift: u32) -> Self {
        let mut word = [0; 16];
        word[..bytes.len()].copy_from_slice(bytes);
        self | u128::from_le_bytes(word) << shift
    }

    #[inline(always)]
    fn with(self, other: Self) -> Self {
        self | other
    }

    #[inline(always)]
    fn bits(self, shift: u32) -> u128 {
        self >> shift
    }
}

fn pack<W: Word>(types: &[DataType], keys: &[Cow<Vector>], n_rows: usize) -> Vec<W> {
    fn natives<T: Native, W: Word>(values: &[T], validity: Option<&NullBuffer>, words: &mut [W], shift: u32) {
        let put = |word: W, value: &T| {
            // SAFETY: `Native` promises plain data without padding, so its bytes may be read.
            let bytes =
                unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast::<u8>(), size_of::<T>()) };
            word.or(bytes, shift)
        };
        match validity {
            // A choice without a branch: which rows are NULL cannot be guessed.
            Some(validity) if validity.null_count() > 0 => {
                let null = W::default().or(&[1], shift + 8 * size_of::<T>() as u32);
                let is_valid = bits::to_bytes(validity.inner());
                for ((word, value), valid) in words.iter_mut().zip(values).zip(is_valid) {
                    let of_value = put(W::default(), value);
                    *word = word.with(if valid != 0 { of_value } else { null });
                }
            }
            _ => words.iter_mut().zip(values).for_each(|(word, value)| *word = put(*word, value)),
        }
    }
    if let ([_], [key]) = (types, keys)
        && key.validity.is_none()
        && let Data::U64(values) = &key.data
    {
        return values.iter().map(|value| W::default().or(&value.to_le_bytes(), 0)).collect();
    }
    let mut words = vec![W::default(); n_rows];
    let mut shift = 0;
    for (ty, key) in types.iter().zip(keys) {
        let width = 8 * ty.physical().width().unwrap_or(0) as u32;
        each_native!(&key.data, values => natives(values, key.validity.as_ref(), &mut words, shift),
            Data::Fixed(fixed) => {
                for (row, word) in words.iter_mut().enumerate() {
                    *word = match key.is_null(row) {
                        true => word.or(&[1], shift + width),
                        false => word.or(fixed.get(row), shift),
                    };
                }
            },
            _ => {});
        shift += width + 8 * u32::from(ty.is_nullable());
    }
    words
}

fn unpack_data<W: Word>(physical: Physical, words: &[W], shift: u32) -> Data {
    fn natives<T: Native, W: Word>(words: &[W], shift: u32) -> Data {
        let values = words.iter().map(|word| {
            let bytes = word.bits(shift).to_le_bytes();
            debug_assert!(size_of::<T>() <= 16);
            // SAFETY: `T` is plain data of at most 16 bytes: packed keys are no wider.
            unsafe { bytes.as_ptr().cast::<T>().read_unaligned() }
        });
        T::wrap(values.collect())
    }
    match physical {
        Physical::U8 => natives::<u8, W>(words, shift),
        Physical::U16 => natives::<u16, W>(words, shift),
        Physical::U32 => natives::<u32, W>(words, shift),
        Physical::U64 => natives::<u64, W>(words, shift),
        Physical::U128 => natives::<u128, W>(words, shift),
        Physical::I8 => natives::<i8, W>(words, shift),
        Physical::I16 => natives::<i16, W>(words, shift),
        Physical::I32 => natives::<i32, W>(words, shift),
        Physical::I64 => natives::<i64, W>(words, shift),
        Physical::I128 => natives::<i128, W>(words, shift),
        Physical::BF16 => natives::<bf16, W>(words, shift),
        Physical::F32 => natives::<f32, W>(words, shift),
        Physical::F64 => natives::<f64, W>(words, shift),
        Physical::Fixed(width) => {
            let width = width as usize;
            let mut bytes = Vec::with_capacity(words.len() * width);
            words.iter().for_each(|word| bytes.extend_from_slice(&word.bits(shift).to_le_bytes()[..width]));
            Data::Fixed(Fixed { width, bytes: bytes.into() })
        }
        // Wider than any word, or without a width.
        Physical::U256 => U256::wrap(Buf::from_vec(Vec::new())),
        Physical::I256 => I256::wrap(Buf::from_vec(Vec::new())),
        Physical::Nothing | Physical::Str | Physical::List | Physical::Struct => Data::Nothing(words.len()),
    }
}
