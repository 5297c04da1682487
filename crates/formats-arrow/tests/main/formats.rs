//! The Arrow and ArrowStream formats: files of pyarrow, our own, and broken ones.

use arrow_buffer::Buffer;
use chalet_base::Result;
use chalet_columns::{Block, Column, Data, Vector};
use chalet_formats::input::read_all;
use chalet_formats::output::Memory;
use chalet_formats::{
    Format, FormatSettings, Input, ReadRequest, Schema, Statistics, WriteRequest, registry,
};
use chalet_formats_arrow::FORMATS;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn path(file: &str) -> PathBuf {
    PathBuf::from("../../tests/data/arrow").join(file)
}

fn format(stream: bool) -> &'static Format {
    &FORMATS[usize::from(stream)]
}

fn read(bytes: Vec<u8>, stream: bool, max_rows: usize) -> Result<(Schema, Vec<Block>)> {
    let mut input = Input::Bytes(Buffer::from_vec(bytes));
    let schema = format(stream).infer_schema(&mut input, &FormatSettings::default())?;
    let mut scan = format(stream).open(input, ReadRequest::all(schema.clone()))?;
    Ok((schema, read_all(&mut *scan, max_rows)?))
}

fn write(format: &Format, schema: &Schema, blocks: &[Block], settings: FormatSettings) -> Vec<u8> {
    let out = Memory::default();
    let request = WriteRequest { settings: Arc::new(settings), ..WriteRequest::new(schema.clone()) };
    let mut writer = format.writer(request, Box::new(out.clone())).unwrap();
    blocks.iter().for_each(|block| writer.write(block).unwrap());
    writer.finish(&Statistics::default()).unwrap();
    out.take()
}

fn text(schema: &Schema, blocks: &[Block]) -> String {
    let tsv = registry::BUILTIN.get("TabSeparated").unwrap();
    String::from_utf8_lossy(&write(tsv, schema, blocks, FormatSettings::default())).into_owned()
}

const SAMPLES: [(&str, bool); 3] = [("plain.arrow", false), ("lz4.arrows", true), ("zstd.arrow", false)];

#[test]
fn samples_read_as_the_kernel_reads_them() {
    let answer = String::from_utf8_lossy(&std::fs::read(path("answer.tsv")).unwrap()).into_owned();
    let mut lines = answer.splitn(3, '\n');
    let (names, types, rows) = (lines.next().unwrap(), lines.next().unwrap(), lines.next().unwrap());
    for (file, stream) in SAMPLES {
        for max_rows in [1, 5, 1000] {
            let (schema, blocks) = read(std::fs::read(path(file)).unwrap(), stream, max_rows).unwrap();
            for ((name, ty), (e_name, e_ty)) in schema.iter().zip(names.split('\t').zip(types.split('\t'))) {
                assert_eq!((name.as_str(), ty.to_string().as_str()), (e_name, e_ty), "{file}");
            }
            for (row, (a, e)) in text(&schema, &blocks).lines().zip(rows.lines()).enumerate() {
                for (column, (a, e)) in a.split('\t').zip(e.split('\t')).enumerate() {
                    assert_eq!(a, e, "{file}, row {row}, column {}", schema[column].0);
                }
            }
            assert_eq!(blocks.iter().map(Block::n_rows).sum::<usize>(), rows.lines().count());
        }
    }
}

#[test]
fn what_is_written_is_read() {
    let (schema, blocks) = read(std::fs::read(path("plain.arrow")).unwrap(), false, 6).unwrap();
    let rows = text(&schema, &blocks);
    for stream in [false, true] {
        for compression in ["none", "lz4_frame", "zstd"] {
            for dictionary in ["0", "1"] {
                let mut settings = FormatSettings::default();
                settings.set("output_format_arrow_compression_method", compression).unwrap();
                settings.set("output_format_arrow_low_cardinality_as_dictionary", dictionary).unwrap();
                let blocks = match (stream, dictionary) {
                    // A dictionary of a file cannot change from batch to batch.
                    (false, "1") => vec![Block::concat(&blocks)],
                    _ => blocks.clone(),
                };
                let bytes = write(format(stream), &schema, &blocks, settings);
                let (_, read) = read(bytes, stream, 1000).unwrap();
                // The kernel writes DateTime as a number; under the types before the rows are the same.
                assert!(text(&schema, &read) == rows, "stream {stream}, {compression}, {dictionary}");
            }
        }
    }
}

#[test]
fn text_need_not_be_utf_8() {
    let schema = vec![("s".to_owned(), chalet_types::DataType::String)];
    let strings: chalet_columns::Strings =
        [&b"\xff\xfe not text, and long enough"[..], b"\xc3"].iter().collect();
    let block = Block::new(vec![chalet_columns::Vector::from(strings).into()], 2);
    let bytes = write(format(true), &schema, &[block], FormatSettings::default());
    let (_, read) = read(bytes, true, 10).unwrap();
    assert_eq!(read[0].column(0).value(1).as_bytes(), Some(&b"\xc3"[..]));
}

/// What broken bytes give: rows, or an error that our own checks found.
fn look_at_broken(bytes: Vec<u8>, stream: bool) -> Option<String> {
    match read(bytes, stream, 7) {
        Ok((schema, blocks)) => {
            text(&schema, &blocks);
            None
        }
        Err(error) => {
            let message = error.to_string();
            assert!(!message.contains("it makes no sense"), "the Arrow library panicked");
            Some(message)
        }
    }
}

