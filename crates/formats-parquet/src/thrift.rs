//! Thrift's compact protocol: the headers that stand between the pages of a column chunk, and a walk over what the
//! metadata library parses.

use chalet_base::{Error, Result, bail, err};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    DataV1,
    DataV2,
    Dictionary,
    /// Index pages and whatever later versions add; skipped.
    Other,
}

/// Numbers of `parquet.thrift`.
pub mod encoding {
    pub const PLAIN: i64 = 0;
    pub const PLAIN_DICTIONARY: i64 = 2;
    pub const RLE: i64 = 3;
    pub const DELTA_BINARY_PACKED: i64 = 5;
    pub const DELTA_LENGTH_BYTE_ARRAY: i64 = 6;
    pub const DELTA_BYTE_ARRAY: i64 = 7;
    pub const RLE_DICTIONARY: i64 = 8;
    pub const BYTE_STREAM_SPLIT: i64 = 9;
    pub const ALP: i64 = 10;
}

#[derive(Clone, Debug)]
pub struct PageHeader {
    pub kind: PageKind,
    /// Bytes after decompression; of a V2 page together with its levels.
    pub uncompressed: usize,
    /// Bytes in the file after this header.
    pub compressed: usize,
    pub crc: Option<u32>,
    /// Values with NULLs and empty lists: entries of the level streams.
    pub n_values: usize,
    pub encoding: i64,
    /// Encoding of the definition levels of a V1 page.
    pub definition_encoding: i64,
    pub v2: Option<V2>,
}

/// What a V2 data page says beyond V1.
#[derive(Clone, Copy, Debug)]
pub struct V2 {
    pub n_rows: usize,
    pub definition_bytes: usize,
    pub repetition_bytes: usize,
    pub is_compressed: bool,
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// A list of booleans may come.
    booleans: bool,
}

#[cold]
fn broken(what: &str) -> Error {
    err!(INCORRECT_DATA, "Failed to parse Parquet metadata: {what}")
}

/// Nesting and sizes beyond these are refused, so that a broken header cannot keep the reader busy.
const MAX_DEPTH: u32 = 16;

const STOP: u8 = 0;
const TRUE: u8 = 1;
const FALSE: u8 = 2;

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Result<u8> {
        let byte = *self.bytes.get(self.at).ok_or_else(|| broken("unexpected end of data"))?;
        self.at += 1;
        Ok(byte)
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(broken("too long an integer"))
    }

    fn int(&mut self) -> Result<i64> {
        let raw = self.varint()?;
        Ok((raw >> 1) as i64 ^ -((raw & 1) as i64))
    }

    fn size(&mut self) -> Result<usize> {
        let value = self.int()?;
        if !(0..=i64::from(i32::MAX)).contains(&value) {
            return Err(broken(&format!("implausible size {value}")));
        }
        Ok(value as usize)
    }

    /// Calls `each` with the number and kind of every field; it reads the value or says that it did not.
    fn fields(&mut self, depth: u32, mut each: impl FnMut(&mut Self, i64, u8) -> Result<bool>) -> Result<()> {
        let mut id = 0i64;
        loop {
            let head = self.byte()?;
            let kind = head & 0x0f;
            if kind == STOP {
                return Ok(());
            }
            id = if head >> 4 == 0 { self.int()? } else { id.wrapping_add(i64::from(head >> 4)) };
            if !each(self, id, kind)? {
                self.skip(kind, depth)?;
            }
        }
    }

    fn skip(&mut self, kind: u8, depth: u32) -> Result<()> {
        if depth == 0 {
            return Err(broken("too deep"));
        }
        match kind {
            TRUE | FALSE => {}
            3 => {
                self.byte()?;
            }
            4..=6 => {
                self.varint()?;
            }
            7 => self.advance(8)?,
            8 => {
                let len = self.varint()?;
                self.advance(len)?;
            }
            9 | 10 => {
                let head = self.byte()?;
                let n = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                if n > 0 && matches!(head & 0x0f, TRUE | FALSE) && !self.booleans {
                    return Err(broken("an unknown list of booleans"));
                }
                for _ in 0..n {
                    // Elements that are booleans take a byte each inside a list.
                    if matches!(head & 0x0f, TRUE | FALSE) {
                        self.byte()?;
                    } else {
                        self.skip(head & 0x0f, depth - 1)?;
                    }
                }
            }
            12 => self.fields(depth - 1, |_, _, _| Ok(false))?,
            other => return Err(broken(&format!("invalid type {other}"))),
        }
        Ok(())
    }

    fn advance(&mut self, n: u64) -> Result<()> {
        let left = (self.bytes.len() - self.at) as u64;
        if n > left {
            return Err(broken("unexpected end of data"));
        }
        self.at += n as usize;
        Ok(())
    }
}

