//! Compressed blocks: frames of LZ4 or ZSTD, each with a checksum, that follow one another without an end mark.

use chalet_base::city_hash::city_hash128;
use chalet_base::{Result, bail, ensure, err, lz4};
use chalet_formats::binary::Source;
use chalet_formats::output::Sink;
use std::io::{self, Read, Write};

/// What blocks are compressed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Method {
    None,
    #[default]
    Lz4,
    Zstd,
}

const NONE: u8 = 0x02;
const LZ4: u8 = 0x82;
const ZSTD: u8 = 0x90;

/// Method, compressed size (with these bytes), size.
const HEADER: usize = 9;
const CHECKSUM: usize = 16;
/// Bytes of a frame, compressed or not.
const MAX_FRAME: usize = 1 << 30;
/// Bytes of a block that are put in one frame.
const FRAME: usize = 1 << 20;
/// A byte of LZ4 stands for no more than 255 bytes.
const LZ4_RATIO: usize = 255;

/// Appends bytes as frames.
pub fn write_frames(out: &mut Vec<u8>, method: Method, bytes: &[u8]) -> Result<()> {
    bytes.chunks(FRAME).try_for_each(|chunk| write_frame(out, method, chunk))
}

fn write_frame(out: &mut Vec<u8>, method: Method, bytes: &[u8]) -> Result<()> {
    let (tag, packed) = match method {
        Method::None => (NONE, None),
        Method::Lz4 => {
            let packed = lz4::pack(bytes);
            (LZ4, Some(packed.map_err(|e| err!(CANNOT_COMPRESS, "Cannot compress block with LZ4: {e}"))?))
        }
        Method::Zstd => {
            let packed = zstd::bulk::compress(bytes, 1);
            (ZSTD, Some(packed.map_err(|e| err!(CANNOT_COMPRESS, "Cannot compress block with ZSTD: {e}"))?))
        }
    };
    let packed = packed.as_deref().unwrap_or(bytes);
    let start = out.len();
    out.extend([0; CHECKSUM]);
    out.push(tag);
    out.extend((packed.len() as u32 + HEADER as u32).to_le_bytes());
    out.extend((bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(packed);
    let (low, high) = city_hash128(&out[start + CHECKSUM..]);
    out[start..start + 8].copy_from_slice(&low.to_le_bytes());
    out[start + 8..start + CHECKSUM].copy_from_slice(&high.to_le_bytes());
    Ok(())
}

/// The bytes inside of frames, as the frames arrive.
pub struct Frames<'a, S> {
    from: &'a mut S,
    unpacked: &'a mut Unpacked,
}

/// Room for frames, used again for the next block.
#[derive(Default)]
pub struct Unpacked {
    frame: Vec<u8>,
    bytes: Vec<u8>,
    /// Bytes that were taken.
    at: usize,
}

/// Room of this many bytes is kept for the next block.
const KEPT: usize = 4 << 20;

impl<'a, S: Source> Frames<'a, S> {
    pub fn new(from: &'a mut S, unpacked: &'a mut Unpacked) -> Frames<'a, S> {
        unpacked.bytes.clear();
        unpacked.at = 0;
        Frames { from, unpacked }
    }

    /// Fails where bytes of the last frame are left over.
    pub fn finish(self) -> Result<()> {
        let left = self.unpacked.bytes.len() - self.unpacked.at;
        if self.unpacked.bytes.capacity() > KEPT {
            *self.unpacked = Unpacked::default();
        }
        ensure!(left == 0, INCORRECT_DATA, "{left} bytes are left behind a compressed block");
        Ok(())
    }
}

impl Unpacked {
    /// Bytes that were not taken yet.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    /// Takes so many of them.
    pub(crate) fn advance(&mut self, n: usize) {
        self.at = (self.at + n).min(self.bytes.len());
    }

    /// Adds bytes that were in no frame.
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Uses the room of what was taken again.
    pub(crate) fn compact(&mut self) {
        if self.at == self.bytes.len() && self.bytes.capacity() > KEPT {
            self.bytes = Vec::new();
        } else if self.at > 0 {
            self.bytes.drain(..self.at);
        }
        self.at = 0;
    }

