//! Files of parts: Parquet, written once.

use super::checksums::{Checksummer, Checksums};
use super::columns::ColumnsVersion;
use super::definition::Definition;
use super::stored_type::{stored_type, to_stored};
use crate::TableSchema;
use crate::disk::TableFolder;
use crate::disk::durable::cannot_write;
use crate::disk::fs::{self, Access, File, SequentialWriter};
use chalet_base::{Result, bail, err};
use chalet_columns::{Block, Column, Data, Vector};
use chalet_formats::settings::ParquetCompression;
use chalet_formats::{BlockWriter, FormatSettings, PageCodec, Sink, Statistics, WriteRequest};
use chalet_types::DataType;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The path of the part of this number.
pub(super) fn path_of(folder: &TableFolder, number: u64) -> PathBuf {
    folder.path().join(format!("{number}.parquet"))
}

/// The number of a part, by the name of its file.
pub(super) fn number_of(name: &str) -> Option<u64> {
    name.strip_suffix(".parquet")?.parse().ok()
}

/// Names and types of the columns in the file.
pub(super) fn structure(columns: &ColumnsVersion) -> Result<Vec<(String, DataType)>> {
    let columns = columns.columns.iter().map(|column| match stored_type(&column.ty) {
        Some(ty) => Ok((column.name.to_string(), ty)),
        None => bail!(
            NOT_IMPLEMENTED,
            "Column {} of type {} cannot be kept by a table of the MergeTree family",
            column.name,
            column.ty
        ),
    });
    columns.collect()
}

/// The name of the column of a file, behind those of the table, that has the lengths of the strings of another.
pub(super) fn lengths_of(column: &str) -> String {
    format!("{column}.size")
}

/// Bytes of a string on average from which on its length is kept beside it, in about one byte.
const LENGTHS_FROM: usize = 16;

/// The stored columns whose lengths are to be kept, by what the first rows look like.
fn columns_with_lengths(columns: &ColumnsVersion, sample: &[Block]) -> Vec<usize> {
    let is_long = |column: &usize| {
        let of_block = |block: &Block| match &block.column(*column).flat().data {
            Data::Str(strings) => strings.total_bytes(),
            _ => 0,
        };
        let bytes: usize = sample.iter().map(of_block).sum();
        let rows: usize = sample.iter().map(Block::n_rows).sum();
        bytes >= LENGTHS_FROM * rows.max(1)
    };
    let is_string = |ty: &DataType| *ty == DataType::String || *ty == DataType::String.nullable();
    (0..columns.columns.len()).filter(|&at| is_string(&columns.columns[at].ty)).filter(is_long).collect()
}

/// The lengths of a column of strings.
fn lengths(column: &Column) -> Result<Column> {
    let vector = column.flat();
    let Data::Str(strings) = &vector.data else { bail!(LOGICAL_ERROR, "A column has no lengths") };
    let lengths: Vec<u32> = strings.views().iter().map(|view| *view as u32).collect();
    Ok(Vector::new(Data::U32(lengths.into()), vector.validity.clone()).into())
}

/// Granules of a row group: what a scan hands to a worker at once, and what shares a dictionary.
const GRANULES_PER_GROUP: usize = 16;
/// Bytes of a row group in memory, at most.
const GROUP_BYTES: u64 = 256 << 20;

/// Bytes of the dictionary of a column in a row group, at most; what does not go into it is written plainly.
const DICTIONARY_BYTES: u64 = 32 << 20;

/// How files of parts are laid out, whatever the settings of a statement say of Parquet.
fn settings(granularity: usize) -> FormatSettings {
    FormatSettings {
        output_format_parquet_row_group_size: granularity.max(1).saturating_mul(GRANULES_PER_GROUP) as u64,
        output_format_parquet_row_group_size_bytes: GROUP_BYTES,
        output_format_parquet_compression_method: ParquetCompression::Lz4,
        output_format_parquet_write_bloom_filter: false,
        output_format_parquet_max_dictionary_size: DICTIONARY_BYTES,
        ..FormatSettings::default()
    }
}

/// How the column of a name is compressed, by its declaration: what prepares values for a codec is left to the file, which finds out
/// which way is small.
fn codec(schema: &TableSchema, column: &str) -> PageCodec {
    let declared = schema.index_of(column).map_or("", |at| &*schema.columns[at].codec);
    match declared.split(", ").next() {
        Some("NONE") => return PageCodec::None,
        Some("ALP") => return PageCodec::Alp,
        _ => {}
    }
    let level = |codec: &str| -> Option<u8> {
        let arguments = codec.strip_prefix("ZSTD(")?;
        arguments.split([',', ')']).next()?.parse().ok()
    };
    declared.split(", ").find_map(level).map_or(PageCodec::BySettings, PageCodec::Zstd)
}

