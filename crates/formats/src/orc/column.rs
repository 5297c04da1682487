//! The columns of a stripe of an ORC file, decoded whole.

use super::metadata::{Encoding, Kind, Node, StreamKind, StripeFooter, Tail};
use super::{compression, rle};
use arrow_buffer::Buffer;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{
    BooleanBuffer, Buf, Data, Fixed, List, Native, NullBuffer, StringBuilder, Struct, Vector,
};
use chalet_types::{DataType, I256, Physical, TimeZone, U256};
use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

/// Days that a Date32 can be, since 1970-01-01.
const DATE32: RangeInclusive<i64> = -25_567..=120_529;

/// Where the streams of a stripe are.
pub struct Stripe<'a> {
    tail: &'a Tail,
    bytes: &'a Buffer,
    streams: Vec<(StreamKind, u64, Range<usize>)>,
    encodings: Vec<Encoding>,
    writer_zone: TimeZone,
    reader_zone: TimeZone,
}

impl<'a> Stripe<'a> {
    pub fn open(
        tail: &'a Tail,
        bytes: &'a Buffer,
        index: usize,
        reader_zone: TimeZone,
    ) -> Result<Stripe<'a>> {
        let info = &tail.stripes[index];
        let outside = || err!(INCORRECT_DATA, "ORC stripe {index} lies outside of the file");
        let footer_at = info
            .offset
            .checked_add(info.index_length)
            .and_then(|at| at.checked_add(info.data_length))
            .ok_or_else(outside)?;
        let footer = slice(bytes, footer_at, info.footer_length).ok_or_else(outside)?;
        let footer =
            StripeFooter::read(&compression::decompressed(&bytes[footer], tail.codec, tail.block_size)?)?;
        let mut at = info.offset;
        let mut streams = Vec::new();
        for stream in footer.streams {
            let range = slice(bytes, at, stream.length).ok_or_else(outside)?;
            at = range.end as u64;
            if stream.kind != StreamKind::Other {
                streams.push((stream.kind, stream.column, range));
            }
        }
        let writer_zone = match footer.time_zone.as_str() {
            "" | "UTC" | "GMT" => TimeZone::utc(),
            name => TimeZone::named(name)?,
        };
        Ok(Stripe { tail, bytes, streams, encodings: footer.encodings, writer_zone, reader_zone })
    }

    /// The bytes of a stream; none when the stripe has no such stream.
    fn stream(&self, column: usize, kind: StreamKind) -> Result<Option<Cow<'a, [u8]>>> {
        let found = self.streams.iter().find(|(k, c, _)| *k == kind && *c == column as u64);
        let Some((_, _, range)) = found else { return Ok(None) };
        let packed = &self.bytes.as_slice()[range.clone()];
        compression::decompressed(packed, self.tail.codec, self.tail.block_size).map(Some)
    }

    fn data(&self, column: usize, kind: StreamKind) -> Result<Cow<'a, [u8]>> {
        Ok(self.stream(column, kind)?.unwrap_or_default())
    }

    /// `n` values of a column, of the type that [`Tail::type_of`] says, or of `raw`: a type whose values stand in a
    /// column of another one.
    pub fn column(&self, index: usize, n: usize, raw: Option<&DataType>) -> Result<Vector> {
        let node = &self.tail.nodes[index];
        let present = match self.stream(index, StreamKind::Present)? {
            Some(bytes) => Some(rle::bits(&bytes, n)?).filter(|bits| bits.count_set_bits() < n),
            None => None,
        };
        let m = present.as_ref().map_or(n, |bits| bits.count_set_bits());
        let Some(encoding) = self.encodings.get(index).copied() else {
            bail!(INCORRECT_DATA, "ORC stripe has no encoding of column {index}");
        };
        let values = Values { stripe: self, node, index, n, m, present: present.as_ref(), encoding };
        let data = values.read(raw)?;
        let nullable = !matches!(node.kind, Kind::List | Kind::Map);
        Ok(Vector::new(data, present.filter(|_| nullable).map(NullBuffer::new)))
    }
}

fn slice(bytes: &Buffer, at: u64, length: u64) -> Option<Range<usize>> {
    let end = at.checked_add(length).filter(|end| *end <= bytes.len() as u64)?;
    Some(at as usize..end as usize)
}

