//! The values of one page in whichever encoding: taken or passed by, some at a time.

use super::kind::Kind;
use crate::encoding::delta::Numbers;
use crate::encoding::front_coded::FrontCoded;
use crate::encoding::rle::Rle;
use crate::encoding::{alp, byte_array, cut_short, split};
use crate::schema::Conversion;
use crate::thrift::encoding;
use arrow_buffer::Buffer;
use chalet_base::{Result, bail};
use chalet_columns::Strings;

pub enum Values {
    /// Plain values of one width, in bytes.
    Fixed {
        bytes: Buffer,
        width: usize,
        at: usize,
    },
    /// Numbers as differences.
    Deltas32(Box<Numbers<i32>>),
    Deltas64(Box<Numbers<i64>>),
    /// Plain booleans: bits.
    Bits {
        bytes: Buffer,
        at: usize,
    },
    /// Booleans as runs.
    Runs(Rle),
    /// Plain values with lengths.
    ByteArrays {
        page: Buffer,
        at: usize,
    },
    /// Strings that had to be decoded at once.
    Strings {
        strings: Strings,
        at: usize,
    },
    /// Strings that share prefixes; what is passed by is not built.
    FrontCoded(Box<FrontCoded>),
    /// Values whose first bytes come first; put together when more than a few of them are wanted.
    Split {
        bytes: Buffer,
        width: usize,
        /// All values, and the next one.
        n: usize,
        at: usize,
    },
    Codes(Rle),
}

/// Fewer than one of this many split values that are left are gathered one by one.
const FEW: usize = 16;

impl Values {
    /// The values of a page: `bytes` after the levels, `n` entries of which some may be NULL.
    pub fn open(
        encoding: i64,
        bytes: Buffer,
        n: usize,
        width: Option<usize>,
        conversion: Conversion,
    ) -> Result<Values> {
        let is_bool = conversion == Conversion::Bool;
        Ok(match (encoding, width) {
            (encoding::PLAIN, _) if is_bool => Values::Bits { bytes, at: 0 },
            (encoding::RLE, _) if is_bool => {
                let Some(prefix) = bytes.get(..4) else { return Err(cut_short("booleans")) };
                let len = u32::from_le_bytes([prefix[0], prefix[1], prefix[2], prefix[3]]) as usize;
                if len > bytes.len() - 4 {
                    return Err(cut_short("booleans"));
                }
                Values::Runs(Rle::new(bytes.slice_with_length(4, len), 1)?)
            }
            (encoding::PLAIN, Some(width)) => Values::Fixed { bytes, width, at: 0 },
            (encoding::PLAIN, None) => Values::ByteArrays { page: bytes, at: 0 },
            (encoding::PLAIN_DICTIONARY | encoding::RLE_DICTIONARY, _) => {
                // A page of NULLs only may lack even the bit width.
                let bit_width = bytes.first().copied().unwrap_or(0);
                Values::Codes(Rle::new(
                    if bytes.is_empty() { bytes } else { bytes.slice(1) },
                    bit_width.into(),
                )?)
            }
            (encoding::DELTA_BINARY_PACKED, Some(4)) => Values::Deltas32(Box::new(Numbers::open(bytes, n)?)),
            (encoding::DELTA_BINARY_PACKED, Some(8)) => Values::Deltas64(Box::new(Numbers::open(bytes, n)?)),
            (encoding::BYTE_STREAM_SPLIT, Some(width @ 1..)) => {
                // How many of the entries are not NULL follows from the length.
                let n = bytes.len() / width;
                Values::Split { bytes, width, n, at: 0 }
            }
            (encoding::ALP, _) if conversion == Conversion::Float32 => {
                Values::Fixed { bytes: Buffer::from_vec(alp::decode::<f32>(&bytes, n)?), width: 4, at: 0 }
            }
            (encoding::ALP, _) if conversion == Conversion::Float64 => {
                Values::Fixed { bytes: Buffer::from_vec(alp::decode::<f64>(&bytes, n)?), width: 8, at: 0 }
            }
            (encoding::DELTA_LENGTH_BYTE_ARRAY, None) => {
                let views = byte_array::delta_length(&bytes, n)?;
                // SAFETY: `delta_length` made the views from slices of this buffer.
                let strings = unsafe { Strings::from_views(views.into(), [bytes].into()) };
                Values::Strings { strings, at: 0 }
            }
            (encoding::DELTA_BYTE_ARRAY, _) => Values::FrontCoded(Box::new(FrontCoded::open(&bytes, n)?)),
            (other, _) => bail!(NOT_IMPLEMENTED, "Parquet encoding {other} is not supported for this type"),
        })
    }

