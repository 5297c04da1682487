//! Everything that has a fixed width with us: integers, floats, dates, times, decimals.

use super::kind::{Kind, expand, gather, retain};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Native, Strings, Vector};
use chalet_types::I256;
use std::marker::PhantomData;

/// Turns stored bytes into values.
pub trait Convert: Send + 'static {
    type Out: Native;

    /// Bytes of a stored value; `None` where a length stands before each.
    fn width(&self) -> Option<usize>;

    /// Appends the values of whole stored values of [`width`](Self::width).
    fn extend(&self, bytes: &[u8], out: &mut Vec<Self::Out>) -> Result<()>;

    /// The value of bytes of any length.
    fn one(&self, _bytes: &[u8]) -> Result<Self::Out> {
        bail!(INCORRECT_DATA, "Parquet page of numbers is encoded as strings")
    }
}

/// Numbers under a conversion.
pub struct Number<C>(pub C);

impl<C: Convert> Kind for Number<C> {
    type Dictionary = Vec<C::Out>;
    type Column = Vec<C::Out>;

    fn width(&self) -> Option<usize> {
        self.0.width()
    }

    fn dictionary(&self, page: Buffer, n: usize) -> Result<Self::Dictionary> {
        let mut values = Vec::new();
        match self.width() {
            Some(width) => {
                let total = n.checked_mul(width).filter(|&total| total <= page.len());
                let Some(total) = total else { return Err(crate::encoding::cut_short("dictionary")) };
                self.push_fixed(&mut values, &page[..total])?;
            }
            None => {
                self.push_texts(&mut values, &page, 0, n)?;
            }
        }
        Ok(values)
    }

    fn n_values(&self, dictionary: &Self::Dictionary) -> usize {
        dictionary.len()
    }

    fn start(&self, rows: usize) -> Self::Column {
        Vec::with_capacity(rows)
    }

    fn len(&self, column: &Self::Column) -> usize {
        column.len()
    }

    fn push_codes(
        &self,
        column: &mut Self::Column,
        dictionary: &Self::Dictionary,
        codes: &[u32],
    ) -> Result<()> {
        gather(dictionary, codes, column)
    }

    fn push_fixed(&self, column: &mut Self::Column, bytes: &[u8]) -> Result<()> {
        self.0.extend(bytes, column)
    }

    fn push_texts(&self, column: &mut Self::Column, page: &Buffer, at: usize, n: usize) -> Result<usize> {
        let mut views = Vec::new();
        let end = crate::encoding::byte_array::plain(page, at, n, 0, &mut views)?;
        // SAFETY: `plain` made the views from slices of this buffer.
        let strings = unsafe { Strings::from_views(views.into(), [page.clone()].into()) };
        self.push_strings(column, &strings)?;
        Ok(end)
    }

    fn push_strings(&self, column: &mut Self::Column, strings: &Strings) -> Result<()> {
        for text in strings.iter() {
            column.push(self.0.one(text)?);
        }
        Ok(())
    }

    fn expand(
        &self,
        column: &mut Self::Column,
        _: Option<&Self::Dictionary>,
        start: usize,
        valid: &BooleanBuffer,
    ) {
        expand(column, start, valid, C::Out::default());
    }

    fn retain(&self, column: &mut Self::Column, start: usize, selected: &BooleanBuffer) {
        retain(column, start, selected);
    }

    fn finish(
        &self,
        column: Self::Column,
        _: Option<&Self::Dictionary>,
        validity: Option<NullBuffer>,
    ) -> Column {
        Vector::new(C::Out::wrap(column.into()), validity).into()
    }
}

/// Little-endian numbers, cut or widened.
pub struct Cast<P, T>(PhantomData<(P, T)>);

impl<P, T> Default for Cast<P, T> {
    fn default() -> Self {
        Cast(PhantomData)
    }
}

macro_rules! casts {
    ($($from:ty => $($to:ty),*;)*) => {$($(
        impl Convert for Cast<$from, $to> {
            type Out = $to;

            fn width(&self) -> Option<usize> {
                Some(size_of::<$from>())
            }

            fn extend(&self, bytes: &[u8], out: &mut Vec<$to>) -> Result<()> {
                let (values, _) = bytes.as_chunks::<{ size_of::<$from>() }>();
                out.extend(values.iter().map(|&value| <$from>::from_le_bytes(value) as $to));
                Ok(())
            }
        }
    )*)*};
}

casts! {
    u8 => u8;
    i32 => u8, u16, u32, i8, i16, i32, i64;
    i64 => u64, i32, i64, i128;
    f32 => f32;
    f64 => f64;
}

/// INT64 as 256 bits: a decimal of great precision in a narrow column.
pub struct WideCast;

impl Convert for WideCast {
    type Out = I256;

    fn width(&self) -> Option<usize> {
        Some(8)
    }