/// The values of one column being decoded.
struct Values<'s, 'a> {
    stripe: &'s Stripe<'a>,
    node: &'s Node,
    index: usize,
    /// Rows, and those of them that are not NULL.
    n: usize,
    m: usize,
    present: Option<&'s BooleanBuffer>,
    encoding: Encoding,
}

impl Values<'_, '_> {
    fn integers(&self, kind: StreamKind, n: usize, signed: bool) -> Result<Vec<i64>> {
        rle::integers(&self.stripe.data(self.index, kind)?, n, signed, self.encoding.v2)
    }

    /// Puts defaults where there are NULLs.
    fn spread<T: Copy + Default>(&self, dense: Vec<T>) -> Vec<T> {
        let Some(present) = self.present else { return dense };
        let mut dense = dense.into_iter();
        present.iter().map(|is| if is { dense.next().unwrap_or_default() } else { T::default() }).collect()
    }

    fn numbers<T: Native + Default>(&self, dense: Vec<T>) -> Data {
        T::wrap(Buf::from_vec(self.spread(dense)))
    }

    fn read(&self, raw: Option<&DataType>) -> Result<Data> {
        let signed = || self.integers(StreamKind::Data, self.m, true);
        Ok(match self.node.kind {
            Kind::Boolean => {
                let bits = rle::bits(&self.stripe.data(self.index, StreamKind::Data)?, self.m)?;
                self.numbers(bits.iter().map(u8::from).collect())
            }
            Kind::Byte => {
                let bytes = rle::bytes(&self.stripe.data(self.index, StreamKind::Data)?, self.m)?;
                self.numbers(bytes.into_iter().map(|byte| byte as i8).collect())
            }
            Kind::Short => self.numbers(signed()?.into_iter().map(|x| x as i16).collect()),
            Kind::Int if raw == Some(&DataType::IPv4) => {
                self.numbers(signed()?.into_iter().map(|x| x as u32).collect())
            }
            Kind::Date if raw == Some(&DataType::Date) => {
                let days = signed()?;
                check_range(&days, 0..=i64::from(u16::MAX), "Date")?;
                self.numbers(days.into_iter().map(|day| day as u16).collect())
            }
            Kind::Int => self.numbers(signed()?.into_iter().map(|x| x as i32).collect()),
            Kind::Long => self.numbers(signed()?),
            Kind::Date => {
                let days = signed()?;
                check_range(&days, DATE32, "Date32")?;
                self.numbers(days.into_iter().map(|day| day as i32).collect())
            }
            Kind::Float => self.numbers(self.fixed(f32::from_le_bytes)?),
            Kind::Double => self.numbers(self.fixed(f64::from_le_bytes)?),
            Kind::Timestamp | Kind::TimestampInstant => self.numbers(self.timestamps(signed()?)?),
            Kind::Decimal => self.decimals()?,
            Kind::String | Kind::Binary | Kind::Varchar | Kind::Char => match raw {
                Some(ty) => self.raw(ty)?,
                None => Data::Str(self.strings()?),
            },
            Kind::List | Kind::Map => self.lists()?,
            Kind::Struct => self.fields()?,
            Kind::Union => bail!(UNKNOWN_TYPE, "Unsupported ORC type 'uniontype'"),
        })
    }

    fn fixed<T, const N: usize>(&self, of: impl Fn([u8; N]) -> T) -> Result<Vec<T>> {
        let bytes = self.stripe.data(self.index, StreamKind::Data)?;
        ensure!(
            bytes.len() / N >= self.m,
            CANNOT_READ_ALL_DATA,
            "Cannot read all data. Bytes read: {}. Bytes expected: {}",
            bytes.len(),
            self.m.saturating_mul(N)
        );
        let (values, _) = bytes.as_chunks::<N>();
        Ok(values[..self.m].iter().map(|value| of(*value)).collect())
    }

