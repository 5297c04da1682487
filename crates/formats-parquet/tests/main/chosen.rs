//! Files that tables write for themselves: each encoding that they choose gives back what went in, and damage to it is no panic.

use crate::damage;
use crate::samples::read;
use arrow_buffer::{BooleanBuffer, Buffer};
use chalet_columns::{Block, Builder};
use chalet_formats::output::Memory;
use chalet_formats::{FormatSettings, PageCodec, Statistics, WriteRequest};
use chalet_formats_parquet::{FORMATS, ParquetFile, RowFilter, Selection};
use chalet_types::{DataType, Value};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A file of one column as a table would write it.
fn written(ty: &DataType, blocks: &[Block], page_rows: usize, codec: PageCodec) -> Vec<u8> {
    let mut settings = FormatSettings::default();
    for (name, value) in [
        ("output_format_parquet_compression_method", "lz4"),
        ("output_format_parquet_row_group_size", "9000"),
        ("output_format_parquet_write_bloom_filter", "0"),
        ("output_format_parquet_max_dictionary_size", "33554432"),
    ] {
        assert!(settings.set(name, value).unwrap());
    }
    let out = Memory::default();
    let request = WriteRequest {
        settings: Arc::new(settings),
        page_rows: Some(page_rows),
        codecs: [codec].into(),
        ..WriteRequest::new(vec![("c".to_owned(), ty.clone())])
    };
    let mut writer = FORMATS[0].writer(request, Box::new(out.clone())).unwrap();
    blocks.iter().for_each(|block| writer.write(block).unwrap());
    writer.finish(&Statistics::default()).unwrap();
    out.take()
}

/// The encodings of the first column chunk, but for that of levels.
fn encodings(bytes: &[u8]) -> Vec<Encoding> {
    let file = SerializedFileReader::new(bytes::Bytes::copy_from_slice(bytes)).unwrap();
    let chunk = file.metadata().row_group(0).column(0);
    chunk.encodings().filter(|&encoding| encoding != Encoding::RLE).collect()
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 ^ self.0 >> 29
    }

    fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 20) % n
    }
}

