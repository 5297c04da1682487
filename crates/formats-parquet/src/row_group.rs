//! The rows of a row group, block by block, with a filter applied while reading: the other columns are decoded
//! only for the rows that pass, and pages without such rows are not even decompressed.

use crate::ParquetFile;
use crate::column::ColumnReader;
use arrow_buffer::BooleanBufferBuilder;
use chalet_base::events::{self, Event};
use chalet_base::{Result, ensure};
use chalet_columns::{Block, BooleanBuffer, Column, RowMask, Vector};
use std::ops::Range;
use std::sync::Arc;

/// Which columns to read, and how.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Position among the file's columns.
    pub column: usize,
    /// Text that is dictionary-coded in the file comes as [`Column::Dict`] where a block has codes only.
    pub keep_dictionary: bool,
    /// The column holds the lengths of strings, which are to come with any bytes.
    pub is_length: bool,
}

impl Selection {
    pub fn new(column: usize) -> Selection {
        Selection { column, keep_dictionary: true, is_length: false }
    }
}

/// Says which rows of a block of the filter's columns pass.
pub type Evaluate = Arc<dyn Fn(&Block) -> Result<BooleanBuffer> + Send + Sync>;

/// A filter over some of the selected columns.
#[derive(Clone)]
pub struct RowFilter {
    /// Positions in the selection that it reads, in the order of the block that it gets.
    pub columns: Vec<usize>,
    /// Those of them whose values nobody else reads, each with the one value that stands for all.
    pub unread: Vec<(usize, Vector)>,
    pub evaluate: Evaluate,
}

pub struct RowGroupReader {
    columns: Vec<Lazy>,
    filters: Vec<RowFilter>,
    /// Rows still to be read, ascending; the others are passed by.
    ranges: std::vec::IntoIter<Range<usize>>,
    range: Range<usize>,
    /// Row that the columns stand at.
    at: usize,
    /// Rows passed by because of the ranges, which nobody looked at.
    pruned: usize,
    /// Rows passed by because of the filter.
    filtered: usize,
    /// Of the last block: the row group's rows that it was made of, and which of them it holds, if not all.
    last: (Range<usize>, Option<BooleanBuffer>),
}

/// A column that is passed by some rows before it is read again.
struct Lazy {
    reader: ColumnReader,
    pending: usize,
}

impl Lazy {
    fn read(&mut self, n: usize, selected: Option<&BooleanBuffer>) -> Result<Column> {
        let pending = std::mem::take(&mut self.pending);
        if pending > 0 {
            self.reader.skip(pending)?;
        }
        self.reader.read(n, selected)
    }

    /// Rows by their numbers, from a column that stands at row `at`.
    fn read_rows(&mut self, at: usize, rows: &[usize]) -> Result<Vec<Column>> {
        let (mut at, mut rest) = (at, rows);
        let mut parts = Vec::new();
        while let Some(&first) = rest.first() {
            let (near, far) = rest.split_at(rest.partition_point(|&row| row < first + NEAR));
            let n = near[near.len() - 1] - first + 1;
            self.pending += first - at;
            let mut selected = BooleanBufferBuilder::new(n);
            selected.append_n(n, near.len() == n);
            near.iter().for_each(|row| selected.set_bit(row - first, true));
            parts.push(light(self.read(n, Some(&selected.finish()))?));
            (at, rest) = (first + n, far);
        }
        Ok(parts)
    }
}

/// Single rows that are no farther apart than this are read in one go.
const NEAR: usize = 4096;

impl ParquetFile {
    /// Reads a row group. `filters`: each sees the rows that the one before left. `rows`: only these, ascending and
    /// apart; `None` for all.
    pub fn read_row_group(
        self: &Arc<Self>,
        group: usize,
        columns: &[Selection],
        filters: Vec<RowFilter>,
        rows: Option<Vec<Range<usize>>>,
    ) -> Result<RowGroupReader> {
        let n_rows = self.row_group_rows(group);
        let open = |selection: &Selection| -> Result<Lazy> {
            let field = self.column(selection.column)?;
            let reader = match selection.is_length {
                true => ColumnReader::of_lengths(self, group, field),
                false => ColumnReader::open(self, group, field, selection.keep_dictionary),
            };
            let reader = reader.map_err(|e| e.context(format!("(column '{}')", field.name)))?;
            Ok(Lazy { reader, pending: 0 })
        };
        // A single range is usual.
        #[allow(clippy::single_range_in_vec_init)]
        let ranges = rows.unwrap_or_else(|| vec![0..n_rows]);
        let mut end = 0;
        for range in &ranges {
            ensure!(
                end <= range.start && range.start <= range.end && range.end <= n_rows,
                LOGICAL_ERROR,
                "Rows {range:?} of a Parquet row group of {n_rows} rows"
            );
            end = range.end;
        }
        Ok(RowGroupReader {
            columns: columns.iter().map(open).collect::<Result<_>>()?,
            filters,
            ranges: ranges.into_iter(),
            range: 0..0,
            at: 0,
            pruned: 0,
            filtered: 0,
            last: (0..0, None),
        })
    }
}

/// A few rows that passed a filter must not keep the whole pages of their strings alive.
fn light(column: Column) -> Column {
    match column {
        Column::Flat(vector) => Column::Flat(vector.compact()),
        other => other,
    }
}

