//! The kernel's binary forms that Native and RowBinary share: little-endian numbers, counts as variable-length integers.

use crate::FormatSettings;
use crate::several_types;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::builder::Values;
use chalet_columns::{Builder, Data, Vector, each_native};
use chalet_types::{AggregateType, DataType};

/// A longer string, or a list of more elements, is taken for damage.
const MAX_LENGTH: u64 = 1 << 30;

/// Where values are read from: bytes at hand, or a stream that has them as they arrive.
pub trait Source {
    /// The next `n` bytes. A stream allocates for what has arrived, not for what is claimed to follow.
    fn take(&mut self, n: usize) -> Result<&[u8]>;

    /// No more bytes than this follow, as far as is known: a count of more values is damage.
    fn at_most(&self) -> usize;

    /// Bytes that follow and are here already; there may be more.
    fn at_hand(&self) -> &[u8];

    /// Strings may have so many bytes.
    fn longest_string(&self) -> u64 {
        MAX_LENGTH
    }

    /// The next state of an aggregate function, of which only the function knows where it ends.
    fn state(&mut self, ty: &AggregateType) -> Result<Vec<u8>> {
        let mut state = Vec::new();
        loop {
            let known = state.len();
            state.extend_from_slice(self.at_hand());
            match ty.operations().length(&state) {
                Ok(n) if n >= known => {
                    self.take(n - known)?;
                    state.truncate(n);
                    return Ok(state);
                }
                Err(e) if e.code() != chalet_base::codes::CANNOT_READ_ALL_DATA => return Err(e),
                _ => {}
            }
            let n = state.len() - known;
            ensure!(
                state.len() as u64 <= MAX_LENGTH,
                TOO_LARGE_STRING_SIZE,
                "Too large state of an aggregate function"
            );
            self.take(n)?;
            // The one byte makes more arrive.
            let [byte] = self.array()?;
            state.push(byte);
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Seven bits a byte, lowest first.
    fn var_uint(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        Ok(value)
    }

    fn string(&mut self) -> Result<&[u8]> {
        let n = self.var_uint()?;
        ensure!(n <= MAX_LENGTH, TOO_LARGE_STRING_SIZE, "Too large string size: {n}");
        self.take(n as usize)
    }

    /// A string that must be UTF-8: a name, a type.
    fn text(&mut self) -> Result<&str> {
        let bytes = self.string()?;
        std::str::from_utf8(bytes).map_err(|_| err!(INCORRECT_DATA, "Name in the data is not valid UTF-8"))
    }
}

impl Source for Cursor<'_> {
    #[inline]
    fn take(&mut self, n: usize) -> Result<&[u8]> {
        Cursor::take(self, n)
    }

    fn at_most(&self) -> usize {
        self.rest.len()
    }

    fn at_hand(&self) -> &[u8] {
        self.rest
    }

    fn longest_string(&self) -> u64 {
        self.longest.0
    }

    fn state(&mut self, ty: &AggregateType) -> Result<Vec<u8>> {
        let n = ty.operations().length(self.rest)?;
        Ok(Cursor::take(self, n)?.to_vec())
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        Cursor::array(self)
    }

    #[inline]
    fn var_uint(&mut self) -> Result<u64> {
        Cursor::var_uint(self)
    }

    #[inline]
    fn string(&mut self) -> Result<&[u8]> {
        Cursor::string(self)
    }
}

/// Bytes yet to be read.
#[derive(Clone)]
pub struct Cursor<'a> {
    pub rest: &'a [u8],
    /// The longest string and the longest array that are believed.
    longest: (u64, u64),
}

