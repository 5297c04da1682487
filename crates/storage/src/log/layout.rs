//! Header and heads of frames as bytes.

use xxhash_rust::xxh3::xxh3_64;

/// Bytes of the header; the first frame follows.
pub const HEADER: u64 = 64;
/// Of them those that a checksum guards, the checksum with them.
const GUARDED: usize = 40;
const MAGIC: [u8; 8] = *b"chaletL1";
const FRAME_MAGIC: [u8; 4] = *b"LOGB";
/// Bytes of a head without its columns: what precedes them, and the checksum.
const HEAD: usize = 24 + 8;
const HEAD_COLUMN: usize = 16;
const LAST_OF_INSERT: u32 = 1;

/// The first bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub id: u64,
    /// So many bytes of the file have been acknowledged.
    pub committed: u64,
    pub n_rows: u64,
}

impl Header {
    /// The header as bytes, with its checksum.
    pub fn encode(&self) -> [u8; HEADER as usize] {
        let mut bytes = [0; HEADER as usize];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&self.id.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.committed.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.n_rows.to_le_bytes());
        let checksum = xxh3_64(&bytes[..GUARDED - 8]);
        bytes[GUARDED - 8..GUARDED].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// `None` for what is no whole header.
    pub fn decode(bytes: &[u8]) -> Option<Header> {
        let guarded = bytes.get(..GUARDED)?;
        let known =
            guarded.starts_with(&MAGIC) && u64_at(guarded, GUARDED - 8) == xxh3_64(&guarded[..GUARDED - 8]);
        known.then(|| Header {
            id: u64_at(bytes, 8),
            committed: u64_at(bytes, 16),
            n_rows: u64_at(bytes, 24),
        })
    }
}

/// What a head says of one column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredColumn {
    pub stored: u32,
    pub raw: u32,
    pub checksum: u64,
}

/// The head of a frame: its rows, and the sizes and checksums of its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub is_last: bool,
    pub n_rows: u64,
    pub columns: Vec<StoredColumn>,
}

/// Bytes of a head.
pub const fn head_len(n_columns: usize) -> usize {
    HEAD + n_columns * HEAD_COLUMN
}

impl Head {
    /// The head as bytes, with its checksum.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(head_len(self.columns.len()));
        bytes.extend(FRAME_MAGIC);
        bytes.extend(if self.is_last { LAST_OF_INSERT } else { 0 }.to_le_bytes());
        bytes.extend(self.n_rows.to_le_bytes());
        bytes.extend((self.columns.len() as u32).to_le_bytes());
        bytes.extend([0; 4]);
        for column in &self.columns {
            bytes.extend(column.stored.to_le_bytes());
            bytes.extend(column.raw.to_le_bytes());
            bytes.extend(column.checksum.to_le_bytes());
        }
        bytes.extend(xxh3_64(&bytes).to_le_bytes());
        bytes
    }

    /// `None` for what is no whole head of so many columns.
    pub fn decode(bytes: &[u8], n_columns: usize) -> Option<Head> {
        let bytes = bytes.get(..head_len(n_columns))?;
        let (guarded, checksum) = bytes.split_at(bytes.len() - 8);
        let known = guarded.starts_with(&FRAME_MAGIC)
            && u64_at(checksum, 0) == xxh3_64(guarded)
            && u32_at(guarded, 16) as usize == n_columns;
        let column =
            |at: &[u8]| StoredColumn { stored: u32_at(at, 0), raw: u32_at(at, 4), checksum: u64_at(at, 8) };
        known.then(|| Head {
            is_last: u32_at(guarded, 4) & LAST_OF_INSERT != 0,
            n_rows: u64_at(guarded, 8),
            columns: guarded[24..].chunks_exact(HEAD_COLUMN).map(column).collect(),
        })
    }

    /// Bytes of the frame, the head with them.
    pub fn frame_len(&self) -> u64 {
        let columns: u64 = self.columns.iter().map(|column| u64::from(column.stored)).sum();
        head_len(self.columns.len()) as u64 + columns
    }
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let header = Header { id: 1, committed: 2, n_rows: 3 };
        assert_eq!(Header::decode(&header.encode()), Some(header));
        let column = StoredColumn { stored: 5, raw: 9, checksum: 77 };
        for n_columns in [0, 1, 3] {
            let head = Head { is_last: n_columns == 1, n_rows: 4, columns: vec![column; n_columns] };
            let bytes = head.encode();
            assert_eq!(bytes.len(), head_len(n_columns));
            assert_eq!(Head::decode(&bytes, n_columns), Some(head.clone()));
            assert_eq!(head.frame_len(), (bytes.len() + 5 * n_columns) as u64);
        }
    }

    #[test]
    fn every_changed_byte_shows() {
        let header = Header { id: 1, committed: 2, n_rows: 3 }.encode();
        let head =
            Head { is_last: true, n_rows: 4, columns: vec![StoredColumn { stored: 5, raw: 9, checksum: 7 }] };
        let head = head.encode();
        for at in 0..GUARDED {
            let mut bytes = header;
            bytes[at] ^= 1;
            assert_eq!(Header::decode(&bytes), None, "byte {at}");
        }
        for at in 0..head.len() {
            let mut bytes = head.clone();
            bytes[at] ^= 1;
            assert_eq!(Head::decode(&bytes, 1), None, "byte {at}");
        }
    }
}
