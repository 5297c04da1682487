//! `ParquetFile`: an opened file: its bytes, its footer, its columns.

use crate::cache;
use crate::parquet_error;
use crate::schema::{self, Field};
use crate::thrift::{NULL_PAGES, check_struct};
use crate::zones::Zones;
use arrow_buffer::Buffer;
use bytes::Bytes;
use chalet_base::{Result, bail, ensure, err};
use chalet_formats::FileIdentity;
use chalet_formats::input::Verify;
use chalet_memory::guard::guarded_reading;
use chalet_types::DataType;
use parquet::file::metadata::{ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::page_index::offset_index::PageLocation;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Cheap to share: readers of many row groups hold the same one.
pub struct ParquetFile {
    bytes: Buffer,
    footer: Arc<Footer>,
    /// For what is kept of the file beyond one reading of it.
    pub(crate) identity: Option<Arc<FileIdentity>>,
    verify_checksums: bool,
    /// Of the bytes of the file as such.
    verify: Option<Verify>,
}

/// What a footer says; the same for every opening of a file that has not changed.
pub(crate) struct Footer {
    metadata: ParquetMetaData,
    columns: Vec<(String, Result<Field>)>,
    /// Read when first asked for; `None` where the file has none that can be read.
    page_index: OnceLock<Option<ParquetMetaData>>,
    /// By column, those that were asked for; small beside what is held anyway.
    zones: Vec<OnceLock<Option<Zones>>>,
    /// Bytes held, without the page index.
    memory: usize,
    /// Bytes of the page index, which takes longer to weigh than to use.
    index_memory: OnceLock<usize>,
}

const MAGIC: &[u8; 4] = b"PAR1";
/// Length of the footer and magic bytes.
const TAIL: usize = 8;

impl Footer {
    fn parse(bytes: &[u8]) -> Result<Footer> {
        let footer = footer_range(bytes)?;
        check_struct(&bytes[footer.clone()], None)?;
        let metadata = guarded(|| {
            ParquetMetaDataReader::decode_metadata(&bytes[footer.clone()]).map_err(|e| {
                err!(INCORRECT_DATA, "Failed to parse Parquet metadata from {} bytes: {e}", footer.len())
            })
        })?;
        let schema = metadata.file_metadata().schema_descr();
        let n_leaves = schema.num_columns();
        for group in metadata.row_groups() {
            ensure!(
                group.columns().len() == n_leaves && group.num_rows() >= 0,
                INCORRECT_DATA,
                "Parquet row group has {} columns and {} rows, the schema {n_leaves} columns",
                group.columns().len(),
                group.num_rows()
            );
        }
        let columns = schema::columns(schema.root_schema(), false);
        // A field is its name, its type and its levels.
        let memory = metadata.memory_size() + columns.len() * 256;
        let zones = columns.iter().map(|_| OnceLock::new()).collect();
        let (page_index, index_memory) = (OnceLock::new(), OnceLock::new());
        Ok(Footer { metadata, columns, page_index, zones, memory, index_memory })
    }

    /// Bytes held now.
    pub(crate) fn memory(&self) -> usize {
        let Some(index) = self.page_index.get() else { return self.memory };
        let weigh = || index.as_ref().map_or(0, ParquetMetaData::memory_size);
        self.memory + *self.index_memory.get_or_init(weigh)
    }
}

impl ParquetFile {
    pub fn open(bytes: Buffer) -> Result<Arc<ParquetFile>> {
        ParquetFile::open_with(bytes, None, None)
    }

    /// Opens a file whose footer may be known from before, and whose bytes may have checksums.
    pub fn open_with(
        bytes: Buffer,
        identity: Option<Arc<FileIdentity>>,
        verify: Option<Verify>,
    ) -> Result<Arc<ParquetFile>> {
        let parse = || {
            if let Some(verify) = &verify {
                verify(bytes.len().saturating_sub(TAIL)..bytes.len())?;
                verify(footer_range(&bytes)?)?;
            }
            Footer::parse(&bytes)
        };
        let footer = match identity.clone() {
            Some(identity) => cache::footer(identity, parse)?,
            None => parse()?.into(),
        };
        Ok(Arc::new(ParquetFile { bytes, footer, identity, verify_checksums: true, verify }))
    }

    /// Fails where the bytes of a range are known to be damaged.
    pub(crate) fn verify(&self, range: Range<usize>) -> Result<()> {
        self.verify.as_ref().map_or(Ok(()), |verify| verify(range))
    }

    /// Opens a file whose footer may be known from before (`use_parquet_metadata_cache`).
    pub fn open_known(bytes: Buffer, identity: Arc<FileIdentity>) -> Result<Arc<ParquetFile>> {
        ParquetFile::open_with(bytes, Some(identity), None)
    }

    /// Maps a file of the disk into memory and opens it.
    pub fn open_path(path: &std::path::Path, use_cache: bool) -> Result<Arc<ParquetFile>> {
        let cannot = |e: std::io::Error| err!(CANNOT_OPEN_FILE, "Cannot open file {}: {e}", path.display());
        let file = std::fs::File::open(path).map_err(cannot)?;
        // SAFETY: the map is only read. Whoever truncates the file while it is read gets a signal from the system,
        // as with every reader that maps files.
        let map = unsafe { memmap2::Mmap::map(&file) }.map_err(cannot)?;
        let bytes = Buffer::from(Bytes::from_owner(map));
        let identity = file.metadata().ok().and_then(|metadata| FileIdentity::of(path, &metadata));
        match identity {
            Some(identity) if use_cache => ParquetFile::open_known(bytes, identity.into()),
            _ => ParquetFile::open(bytes),
        }
    }

    /// Whether pages with a checksum are compared with it (`input_format_parquet_verify_checksums`), and dictionaries kept for the next
    /// reading.
    pub fn with(self: Arc<Self>, verify_checksums: bool, keep_dictionaries: bool) -> Arc<Self> {
        if self.verify_checksums == verify_checksums && keep_dictionaries {
            return self;
        }
        Arc::new(ParquetFile {
            bytes: self.bytes.clone(),
            footer: self.footer.clone(),
            identity: self.identity.clone().filter(|_| keep_dictionaries),
            verify_checksums,
            verify: self.verify.clone(),
        })
    }

    pub(crate) fn verifies_checksums(&self) -> bool {
        self.verify_checksums
    }

    pub fn metadata(&self) -> &ParquetMetaData {
        &self.footer.metadata
    }

    /// Names and types; an error where a column has a type that is not supported, unless those are to be left out.
    pub fn schema(&self, skip_unsupported: bool) -> Result<Vec<(String, DataType)>> {
        names_and_types(&self.footer.columns, skip_unsupported)
    }

    /// The same with type JSON where texts are annotated so.
    pub fn schema_with_json(&self, skip_unsupported: bool) -> Result<Vec<(String, DataType)>> {
        let root = self.footer.metadata.file_metadata().schema_descr().root_schema();
        names_and_types(&schema::columns(root, true), skip_unsupported)
    }

    /// Number of columns, those of unsupported types included.
    pub fn n_columns(&self) -> usize {
        self.footer.columns.len()
    }

    pub fn column_name(&self, index: usize) -> &str {
        &self.footer.columns[index].0
    }

    /// The position of a column by name.
    pub fn column_index(&self, name: &str, ignore_case: bool) -> Option<usize> {
        let exact = self.footer.columns.iter().position(|(n, _)| n == name);
        exact.or_else(|| {
            let folded = |n: &str| ignore_case && n.eq_ignore_ascii_case(name);
            self.footer.columns.iter().position(|(n, _)| folded(n))
        })
    }

    pub fn column(&self, index: usize) -> Result<&Field> {
        match self.footer.columns.get(index) {
            Some((_, Ok(field))) => Ok(field),
            Some((_, Err(error))) => Err(error.clone()),
            None => bail!(LOGICAL_ERROR, "Parquet file has no column {index}"),
        }
    }

    /// Kept for all who read the file, by column.
    pub(crate) fn footer_zones(&self) -> &[OnceLock<Option<Zones>>] {
        &self.footer.zones
    }

    pub fn n_row_groups(&self) -> usize {
        self.footer.metadata.num_row_groups()
    }

    /// Rows of one row group.
    pub fn row_group_rows(&self, group: usize) -> usize {
        self.footer.metadata.row_group(group).num_rows() as usize
    }

    /// `count()` of the file.
    pub fn n_rows(&self) -> u64 {
        self.footer.metadata.row_groups().iter().map(|group| group.num_rows() as u64).sum()
    }

    /// Bytes that a column occupies in a row group, compressed.
    pub fn compressed_bytes(&self, group: usize, column: usize) -> u64 {
        let Ok(field) = self.column(column) else { return 0 };
        let mut leaves = Vec::new();
        field.node.leaves(&mut leaves);
        let sizes = leaves.iter().map(|leaf| self.chunk(group, leaf.index).compressed_size());
        sizes.map(|size| size.max(0) as u64).sum()
    }

    pub fn chunk(&self, group: usize, leaf: usize) -> &ColumnChunkMetaData {
        self.footer.metadata.row_group(group).column(leaf)
    }

    /// The pages of a column chunk.
    pub(crate) fn chunk_bytes(&self, group: usize, leaf: usize) -> Result<Buffer> {
        let chunk = self.chunk(group, leaf);
        ensure!(
            chunk.file_path().is_none(),
            NOT_IMPLEMENTED,
            "Parquet files whose columns are in other files are not supported"
        );
        let start = first_page(chunk);
        let range = self.range(start, chunk.compressed_size());
        let Some(range) = range else {
            bail!(
                INCORRECT_DATA,
                "Parquet column chunk at {start} of {} bytes lies outside of the file",
                chunk.compressed_size()
            );
        };
        self.verify(range.clone())?;
        Ok(self.bytes.slice_with_length(range.start, range.len()))
    }

    /// A part of the file, if it lies inside.
    pub(crate) fn range(&self, start: i64, len: i64) -> Option<Range<usize>> {
        let (start, len) = (usize::try_from(start).ok()?, usize::try_from(len).ok()?);
        let end = start.checked_add(len).filter(|&end| end <= self.bytes.len())?;
        Some(start..end)
    }

    pub(crate) fn bytes(&self) -> &Buffer {
        &self.bytes
    }

    /// Where the pages of a column chunk of flat values begin: rows before each, and its place among the bytes of the chunk. None where
    /// nobody has asked for the page index, or it makes no sense.
    pub(crate) fn page_starts(&self, group: usize, leaf: usize) -> Option<Vec<(usize, usize)>> {
        let index = self.footer.page_index.get()?.as_ref()?;
        let indexed = index.page_index_for_row_group(group);
        let locations = indexed.offset_index(leaf)?.page_locations().iter();
        let chunk = self.chunk(group, leaf);
        let start = first_page(chunk);
        let len = usize::try_from(chunk.compressed_size()).ok()?;
        let place = |page: &PageLocation| {
            let at = page.offset.checked_sub(start)?;
            Some((usize::try_from(page.first_row_index).ok()?, usize::try_from(at).ok()?))
        };
        let starts = locations.map(place).collect::<Option<Vec<_>>>()?;
        let ascends = starts.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1);
        let is_inside = starts.last().is_some_and(|&(row, at)| row < self.row_group_rows(group) && at < len);
        (ascends && is_inside && starts[0].0 == 0).then_some(starts)
    }

    /// The metadata with column and offset indexes, when the file has them.
    pub(crate) fn page_index(&self) -> Option<&ParquetMetaData> {
        let load = || {
            let chunks = || self.footer.metadata.row_groups().iter().flat_map(|g| g.columns());
            chunks().find(|chunk| chunk.offset_index_offset().is_some())?;
            let place = |at: Option<i64>, len: Option<i32>| {
                let at = usize::try_from(at?).ok()?;
                let range = at..at.checked_add(usize::try_from(len?).ok()?)?;
                self.verify(range.clone()).ok()?;
                self.bytes.get(range)
            };
            for chunk in chunks() {
                if let Some(index) = place(chunk.column_index_offset(), chunk.column_index_length()) {
                    check_struct(index, Some(NULL_PAGES)).ok()?;
                }
                if let Some(index) = place(chunk.offset_index_offset(), chunk.offset_index_length()) {
                    check_struct(index, None).ok()?;
                }
            }
            let whole = Bytes::from(self.bytes.clone());
            guarded(|| {
                let mut reader = ParquetMetaDataReader::new_with_metadata(self.footer.metadata.clone())
                    .with_page_index_policy(PageIndexPolicy::Optional);
                reader.read_page_indexes(&whole).map_err(parquet_error)?;
                reader.finish().map_err(parquet_error)
            })
            .ok()
        };
        self.footer.page_index.get_or_init(load).as_ref()
    }
}