    /// Adds what is in the next frame.
    pub(crate) fn read_frame(&mut self, from: &mut impl Source) -> Result<()> {
        let head: [u8; CHECKSUM + HEADER] = from.array()?;
        let (checksum, header) = head.split_at(CHECKSUM);
        let size = |at: usize| {
            u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]) as usize
        };
        let (packed_size, size) = (size(1), size(5));
        ensure!(
            (HEADER..=MAX_FRAME).contains(&packed_size),
            TOO_LARGE_SIZE_COMPRESSED,
            "Too large size_compressed: {packed_size}. Most likely corrupted data"
        );
        ensure!(
            size <= MAX_FRAME,
            TOO_LARGE_SIZE_COMPRESSED,
            "Too large size_decompressed: {size}. Most likely corrupted data"
        );
        let body = from.take(packed_size - HEADER)?;
        let Unpacked { frame, bytes, .. } = self;
        frame.clear();
        frame.extend_from_slice(header);
        frame.extend_from_slice(body);
        let (low, high) = city_hash128(frame);
        let expected = u128::from_le_bytes(checksum.try_into().unwrap_or_default());
        let actual = u128::from(high) << 64 | u128::from(low);
        ensure!(
            actual == expected,
            CHECKSUM_DOESNT_MATCH,
            "Checksum doesn't match: corrupted data. Reference: {expected:032x}. Actual: {actual:032x}. Size of \
             compressed block: {packed_size}"
        );
        unpack(frame[0], &frame[HEADER..], size, bytes)
    }
}

/// Appends what is packed, which is to be of this size.
fn unpack(method: u8, packed: &[u8], size: usize, to: &mut Vec<u8>) -> Result<()> {
    let start = to.len();
    match method {
        NONE => to.extend_from_slice(packed),
        LZ4 => {
            // Before memory is asked for: a short frame may claim any size.
            ensure!(
                size <= packed.len().saturating_mul(LZ4_RATIO),
                CANNOT_DECOMPRESS,
                "Cannot decompress: {} bytes of LZ4 cannot stand for {size}",
                packed.len()
            );
            to.resize(start + size, 0);
            let n = lz4::unpack_into(packed, &mut to[start..]);
            let n = n.map_err(|e| err!(CANNOT_DECOMPRESS, "Cannot decompress LZ4: {e}"))?;
            to.truncate(start + n);
        }
        ZSTD => {
            let decoder = zstd::Decoder::with_buffer(packed);
            let mut decoder = decoder.map_err(|e| err!(CANNOT_DECOMPRESS, "Cannot decompress ZSTD: {e}"))?;
            let read = (&mut decoder).take(size as u64 + 1).read_to_end(to);
            read.map_err(|e| err!(CANNOT_DECOMPRESS, "Cannot decompress ZSTD: {e}"))?;
        }
        other => bail!(UNKNOWN_COMPRESSION_METHOD, "Unknown codec family code: {other}"),
    }
    let actual = to.len() - start;
    ensure!(actual == size, CANNOT_DECOMPRESS, "Cannot decompress: {actual} bytes instead of {size}");
    Ok(())
}

impl<S: Source> Source for Frames<'_, S> {
    #[inline]
    fn take(&mut self, n: usize) -> Result<&[u8]> {
        while self.unpacked.bytes.len() - self.unpacked.at < n {
            if self.unpacked.at > 0 {
                self.unpacked.bytes.drain(..self.unpacked.at);
                self.unpacked.at = 0;
            }
            self.unpacked.read_frame(&mut *self.from)?;
        }
        let at = self.unpacked.at;
        self.unpacked.at += n;
        Ok(&self.unpacked.bytes[at..at + n])
    }

    fn at_most(&self) -> usize {
        self.from.at_most()
    }

    fn at_hand(&self) -> &[u8] {
        &self.unpacked.bytes[self.unpacked.at..]
    }
}

