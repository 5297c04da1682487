//! What functions of strings share: reading String and FixedString arguments alike, checks of argument kinds, results.

use crate::lanes::{Operand, unary};
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Data, Fixed, Parts, StringBuilder, Strings, Vector};
use chalet_function_api::{Argument, Bound, Call, Context};
use chalet_types::{DataType, Physical};
use std::borrow::Cow;
use std::convert::Infallible;
use std::ops::Range;

/// A String or FixedString argument, constant or not.
#[derive(Clone, Copy)]
pub struct StringArg<'a> {
    values: Bytes<'a>,
    step: usize,
}

#[derive(Clone, Copy)]
enum Bytes<'a> {
    Str(&'a Strings),
    Fixed(&'a Fixed),
}

impl<'a> StringArg<'a> {
    pub fn of(call: &'a Call, index: usize) -> Result<StringArg<'a>> {
        let arg = &call.args[index];
        let values = match &arg.vector.data {
            Data::Str(strings) => Bytes::Str(strings),
            Data::Fixed(fixed) => Bytes::Fixed(fixed),
            _ => bail!(LOGICAL_ERROR, "Argument {} of type {} is not text", index + 1, arg.ty),
        };
        Ok(StringArg { values, step: usize::from(!arg.constant) })
    }

    #[inline(always)]
    pub fn get(&self, row: usize) -> &'a [u8] {
        match self.values {
            Bytes::Str(strings) => strings.get(row * self.step),
            Bytes::Fixed(fixed) => fixed.get(row * self.step),
        }
    }

    /// The value when it is the same for all rows.
    pub fn constant(&self) -> Option<&'a [u8]> {
        (self.step == 0).then(|| self.get(0))
    }

    /// The values where they are Strings, one per row.
    pub fn each(&self) -> Option<&'a Strings> {
        match self.values {
            Bytes::Str(strings) if self.step == 1 => Some(strings),
            _ => None,
        }
    }

    /// The values as Strings, one per row of the block.
    pub fn strings(&self, n_rows: usize) -> Cow<'a, Strings> {
        match self.values {
            Bytes::Str(strings) if self.step == 1 => Cow::Borrowed(strings),
            Bytes::Fixed(fixed) if self.step == 1 => Cow::Owned(Strings::of_fixed(fixed)),
            _ => Cow::Owned((0..n_rows).map(|row| self.get(row)).collect()),
        }
    }
}

/// What an argument must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// String or FixedString.
    Text,
    /// String alone.
    String,
    /// A String. The kernel sees that a FixedString is none once it has the column.
    StringColumn,
    /// A String known before the query runs.
    ConstText,
    /// A String or FixedString known before the query runs.
    ConstAnyText,
    Integer,
    ConstInteger,
    Any,
}

/// Checks the number and the kinds of arguments; those from `required` on may be left out.
pub fn expect(name: &str, args: &[Argument], required: usize, kinds: &[Kind]) -> Result<()> {
    chalet_function_api::scalar::check_arity(name, args.len(), required..=kinds.len())?;
    for (index, (arg, kind)) in args.iter().zip(kinds).enumerate() {
        let ty = &arg.ty;
        ensure!(
            *kind != Kind::StringColumn || !matches!(ty, DataType::FixedString(_)),
            ILLEGAL_COLUMN,
            "Column of type FixedString is not supported by function {name}"
        );
        let (fits, expected) = match kind {
            Kind::Text => (ty.is_string(), "String"),
            Kind::String | Kind::StringColumn => (*ty == DataType::String, "String"),
            Kind::ConstText => (*ty == DataType::String, "const String"),
            Kind::ConstAnyText => (ty.is_string(), "const String"),
            Kind::Integer => (ty.is_integer(), "Integer"),
            Kind::ConstInteger => (ty.is_integer(), "const Integer"),
            Kind::Any => (true, ""),
        };
        check_type(fits, name, index, expected, ty)?;
        ensure!(
            !matches!(kind, Kind::ConstText | Kind::ConstAnyText | Kind::ConstInteger)
                || arg.constant.is_some(),
            ILLEGAL_COLUMN,
            "Argument {} of function {name} must be constant",
            index + 1
        );
    }
    Ok(())
}