    /// Seconds since 2015 in the writer's zone, and nanoseconds whose zeros are cut off.
    fn timestamps(&self, seconds: Vec<i64>) -> Result<Vec<i64>> {
        const EPOCH: i64 = 1_420_070_400;
        let nanos = self.integers(StreamKind::Secondary, self.m, false)?;
        let instant = self.node.kind == Kind::TimestampInstant;
        let (writer, reader) = (&self.stripe.writer_zone, &self.stripe.reader_zone);
        let convert = !instant && (!writer.is_utc() || !reader.is_utc());
        let epoch = if convert { EPOCH - i64::from(writer.offset_at(EPOCH)) } else { EPOCH };
        let mut out = Vec::with_capacity(seconds.len());
        for (second, nano) in seconds.into_iter().zip(nanos) {
            let mut second = second.wrapping_add(epoch);
            if convert {
                let offset = i64::from(writer.offset_at(second));
                let guess = second.wrapping_add(offset - i64::from(reader.offset_at(second)));
                second = second.wrapping_add(offset - i64::from(reader.offset_at(guess)));
            }
            let zeros = (nano & 7) as u32;
            let nano = if zeros == 0 { nano >> 3 } else { (nano >> 3).wrapping_mul(10i64.pow(zeros + 1)) };
            if second < 0 && nano > 999_999 {
                second = second.wrapping_sub(1);
            }
            let ticks = second.checked_mul(1_000_000_000).and_then(|ticks| ticks.checked_add(nano));
            let Some(ticks) = ticks else {
                bail!(
                    VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE,
                    "Timestamp of an ORC file exceeds the range of type DateTime64(9)"
                );
            };
            out.push(ticks);
        }
        Ok(out)
    }

    fn decimals(&self) -> Result<Data> {
        let bytes = self.stripe.data(self.index, StreamKind::Data)?;
        let mut rest: &[u8] = &bytes;
        let scales = self.integers(StreamKind::Secondary, self.m, true)?;
        let mut values = Vec::new();
        for scale in scales {
            values.push(rescaled(decimal(&mut rest)?, i64::from(self.node.scale) - scale)?);
        }
        let out_of_range =
            || err!(VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE, "Decimal of an ORC file exceeds its precision");
        let narrow = |value: i128| i64::try_from(value).map_err(|_| out_of_range());
        Ok(match self.stripe.tail.type_of(self.index)?.physical() {
            Physical::I32 => {
                let narrower = |value: i128| i32::try_from(value).map_err(|_| out_of_range());
                self.numbers(values.into_iter().map(narrower).collect::<Result<_>>()?)
            }
            Physical::I64 => self.numbers(values.into_iter().map(narrow).collect::<Result<_>>()?),
            _ => self.numbers(values),
        })
    }

    /// Calls `each` with the strings that are not NULL.
    fn each_string(&self, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let cut = |range: Range<u64>, bytes: &[u8]| -> Result<Range<usize>> {
            ensure!(
                range.start <= range.end && range.end <= bytes.len() as u64,
                CANNOT_READ_ALL_DATA,
                "Strings of an ORC file are cut short"
            );
            Ok(range.start as usize..range.end as usize)
        };
        if !self.encoding.dictionary {
            let bytes = self.stripe.data(self.index, StreamKind::Data)?;
            let mut at = 0u64;
            for length in self.integers(StreamKind::Length, self.m, false)? {
                let range = cut(at..at.saturating_add(length as u64), &bytes)?;
                at = range.end as u64;
                each(&bytes[range])?;
            }
            return Ok(());
        }
        let bytes = self.stripe.data(self.index, StreamKind::DictionaryData)?;
        let size = usize::try_from(self.encoding.dictionary_size).unwrap_or(usize::MAX);
        let mut words = Vec::new();
        let mut at = 0u64;
        for length in self.integers(StreamKind::Length, size, false)? {
            let range = cut(at..at.saturating_add(length as u64), &bytes)?;
            at = range.end as u64;
            words.push(range);
        }
        for code in self.integers(StreamKind::Data, self.m, false)? {
            let word = usize::try_from(code).ok().and_then(|code| words.get(code));
            let Some(word) = word else {
                bail!(INCORRECT_DATA, "ORC dictionary of {} strings has no entry {code}", words.len());
            };
            each(&bytes[word.clone()])?;
        }
        Ok(())
    }

    fn strings(&self) -> Result<chalet_columns::Strings> {
        let mut out = StringBuilder::default();
        let mut row = 0;
        self.each_string(|bytes| {
            while self.present.is_some_and(|bits| !bits.value(row)) {
                out.push(b"");
                row += 1;
            }
            out.push(bytes);
            row += 1;
            Ok(())
        })?;
        (out.len()..self.n).for_each(|_| out.push(b""));
        Ok(out.finish())
    }

