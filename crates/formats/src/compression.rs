//! Compressed bytes: which method a file suffix or a name means, and streams through it.

use crate::output::Sink;
use chalet_base::{Result, bail, err};
use std::io::{self, Read, Write};

/// A method of compression of whole files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    None,
    Gzip,
    /// The zlib container.
    Deflate,
    Brotli,
    Xz,
    Zstd,
    /// The LZ4 frame container.
    Lz4,
    Bz2,
    /// Blocks of raw Snappy behind big-endian lengths, as Hadoop writes them.
    Snappy,
}

use Compression::*;

const SUFFIXES: &[(&str, Compression)] = &[
    (".gz", Gzip),
    (".gzip", Gzip),
    (".deflate", Deflate),
    (".br", Brotli),
    (".brotli", Brotli),
    (".xz", Xz),
    (".lzma", Xz),
    (".zst", Zstd),
    (".zstd", Zstd),
    (".lz4", Lz4),
    (".bz2", Bz2),
    (".snappy", Snappy),
];

impl Compression {
    /// What the suffix of a path means.
    pub fn of_path(path: &str) -> Compression {
        SUFFIXES.iter().find(|(suffix, _)| ends_with(path, suffix)).map_or(None, |found| found.1)
    }

    /// The path without the suffix of this method.
    pub fn strip_suffix(self, path: &str) -> &str {
        let found = SUFFIXES.iter().find(|(suffix, method)| *method == self && ends_with(path, suffix));
        found.map_or(path, |(suffix, _)| &path[..path.len() - suffix.len()])
    }

    /// A method by the name that a query gives; `auto` and nothing follow the path.
    pub fn named(name: &str, path: &str) -> Result<Compression> {
        Ok(match name.to_ascii_lowercase().as_str() {
            "" | "auto" => Compression::of_path(path),
            "none" => None,
            "gzip" | "gz" => Gzip,
            "deflate" => Deflate,
            "brotli" | "br" => Brotli,
            "lzma" | "xz" => Xz,
            "zstd" | "zst" => Zstd,
            "lz4" => Lz4,
            "bz2" => Bz2,
            "snappy" => Snappy,
            _ => bail!(
                NOT_IMPLEMENTED,
                "Unknown compression method '{name}'. Only 'auto', 'none', 'gzip', 'deflate', 'br', 'xz', 'zstd', \
                 'lz4', 'bz2', 'snappy' are supported as compression methods"
            ),
        })
    }

    /// The plain bytes of a compressed stream.
    pub fn reader(self, from: Box<dyn Read + Send>) -> Result<Box<dyn Read + Send>> {
        if self == None {
            return Ok(from);
        }
        Ok(Box::new(Decoder { plain: self.decoder(from)?, method: self }))
    }

    fn decoder(self, from: Box<dyn Read + Send>) -> Result<Box<dyn Read + Send>> {
        Ok(match self {
            None => from,
            Gzip => Box::new(flate2::read::MultiGzDecoder::new(from)),
            Deflate => Box::new(flate2::read::ZlibDecoder::new(from)),
            Brotli => Box::new(brotli::Decompressor::new(from, 1 << 16)),
            Xz => Box::new(liblzma::read::XzDecoder::new_stream(
                from,
                liblzma::stream::Stream::new_auto_decoder(u64::MAX, liblzma::stream::CONCATENATED)
                    .map_err(|e| err!(CANNOT_DECOMPRESS, "Cannot start lzma decoder: {e}"))?,
            )),
            Zstd => Box::new(
                zstd::Decoder::new(from)
                    .map_err(|e| err!(CANNOT_DECOMPRESS, "Cannot start zstd decoder: {e}"))?,
            ),
            Lz4 => Box::new(lz4_flex::frame::FrameDecoder::new(from)),
            Bz2 => Box::new(bzip2::read::MultiBzDecoder::new(from)),
            Snappy => Box::new(HadoopSnappy { from, plain: Vec::new(), at: 0, left_in_block: 0 }),
        })
    }