/// A file that is being written; removed again unless it is finished.
pub(super) struct PartWriter {
    writer: Option<Box<dyn BlockWriter>>,
    file: Arc<File>,
    path: PathBuf,
    checksums: Arc<Mutex<Checksummer>>,
    /// Of the columns, as the table has them.
    types: Vec<DataType>,
    /// Columns whose lengths stand behind all columns.
    with_lengths: Vec<usize>,
    is_finished: bool,
}

impl PartWriter {
    /// Creates the file of a part. `sample` are its first rows, for what depends on how rows look; they are not written yet.
    pub fn create(
        path: PathBuf,
        definition: &Definition,
        threads: usize,
        sample: &[Block],
    ) -> Result<PartWriter> {
        let Definition { columns, granularity, format, schema, .. } = definition;
        let mut header = structure(columns)?;
        let with_lengths = columns_with_lengths(columns, sample);
        for &column in &with_lengths {
            let (name, ty) = &header[column];
            let of_lengths = if ty.is_nullable() { DataType::UInt32.nullable() } else { DataType::UInt32 };
            header.push((lengths_of(name), of_lengths));
        }
        let file = Arc::new(File::open(&path, Access::CreateNew).map_err(|e| cannot_write(&path, &e))?);
        let checksums: Arc<Mutex<Checksummer>> = Arc::default();
        let counted = Summed { file: SequentialWriter::new(file.clone()), checksums: checksums.clone() };
        let sink: Box<dyn Sink> = Box::new(io::BufWriter::with_capacity(1 << 18, counted));
        let types = columns.columns.iter().map(|column| column.ty.clone()).collect();
        let mut made =
            PartWriter { writer: None, file, path, checksums, types, with_lengths, is_finished: false };
        let request = WriteRequest {
            settings: Arc::new(settings(*granularity)),
            page_rows: Some(*granularity),
            codecs: columns.columns.iter().map(|column| codec(schema, &column.name)).collect(),
            threads,
            ..WriteRequest::new(header)
        };
        made.writer = Some(format.writer(request, sink)?);
        Ok(made)
    }

    /// Appends rows.
    pub fn write(&mut self, block: &Block) -> Result<()> {
        let Some(writer) = &mut self.writer else { bail!(LOGICAL_ERROR, "The part is written already") };
        let columns = block.columns().iter().zip(&self.types);
        let mut columns = columns.map(|(column, ty)| to_stored(column, ty)).collect::<Result<Vec<_>>>()?;
        for &column in &self.with_lengths {
            columns.push(lengths(&columns[column])?);
        }
        writer.write(&Block::new(columns, block.n_rows()))
    }

    /// Puts the whole file on disk.
    pub fn finish(mut self) -> Result<Checksums> {
        if let Some(mut writer) = self.writer.take() {
            writer.finish(&Statistics::default())?;
        }
        self.file.sync_all().map_err(|e| err!(CANNOT_FSYNC, "Cannot fsync {}: {e}", self.path.display()))?;
        self.is_finished = true;
        Ok(std::mem::take(&mut *self.checksums.lock().unwrap_or_else(PoisonError::into_inner)).finish())
    }
}

impl Drop for PartWriter {
    fn drop(&mut self) {
        if !self.is_finished {
            self.writer = None;
            // What stays is removed when the table is opened again.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A file with checksums of what is written to it.
struct Summed {
    file: SequentialWriter,
    checksums: Arc<Mutex<Checksummer>>,
}

impl Write for Summed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.file.write(bytes)?;
        self.checksums.lock().unwrap_or_else(PoisonError::into_inner).update(&bytes[..n]);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ColumnSchema;

    #[test]
    fn codecs_of_declarations() {
        let codec_of = |declared: &str| {
            let column = ColumnSchema { codec: declared.into(), ..ColumnSchema::new("c", DataType::String) };
            codec(&TableSchema::new(vec![column]), "c")
        };
        assert_eq!(codec_of(""), PageCodec::BySettings);
        assert_eq!(codec_of("LZ4"), PageCodec::BySettings);
        assert_eq!(codec_of("NONE"), PageCodec::None);
        assert_eq!(codec_of("ALP, LZ4"), PageCodec::Alp);
        assert_eq!(codec_of("ZSTD(3)"), PageCodec::Zstd(3));
        assert_eq!(codec_of("Delta(4), ZSTD(1, 24)"), PageCodec::Zstd(1));
    }
}