/// Fails for a FixedString whose parts are to be replaced, unless it is a column and what is replaced by what is constant.
pub fn check_replaced(name: &str, args: &[Argument]) -> Result<()> {
    let is_constant = |arg: &Argument| arg.constant.is_some();
    ensure!(
        args[0].ty == DataType::String || !is_constant(&args[0]) && args[1..].iter().all(is_constant),
        ILLEGAL_COLUMN,
        "Illegal column {} of first argument of function {name}",
        args[0].ty
    );
    Ok(())
}

/// The kernel's complaint about a type that does not fit.
pub fn check_type(fits: bool, name: &str, index: usize, expected: &str, ty: &DataType) -> Result<()> {
    ensure!(
        fits,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "A value of illegal type was provided as argument {} to function '{name}'. Expected: {expected}, got: {ty}",
        index + 1
    );
    Ok(())
}

/// Binds a function from one text to a String.
pub fn text_to_string(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    expect(name, args, 1, &[Kind::Text])?;
    Ok(DataType::String.into())
}

/// Binds a function from one String to a String.
pub fn string_to_string(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    expect(name, args, 1, &[Kind::String])?;
    Ok(DataType::String.into())
}

/// Binds a function from one String to a String that the kernel does not have for FixedString.
pub fn plain_string_to_string(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    chalet_function_api::scalar::check_arity(name, args.len(), 1..=1)?;
    match &args[0].ty {
        DataType::String => Ok(DataType::String.into()),
        DataType::FixedString(_) => {
            bail!(ILLEGAL_COLUMN, "Column of type FixedString is not supported by this function")
        }
        ty => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {ty} of argument of function {name}"),
    }
}

/// The bytes of a constant text argument.
pub fn constant_text<'a>(name: &str, args: &'a [Argument], index: usize) -> Result<&'a [u8]> {
    match args[index].constant.as_ref().and_then(|value| value.as_bytes()) {
        Some(bytes) => Ok(bytes),
        None => bail!(ILLEGAL_COLUMN, "Argument {} of function {name} must be a constant string", index + 1),
    }
}

/// One number per row. Of floats what is behind the point is left out.
pub fn integers(call: &Call, index: usize) -> Result<Vec<i64>> {
    let ty = call.args[index].ty.physical();
    if matches!(
        ty,
        Physical::U8
            | Physical::U16
            | Physical::U32
            | Physical::I8
            | Physical::I16
            | Physical::I32
            | Physical::I64
    ) {
        return unary::<i64, i64>(Operand::of(call, index), call.n_rows, |x| x);
    }
    if matches!(ty, Physical::F32 | Physical::F64) {
        // What no 64 bits hold, NaN too, is the lowest number, as where processors convert.
        let limits = -9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0;
        return unary::<f64, i64>(Operand::of(call, index), call.n_rows, |x| {
            if limits.contains(&x) { x as i64 } else { i64::MIN }
        });
    }
    unary::<i128, i64>(Operand::of(call, index), call.n_rows, |x| {
        x.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    })
}

/// [`integers`] of which each is a number of characters; the lowest cannot be negated.
pub fn lengths(call: &Call, index: usize) -> Result<Vec<i64>> {
    let lengths = integers(call, index)?;
    ensure!(
        !lengths.contains(&i64::MIN),
        ARGUMENT_OUT_OF_BOUND,
        "Overflow in length argument of substring-like function: {}",
        i64::MIN
    );
    Ok(lengths)
}