    /// A sink that compresses into another. `level` as the method counts it.
    pub fn writer(self, to: Box<dyn Sink>, level: u32) -> Result<Box<dyn Sink>> {
        let flate = flate2::Compression::new(level.min(9));
        let held = match self {
            None => return Ok(to),
            Gzip => Encoder::Gzip(flate2::write::GzEncoder::new(to, flate)),
            Deflate => Encoder::Deflate(flate2::write::ZlibEncoder::new(to, flate)),
            Brotli => {
                Encoder::Brotli(Box::new(brotli::CompressorWriter::new(to, 1 << 16, level.min(11), 22)))
            }
            Xz => Encoder::Xz(liblzma::write::XzEncoder::new(to, level.min(9))),
            Zstd => Encoder::Zstd(
                zstd::Encoder::new(to, level.min(22) as i32)
                    .map_err(|e| err!(CANNOT_COMPRESS, "Cannot start zstd encoder: {e}"))?,
            ),
            Lz4 => Encoder::Lz4(lz4_flex::frame::FrameEncoder::new(to)),
            Bz2 => Encoder::Bz2(bzip2::write::BzEncoder::new(to, bzip2::Compression::new(level.clamp(1, 9)))),
            Snappy => Encoder::Snappy(SnappyEncoder { to, plain: Vec::with_capacity(SNAPPY_BLOCK) }),
        };
        Ok(Box::new(Compressor(Some(held))))
    }
}

fn ends_with(path: &str, suffix: &str) -> bool {
    path.len() >= suffix.len()
        && path.as_bytes()[path.len() - suffix.len()..].eq_ignore_ascii_case(suffix.as_bytes())
}

/// A compressing sink; empty once closed.
struct Compressor(Option<Encoder>);

enum Encoder {
    Gzip(flate2::write::GzEncoder<Box<dyn Sink>>),
    Deflate(flate2::write::ZlibEncoder<Box<dyn Sink>>),
    Brotli(Box<brotli::CompressorWriter<Box<dyn Sink>>>),
    Xz(liblzma::write::XzEncoder<Box<dyn Sink>>),
    Zstd(zstd::Encoder<'static, Box<dyn Sink>>),
    Lz4(lz4_flex::frame::FrameEncoder<Box<dyn Sink>>),
    Bz2(bzip2::write::BzEncoder<Box<dyn Sink>>),
    Snappy(SnappyEncoder),
}

/// Plain bytes of a block of Snappy that is written.
const SNAPPY_BLOCK: usize = 1 << 16;

/// Writes what [`HadoopSnappy`] reads, a chunk a block.
struct SnappyEncoder {
    to: Box<dyn Sink>,
    plain: Vec<u8>,
}

impl SnappyEncoder {
    fn put_block(&mut self) -> io::Result<()> {
        if self.plain.is_empty() {
            return Ok(());
        }
        let packed = snap::raw::Encoder::new().compress_vec(&self.plain).map_err(io::Error::other)?;
        // Both are far below the range of four bytes.
        for length in [self.plain.len(), packed.len()] {
            self.to.write_all(&(length as u32).to_be_bytes())?;
        }
        self.plain.clear();
        self.to.write_all(&packed)
    }

    fn finish(mut self) -> io::Result<Box<dyn Sink>> {
        self.put_block()?;
        Ok(self.to)
    }
}

impl Write for SnappyEncoder {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(SNAPPY_BLOCK - self.plain.len());
        self.plain.extend_from_slice(&bytes[..taken]);
        if self.plain.len() == SNAPPY_BLOCK {
            self.put_block()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.put_block()?;
        self.to.flush()
    }
}

impl Compressor {
    fn open(&mut self) -> io::Result<&mut dyn Write> {
        Ok(match &mut self.0 {
            Some(Encoder::Gzip(e)) => e,
            Some(Encoder::Deflate(e)) => e,
            Some(Encoder::Brotli(e)) => e,
            Some(Encoder::Xz(e)) => e,
            Some(Encoder::Zstd(e)) => e,
            Some(Encoder::Lz4(e)) => e,
            Some(Encoder::Bz2(e)) => e,
            Some(Encoder::Snappy(e)) => e,
            Option::None => return Err(io::Error::other("the stream is closed")),
        })
    }
}

impl Write for Compressor {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.open()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.open()?.flush()
    }
}

impl Sink for Compressor {
    fn close(&mut self) -> io::Result<()> {
        let Some(encoder) = self.0.take() else { return Ok(()) };
        let mut below = match encoder {
            Encoder::Gzip(e) => e.finish()?,
            Encoder::Deflate(e) => e.finish()?,
            Encoder::Brotli(mut e) => {
                e.flush()?;
                e.into_inner()
            }
            Encoder::Xz(e) => e.finish()?,
            Encoder::Zstd(e) => e.finish()?,
            Encoder::Lz4(e) => e.finish()?,
            Encoder::Bz2(e) => e.finish()?,
            Encoder::Snappy(e) => e.finish()?,
        };
        below.close()
    }
}