impl<'a> Cursor<'a> {
    pub fn new(rest: &'a [u8]) -> Cursor<'a> {
        Cursor { rest, longest: (MAX_LENGTH, MAX_LENGTH) }
    }

    /// With the limits of `format_binary_max_string_size` and `format_binary_max_array_size`, of which 0 is none.
    pub fn limited(rest: &'a [u8], settings: &FormatSettings) -> Cursor<'a> {
        let limit = |most: u64| if most == 0 { MAX_LENGTH } else { most.min(MAX_LENGTH) };
        let longest =
            (limit(settings.format_binary_max_string_size), limit(settings.format_binary_max_array_size));
        Cursor { rest, longest }
    }

    #[inline]
    pub fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        match self.rest.split_at_checked(n) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(cut_short(self.rest.len(), n)),
        }
    }

    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.rest.split_first_chunk::<N>() {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(*taken)
            }
            None => Err(cut_short(self.rest.len(), N)),
        }
    }

    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Seven bits a byte, lowest first.
    #[inline]
    pub fn var_uint(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            ensure!(!self.rest.is_empty(), ATTEMPT_TO_READ_AFTER_EOF, "Attempt to read after eof");
            let [byte] = self.array()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Ok(value)
    }

    #[inline]
    pub fn string(&mut self) -> Result<&'a [u8]> {
        let n = self.var_uint()?;
        ensure!(
            n <= self.longest.0,
            TOO_LARGE_STRING_SIZE,
            "Too large string size: {n}. The maximum is: {}. To increase the maximum, use setting format_binary_max_string_size",
            self.longest.0
        );
        self.take(n as usize)
    }

    /// A string that must be UTF-8: a name, a type.
    pub fn text(&mut self) -> Result<&'a str> {
        let bytes = self.string()?;
        std::str::from_utf8(bytes).map_err(|_| err!(INCORRECT_DATA, "Name in the data is not valid UTF-8"))
    }
}

#[cold]
fn cut_short(got: usize, wanted: usize) -> chalet_base::Error {
    err!(CANNOT_READ_ALL_DATA, "Cannot read all data. Bytes read: {got}. Bytes expected: {wanted}")
}

