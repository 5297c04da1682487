//! Rows with the keys of the row before: where rows are sorted by other columns, or come in sessions, most are, and only
//! the first row of each run needs to be looked up.

use chalet_base::simd_dispatch::dispatch_simd;
use chalet_columns::{Column, Data, Native, Strings, Vector, bits, each_native};

/// Neighbouring rows with equal keys.
pub(super) struct Runs {
    /// By row: 1 where a run begins.
    begins: Vec<u8>,
    /// The first rows of all runs.
    pub heads: Vec<u32>,
}

/// So many rows are looked at before all are.
const SAMPLE: usize = 256;

impl Runs {
    /// The runs of a block, when there are at most half as many as rows.
    pub fn of(columns: &[Column], n_rows: usize) -> Option<Runs> {
        if n_rows < SAMPLE {
            return None;
        }
        let sample: Vec<Column> = columns.iter().map(|column| column.slice(0, SAMPLE)).collect();
        let of_sample = begins(&sample, SAMPLE)?;
        if count(&of_sample) * 2 > SAMPLE {
            return None;
        }
        let begins = begins(columns, n_rows)?;
        let n_runs = count(&begins);
        (n_runs * 2 <= n_rows).then(|| Runs { heads: heads(&begins, n_runs), begins })
    }

    /// What holds of the first row of each run, for all rows.
    pub fn spread(&self, of_heads: &[u32]) -> Vec<u32> {
        let mut runs = 0;
        let of_row = |&begins: &u8| {
            runs += usize::from(begins);
            of_heads[runs - 1]
        };
        self.begins.iter().map(of_row).collect()
    }
}

fn count(begins: &[u8]) -> usize {
    dispatch_simd(|| begins.iter().fold(0u32, |n, &begins| n + u32::from(begins))) as usize
}

/// The rows where a run begins, which are `n_runs`.
fn heads(begins: &[u8], n_runs: usize) -> Vec<u32> {
    let mut heads = vec![0; n_runs + 1];
    let mut n = 0;
    for (row, &begins) in begins.iter().enumerate() {
        // Each row is written, and only counted if it begins a run: nobody could guess which do.
        heads[n] = row as u32;
        n += usize::from(begins);
    }
    heads.truncate(n_runs);
    heads
}

/// By row, 1 where some key is not that of the row before; none for keys that are not compared here.
fn begins(columns: &[Column], n_rows: usize) -> Option<Vec<u8>> {
    let mut begins = vec![0; n_rows];
    *begins.first_mut()? = 1;
    for column in columns {
        match column {
            Column::Const { .. } => {}
            Column::Dict { codes, .. } => mark(codes, &mut begins),
            Column::Flat(vector) => mark_vector(vector, &mut begins)?,
        }
    }
    Some(begins)
}

fn mark_vector(vector: &Vector, begins: &mut [u8]) -> Option<()> {
    // Two NULLs with different values beneath are two runs, which costs a look-up and no more.
    if let Some(validity) = vector.validity.as_ref().filter(|validity| validity.null_count() > 0) {
        mark(&bits::to_bytes(validity.inner()), begins);
    }
    each_native!(&vector.data, values => mark_values(values, begins),
        Data::Str(strings) => mark_strings(strings, begins),
        _ => return None);
    Some(())
}

/// Keys are equal when their bits are.
fn mark_values<T: Native>(values: &[T], begins: &mut [u8]) {
    fn bits<T: Native, U: Copy>(values: &[T]) -> &[U] {
        // SAFETY: `Native` promises plain data; the caller picks an integer of the same size, and alignment is checked.
        let (before, words, after) = unsafe { values.align_to::<U>() };
        debug_assert!(before.is_empty() && after.is_empty());
        words
    }
    match size_of::<T>() {
        1 => mark(bits::<T, u8>(values), begins),
        2 => mark(bits::<T, u16>(values), begins),
        4 => mark(bits::<T, u32>(values), begins),
        8 => mark(bits::<T, u64>(values), begins),
        _ => begins.iter_mut().for_each(|begins| *begins = 1),
    }
}

fn mark<T: Copy + PartialEq>(values: &[T], begins: &mut [u8]) {
    let pairs = values.iter().zip(values.get(1..).unwrap_or_default());
    dispatch_simd(|| {
        begins.iter_mut().skip(1).zip(pairs).for_each(|(begins, (a, b))| *begins |= u8::from(a != b));
    });
}

fn mark_strings(strings: &Strings, begins: &mut [u8]) {
    let views = strings.views();
    for row in 1..views.len() {
        let (a, b) = (views[row - 1], views[row]);
        // Length and first bytes tell most apart.
        let is_same = a as u64 == b as u64 && (a == b || strings.get(row - 1) == strings.get(row));
        begins[row] |= u8::from(!is_same);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(columns: &[Column]) -> Option<Runs> {
        Runs::of(columns, columns[0].len())
    }

    #[test]
    fn runs_of_several_columns() {
        let numbers: Vec<u64> = (0..3000).map(|row| row / 10).collect();
        let texts: Vec<String> =
            (0..3000).map(|row| format!("a text that is not inline {}", row / 6)).collect();
        let strings = Strings::from_iter(texts.iter().map(String::as_bytes));
        let columns = [Column::Flat(Vector::from(numbers)), Column::Flat(strings.into())];
        let found = runs(&columns).expect("there are runs");
        let expected: Vec<u32> = (0..3000).filter(|row| row % 10 == 0 || row % 6 == 0).collect();
        assert_eq!(found.heads, expected);
        let numbers: Vec<u32> = (0..expected.len() as u32).collect();
        let spread = found.spread(&numbers);
        for (row, &run) in spread.iter().enumerate() {
            let first = expected[run as usize] as usize;
            assert!(first <= row && expected.get(run as usize + 1).is_none_or(|&next| next as usize > row));
        }
    }

    #[test]
    fn none_where_rows_differ() {
        assert!(runs(&[Column::Flat(Vector::from((0..1000u64).collect::<Vec<_>>()))]).is_none());
        // Only the sample has runs.
        let numbers: Vec<u64> = (0..5000).map(|row| if row < 300 { 7 } else { row }).collect();
        assert!(runs(&[Column::Flat(Vector::from(numbers))]).is_none());
    }
}