/// A decompressing stream whose errors have the kernel's codes.
struct Decoder {
    plain: Box<dyn Read + Send>,
    method: Compression,
}

impl Read for Decoder {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.plain.read(out).map_err(|error| {
            if error.kind() == io::ErrorKind::Interrupted {
                return error;
            }
            io::Error::other(match self.method {
                Gzip | Deflate => err!(ZLIB_INFLATE_FAILED, "inflate failed: {error}"),
                Brotli => err!(BROTLI_READ_FAILED, "brotli decode error: {error}"),
                Xz => err!(LZMA_STREAM_DECODER_FAILED, "lzma decoder failed: {error}"),
                Zstd => err!(ZSTD_DECODER_FAILED, "ZSTD stream decoding failed: {error}"),
                Lz4 => err!(LZ4_DECODER_FAILED, "LZ4 decompression failed: {error}"),
                Bz2 => err!(BZIP2_STREAM_DECODER_FAILED, "bzip2 stream decoder failed: {error}"),
                None | Snappy => err!(CANNOT_DECOMPRESS, "Cannot decompress: {error}"),
            })
        })
    }
}

/// Reads blocks of `[plain length][compressed length, compressed bytes]...`, lengths big-endian.
struct HadoopSnappy {
    from: Box<dyn Read + Send>,
    plain: Vec<u8>,
    at: usize,
    left_in_block: usize,
}

/// A longer chunk than this is taken for damage.
const MAX_SNAPPY_CHUNK: usize = 1 << 28;

impl HadoopSnappy {
    /// A length, or nothing at the end of the stream.
    fn length(&mut self) -> io::Result<Option<usize>> {
        let mut bytes = [0u8; 4];
        let mut got = 0;
        while got < 4 {
            match self.from.read(&mut bytes[got..])? {
                0 if got == 0 => return Ok(Option::None),
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => got += n,
            }
        }
        match u32::from_be_bytes(bytes) as usize {
            n if n <= MAX_SNAPPY_CHUNK => Ok(Some(n)),
            n => Err(io::Error::other(format!("snappy chunk of {n} bytes"))),
        }
    }

    fn next_chunk(&mut self) -> io::Result<bool> {
        while self.left_in_block == 0 {
            match self.length()? {
                Some(n) => self.left_in_block = n,
                Option::None => return Ok(false),
            }
        }
        let n = self.length()?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut packed = Vec::new();
        if (&mut self.from).take(n as u64).read_to_end(&mut packed)? < n {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.plain = snap::raw::Decoder::new().decompress_vec(&packed).map_err(io::Error::other)?;
        self.at = 0;
        self.left_in_block = self
            .left_in_block
            .checked_sub(self.plain.len())
            .ok_or_else(|| io::Error::other("snappy chunk longer than its block"))?;
        Ok(true)
    }
}

impl Read for HadoopSnappy {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at == self.plain.len() {
            if !self.next_chunk()? {
                return Ok(0);
            }
        }
        let n = out.len().min(self.plain.len() - self.at);
        out[..n].copy_from_slice(&self.plain[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Memory;

    #[test]
    fn what_is_written_is_read() {
        let plain: Vec<u8> = (0..100_000u32).flat_map(|i| (i % 977).to_le_bytes()).collect();
        for method in [None, Gzip, Deflate, Brotli, Xz, Zstd, Lz4, Bz2] {
            let memory = Memory::default();
            let mut sink = method.writer(Box::new(memory.clone()), 3).unwrap();
            sink.write_all(&plain).unwrap();
            sink.close().unwrap();
            let packed = memory.take();
            let mut back = Vec::new();
            let damaged = io::Cursor::new(packed[..packed.len() / 2].to_vec());
            method.reader(Box::new(io::Cursor::new(packed))).unwrap().read_to_end(&mut back).unwrap();
            assert!(back == plain, "{method:?}");
            if method != None {
                assert!(
                    method.reader(Box::new(damaged)).unwrap().read_to_end(&mut back).is_err(),
                    "{method:?}"
                );
            }
        }
    }

    #[test]
    fn suffixes() {
        assert_eq!(Compression::of_path("a/b.CSV.GZ"), Gzip);
        assert_eq!(Gzip.strip_suffix("b.CSV.GZ"), "b.CSV");
        assert_eq!(Compression::of_path("b.csv"), None);
        assert_eq!(Compression::named("auto", "x.br").unwrap(), Brotli);
        assert_eq!(Compression::named("foo", "").unwrap_err().code().number, 48);
    }
}
