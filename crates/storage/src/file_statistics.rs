//! Statistics of a table of files: of each of a few files what its reader knows, else a guess by its size.

use crate::file::{Shared, is_plain, size_of_file};
use chalet_formats::{ColumnStatistics, TableStatistics};
use chalet_types::Value;

/// Files that are opened; the others are taken to be like them.
const MAX_FILES: usize = 16;
/// A value as text, with its separator.
const BYTES_PER_VALUE: f64 = 8.0;
/// How much shorter a compressed file is.
const COMPRESSION: f64 = 4.0;

/// Of the first `n_columns` columns that the scan asks for, all of which the files themselves have.
pub(crate) fn of_files(shared: &Shared, compression: Option<&str>, n_columns: usize) -> TableStatistics {
    let sizes: Vec<f64> = shared.files.iter().map(|file| size_of_file(file) as f64).collect();
    let all_bytes: f64 = sizes.iter().sum();
    let step = shared.files.len().div_ceil(MAX_FILES).max(1);
    let columns: Vec<usize> = (0..n_columns).collect();
    let mut found: Option<TableStatistics> = None;
    let mut bytes = 0.0;
    for (file, size) in shared.files.iter().zip(&sizes).step_by(step) {
        // An error is told by the scan that reads.
        let of_file = shared.open(file).ok().and_then(|scan| scan.statistics(&columns));
        let of_file = of_file.unwrap_or_else(|| {
            let width = BYTES_PER_VALUE * shared.schema.columns.len().max(1) as f64;
            let plain = if is_plain(file, compression) { *size } else { *size * COMPRESSION };
            TableStatistics::of_rows(plain / width, n_columns)
        });
        bytes += size;
        found = Some(match found {
            None => of_file,
            Some(before) => merged(before, of_file),
        });
    }
    let mut found = found.unwrap_or_default();
    found.columns.resize(n_columns, ColumnStatistics::default());
    if bytes > 0.0 {
        found.rows *= all_bytes / bytes;
    }
    found
}

/// Of the rows of both.
pub(crate) fn merged(a: TableStatistics, b: TableStatistics) -> TableStatistics {
    let rows = a.rows + b.rows;
    let columns = a.columns.into_iter().zip(b.columns).map(|(x, y)| {
        let bounds = x.bounds.zip(y.bounds).map(|((min, max), (other_min, other_max))| {
            let least = if other_min.compare(&min).is_lt() { other_min.clone() } else { min.clone() };
            let most = if other_max.compare(&max).is_gt() { other_max.clone() } else { max.clone() };
            (least, most, overlap((&min, &max), (&other_min, &other_max)))
        });
        let share = bounds.as_ref().map_or(1.0, |bounds| bounds.2);
        // Values that both may have are counted once.
        let distinct = x.distinct.zip(y.distinct).map(|(m, n)| m.max(n) + (1.0 - share) * m.min(n));
        let null_fraction = x.null_fraction.zip(y.null_fraction);
        let null_fraction =
            null_fraction.filter(|_| rows > 0.0).map(|(m, n)| (m * a.rows + n * b.rows) / rows);
        ColumnStatistics { bounds: bounds.map(|(min, max, _)| (min, max)), null_fraction, distinct }
    });
    TableStatistics { rows, columns: columns.collect() }
}

/// Which part of the shorter of two ranges lies in the other.
fn overlap(a: (&Value, &Value), b: (&Value, &Value)) -> f64 {
    let ends = |(min, max): (&Value, &Value)| Some((min.as_f64()?, max.as_f64()?));
    let (Some((a_min, a_max)), Some((b_min, b_max))) = (ends(a), ends(b)) else { return 1.0 };
    let common = a_max.min(b_max) - a_min.max(b_min);
    let shorter = (a_max - a_min).min(b_max - b_min);
    match common < 0.0 {
        true => 0.0,
        false if shorter <= 0.0 => 1.0,
        false => common / shorter,
    }
}
