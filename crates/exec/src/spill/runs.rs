//! Sorted runs on disk, and merging them: the external half of a merge sort. Rows come out in the order of the bytes of their
//! keys, which are made of columns again when rows are read: that is less work than writing and reading them.

use super::merge_scan::{self, MergeScan};
use super::{Place, Purpose, TempFile, Threshold};
use crate::ExecContext;
use crate::control::QueryControl;
use chalet_base::{Result, bisect, events};
use chalet_columns::interleave::BlockRow;
use chalet_columns::keys::{Order, RowKeys, sort_keys};
use chalet_columns::raw::{read_block, write_block};
use chalet_columns::{Block, Column};
use std::ops::Range;
use std::sync::Arc;

/// Rows in order, as pieces of a file.
#[derive(Clone)]
pub struct Run {
    file: Arc<TempFile>,
    pub(super) pieces: Arc<[Piece]>,
    keys: Arc<RunKeys>,
}

/// What the keys of rows are made of.
pub struct RunKeys {
    /// Columns of the blocks, by position. No two rows are equal in all of them.
    pub columns: Vec<(usize, Order)>,
    /// So many last columns of the blocks are for the keys alone: rows come out without them.
    pub n_own: usize,
    /// Rows that are equal in so many first columns of the key belong together: one task of the merge puts them out.
    pub n_group: Option<usize>,
}

impl RunKeys {
    /// The keys of the rows of a block, of the first so many columns.
    fn of(&self, block: &Block, n_columns: usize) -> RowKeys {
        let columns: Vec<(&Column, Order)> =
            self.columns[..n_columns].iter().map(|&(at, order)| (block.column(at), order)).collect();
        sort_keys(&columns, block.n_rows())
    }

    /// Where a merge may be cut: before this key, the beginning of that of the first row of a block.
    fn cut(&self, block: &Block) -> Vec<u8> {
        self.of(&block.slice(0, 1), self.n_group.unwrap_or(self.columns.len())).bytes
    }

    /// The rows without the columns that are the keys' own.
    fn without_own(&self, block: Block) -> Block {
        let n_rows = block.n_rows();
        let mut columns = block.into_columns();
        columns.truncate(columns.len() - self.n_own);
        Block::new(columns, n_rows)
    }
}

/// Rows that are read at a time.
pub(super) struct Piece {
    place: Place,
    /// Where merges may be cut: the beginning of the key of the first row.
    pub(super) cut: Vec<u8>,
    pub(super) n_rows: usize,
}

/// The file that a worker writes its runs to.
pub struct RunWriter {
    file: TempFile,
    runs: Vec<Vec<Piece>>,
    bytes: Vec<u8>,
    sizes: RunSizes,
    keys: Arc<RunKeys>,
}

/// How much of a run is read at a time, and how many runs: together what reading may use.
#[derive(Clone, Copy, Debug)]
pub struct RunSizes {
    /// Bytes of a piece, about.
    piece: usize,
    /// Runs that are merged at a time.
    fan_in: usize,
}

/// A piece is large enough to be compressed well, and so small that many runs can be read at a time, in bytes.
const PIECES: std::ops::RangeInclusive<usize> = (64 << 10)..=(1 << 20);
/// Runs that are merged at a time, whatever memory there is.
const FAN_INS: std::ops::RangeInclusive<usize> = 8..=256;
/// Rows that are left out between two questions whether to stop.
const ROWS_AT_ONCE: usize = 1 << 16;
/// Bytes of a block that a merge puts out, about; fewer where rows are few.
const MOST_BYTES: usize = 16 << 20;

impl RunSizes {
    /// Sizes by what a threshold leaves for reading.
    pub fn new(threshold: &Threshold) -> RunSizes {
        let budget = usize::try_from(threshold.reading()).unwrap_or(usize::MAX);
        let piece = (budget / 64).clamp(*PIECES.start(), *PIECES.end());
        // A piece is there as a block and as the keys of its rows.
        RunSizes { piece, fan_in: (budget / (2 * piece)).clamp(*FAN_INS.start(), *FAN_INS.end()) }
    }

    /// Rows of a piece where `n_rows` rows take `bytes`.
    pub fn rows(&self, bytes: usize, n_rows: usize) -> usize {
        (self.piece / (bytes / n_rows.max(1)).max(1)).max(1)
    }
}

impl RunWriter {
    /// A writer without a run. Fails where no temporary file can be made.
    pub fn new(
        purpose: Purpose,
        sizes: RunSizes,
        keys: Arc<RunKeys>,
        control: &Arc<QueryControl>,
    ) -> Result<RunWriter> {
        let file = TempFile::new(purpose, control)?;
        Ok(RunWriter { file, runs: Vec::new(), bytes: Vec::new(), sizes, keys })
    }