impl RowGroupReader {
    /// The next rows, at most `max_rows` before the filter; never an empty block; `None` at the end.
    pub fn next_block(&mut self, max_rows: usize) -> Result<Option<Block>> {
        loop {
            while self.range.is_empty() {
                match self.ranges.next() {
                    Some(range) => self.range = range,
                    None => return Ok(None),
                }
            }
            let gap = self.range.start - self.at;
            self.columns.iter_mut().for_each(|column| column.pending += gap);
            self.pruned += gap;
            let n = self.range.len().min(max_rows.max(1));
            self.range.start += n;
            self.at = self.range.start;
            self.last = (self.at - n..self.at, None);
            if let Some(block) = self.read(n)? {
                return Ok(Some(block));
            }
        }
    }

    fn read(&mut self, n: usize) -> Result<Option<Block>> {
        let mut passing = Passing::all(n, self.columns.len());
        for (stage, filter) in self.filters.iter().enumerate() {
            for &position in &filter.columns {
                if passing.read[position].is_none() {
                    passing.read[position] = Some(passing.read_of(&mut self.columns[position])?);
                }
            }
            let inputs = filter.columns.iter().filter_map(|&at| passing.read[at].clone()).collect();
            let passes = (filter.evaluate)(&Block::new(inputs, passing.n_rows))?;
            let n_rows = passing.n_rows;
            ensure!(
                passes.len() == n_rows,
                LOGICAL_ERROR,
                "A filter has {} results for {n_rows} rows",
                passes.len()
            );
            let later = &self.filters[stage + 1..];
            let is_read = |position: usize| {
                let unread = self.filters.iter().any(|f| f.unread.iter().any(|(at, _)| *at == position));
                !unread || later.iter().any(|filter| filter.columns.contains(&position))
            };
            passing.narrow(passes, &is_read);
            if !later.is_empty() {
                events::add(Event::PrewhereFilteredRows, (n_rows - passing.n_rows) as u64);
            }
            if passing.n_rows == 0 {
                break;
            }
        }
        let n_rows = passing.n_rows;
        self.filtered += n - n_rows;
        self.last.1.clone_from(&passing.selected);
        if n_rows == 0 {
            let unread = self.columns.iter_mut().zip(&passing.read).filter(|(_, read)| read.is_none());
            unread.for_each(|(column, _)| column.pending += n);
            return Ok(None);
        }
        let mut columns = Vec::with_capacity(self.columns.len());
        for (position, column) in self.columns.iter_mut().enumerate() {
            let mut unread = self.filters.iter().flat_map(|filter| &filter.unread);
            columns.push(match (unread.find(|(at, _)| *at == position), passing.read[position].take()) {
                (Some((_, value)), Some(_)) => Column::constant(value.clone(), n_rows),
                (_, Some(read)) if passing.selected.is_none() => read,
                (_, Some(read)) => light(read),
                (_, None) => passing.read_of(column)?,
            });
        }
        Ok(Some(Block::new(columns, n_rows)))
    }

    /// Which rows of the row group the last block holds.
    pub fn row_numbers(&self) -> Vec<u64> {
        let (rows, selected) = &self.last;
        match selected {
            None => (rows.start as u64..rows.end as u64).collect(),
            Some(selected) => selected.set_indices().map(|row| (rows.start + row) as u64).collect(),
        }
    }

    /// Rows by their numbers in the row group, ascending, all behind what was read before; without the filter.
    pub fn read_rows(mut self, rows: &[usize]) -> Result<Block> {
        let at = self.at;
        let in_order = rows.windows(2).all(|pair| pair[0] < pair[1]) && rows.first().is_none_or(|&r| at <= r);
        ensure!(in_order, LOGICAL_ERROR, "Rows of a Parquet row group are not asked for in order");
        let columns = self.columns.iter_mut().map(|column| -> Result<Column> {
            let parts = column.read_rows(at, rows)?;
            Ok(Column::concat(&parts.iter().collect::<Vec<_>>()))
        });
        Ok(Block::new(columns.collect::<Result<_>>()?, rows.len()))
    }

    /// Rows that were passed by so far, because of the filter or the ranges.
    pub fn skipped(&self) -> usize {
        self.pruned + self.filtered
    }

    /// Those of them that were looked at.
    pub fn filtered(&self) -> usize {
        self.filtered
    }
}

/// Rows of a block that have passed the filters so far.
struct Passing {
    /// Among the rows of the block, if not all.
    selected: Option<BooleanBuffer>,
    n_rows: usize,
    /// By position: the columns that were read, with these rows alone.
    read: Vec<Option<Column>>,
    n: usize,
}

impl Passing {
    fn all(n: usize, n_columns: usize) -> Passing {
        Passing { selected: None, n_rows: n, read: vec![None; n_columns], n }
    }

    fn read_of(&self, column: &mut Lazy) -> Result<Column> {
        let read = column.read(self.n, self.selected.as_ref())?;
        Ok(if self.selected.is_some() { light(read) } else { read })
    }

    /// Keeps the rows that pass. Columns for which `is_read` does not hold keep any.
    fn narrow(&mut self, passes: BooleanBuffer, is_read: &dyn Fn(usize) -> bool) {
        let n_passing = passes.count_set_bits();
        if n_passing == self.n_rows {
            return;
        }
        self.n_rows = n_passing;
        if n_passing == 0 {
            self.selected = Some(BooleanBuffer::new_unset(self.n));
            return;
        }
        let passing = RowMask::new(&passes);
        for (position, read) in self.read.iter_mut().enumerate() {
            if is_read(position)
                && let Some(read) = read
            {
                *read = read.select(&passing);
            }
        }
        self.selected = Some(match &self.selected {
            None => passes,
            Some(before) => {
                let mut selected = BooleanBufferBuilder::new(self.n);
                selected.append_n(self.n, false);
                let passing = before.set_indices().zip(passes.iter()).filter(|(_, passes)| *passes);
                passing.for_each(|(row, _)| selected.set_bit(row, true));
                selected.finish()
            }
        });
    }
}
