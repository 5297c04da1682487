//! A stored column of one row group as a stream of values that is read or skipped, some rows at a time.
//!
//! - [`kind`]: what differs between kinds of values
//! - [`number`]: everything of fixed width with us
//! - [`fixed`]: byte strings of one length
//! - [`text`]: byte strings of any length
//! - [`values`]: the values of one page
//! - [`dictionary`]: the dictionary of a column chunk, decoded as far as it is needed
//! - [`stream`]: pages, levels and NULLs, the same for all kinds

mod dictionary;
mod fixed;
mod kind;
mod number;
mod stream;
mod text;
mod values;

use crate::ParquetFile;
use crate::page::Pages;
use crate::schema::{Conversion, Leaf};
use crate::snappy::Content;
use chalet_base::switches::{self, Switch};
use chalet_base::{Result, bail, ensure};
use chalet_columns::{BooleanBuffer, Column, Vector};
use chalet_types::{I256, Physical};
use kind::Kind;
pub(crate) use number::DATE32;
use number::{BigEndian, Cast, Days, Half, JulianNanos, Number};
use stream::Stream;

/// Reads one leaf of one row group from its first row to its last.
pub trait LeafReader: Send {
    /// The next `n` rows, or those of them whose bit is set. For leaves without lists.
    fn read(&mut self, n: usize, selected: Option<&BooleanBuffer>) -> Result<Column>;

    /// Passes `n` rows by. For leaves without lists.
    fn skip(&mut self, n: usize) -> Result<()>;

    /// The next `n` rows of a leaf inside lists: its levels, and its values where it has a place for one.
    fn read_nested(&mut self, n: usize) -> Result<(Levels, Vector)>;
}

/// Repetition and definition levels, entry by entry.
#[derive(Default)]
pub struct Levels {
    pub repetition: Vec<u32>,
    pub definition: Vec<u32>,
}

/// `keep_dictionary`: text that is dictionary-coded in the file stays so.
pub fn reader(
    file: &ParquetFile,
    group: usize,
    leaf: &Leaf,
    keep_dictionary: bool,
) -> Result<Box<dyn LeafReader>> {
    let chunk = file.chunk(group, leaf.index);
    let n_entries = chunk.num_values();
    let n_rows = file.row_group_rows(group);
    let plausible =
        if leaf.max_repetition == 0 { n_entries == n_rows as i64 } else { n_entries >= n_rows as i64 };
    ensure!(
        plausible,
        INCORRECT_DATA,
        "Parquet column '{}' has {n_entries} values in a row group of {n_rows} rows",
        chunk.column_path().string()
    );
    let content = match chunk.column_type() {
        parquet::basic::Type::BYTE_ARRAY | parquet::basic::Type::FIXED_LEN_BYTE_ARRAY => Content::Bytes,
        _ => Content::Numbers,
    };
    let pages = Pages::new(
        file.chunk_bytes(group, leaf.index)?,
        chunk.compression(),
        content,
        file.verifies_checksums(),
    );
    let may_jump = leaf.max_repetition == 0 && switches::is_on(Switch::JumpedPages);
    let pages = pages.with_starts(may_jump.then(|| file.page_starts(group, leaf.index)).flatten());

    fn boxed<K: Kind>(kind: K, leaf: &Leaf, pages: Pages) -> Result<Box<dyn LeafReader>> {
        Ok(Box::new(Stream::new(kind, leaf, pages, None)))
    }
    macro_rules! cast {
        ($from:ty => $($to:ident),*) => {
            match leaf.ty.physical() {
                $(Physical::$to => boxed(Number(Cast::<$from, cast!(@ $to)>::default()), leaf, pages),)*
                other => bail!(LOGICAL_ERROR, "Parquet integers cannot become {other:?}"),
            }
        };
        (@ U8) => { u8 }; (@ U16) => { u16 }; (@ U32) => { u32 }; (@ U64) => { u64 };
        (@ I8) => { i8 }; (@ I16) => { i16 }; (@ I32) => { i32 }; (@ I64) => { i64 };
        (@ I128) => { i128 };
    }
    match leaf.conversion {
        Conversion::Bool => boxed(Number(Cast::<u8, u8>::default()), leaf, pages),
        Conversion::Int32 => cast!(i32 => U8, U16, U32, I8, I16, I32, I64),
        Conversion::Int64 => match leaf.ty.physical() {
            Physical::I256 => boxed(Number(number::WideCast), leaf, pages),
            _ => cast!(i64 => U64, I32, I64, I128),
        },
        Conversion::Float32 => boxed(Number(Cast::<f32, f32>::default()), leaf, pages),
        Conversion::Float64 => boxed(Number(Cast::<f64, f64>::default()), leaf, pages),
        Conversion::Float16 => boxed(Number(Half), leaf, pages),
        Conversion::Days => boxed(Number(Days), leaf, pages),
        Conversion::Int96 => boxed(Number(JulianNanos), leaf, pages),
        Conversion::BigEndian(_) | Conversion::BigEndianText => {
            let width = match leaf.conversion {
                Conversion::BigEndian(width) => Some(width),
                _ => None,
            };
            match leaf.ty.physical() {
                Physical::I32 => boxed(Number(BigEndian::<i32>::new(width)), leaf, pages),
                Physical::I64 => boxed(Number(BigEndian::<i64>::new(width)), leaf, pages),
                Physical::I128 => boxed(Number(BigEndian::<i128>::new(width)), leaf, pages),
                _ => boxed(Number(BigEndian::<I256>::new(width)), leaf, pages),
            }
        }
        Conversion::Fixed(width) => boxed(fixed::FixedBytes { width }, leaf, pages),
        Conversion::Text => {
            let key = file.identity.clone().map(|identity| (identity, group, leaf.index));
            let kind = text::Text { keep_dictionary, nullable: leaf.nullable };
            Ok(Box::new(Stream::new(kind, leaf, pages, key)))
        }
    }
}