    /// Begins the next run.
    pub fn begin(&mut self) {
        self.file.count_part();
        self.runs.push(Vec::new());
    }

    /// Appends rows to the run that was begun last.
    pub fn write(&mut self, block: &Block) -> Result<()> {
        if block.is_empty() {
            return Ok(());
        }
        self.bytes.clear();
        write_block(block, &mut self.bytes);
        let place = self.file.write(&self.bytes)?;
        let piece = Piece { place, cut: self.keys.cut(block), n_rows: block.n_rows() };
        match self.runs.last_mut() {
            Some(run) => run.push(piece),
            None => self.runs.push(vec![piece]),
        }
        Ok(())
    }

    /// How runs are cut.
    pub fn sizes(&self) -> RunSizes {
        self.sizes
    }

    /// All runs, for reading.
    pub fn into_runs(self) -> Vec<Run> {
        let file = Arc::new(self.file);
        let runs = self.runs.into_iter().filter(|pieces| !pieces.is_empty());
        let keys = self.keys;
        runs.map(|pieces| Run { file: file.clone(), pieces: pieces.into(), keys: keys.clone() }).collect()
    }
}

/// A run that is being read.
struct Cursor {
    run: Run,
    next_piece: usize,
    keys: RowKeys,
    row: usize,
    /// The number of its block among the blocks of the merge.
    block: u32,
    /// Bytes of a row of the block, about.
    row_bytes: usize,
}

/// Merges runs block by block. Holds a piece of each run.
pub struct Merge {
    cursors: Vec<Cursor>,
    /// Numbers of cursors that have rows: a heap, the one with the least key on top.
    heap: Vec<u32>,
    /// Blocks that rows of the next output are of.
    blocks: Vec<Block>,
    rows: Vec<BlockRow>,
    /// The key behind the last.
    until: Option<Vec<u8>>,
    /// Do rows come out without the columns that are the keys' own?
    takes_off: bool,
}

impl Merge {
    /// Opens runs, which are not too many to be read at a time, for their rows whose keys are in a range: `from` is the first key,
    /// `until` is behind the last. With `takes_off` they come out without the columns that are the keys' own.
    pub(super) fn open(runs: &[Run], from: &[u8], until: Option<Vec<u8>>, takes_off: bool) -> Result<Merge> {
        let (cursors, heap, blocks, rows) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut merge = Merge { cursors, heap, blocks, rows, until, takes_off };
        for run in runs {
            let mut cursor = run.cursor(run.piece_of(from));
            let mut first = cursor.load(takes_off)?;
            while first.is_some() {
                cursor.row = bisect::partition_point(0..cursor.keys.len(), |row| cursor.keys.get(row) < from);
                if cursor.row < cursor.keys.len() {
                    break;
                }
                first = cursor.load(takes_off)?;
            }
            if let Some(block) = first {
                cursor.block = merge.blocks.len() as u32;
                merge.blocks.push(block);
                merge.heap.push(merge.cursors.len() as u32);
                merge.cursors.push(cursor);
            }
        }
        for at in (0..merge.heap.len() / 2).rev() {
            merge.sift_down(at);
        }
        Ok(merge)
    }

    /// The next rows, at most so many; none when all are out.
    pub(super) fn next(&mut self, max_rows: usize) -> Result<Option<Block>> {
        self.rows.clear();
        let mut bytes = 0;
        while let Some(&top) = self.heap.first() {
            let cursor = &mut self.cursors[top as usize];
            if self.rows.len() >= max_rows || bytes >= MOST_BYTES {
                break;
            }
            if self.until.as_ref().is_some_and(|until| cursor.keys.get(cursor.row) >= &until[..]) {
                self.heap.clear();
                break;
            }
            self.rows.push(BlockRow { block: cursor.block, row: cursor.row as u32 });
            bytes += cursor.row_bytes;
            self.advance()?;
        }
        if self.rows.is_empty() {
            return Ok(None);
        }
        let out = Block::interleave(&self.blocks.iter().collect::<Vec<_>>(), &self.rows);
        self.drop_read();
        Ok(Some(out))
    }