/// A type, what is declared of it, how it is to be encoded, and a value for every row.
type Kind = (&'static str, PageCodec, Encoding, Box<dyn FnMut(usize) -> Value>);

/// All ways.
fn kinds() -> Vec<Kind> {
    let (mut r1, mut r2, mut r3, mut r4, mut r5) = (Random(1), Random(2), Random(3), Random(4), Random(5));
    let prices = move |row: usize| {
        Value::Float(match row % 700 {
            13 => f64::NAN,
            14 => -0.0,
            15 => f64::NEG_INFINITY,
            16 => 1e300,
            17 => std::f64::consts::PI,
            _ => r1.below(1_000_000) as f64 / 100.0,
        })
    };
    let singles = move |_| Value::Float((r2.below(4_000) as f64 - 2_000.0) / 4.0);
    let near = move |_| Value::Float(40.0 + r3.below(1 << 40) as f64 / (1u64 << 47) as f64);
    let hashes = move |_| Value::from(format!("{:016x}{:04}", r4.next(), r4.below(10_000)).as_str());
    let wide = move |_| {
        let mut bytes = [0u8; 16];
        bytes[..4].copy_from_slice(&(r5.next() as u32).to_le_bytes());
        Value::string(bytes)
    };
    let seconds = |row: usize| Value::Int((1_700_000_000 + row as i64 / 4) * 1_000_000);
    vec![
        ("Float64", PageCodec::Alp, Encoding::ALP, Box::new(prices)),
        ("Float32", PageCodec::Alp, Encoding::ALP, Box::new(singles)),
        ("Float64", PageCodec::BySettings, Encoding::BYTE_STREAM_SPLIT, Box::new(near)),
        ("FixedString(16)", PageCodec::BySettings, Encoding::BYTE_STREAM_SPLIT, Box::new(wide)),
        ("Int64", PageCodec::BySettings, Encoding::DELTA_BINARY_PACKED, Box::new(seconds)),
        ("String", PageCodec::BySettings, Encoding::DELTA_LENGTH_BYTE_ARRAY, Box::new(hashes)),
        (
            "String",
            PageCodec::BySettings,
            Encoding::DELTA_BYTE_ARRAY,
            Box::new(|row| match row % 1000 {
                7 => Value::from(""),
                _ => Value::from(format!("a key of many letters, number {row:09}").as_str()),
            }),
        ),
    ]
}

/// Rows as one vector of exact values.
fn exact(blocks: &[Block]) -> Vec<String> {
    let bits = |value: Value| match value {
        Value::Float(value) => format!("{:016x}", value.to_bits()),
        other => format!("{other:?}"),
    };
    let rows = |block: &Block| (0..block.n_rows()).map(|row| bits(block.column(0).value(row))).collect();
    blocks.iter().flat_map(|block| -> Vec<String> { rows(block) }).collect()
}

fn blocks(ty: &DataType, values: Vec<Value>) -> Vec<Block> {
    let block = |values: &[Value]| {
        let mut builder = Builder::new(ty);
        values.iter().for_each(|value| builder.push_value(value).unwrap());
        Block::new(vec![builder.finish().into()], values.len())
    };
    values.chunks(3_456).map(block).collect()
}

/// Reads all, some at a time, and every so many rows.
fn assert_reads(bytes: Vec<u8>, expected: &[String], what: &str) {
    let file = ParquetFile::open(Buffer::from_vec(bytes)).unwrap();
    for max_rows in [65_409, 777] {
        assert!(exact(&read(&file, max_rows, true)) == expected, "{what}, {max_rows} rows at a time");
    }
    for every in [2, 5, 300] {
        let mut found = Vec::new();
        for group in 0..file.n_row_groups() {
            let seen = AtomicUsize::new(0);
            let evaluate = move |block: &Block| {
                let from = seen.fetch_add(block.n_rows(), Ordering::Relaxed);
                Ok(BooleanBuffer::collect_bool(block.n_rows(), |row| (from + row) % every == 1))
            };
            // Of no column, so that the column is read where a row is left.
            let filter = RowFilter { columns: vec![], unread: Vec::new(), evaluate: Arc::new(evaluate) };
            let mut reader = file.read_row_group(group, &[Selection::new(0)], vec![filter], None).unwrap();
            while let Some(block) = reader.next_block(9_000).unwrap() {
                found.extend(exact(&[block]));
            }
        }
        let kept = expected.chunks(9_000).flat_map(|group| group.iter().skip(1).step_by(every));
        assert!(found.iter().eq(kept), "{what}, every {every} rows");
    }
}

#[test]
fn what_is_chosen_comes_back() {
    for (number, (ty, codec, encoding, mut value)) in kinds().into_iter().enumerate() {
        let ty: DataType = ty.parse().unwrap();
        let what = format!("kind {number}: {ty}");
        let values: Vec<Value> = (0..20_000).map(&mut value).collect();
        let rows = blocks(&ty, values.clone());
        let bytes = written(&ty, &rows, 1_000, codec);
        assert_eq!(encodings(&bytes), [encoding], "{what}");
        assert_reads(bytes, &exact(&rows), &what);

        let with_nulls = values
            .iter()
            .enumerate()
            .map(|(row, value)| if row % 7 < 2 { Value::Null } else { value.clone() });
        let nullable = ty.clone().nullable();
        let rows = blocks(&nullable, with_nulls.collect());
        let bytes = written(&nullable, &rows, 1_000, codec);
        assert_eq!(encodings(&bytes), [encoding], "{what} with NULLs");
        assert_reads(bytes, &exact(&rows), &format!("{what} with NULLs"));

        let lists = ty.clone().array();
        let of = |row: usize| Value::Array(values[row * 3..row * 3 + row % 4].to_vec());
        let rows = blocks(&lists, (0..6_000).map(of).collect());
        let bytes = written(&lists, &rows, 500, codec);
        assert_eq!(encodings(&bytes), [encoding], "{what} in lists");
        let file = ParquetFile::open(Buffer::from_vec(bytes)).unwrap();
        assert_eq!(format!("{:?}", exact(&read(&file, 777, true))), format!("{:?}", exact(&rows)), "{what}");
    }
}

#[test]
fn codecs_are_heeded() {
    for (number, (ty, _, _, mut value)) in kinds().into_iter().enumerate() {
        let ty: DataType = ty.parse().unwrap();
        let rows = blocks(&ty, (0..20_000).map(&mut value).collect());
        let usual = written(&ty, &rows, 1_000, PageCodec::BySettings);
        for (codec, compression) in [
            (PageCodec::None, Compression::UNCOMPRESSED),
            (PageCodec::Zstd(3), Compression::ZSTD(ZstdLevel::try_new(1).unwrap())),
        ] {
            let what = format!("kind {number}: {ty}, {codec:?}");
            let bytes = written(&ty, &rows, 1_000, codec);
            let file = SerializedFileReader::new(bytes::Bytes::copy_from_slice(&bytes)).unwrap();
            let found = file.metadata().row_group(0).column(0).compression();
            assert_eq!(std::mem::discriminant(&found), std::mem::discriminant(&compression), "{what}");
            if codec != PageCodec::None {
                assert!(bytes.len() <= usual.len() + usual.len() / 20, "{what}: {} bytes", bytes.len());
            }
            assert_reads(bytes, &exact(&rows), &what);
        }
    }
}

/// Every byte of a file, one after the other.
#[test]
fn flipped_bytes_are_no_panic() {
    for (ty, codec, _, mut value) in kinds() {
        let ty: DataType = ty.parse().unwrap();
        let whole = written(&ty, &blocks(&ty, (0..2_500).map(&mut value).collect()), 1_000, codec);
        let step =
            if std::env::var_os("CHALET_EVERY_BYTE").is_some() { 1 } else { whole.len().div_ceil(300) };
        for at in (0..whole.len()).step_by(step) {
            let mut broken = whole.clone();
            broken[at] ^= 1 << (at % 8);
            let _ = damage::read(broken);
        }
    }
}