/// The bytes inside of frames that follow one another to the end of a stream.
pub struct FrameReader<R> {
    from: Packed<R>,
    unpacked: Unpacked,
}

/// A stream as a source.
struct Packed<R> {
    stream: R,
    /// A byte that was looked at.
    taken: Vec<u8>,
    /// What the last call gave.
    spent: Vec<u8>,
}

impl<R: Read> FrameReader<R> {
    pub fn new(stream: R) -> FrameReader<R> {
        FrameReader {
            from: Packed { stream, taken: Vec::new(), spent: Vec::new() },
            unpacked: Unpacked::default(),
        }
    }
}

impl<R: Read> Read for FrameReader<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while self.unpacked.at == self.unpacked.bytes.len() {
            self.unpacked.bytes.clear();
            self.unpacked.at = 0;
            let mut first = [0];
            // Frames end where the stream does.
            if to.is_empty() || self.from.stream.read(&mut first)? == 0 {
                return Ok(0);
            }
            self.from.taken.clear();
            self.from.taken.push(first[0]);
            self.unpacked.read_frame(&mut self.from).map_err(io::Error::other)?;
        }
        let left = &self.unpacked.bytes[self.unpacked.at..];
        let n = left.len().min(to.len());
        to[..n].copy_from_slice(&left[..n]);
        self.unpacked.at += n;
        Ok(n)
    }
}

impl<R: Read> Source for Packed<R> {
    fn take(&mut self, n: usize) -> Result<&[u8]> {
        self.spent.clear();
        self.spent.append(&mut self.taken);
        let wanted = n.saturating_sub(self.spent.len()) as u64;
        let read = (&mut self.stream).take(wanted).read_to_end(&mut self.spent);
        read.map_err(|e| err!(CANNOT_READ_ALL_DATA, "Cannot read compressed data: {e}"))?;
        ensure!(self.spent.len() == n, CANNOT_READ_ALL_DATA, "Cannot read all data of a compressed block");
        Ok(&self.spent)
    }

    fn at_most(&self) -> usize {
        usize::MAX
    }

    fn at_hand(&self) -> &[u8] {
        &self.taken
    }
}

/// A sink that puts what is written into frames.
pub struct FrameWriter<W: Write> {
    to: W,
    method: Method,
    bytes: Vec<u8>,
}

impl<W: Write> FrameWriter<W> {
    pub fn new(to: W, method: Method) -> FrameWriter<W> {
        FrameWriter { to, method, bytes: Vec::new() }
    }

    /// Writes the last frame.
    pub fn into_inner(mut self) -> io::Result<W> {
        self.pass_on()?;
        Ok(self.to)
    }

    fn pass_on(&mut self) -> io::Result<()> {
        let mut frames = Vec::new();
        write_frames(&mut frames, self.method, &self.bytes).map_err(io::Error::other)?;
        self.bytes.clear();
        self.to.write_all(&frames)
    }
}

impl<W: Write> Write for FrameWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() >= FRAME {
            self.pass_on()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pass_on()?;
        self.to.flush()
    }
}

impl<W: Write + Send> Sink for FrameWriter<W> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_frames() {
        let plain: Vec<u8> = (0..3_000_000u32).map(|i| (i / 7 % 251) as u8).collect();
        for method in [Method::None, Method::Lz4, Method::Zstd] {
            let mut writer = FrameWriter::new(Vec::new(), method);
            plain.chunks(70_001).for_each(|piece| writer.write_all(piece).unwrap());
            writer.flush().unwrap();
            let packed = writer.to;
            let mut back = Vec::new();
            FrameReader::new(&packed[..]).read_to_end(&mut back).unwrap();
            assert!(back == plain, "{method:?}");
            let mut damaged = packed.clone();
            damaged[100] ^= 1;
            assert!(FrameReader::new(&damaged[..]).read_to_end(&mut back).is_err());
            assert!(FrameReader::new(&packed[..packed.len() - 1]).read_to_end(&mut back).is_err());
        }
    }
}