pub fn put_var_uint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub fn put_string(out: &mut Vec<u8>, bytes: &[u8]) {
    put_var_uint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// The kernel keeps a UUID as two little-endian halves; here it is sixteen big-endian bytes. Its own inverse.
pub fn swap_uuid(bytes: &[u8]) -> [u8; 16] {
    let mut swapped = [0u8; 16];
    for (to, from) in swapped.chunks_exact_mut(8).zip(bytes.chunks_exact(8)) {
        to.copy_from_slice(from);
        to.reverse();
    }
    swapped
}

/// The same of many, one after the other.
pub fn swapped_uuids(bytes: &[u8]) -> Vec<u8> {
    let mut swapped = bytes.to_vec();
    swapped.chunks_exact_mut(8).for_each(|half| half.reverse());
    swapped
}

/// Appends one value the RowBinary way.
pub fn put_value(out: &mut Vec<u8>, ty: &DataType, vector: &Vector, row: usize) -> Result<()> {
    if ty.is_of_several_types() {
        match vector.is_null(row) {
            true => several_types::put_null(out, ty),
            false => several_types::put(out, ty, vector.strings()?.get(row))?,
        }
        return Ok(());
    }
    if ty.is_nullable() {
        let null = vector.is_null(row);
        out.push(null.into());
        if null {
            return Ok(());
        }
    }
    let ty = ty.bare();
    each_native!(&vector.data, values => out.extend_from_slice(&values[row].to_le_bytes()),
        Data::Nothing(_) => {}
        Data::Str(s) if matches!(ty, DataType::Json(_)) => several_types::put(out, ty, s.get(row))?,
        // A state says itself where it ends.
        Data::Str(s) if matches!(ty, DataType::AggregateFunction(_)) => out.extend_from_slice(s.get(row)),
        Data::Str(s) => put_string(out, s.get(row)),
        Data::Fixed(f) if *ty == DataType::Uuid => out.extend_from_slice(&swap_uuid(f.get(row))),
        Data::Fixed(f) => {
            if let DataType::QBit(vectors) = ty {
                put_var_uint(out, vectors.dimension() as u64);
            }
            out.extend_from_slice(f.get(row))
        }
        Data::List(list) => {
            let range = list.range(row);
            put_var_uint(out, range.len() as u64);
            match ty {
                DataType::Map(key, value) => {
                    let Data::Struct(pairs) = &list.values.data else { return Ok(()) };
                    for e in range {
                        put_value(out, key, &pairs.fields[0], e)?;
                        put_value(out, value, &pairs.fields[1], e)?;
                    }
                }
                DataType::Array(inner) => {
                    for e in range {
                        put_value(out, inner, &list.values, e)?;
                    }
                }
                _ => {}
            }
        }
        Data::Struct(s) => {
            if let DataType::Tuple(fields) = ty {
                for (field, values) in fields.iter().zip(&s.fields) {
                    put_value(out, &field.ty, values, row)?;
                }
            }
        }
    );
    Ok(())
}

/// Reads one value the RowBinary way.
pub fn take_value(from: &mut Cursor<'_>, ty: &DataType, to: &mut Builder) -> Result<()> {
    if ty.is_of_several_types() {
        match (several_types::take(from, ty)?, &mut to.values) {
            (Some(encoded), Values::Str(strings)) => {
                strings.push(&encoded);
                to.mark_valid();
            }
            _ => to.push_default(),
        }
        return Ok(());
    }
    if ty.is_nullable() && from.array::<1>()?[0] != 0 {
        to.push_default();
        return Ok(());
    }
    let ty = ty.bare();
    macro_rules! number {
        ($values:expr, $number:ty) => {
            $values.push(<$number>::from_le_bytes(from.array()?))
        };
    }
    match &mut to.values {
        Values::Nothing(n) => *n += 1,
        Values::U8(v) => number!(v, u8),
        Values::U16(v) => number!(v, u16),
        Values::U32(v) => number!(v, u32),
        Values::U64(v) => number!(v, u64),
        Values::U128(v) => number!(v, u128),
        Values::U256(v) => number!(v, chalet_types::U256),
        Values::I8(v) => number!(v, i8),
        Values::I16(v) => number!(v, i16),
        Values::I32(v) => number!(v, i32),
        Values::I64(v) => number!(v, i64),
        Values::I128(v) => number!(v, i128),
        Values::I256(v) => number!(v, chalet_types::I256),
        Values::BF16(v) => number!(v, chalet_types::bf16),
        Values::F32(v) => number!(v, f32),
        Values::F64(v) => number!(v, f64),
        Values::Str(s) => match ty {
            DataType::AggregateFunction(states) => s.push(&from.state(states)?),
            DataType::Json(_) => s.push(&several_types::take(from, ty)?.unwrap_or_default()),
            _ => s.push(from.string()?),
        },
        Values::Fixed { bytes, .. } if *ty == DataType::Uuid => {
            bytes.extend_from_slice(&swap_uuid(from.take(16)?))
        }
        Values::Fixed { width, bytes } => {
            if let DataType::QBit(vectors) = ty {
                let (n, expected) = (from.var_uint()?, vectors.dimension());
                ensure!(
                    n == expected as u64,
                    SERIALIZATION_ERROR,
                    "Dimension of the read QBit {n} doesn't match expected dimension {expected}"
                );
            }
            bytes.extend_from_slice(from.take(*width)?)
        }
        Values::List(list) => {
            let n = from.var_uint()?;
            ensure!(
                n <= from.longest.1,
                TOO_LARGE_ARRAY_SIZE,
                "Too large array size: {n}. The maximum is: {}. To increase the maximum, use setting format_binary_max_array_size",
                from.longest.1
            );
            let element = ty.element().unwrap_or(DataType::Nothing);
            // Elements take bytes; those of the empty tuple would let a short input claim any number of them.
            ensure!(
                n <= from.rest.len() as u64,
                CANNOT_READ_ALL_DATA,
                "Cannot read all data. Bytes read: {}. Bytes expected: {n}",
                from.rest.len()
            );
            for _ in 0..n {
                take_value(from, &element, &mut list.values)?;
            }
            list.close();
        }
        Values::Struct { fields, len } => {
            let DataType::Tuple(types) = ty else { bail!(LOGICAL_ERROR, "{ty} is held as a tuple") };
            for (field, builder) in types.iter().zip(fields) {
                take_value(from, &field.ty, builder)?;
            }
            *len += 1;
        }
    }
    to.mark_valid();
    Ok(())
}
