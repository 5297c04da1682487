//! Blocks to frames.

use super::layout::{Head, StoredColumn};
use chalet_base::{Result, ensure, err, lz4};
use chalet_columns::Block;
use chalet_formats::native::write_column;
use chalet_types::DataType;
use xxhash_rust::xxh3::xxh3_64;

/// A column of a frame has at most so many bytes before compression; a block that has more becomes several frames.
const MOST_BYTES: usize = 1 << 28;
/// A single value has at most so many bytes: what readers of the Native format take.
const MOST_BYTES_OF_VALUE: usize = 1 << 30;

/// A frame as it is written, but for its head: it is not known yet whether it is the last one of its INSERT.
pub struct Encoded {
    pub n_rows: u64,
    pub columns: Vec<StoredColumn>,
    pub body: Vec<u8>,
}

impl Encoded {
    /// Appends the bytes of the frame.
    pub fn write(self, is_last: bool, out: &mut Vec<u8>) {
        let head = Head { is_last, n_rows: self.n_rows, columns: self.columns };
        out.extend(head.encode());
        out.extend(self.body);
    }
}

/// Appends the frames of a block that has rows.
pub fn encode(block: &Block, types: &[DataType], out: &mut Vec<Encoded>) -> Result<()> {
    let n_rows = block.n_rows();
    let (mut columns, mut body) = (Vec::with_capacity(types.len()), Vec::new());
    let mut raw = Vec::new();
    for (column, ty) in block.columns().iter().zip(types) {
        raw.clear();
        write_column(&mut raw, ty, column)?;
        if raw.len() > MOST_BYTES && n_rows > 1 {
            let half = n_rows / 2;
            encode(&block.slice(0, half), types, out)?;
            return encode(&block.slice(half, n_rows - half), types, out);
        }
        ensure!(
            raw.len() <= MOST_BYTES_OF_VALUE,
            TOO_LARGE_STRING_SIZE,
            "A value of {} bytes is too large for a table of the Log family",
            raw.len()
        );
        let start = body.len();
        body.resize(start + lz4::max_packed_len(raw.len()), 0);
        let n = lz4::pack_into(&raw, &mut body[start..])
            .map_err(|e| err!(CANNOT_COMPRESS, "Cannot compress a column: {e}"))?;
        body.truncate(start + n);
        if n >= raw.len() {
            body.truncate(start);
            body.extend_from_slice(&raw);
        }
        let stored = &body[start..];
        let (raw, checksum) = (raw.len() as u32, xxh3_64(stored));
        columns.push(StoredColumn { stored: stored.len() as u32, raw, checksum });
    }
    out.push(Encoded { n_rows: n_rows as u64, columns, body });
    Ok(())
}