    /// Values whose bytes stand in strings.
    fn raw(&self, ty: &DataType) -> Result<Data> {
        let width = ty.physical().width().unwrap_or(1);
        let mut bytes = Vec::new();
        self.each_string(|value| {
            ensure!(
                value.len() == width,
                INCORRECT_DATA,
                "ORC string of {} bytes is no value of type {ty}",
                value.len()
            );
            bytes.extend_from_slice(value);
            Ok(())
        })?;
        fn of<T: Copy, const N: usize>(bytes: &[u8], from: impl Fn([u8; N]) -> T) -> Vec<T> {
            bytes.as_chunks::<N>().0.iter().map(|value| from(*value)).collect()
        }
        Ok(match ty.physical() {
            Physical::I128 => self.numbers(of(&bytes, i128::from_le_bytes)),
            Physical::U128 => self.numbers(of(&bytes, u128::from_le_bytes)),
            Physical::I256 => self.numbers(of(&bytes, I256::from_le_bytes)),
            Physical::U256 => self.numbers(of(&bytes, U256::from_le_bytes)),
            Physical::Fixed(16) => {
                let spread = self.spread(of(&bytes, |value: [u8; 16]| value));
                Data::Fixed(Fixed { width, bytes: Buf::from_vec(spread.into_flattened()) })
            }
            _ => bail!(LOGICAL_ERROR, "Values of type {ty} do not stand in ORC strings"),
        })
    }

    fn lists(&self) -> Result<Data> {
        let lengths = self.spread(self.integers(StreamKind::Length, self.m, false)?);
        let mut offsets = vec![0i64];
        let mut end = 0i64;
        for length in lengths {
            let next = end.checked_add(length).filter(|next| length >= 0 && *next >= end);
            let Some(next) = next else { bail!(INCORRECT_DATA, "Lists of an ORC file are too long") };
            end = next;
            offsets.push(end);
        }
        let n = end as usize;
        let child = |at: usize| self.stripe.column(self.node.children[at], n, None);
        let values = match self.node.kind {
            Kind::List => child(0)?,
            _ => {
                let fields = vec![child(0)?.without_nulls(), child(1)?];
                Vector::new(Data::Struct(Struct { fields, len: n }), None)
            }
        };
        Ok(Data::List(List { offsets: offsets.into(), values: Arc::new(values) }))
    }

    fn fields(&self) -> Result<Data> {
        let mut fields = Vec::with_capacity(self.node.children.len());
        for &child in &self.node.children {
            let dense = self.stripe.column(child, self.m, None)?;
            fields.push(match self.present {
                None => dense,
                Some(present) => {
                    let default = Vector::defaults(&self.stripe.tail.type_of(child)?, 1);
                    let mut next = 0u32;
                    let row = |is: bool| {
                        next += u32::from(is);
                        if is { next - 1 } else { self.m as u32 }
                    };
                    let rows: Vec<u32> = present.iter().map(row).collect();
                    Vector::concat(&[&dense, &default]).gather(&rows)
                }
            });
        }
        Ok(Data::Struct(Struct { fields, len: self.n }))
    }
}

fn check_range(days: &[i64], range: RangeInclusive<i64>, ty: &str) -> Result<()> {
    if let Some(day) = days.iter().find(|day| !range.contains(day)) {
        bail!(
            VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE,
            "Input value {day} exceeds the range of type {ty}, which is [{}, {}]",
            range.start(),
            range.end()
        );
    }
    Ok(())
}

/// A number of up to 128 bits, seven bits a byte, in zigzag form.
fn decimal(rest: &mut &[u8]) -> Result<i128> {
    let mut value = 0u128;
    for shift in (0..133).step_by(7) {
        let Some((&byte, left)) = rest.split_first() else {
            bail!(CANNOT_READ_ALL_DATA, "Decimals of an ORC file are cut short");
        };
        *rest = left;
        if shift < 128 {
            value |= u128::from(byte & 0x7f) << shift;
        }
        if byte < 0x80 {
            return Ok((value >> 1) as i128 ^ -((value & 1) as i128));
        }
    }
    bail!(INCORRECT_DATA, "Decimal of an ORC file has more than 128 bits")
}

fn rescaled(value: i128, by: i64) -> Result<i128> {
    if by == 0 {
        return Ok(value);
    }
    let power = u32::try_from(by.unsigned_abs()).ok().and_then(|by| 10i128.checked_pow(by));
    let scaled = match by > 0 {
        true => power.and_then(|power| value.checked_mul(power)),
        false => Some(power.map_or(0, |power| value / power)),
    };
    scaled.ok_or_else(|| {
        err!(VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE, "Decimal of an ORC file exceeds the range of its type")
    })
}