/// Walks over the struct at the beginning of `bytes`, so that the metadata library, which believes the lengths of lists
/// and takes lists of booleans that it skips to have no bytes, comes to an end soon. Only the field of number `booleans`
/// may be a list of booleans.
pub fn check_struct(bytes: &[u8], booleans: Option<i64>) -> Result<()> {
    let mut reader = Reader { bytes, at: 0, booleans: false };
    reader.fields(MAX_DEPTH, |reader, id, _| {
        reader.booleans = booleans == Some(id);
        Ok(false)
    })
}

/// The number of the only list of booleans in any metadata: `null_pages` of a column index.
pub const NULL_PAGES: i64 = 1;

/// The header at the beginning of `bytes`, and its length.
pub fn page_header(bytes: &[u8]) -> Result<(PageHeader, usize)> {
    let mut reader = Reader { bytes, at: 0, booleans: true };
    let mut header = PageHeader {
        kind: PageKind::Other,
        uncompressed: 0,
        compressed: 0,
        crc: None,
        n_values: 0,
        encoding: -1,
        definition_encoding: encoding::RLE,
        v2: None,
    };
    let (mut has_kind, mut has_sizes, mut has_details) = (false, 0, false);
    reader.fields(MAX_DEPTH, |r, id, kind| {
        match (id, kind) {
            (1, 5) => {
                header.kind = match r.int()? {
                    0 => PageKind::DataV1,
                    2 => PageKind::Dictionary,
                    3 => PageKind::DataV2,
                    _ => PageKind::Other,
                };
                has_kind = true;
            }
            (2, 5) => {
                header.uncompressed = r.size()?;
                has_sizes |= 1;
            }
            (3, 5) => {
                header.compressed = r.size()?;
                has_sizes |= 2;
            }
            (4, 5) => header.crc = Some(r.int()? as u32),
            (5 | 7, 12) => {
                has_details = true;
                r.fields(MAX_DEPTH - 1, |r, id, kind| {
                    match (id, kind) {
                        (1, 5) => header.n_values = r.size()?,
                        (2, 5) => header.encoding = r.int()?,
                        (3, 5) => header.definition_encoding = r.int()?,
                        _ => return Ok(false),
                    }
                    Ok(true)
                })?;
            }
            (8, 12) => {
                has_details = true;
                let mut v2 = V2 { n_rows: 0, definition_bytes: 0, repetition_bytes: 0, is_compressed: true };
                r.fields(MAX_DEPTH - 1, |r, id, kind| {
                    match (id, kind) {
                        (1, 5) => header.n_values = r.size()?,
                        (3, 5) => v2.n_rows = r.size()?,
                        (4, 5) => header.encoding = r.int()?,
                        (5, 5) => v2.definition_bytes = r.size()?,
                        (6, 5) => v2.repetition_bytes = r.size()?,
                        (7, TRUE | FALSE) => v2.is_compressed = kind == TRUE,
                        _ => return Ok(false),
                    }
                    Ok(true)
                })?;
                header.v2 = Some(v2);
            }
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    if !has_kind || has_sizes != 3 {
        bail!(INCORRECT_DATA, "Failed to parse Parquet metadata: required fields are missing");
    }
    let consistent = match header.kind {
        PageKind::DataV2 => header.v2.is_some(),
        PageKind::DataV1 | PageKind::Dictionary => has_details && header.v2.is_none(),
        PageKind::Other => true,
    };
    if !consistent {
        return Err(broken("details are of another page type"));
    }
    Ok((header, reader.at))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Field 1 is a list of 2^31 elements of a kind, then nothing.
    fn huge_list(element: u8) -> Vec<u8> {
        vec![0x19, 0xf0 | element, 0x80, 0x80, 0x80, 0x80, 0x08, 0]
    }

    #[test]
    fn lengths_of_lists_are_not_believed() {
        let small_list = [0x19, 0x31, 1, 2, 1, 0];
        assert!(check_struct(&small_list, Some(NULL_PAGES)).is_ok());
        assert!(check_struct(&small_list, None).is_err());
        for element in [TRUE, FALSE, 3, 5, 7, 8, 9, 12] {
            assert!(check_struct(&huge_list(element), Some(NULL_PAGES)).is_err(), "kind {element}");
        }
    }
}
