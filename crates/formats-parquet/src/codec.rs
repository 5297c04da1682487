//! Decompression of pages.

use crate::snappy::{self, Content};
use chalet_base::{Error, Result, bail, ensure, err, lz4};
use parquet::basic::Compression;
use std::cell::RefCell;
use std::io::Read;

#[cold]
fn broken(codec: &str, error: impl std::fmt::Display) -> Error {
    err!(INCORRECT_DATA, "Cannot decompress Parquet page ({codec}): {error}")
}

/// Fills `out`, whose old content does not matter, with the `size` bytes that `bytes` expand to.
pub fn decompress(
    codec: Compression,
    bytes: &[u8],
    size: usize,
    content: Content,
    out: &mut Vec<u8>,
) -> Result<()> {
    if codec == Compression::SNAPPY {
        return snappy::decompress(bytes, size, content, out);
    }
    let no_memory = |_| err!(CANNOT_ALLOCATE_MEMORY, "Cannot allocate {size} bytes for a Parquet page");
    if codec == Compression::LZ4_RAW {
        out.clear();
        out.try_reserve_exact(size).map_err(no_memory)?;
        let got = lz4::unpack_onto(bytes, size, out).map_err(|e| broken("lz4", e))?;
        return as_promised(got, size);
    }
    // What is there already need not be zeroed again.
    if out.len() < size {
        let more = size - out.len();
        out.try_reserve_exact(more).map_err(no_memory)?;
    }
    out.resize(size, 0);
    let got = match codec {
        Compression::ZSTD(_) => unpack_zstd(bytes, &mut out[..]).map_err(|e| broken("zstd", e))?,
        Compression::GZIP(_) => fill(&mut flate2::read::MultiGzDecoder::new(bytes), out, "gzip")?,
        Compression::BROTLI(_) => fill(&mut brotli::Decompressor::new(bytes, 4096), out, "brotli")?,
        Compression::LZ4 => deprecated_lz4(bytes, out)?,
        Compression::UNCOMPRESSED => bail!(LOGICAL_ERROR, "Uncompressed Parquet pages need no decompression"),
        other => bail!(NOT_IMPLEMENTED, "Parquet compression {other} is not supported"),
    };
    as_promised(got, size)
}

/// Fills `out` with the first `n` bytes that a block of LZ4 expands to, which are as many or more.
pub fn decompress_start(bytes: &[u8], n: usize, out: &mut Vec<u8>) -> Result<()> {
    out.clear();
    out.try_reserve_exact(n)
        .map_err(|_| err!(CANNOT_ALLOCATE_MEMORY, "Cannot allocate {n} bytes for a Parquet page"))?;
    let got = lz4::unpack_start_onto(bytes, n, out).map_err(|e| broken("lz4", e))?;
    as_promised(got, n)
}

thread_local! {
    /// Its tables take longer to make than a small page to decompress.
    static ZSTD: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
}

fn unpack_zstd(bytes: &[u8], out: &mut [u8]) -> std::io::Result<usize> {
    ZSTD.with_borrow_mut(|kept| {
        let decompressor = match kept {
            Some(decompressor) => decompressor,
            None => kept.insert(zstd::bulk::Decompressor::new()?),
        };
        decompressor.decompress_to_buffer(bytes, out)
    })
}

fn as_promised(got: usize, size: usize) -> Result<()> {
    ensure!(got == size, INCORRECT_DATA, "Parquet page has {got} bytes where its header says {size}");
    Ok(())
}

fn fill(from: &mut impl Read, out: &mut [u8], codec: &str) -> Result<usize> {
    let mut got = 0;
    while got < out.len() {
        match from.read(&mut out[got..]).map_err(|e| broken(codec, e))? {
            0 => break,
            n => got += n,
        }
    }
    Ok(got)
}

/// The deprecated LZ4 means three things: Hadoop's blocks, a frame, or a bare block.
fn deprecated_lz4(bytes: &[u8], out: &mut [u8]) -> Result<usize> {
    if let Some(n) = hadoop_lz4(bytes, out) {
        return Ok(n);
    }
    if bytes.starts_with(&[0x04, 0x22, 0x4d, 0x18]) {
        return fill(&mut lz4_flex::frame::FrameDecoder::new(bytes), out, "lz4");
    }
    lz4::unpack_into(bytes, out).map_err(|e| broken("lz4", e))
}

/// Blocks that begin with two big-endian sizes: after and before decompression.
fn hadoop_lz4(mut bytes: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut at = 0usize;
    while !bytes.is_empty() {
        let size = u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
        let compressed = u32::from_be_bytes(bytes.get(4..8)?.try_into().ok()?) as usize;
        let block = bytes.get(8..8usize.checked_add(compressed)?)?;
        let room = out.get_mut(at..at.checked_add(size)?)?;
        if lz4::unpack_into(block, room).ok()? != size {
            return None;
        }
        at += size;
        bytes = &bytes[8 + compressed..];
    }
    (at == out.len()).then_some(at)
}