    /// Do values come from the dictionary?
    pub fn are_codes(&self) -> bool {
        matches!(self, Values::Codes(_))
    }

    /// Appends the next `n` values.
    pub fn take<K: Kind>(
        &mut self,
        n: usize,
        kind: &K,
        column: &mut K::Column,
        dictionary: Option<&K::Dictionary>,
        scratch: &mut Vec<u32>,
    ) -> Result<()> {
        if n == 0 {
            return Ok(());
        }
        if !self.are_codes() {
            kind.decode(column, dictionary)?;
        }
        self.decode_rest(n)?;
        match self {
            Values::Fixed { bytes, width, at } => {
                let end = n.checked_mul(*width).and_then(|len| at.checked_add(len));
                let Some(part) = end.and_then(|end| bytes.get(*at..end)) else {
                    return Err(cut_short("values"));
                };
                kind.push_fixed(column, part)?;
                *at += part.len();
            }
            Values::Deltas32(numbers) => kind.push_fixed(column, numbers.take(n)?)?,
            Values::Deltas64(numbers) => kind.push_fixed(column, numbers.take(n)?)?,
            Values::Bits { bytes, at } => {
                if *at + n > bytes.len() * 8 {
                    return Err(cut_short("booleans"));
                }
                let bits: Vec<u8> = (*at..*at + n).map(|bit| bytes[bit / 8] >> (bit % 8) & 1).collect();
                kind.push_fixed(column, &bits)?;
                *at += n;
            }
            Values::Runs(runs) => {
                scratch.clear();
                runs.read(n, scratch)?;
                let bits: Vec<u8> = scratch.iter().map(|&bit| bit as u8).collect();
                kind.push_fixed(column, &bits)?;
            }
            Values::ByteArrays { page, at } => *at = kind.push_texts(column, page, *at, n)?,
            Values::Strings { strings, at } => {
                if n > strings.len() - *at {
                    return Err(cut_short("strings"));
                }
                kind.push_strings(column, &strings.slice(*at, n))?;
                *at += n;
            }
            Values::FrontCoded(strings) => {
                if n > strings.len() {
                    return Err(cut_short("strings"));
                }
                kind.push_strings(column, &strings.take(n)?)?;
            }
            Values::Split { bytes, width, n: total, at } => {
                if n > *total - *at {
                    return Err(cut_short("values"));
                }
                kind.push_fixed(column, &split::gather(bytes, *width, *total, *at, n))?;
                *at += n;
            }
            Values::Codes(codes) => {
                let Some(dictionary) = dictionary else {
                    bail!(INCORRECT_DATA, "Parquet page has dictionary codes, but there is no dictionary");
                };
                scratch.clear();
                codes.read(n, scratch)?;
                kind.push_codes(column, dictionary, scratch)?;
            }
        }
        Ok(())
    }

    /// Decodes all that is left of values that are decoded in parts, where `n` more of them make that worth while.
    fn decode_rest(&mut self, n: usize) -> Result<()> {
        match self {
            Values::FrontCoded(strings) if strings.is_in_parts() => {
                let strings = strings.take(strings.len())?;
                *self = Values::Strings { strings, at: 0 };
            }
            Values::Split { bytes, width, n: total, at } if n > (*total - *at) / FEW => {
                let (width, decoded) = (*width, split::decode(bytes, *width, *total)?);
                *self = Values::Fixed { bytes: decoded.into(), width, at: *at * width };
            }
            _ => {}
        }
        Ok(())
    }

    /// Passes the next `n` values by.
    pub fn skip(&mut self, n: usize) -> Result<()> {
        match self {
            Values::Fixed { bytes, width, at } => {
                let end = n.checked_mul(*width).and_then(|len| at.checked_add(len));
                *at = end.filter(|&end| end <= bytes.len()).ok_or_else(|| cut_short("values"))?;
            }
            Values::Deltas32(numbers) => numbers.skip(n)?,
            Values::Deltas64(numbers) => numbers.skip(n)?,
            Values::Bits { at, .. } => *at += n,
            Values::Runs(runs) | Values::Codes(runs) => runs.skip(n)?,
            Values::ByteArrays { page, at } => *at = byte_array::skip_plain(page, *at, n)?,
            Values::Strings { strings, at } => {
                if n > strings.len() - *at {
                    return Err(cut_short("strings"));
                }
                *at += n;
            }
            Values::FrontCoded(strings) => {
                if n > strings.len() {
                    return Err(cut_short("strings"));
                }
                strings.skip(n)?;
            }
            Values::Split { n: total, at, .. } => {
                if n > *total - *at {
                    return Err(cut_short("values"));
                }
                *at += n;
            }
        }
        Ok(())
    }
}