    fn extend(&self, bytes: &[u8], out: &mut Vec<I256>) -> Result<()> {
        out.extend(bytes.as_chunks::<8>().0.iter().map(|&value| I256::from(i64::from_le_bytes(value))));
        Ok(())
    }
}

/// Half-precision floats.
pub struct Half;

impl Convert for Half {
    type Out = f32;

    fn width(&self) -> Option<usize> {
        Some(2)
    }

    fn extend(&self, bytes: &[u8], out: &mut Vec<f32>) -> Result<()> {
        out.extend(bytes.as_chunks::<2>().0.iter().map(|&value| half::f16::from_le_bytes(value).to_f32()));
        Ok(())
    }
}

/// Days that Date32 can hold.
pub struct Days;

/// 0000-01-01 to 9999-12-31.
pub(crate) const DATE32: std::ops::RangeInclusive<i32> = -719_528..=2_932_896;

impl Convert for Days {
    type Out = i32;

    fn width(&self) -> Option<usize> {
        Some(4)
    }

    fn extend(&self, bytes: &[u8], out: &mut Vec<i32>) -> Result<()> {
        let start = out.len();
        out.extend(bytes.as_chunks::<4>().0.iter().map(|&value| i32::from_le_bytes(value)));
        let days = &out[start..];
        let (least, most) = days.iter().fold((0, 0), |(least, most), &day| (day.min(least), day.max(most)));
        for day in [least, most] {
            ensure!(
                DATE32.contains(&day),
                VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE,
                "Input value {day} is out of allowed Date32 range, which is [{}, {}]",
                DATE32.start(),
                DATE32.end()
            );
        }
        Ok(())
    }
}

/// INT96: nanoseconds of the day, then the Julian day; wraps outside of 1677 to 2262.
pub struct JulianNanos;

/// The Julian day of 1970-01-01.
const EPOCH: i64 = 2_440_588;
const NANOS_PER_DAY: i64 = 86_400_000_000_000;

impl Convert for JulianNanos {
    type Out = i64;

    fn width(&self) -> Option<usize> {
        Some(12)
    }

    fn extend(&self, bytes: &[u8], out: &mut Vec<i64>) -> Result<()> {
        out.extend(bytes.as_chunks::<12>().0.iter().map(|value| {
            let nanos = i64::from_le_bytes([
                value[0], value[1], value[2], value[3], value[4], value[5], value[6], value[7],
            ]);
            let day = u32::from_le_bytes([value[8], value[9], value[10], value[11]]);
            (i64::from(day) - EPOCH).wrapping_mul(NANOS_PER_DAY).wrapping_add(nanos)
        }));
        Ok(())
    }
}

/// Big-endian two's complement of a width, or of any width up to 32 bytes.
pub struct BigEndian<T> {
    width: Option<usize>,
    out: PhantomData<T>,
}

impl<T> BigEndian<T> {
    pub fn new(width: Option<usize>) -> Self {
        BigEndian { width, out: PhantomData }
    }
}

/// Takes the low bits of a wide integer.
pub trait Narrow: Native {
    fn narrow(wide: I256) -> Self;
    fn narrow_128(wide: i128) -> Self;
}

macro_rules! narrows {
    ($($ty:ty),*) => {$(
        impl Narrow for $ty {
            fn narrow(wide: I256) -> Self {
                wide.as_i128() as $ty
            }
            fn narrow_128(wide: i128) -> Self {
                wide as $ty
            }
        }
    )*};
}
narrows!(i32, i64, i128);

impl Narrow for I256 {
    fn narrow(wide: I256) -> Self {
        wide
    }
    fn narrow_128(wide: i128) -> Self {
        I256::from(wide)
    }
}

fn big_endian<T: Narrow>(bytes: &[u8]) -> T {
    let sign = if bytes.first().is_some_and(|&byte| byte >= 0x80) { 0xff } else { 0 };
    if bytes.len() <= 16 {
        let mut wide = [sign; 16];
        wide[16 - bytes.len()..].copy_from_slice(bytes);
        return T::narrow_128(i128::from_be_bytes(wide));
    }
    let mut wide = [sign; 32];
    wide[32 - bytes.len()..].copy_from_slice(bytes);
    T::narrow(I256::from_be_bytes(wide))
}

impl<T: Narrow> Convert for BigEndian<T> {
    type Out = T;

    fn width(&self) -> Option<usize> {
        self.width
    }

    fn extend(&self, bytes: &[u8], out: &mut Vec<T>) -> Result<()> {
        out.extend(bytes.chunks_exact(self.width.unwrap_or(1)).map(big_endian::<T>));
        Ok(())
    }

    fn one(&self, bytes: &[u8]) -> Result<T> {
        ensure!(bytes.len() <= 32, INCORRECT_DATA, "Parquet decimal has {} bytes", bytes.len());
        Ok(big_endian(bytes))
    }
}