/// A String column of what `write` appends for each row.
pub fn build(n_rows: usize, mut write: impl FnMut(usize, &mut Vec<u8>)) -> Column {
    let mut out = StringBuilder::default();
    let write = |row: usize, bytes: &mut Vec<u8>| {
        write(row, bytes);
        Ok::<(), Infallible>(())
    };
    let Ok(()) = out.push_rows(n_rows, write);
    Vector::from(out.finish()).into()
}

/// A String column of what `write` appends for each row, if it does not fail.
pub fn try_build(n_rows: usize, write: impl FnMut(usize, &mut Vec<u8>) -> Result<()>) -> Result<Column> {
    let mut out = StringBuilder::default();
    out.push_rows(n_rows, write)?;
    Ok(Vector::from(out.finish()).into())
}

/// A part of each string of the first argument, sharing its bytes.
pub fn parts(call: &Call, mut part: impl FnMut(usize, &[u8]) -> Range<usize>) -> Result<Column> {
    let strings = StringArg::of(call, 0)?.strings(call.n_rows);
    let mut out = Parts::of(&strings, call.n_rows);
    for row in 0..call.n_rows {
        out.push(row, part(row, strings.get(row)));
    }
    Ok(Vector::from(out.finish()).into())
}

/// Arrays of parts of each string of an argument, sharing its bytes: `split` gives the ranges of a row.
pub fn part_lists(
    call: &Call,
    index: usize,
    mut split: impl FnMut(usize, &[u8], &mut Vec<Range<usize>>) -> Result<()>,
) -> Result<Column> {
    let strings = StringArg::of(call, index)?.strings(call.n_rows);
    let mut out = Parts::of(&strings, call.n_rows);
    let mut offsets = vec![0i64];
    let mut ranges = Vec::new();
    for row in 0..call.n_rows {
        ranges.clear();
        split(row, strings.get(row), &mut ranges)?;
        ranges.drain(..).for_each(|range| out.push(row, range));
        offsets.push(out.len() as i64);
    }
    Ok(crate::lists::list(offsets, out.finish().into()).into())
}

/// Where the first byte of some kind is, or the end; sixteen bytes are looked at at once.
#[inline(always)]
pub fn first_of(text: &[u8], is: impl Fn(u8) -> bool + Copy) -> usize {
    let (chunks, _) = text.as_chunks::<16>();
    let has = |chunk: &[u8; 16]| chunk.iter().fold(0, |any, &byte| any | u8::from(is(byte))) != 0;
    let start = 16 * chunks.iter().position(has).unwrap_or(chunks.len());
    let rest = &text[start..];
    start + rest.iter().position(|&byte| is(byte)).unwrap_or(rest.len())
}

/// The bytes of the character that begins with this byte; 1 for a byte that begins none.
#[inline(always)]
pub fn char_len(first: u8) -> usize {
    match first {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => 1,
    }
}

/// Does a character begin here? The other bytes of a character begin with the bits 10.
#[inline(always)]
pub fn begins_char(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

/// Characters as the kernel counts them: bytes that begin one.
pub fn count_chars(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| begins_char(byte)).count()
}

/// Where the characters of a text begin, and its end.
pub fn char_starts(text: &[u8]) -> Vec<usize> {
    let mut starts = Vec::with_capacity(text.len() + 1);
    let mut place = 0;
    while place < text.len() {
        starts.push(place);
        place += char_len(text[place]);
    }
    starts.push(text.len());
    starts
}

/// The part of `0..len` that a position from 1 (from -1 at the end) and a length ask for; it may begin before the
/// first element. A negative length leaves out as many at the end.
pub fn window(len: usize, position: i64, length: Option<i64>) -> Range<usize> {
    let len = len as i128;
    let start = match i128::from(position) {
        0 => return 0..0,
        position if position > 0 => position - 1,
        position => len + position,
    };
    let end = match length.map(i128::from) {
        None => len,
        Some(length) if length >= 0 => start + length,
        Some(length) => len + length,
    };
    let (start, end) = (start.clamp(0, len), end.clamp(0, len));
    start as usize..end.max(start) as usize
}
