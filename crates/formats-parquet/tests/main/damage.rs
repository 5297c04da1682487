//! Broken files: an error, never a panic, whatever is broken.

use crate::samples::{SAMPLES, bytes};
use arrow_buffer::Buffer;
use chalet_base::Result;
use chalet_columns::BooleanBuffer;
use chalet_formats_parquet::{ParquetFile, RangePredicate, RowFilter, Selection};
use chalet_types::Value;
use std::sync::Arc;

/// Reads everything that can be read, checksums aside: they would hide what is behind them.
pub fn read(bytes: Vec<u8>) -> Result<usize> {
    let file = ParquetFile::open(Buffer::from_vec(bytes))?.with(false, true);
    let columns: Vec<Selection> =
        (0..file.n_columns()).filter(|&c| file.column(c).is_ok()).map(Selection::new).collect();
    let mut n_rows = 0;
    for group in 0..file.n_row_groups() {
        for selection in &columns {
            let bound = file.bounds(group, selection.column).map(|bounds| (bounds.min, true));
            let among = vec![Value::Int(1), Value::from("text 5"), Value::UInt(u64::MAX)];
            let predicate =
                RangePredicate { column: selection.column, low: bound.clone(), high: bound, among };
            file.can_match(group, std::slice::from_ref(&predicate), true);
            file.matching_rows(group, &[predicate]);
        }
        for every in [1, 3] {
            let filter = RowFilter {
                columns: vec![],
                unread: Vec::new(),
                evaluate: Arc::new(move |block| {
                    Ok(BooleanBuffer::collect_bool(block.n_rows(), |row| row % every == 0))
                }),
            };
            let filter = (every > 1).then_some(filter).into_iter().collect();
            let mut reader = file.read_row_group(group, &columns, filter, None)?;
            while let Some(block) = reader.next_block(1000)? {
                n_rows += block.n_rows();
                // A lie of a row count must not keep the test busy.
                if n_rows > 100_000 {
                    return Ok(n_rows);
                }
                for column in block.columns() {
                    (0..block.n_rows().min(50)).for_each(|row| drop(column.value(row)));
                }
            }
        }
    }
    Ok(n_rows)
}

/// A repeatable stream of numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }
}

#[test]
fn flipped_bytes_are_no_panic() {
    let mut random = Random(42);
    let mut refused = 0;
    for &(sample, _) in SAMPLES {
        let whole = bytes(sample);
        for round in 0..300 {
            let mut broken = whole.clone();
            for _ in 0..1 + round % 4 {
                let at = random.below(broken.len());
                broken[at] ^= 1 << random.below(8);
            }
            refused += usize::from(read(broken).is_err());
        }
    }
    assert!(refused > 500, "only {refused} broken files were noticed");
}

#[test]
fn cut_files_are_refused() {
    let mut random = Random(7);
    for &(sample, _) in SAMPLES {
        let whole = bytes(sample);
        for _ in 0..40 {
            let cut = random.below(whole.len());
            assert!(read(whole[..cut].to_vec()).is_err(), "{sample} cut at {cut}");
            // A hole in the middle leaves the footer pointing at the wrong places.
            let hole = random.below(whole.len() - 200);
            let _ = read([&whole[..hole], &whole[hole + 100..]].concat());
        }
    }
}

#[test]
fn errors_are_the_kernels() {
    let code = |bytes: Vec<u8>| read(bytes).unwrap_err().code().number;
    assert_eq!(code(vec![b'x'; 10]), 117);
    assert_eq!(code(b"PAR1\0\0\0\0PAR1".to_vec()), 117);
    let huge = [b"PAR1".as_slice(), &[b'x'; 100], b"PAR1"].concat();
    let error = read(huge).unwrap_err();
    assert_eq!(error.message(), "Bad metadata size in parquet file: 2021161080 bytes");
}

#[test]
fn checksums_are_verified() {
    let mut whole = bytes("kernel");
    whole[40] ^= 1;
    let file = ParquetFile::open(Buffer::from_vec(whole)).unwrap();
    let read = |file: &Arc<ParquetFile>| -> Result<()> {
        let mut reader = file.read_row_group(0, &[Selection::new(0)], Vec::new(), None)?;
        while reader.next_block(1000)?.is_some() {}
        Ok(())
    };
    assert_eq!(read(&file).unwrap_err().message(), "Page CRC checksum verification failed");
}