#[test]
fn buffers_that_end_inside_of_a_value_are_refused() {
    let schema = vec![("a".to_owned(), "Array(UInt32)".parse().unwrap())];
    let mut column = chalet_columns::Builder::new(&schema[0].1);
    let list = chalet_types::Value::Array(vec![chalet_types::Value::UInt(7); 5]);
    (0..2).for_each(|_| column.push_value(&list).unwrap());
    let block = Block::new(vec![column.finish().into()], 2);
    let mut settings = FormatSettings::default();
    settings.set("output_format_arrow_compression_method", "none").unwrap();
    let bytes = write(format(true), &schema, &[block], settings);
    // Three offsets and ten items, of four bytes each.
    for size in [12_i64, 40] {
        let places: Vec<usize> =
            (0..bytes.len() - 8).step_by(8).filter(|at| bytes[*at..*at + 8] == size.to_le_bytes()).collect();
        assert!(!places.is_empty());
        let refused = places.iter().filter(|at| {
            let mut broken = bytes.clone();
            broken[**at] += 1;
            look_at_broken(broken, true)
                .is_some_and(|message| message.contains("values of 4 bytes are expected"))
        });
        assert_eq!(refused.count(), 1, "size {size}");
    }
}

#[test]
fn broken_data_is_refused_without_a_panic() {
    let mut state = 99u64;
    let mut random = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as usize) % n
    };
    for (file, stream) in SAMPLES {
        let whole = std::fs::read(path(file)).unwrap();
        for _ in 0..400 {
            let mut broken = whole.clone();
            let at = random(broken.len());
            broken[at] ^= 1 << random(8);
            look_at_broken(broken, stream);
        }
        for _ in 0..50 {
            let cut = random(whole.len());
            // A stream may end anywhere between two messages.
            let result = read(whole[..cut].to_vec(), stream, 7);
            assert!(stream || result.is_err(), "{file} cut at {cut}");
        }
    }
    // With a structure given, because a failed look at the schema has an error of its own around it.
    let code = |bytes: &[u8], stream: bool| {
        let request = ReadRequest::all(vec![("c".to_owned(), chalet_types::DataType::UInt8)]);
        let opened = format(stream).open(Input::Bytes(Buffer::from_vec(bytes.to_vec())), request);
        opened.err().map(|error| error.code().number)
    };
    assert_eq!(code(b"", true), Some(117));
    assert_eq!(code(&b"garbage".repeat(10), true), Some(117));
    assert_eq!(code(b"", false), Some(33));
    assert_eq!(code(&b"garbage".repeat(10), false), Some(117));
}

/// Gives a few bytes a call, and counts them.
struct Slow {
    bytes: Vec<u8>,
    given: Arc<AtomicUsize>,
    step: usize,
}

impl Read for Slow {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let at = self.given.load(Ordering::Relaxed);
        let n = self.step.min(to.len()).min(self.bytes.len() - at);
        to[..n].copy_from_slice(&self.bytes[at..at + n]);
        self.given.store(at + n, Ordering::Relaxed);
        Ok(n)
    }
}

#[test]
fn streams_are_read_message_by_message() {
    let numbers = |n: u64| {
        let values = (0..n).map(|i| i * 7).collect::<Vec<u64>>();
        Block::new(vec![Column::Flat(Vector { data: Data::U64(values.into()), validity: None })], n as usize)
    };
    let schema: Schema = vec![("n".into(), chalet_types::DataType::UInt64)];
    for (rows, batches) in [(3u64, 200), (100_000, 20)] {
        let blocks: Vec<Block> = (0..batches).map(|_| numbers(rows)).collect();
        let bytes = write(format(true), &schema, &blocks, FormatSettings::default());
        for step in [1, 7, 4096, 1 << 20] {
            if step < 4096 && bytes.len() > 1 << 20 {
                continue;
            }
            let given: Arc<AtomicUsize> = Arc::default();
            let slow = Slow { bytes: bytes.clone(), given: given.clone(), step };
            let mut scan =
                format(true).open(Input::stream(Box::new(slow)), ReadRequest::all(schema.clone())).unwrap();
            let mut reader = scan.next_unit().unwrap().unwrap();
            let first = reader.next_block(1 << 20).unwrap().unwrap();
            assert_eq!(first.n_rows() as u64, rows);
            // No more than the first batch and what one read brings along is needed for it.
            assert!(given.load(Ordering::Relaxed) <= rows as usize * 8 + (2 << 20), "{step}");
            let mut n = rows;
            while let Some(block) = reader.next_block(1 << 20).unwrap() {
                n += block.n_rows() as u64;
            }
            assert_eq!((n, given.load(Ordering::Relaxed)), (rows * batches, bytes.len()));
            for cut in [1, bytes.len() / 2, bytes.len() - 20] {
                let slow = Slow { bytes: bytes[..cut].to_vec(), given: Arc::default(), step };
                let opened =
                    format(true).open(Input::stream(Box::new(slow)), ReadRequest::all(schema.clone()));
                assert!(opened.and_then(|mut scan| read_all(&mut *scan, 1 << 20)).is_err(), "{cut}");
            }
        }
    }
}
