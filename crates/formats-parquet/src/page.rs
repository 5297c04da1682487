//! The pages of a column chunk, one after the other; a page that is skipped is never decompressed.

use crate::codec;
use crate::snappy::Content;
use crate::thrift::{PageHeader, PageKind, page_header};
use arrow_buffer::Buffer;
use chalet_base::events::{self, Event};
use chalet_base::{Result, ensure};
use parquet::basic::Compression;

pub struct Pages {
    bytes: Buffer,
    at: usize,
    codec: Compression,
    content: Content,
    verify_checksums: bool,
    /// A buffer of a page that is done with, for the next one.
    spare: Vec<u8>,
    /// Rows before each page, and its place, where that is known.
    starts: Option<Vec<(usize, usize)>>,
}

/// A page as it lies in the file.
pub struct StoredPage {
    pub header: PageHeader,
    body: Buffer,
}

impl Pages {
    pub fn new(bytes: Buffer, codec: Compression, content: Content, verify_checksums: bool) -> Pages {
        Pages { bytes, at: 0, codec, content, verify_checksums, spare: Vec::new(), starts: None }
    }

    /// The same, where it is known which rows pages begin with.
    pub fn with_starts(self, starts: Option<Vec<(usize, usize)>>) -> Pages {
        Pages { starts, ..self }
    }

    /// Passes whole pages by, which have at most `rows` rows, without a look at them; returns how many rows they have.
    pub fn jump(&mut self, rows: usize) -> usize {
        let Some(starts) = &self.starts else { return 0 };
        let Ok(next) = starts.binary_search_by_key(&self.at, |&(_, at)| at) else { return 0 };
        let before = starts[next].0;
        let target = starts.partition_point(|&(row, _)| row <= before + rows) - 1;
        self.at = starts[target].1;
        events::add(Event::ParquetJumpedPages, (target - next) as u64);
        starts[target].0 - before
    }

    /// The next dictionary or data page; `None` at the end of the chunk.
    pub fn next(&mut self) -> Result<Option<StoredPage>> {
        while self.at < self.bytes.len() {
            let (header, used) = page_header(&self.bytes[self.at..])?;
            let start = self.at + used;
            ensure!(
                header.compressed <= self.bytes.len() - start,
                INCORRECT_DATA,
                "Parquet page of {} bytes does not fit into its column chunk",
                header.compressed
            );
            self.at = start + header.compressed;
            if header.kind != PageKind::Other {
                let body = self.bytes.slice_with_length(start, header.compressed);
                return Ok(Some(StoredPage { header, body }));
            }
        }
        Ok(None)
    }

    /// Levels (of a V2 page only) and the rest of the page, decompressed.
    pub fn load(&mut self, page: &StoredPage) -> Result<(Buffer, Buffer)> {
        let StoredPage { header, body } = page;
        self.verify(page)?;
        let levels = header.v2.map_or(0, |v2| v2.definition_bytes.saturating_add(v2.repetition_bytes));
        ensure!(
            levels <= body.len() && levels <= header.uncompressed,
            INCORRECT_DATA,
            "Levels of Parquet page are longer than the page"
        );
        let (head, rest) = (body.slice_with_length(0, levels), body.slice(levels));
        let plain = self.codec == Compression::UNCOMPRESSED || header.v2.is_some_and(|v2| !v2.is_compressed);
        // A page of NULLs only may have nothing to decompress.
        if plain || (rest.is_empty() && header.uncompressed == levels) {
            return Ok((head, rest));
        }
        let mut out = std::mem::take(&mut self.spare);
        codec::decompress(self.codec, &rest, header.uncompressed - levels, self.content, &mut out)?;
        Ok((head, Buffer::from_vec(out)))
    }

    /// At least so many bytes of the start of a page that has no levels, if that is quicker than all of it.
    pub fn load_start(&mut self, page: &StoredPage, n_bytes: usize) -> Result<Option<Buffer>> {
        self.verify(page)?;
        if self.codec == Compression::UNCOMPRESSED {
            return Ok(Some(page.body.clone()));
        }
        if self.codec != Compression::LZ4_RAW || n_bytes >= page.header.uncompressed {
            return Ok(None);
        }
        let mut out = std::mem::take(&mut self.spare);
        codec::decompress_start(&page.body, n_bytes, &mut out)?;
        Ok(Some(Buffer::from_vec(out)))
    }

    fn verify(&self, StoredPage { header, body }: &StoredPage) -> Result<()> {
        if self.verify_checksums
            && let Some(expected) = header.crc
        {
            ensure!(
                crc32fast::hash(body) == expected,
                INCORRECT_DATA,
                "Page CRC checksum verification failed"
            );
        }
        Ok(())
    }

    /// Takes the memory of a page back, if nothing else holds it.
    pub fn recycle(&mut self, page: Buffer) {
        if let Ok(memory) = page.into_vec::<u8>()
            && memory.capacity() > self.spare.capacity()
        {
            self.spare = memory;
        }
    }
}