/// Where the pages of a column chunk begin in the file.
fn first_page(chunk: &ColumnChunkMetaData) -> i64 {
    // Writers that know no dictionary put 0 there.
    let data = chunk.data_page_offset();
    chunk.dictionary_page_offset().filter(|&at| at > 0 && at < data).unwrap_or(data)
}

fn footer_range(bytes: &[u8]) -> Result<Range<usize>> {
    ensure!(
        bytes.len() >= MAGIC.len() + TAIL && bytes.ends_with(MAGIC),
        INCORRECT_DATA,
        "Not a Parquet file (wrong magic bytes at the end of file)"
    );
    let tail = bytes.len() - TAIL;
    let len = u32::from_le_bytes([bytes[tail], bytes[tail + 1], bytes[tail + 2], bytes[tail + 3]]) as usize;
    ensure!(
        (1..=tail - MAGIC.len()).contains(&len),
        INCORRECT_DATA,
        "Bad metadata size in parquet file: {len} bytes"
    );
    Ok(tail - len..tail)
}

/// Runs code of the metadata library over bytes that may be anything.
pub(crate) fn guarded<T>(run: impl FnOnce() -> Result<T>) -> Result<T> {
    guarded_reading(run, || err!(INCORRECT_DATA, "Failed to parse Parquet metadata: it makes no sense"))
}

fn names_and_types(
    columns: &[(String, Result<schema::Field>)],
    skip_unsupported: bool,
) -> Result<Vec<(String, DataType)>> {
    let mut known = Vec::with_capacity(columns.len());
    for (name, column) in columns {
        match column {
            Ok(field) => known.push((name.clone(), field.ty.clone())),
            Err(_) if skip_unsupported => {}
            Err(error) => return Err(error.clone()),
        }
    }
    Ok(known)
}