    /// Goes on to the next row.
    fn advance(&mut self) -> Result<()> {
        let Some(&top) = self.heap.first() else { return Ok(()) };
        let cursor = &mut self.cursors[top as usize];
        cursor.row += 1;
        if cursor.row == cursor.keys.len() {
            match cursor.load(self.takes_off)? {
                Some(block) => {
                    cursor.block = self.blocks.len() as u32;
                    self.blocks.push(block);
                }
                None => {
                    self.heap.swap_remove(0);
                }
            }
        }
        self.sift_down(0);
        Ok(())
    }

    /// Leaves out the next rows. `check` is called now and then and may end the work.
    pub(super) fn skip(&mut self, n_rows: usize, check: &dyn Fn() -> Result<()>) -> Result<()> {
        for row in 0..n_rows {
            if self.heap.is_empty() {
                break;
            }
            self.advance()?;
            if row % ROWS_AT_ONCE == 0 {
                check()?;
                self.drop_read();
            }
        }
        Ok(())
    }

    /// Lets go of blocks of which all rows are out.
    fn drop_read(&mut self) {
        let mut blocks = std::mem::take(&mut self.blocks);
        for &number in &self.heap {
            let cursor = &mut self.cursors[number as usize];
            self.blocks.push(std::mem::take(&mut blocks[cursor.block as usize]));
            cursor.block = self.blocks.len() as u32 - 1;
        }
    }

    fn sift_down(&mut self, mut at: usize) {
        let key = |number: u32| {
            let cursor = &self.cursors[number as usize];
            cursor.keys.get(cursor.row)
        };
        let heap = &mut self.heap;
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < heap.len() && key(heap[child]) < key(heap[least]) {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            heap.swap(at, least);
            at = least;
        }
    }
}

impl Run {
    fn cursor(&self, next_piece: usize) -> Cursor {
        Cursor { run: self.clone(), next_piece, keys: RowKeys::default(), row: 0, block: 0, row_bytes: 0 }
    }

    /// The piece that a key is in, if the run has it: the last one that begins before.
    fn piece_of(&self, key: &[u8]) -> usize {
        self.pieces.partition_point(|piece| &piece.cut[..] < key).saturating_sub(1)
    }

    /// How many rows there are.
    pub(super) fn n_rows(&self) -> usize {
        self.pieces.iter().map(|piece| piece.n_rows).sum()
    }

    /// How many rows are before a key.
    pub(super) fn rows_before(&self, key: &[u8]) -> Result<usize> {
        let piece = self.piece_of(key);
        let mut cursor = self.cursor(piece);
        cursor.load(true)?;
        let of_piece = bisect::partition_point(0..cursor.keys.len(), |row| cursor.keys.get(row) < key);
        Ok(self.pieces[..piece].iter().map(|piece| piece.n_rows).sum::<usize>() + of_piece)
    }
}

impl Cursor {
    /// Reads the next piece; none when there is no more.
    fn load(&mut self, takes_off: bool) -> Result<Option<Block>> {
        let Some(Piece { place, .. }) = self.run.pieces.get(self.next_piece) else {
            self.keys = RowKeys::default();
            return Ok(None);
        };
        self.next_piece += 1;
        let block = read_block(&mut &self.run.file.read(place)?[..])?;
        let keys = &self.run.keys;
        self.keys = keys.of(&block, keys.columns.len());
        self.row = 0;
        self.row_bytes = place.bytes() / block.n_rows().max(1);
        Ok(Some(if takes_off { keys.without_own(block) } else { block }))
    }
}

/// A range of the rows of all runs in order, and perhaps more behind it, as the source of what comes next. Runs that are too many
/// to be read at a time are merged into fewer first.
pub fn merged(
    mut runs: Vec<Run>,
    purpose: Purpose,
    sizes: RunSizes,
    range: Range<usize>,
    ctx: &ExecContext,
) -> Result<Arc<MergeScan>> {
    let control = &ctx.control;
    events::count(purpose.counters().merge);
    while runs.len() > sizes.fan_in {
        let mut writer = RunWriter::new(purpose, sizes, runs[0].keys.clone(), control)?;
        for some in runs.chunks(sizes.fan_in) {
            let pieces = || some.iter().flat_map(|run| &run.pieces[..]);
            let bytes = pieces().map(|piece| piece.place.bytes()).sum();
            let n_rows = sizes.rows(bytes, pieces().map(|piece| piece.n_rows).sum());
            let mut merge = Merge::open(some, &[], None, false)?;
            writer.begin();
            let mut left = range.end;
            while let Some(block) = merge.next(n_rows.min(left))? {
                control.check_with_interrupt()?;
                writer.write(&block)?;
                left -= block.n_rows();
            }
        }
        runs = writer.into_runs();
    }
    merge_scan::open(runs, sizes.fan_in, range, ctx)
}
