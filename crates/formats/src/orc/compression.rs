//! The chunks that streams of an ORC file are compressed in.

use chalet_base::{Result, bail, ensure, err, lz4};
use std::borrow::Cow;
use std::io::{Read, Write};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    None,
    Zlib,
    Snappy,
    Lz4,
    Zstd,
}

impl Codec {
    pub fn of_number(number: u64) -> Result<Codec> {
        Ok(match number {
            0 => Codec::None,
            1 => Codec::Zlib,
            2 => Codec::Snappy,
            3 => bail!(NOT_IMPLEMENTED, "Compression LZO of ORC files is not supported"),
            4 => Codec::Lz4,
            5 => Codec::Zstd,
            other => bail!(INCORRECT_DATA, "Unknown compression {other} of an ORC file"),
        })
    }

    pub fn number(self) -> u64 {
        match self {
            Codec::None => 0,
            Codec::Zlib => 1,
            Codec::Snappy => 2,
            Codec::Lz4 => 4,
            Codec::Zstd => 5,
        }
    }

    /// Decompresses one chunk, which has at most `limit` bytes then.
    fn decompress(self, packed: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<()> {
        let broken = |e: String| err!(CANNOT_DECOMPRESS, "Cannot decompress a chunk of an ORC file: {e}");
        let start = out.len();
        match self {
            Codec::None => out.extend_from_slice(packed),
            Codec::Zlib => {
                let from = flate2::read::DeflateDecoder::new(packed).take(limit as u64 + 1);
                read_to_end(from, out).map_err(broken)?;
            }
            Codec::Zstd => {
                let from = zstd::Decoder::new(packed).map_err(|e| broken(e.to_string()))?;
                read_to_end(from.take(limit as u64 + 1), out).map_err(broken)?;
            }
            Codec::Snappy => {
                let n = snap::raw::decompress_len(packed).map_err(|e| broken(e.to_string()))?;
                ensure!(n <= limit, CANNOT_DECOMPRESS, "A chunk of an ORC file claims to have {n} bytes");
                let plain =
                    snap::raw::Decoder::new().decompress_vec(packed).map_err(|e| broken(e.to_string()))?;
                out.extend_from_slice(&plain);
            }
            Codec::Lz4 => {
                // At best, a byte stands for 255.
                let limit = limit.min(packed.len().saturating_mul(255));
                let plain = lz4::unpack(packed, limit).map_err(|e| broken(e.to_string()))?;
                out.extend_from_slice(&plain);
            }
        }
        ensure!(
            out.len() - start <= limit,
            CANNOT_DECOMPRESS,
            "A chunk of an ORC file is longer than its compression block of {limit} bytes"
        );
        Ok(())
    }

    fn compress(self, plain: &[u8]) -> Result<Vec<u8>> {
        let failed = |e: String| err!(CANNOT_COMPRESS, "Cannot compress a chunk of an ORC file: {e}");
        match self {
            Codec::None => Ok(plain.to_vec()),
            Codec::Zlib => {
                let mut to = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::new(1));
                to.write_all(plain).and_then(|()| to.finish()).map_err(|e| failed(e.to_string()))
            }
            Codec::Zstd => zstd::encode_all(plain, 1).map_err(|e| failed(e.to_string())),
            Codec::Snappy => snap::raw::Encoder::new().compress_vec(plain).map_err(|e| failed(e.to_string())),
            Codec::Lz4 => lz4::pack(plain).map_err(|e| failed(e.to_string())),
        }
    }
}

fn read_to_end(mut from: impl Read, out: &mut Vec<u8>) -> Result<(), String> {
    from.read_to_end(out).map(|_| ()).map_err(|e| e.to_string())
}

/// The bytes of a stream.
pub fn decompressed(packed: &[u8], codec: Codec, block_size: usize) -> Result<Cow<'_, [u8]>> {
    if codec == Codec::None {
        return Ok(Cow::Borrowed(packed));
    }
    let mut out = Vec::new();
    let mut rest = packed;
    while !rest.is_empty() {
        ensure!(rest.len() >= 3, CANNOT_READ_ALL_DATA, "A chunk of an ORC file is cut short");
        let header = u32::from_le_bytes([rest[0], rest[1], rest[2], 0]);
        let length = (header >> 1) as usize;
        let Some(chunk) = rest.get(3..3 + length) else {
            bail!(CANNOT_READ_ALL_DATA, "A chunk of an ORC file is cut short");
        };
        match header & 1 {
            1 => out.extend_from_slice(chunk),
            _ => codec.decompress(chunk, block_size, &mut out)?,
        }
        rest = &rest[3 + length..];
    }
    Ok(Cow::Owned(out))
}

/// The chunks of a stream.
pub fn compressed(plain: &[u8], codec: Codec, block_size: usize) -> Result<Vec<u8>> {
    if codec == Codec::None {
        return Ok(plain.to_vec());
    }
    let mut out = Vec::new();
    for block in plain.chunks(block_size) {
        let packed = codec.compress(block)?;
        let (chunk, original) = if packed.len() < block.len() { (&packed[..], 0) } else { (block, 1) };
        let header = (chunk.len() as u32) << 1 | original;
        out.extend_from_slice(&header.to_le_bytes()[..3]);
        out.extend_from_slice(chunk);
    }
    Ok(out)
}
