//! Sorted runs on disk, and merging them: the external half of a merge sort. Rows come out in the order of the bytes of their
//! keys, which are made of columns again when rows are read: that is less work than writing and reading them.

use super::merge_scan::{self, MergeScan};
use super::{Place, Purpose, ReadBuffers, TempFile, Threshold};
use crate::ExecContext;
use crate::control::QueryControl;
use crate::operators::key_prefix::{Entry, KeySpread, entry, place};
use crate::operators::sort_buffer::Keys;
use chalet_base::{Result, bisect, ensure, err, events};
use chalet_columns::interleave::BlockRow;
use chalet_columns::keys::{Order, RowKeys, sort_keys};
use chalet_columns::raw::read_block;
use chalet_columns::{Block, Column};
use std::ops::Range;
use std::sync::Arc;

/// Rows in order, as pieces of a file.
#[derive(Clone)]
pub struct Run {
    file: Arc<TempFile>,
    pub(super) pieces: Arc<[Piece]>,
    keys: Arc<RunKeys>,
    /// By number in the last column: what takes its place when rows are read. The largest is `most_rank`.
    ranks: Option<Arc<[u32]>>,
    most_rank: u32,
    /// How the keys differ, without ranks, where that is known.
    spread: Option<Arc<KeySpread>>,
}

/// What the keys of rows are made of.
pub struct RunKeys {
    /// Columns of the blocks, by position. Rows of several runs are not equal in all of them.
    pub columns: Vec<(usize, Order)>,
    /// So many last columns of the blocks are for the keys alone: rows come out without them.
    pub n_own: usize,
    /// Rows that are equal in so many first columns of the key belong together: one task of the merge puts them out.
    pub n_group: Option<usize>,
    /// Is the last column, which is the last of the key too, one of numbers that get their ranks when all are known? See
    /// [`RunWriter::into_ranked_runs`].
    pub is_ranked: bool,
}

impl RunKeys {
    /// The keys of the rows of a block, of the first so many columns.
    fn of(&self, block: &Block, n_columns: usize) -> RowKeys {
        let columns: Vec<(&Column, Order)> =
            self.columns[..n_columns].iter().map(|&(at, order)| (block.column(at), order)).collect();
        sort_keys(&columns, block.n_rows())
    }

    /// Where a merge may be cut: before this key, the beginning of that of the first row of a block. A rank is not known yet.
    fn cut(&self, block: &Block) -> Vec<u8> {
        let known = self.columns.len() - usize::from(self.is_ranked);
        self.of(&block.slice(0, 1), self.n_group.unwrap_or(known)).bytes
    }

    /// Does the cut go on with the rank of the first row?
    fn cut_has_rank(&self) -> bool {
        self.is_ranked && self.n_group.is_none()
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
    /// The number of the first row, where the cut goes on with its rank.
    first_number: u32,
    pub(super) n_rows: usize,
}

/// The file that a worker writes its runs to.
pub struct RunWriter {
    file: TempFile,
    /// Each with how its keys differ, without ranks, where that is known.
    runs: Vec<(Vec<Piece>, Option<Arc<KeySpread>>)>,
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
/// Where a block lacks so small a part of its rows, it is not worth another search among the runs.
const FEW_LEFT: usize = 8;
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

    /// Begins the next run. How its keys differ, without ranks, spares looking at them when they are read.
    pub fn begin(&mut self, spread: Option<KeySpread>) {
        self.file.count_part();
        self.runs.push((Vec::new(), spread.map(Arc::new)));
    }

    /// Appends rows to the run that was begun last.
    pub fn write(&mut self, block: &Block) -> Result<()> {
        if block.is_empty() {
            return Ok(());
        }
        let place = self.file.write_block(block, &mut self.bytes)?;
        let first_number = if self.keys.cut_has_rank() { first_number(block)? } else { 0 };
        let piece = Piece { place, cut: self.keys.cut(block), first_number, n_rows: block.n_rows() };
        match self.runs.last_mut() {
            Some((run, _)) => run.push(piece),
            None => self.runs.push((vec![piece], None)),
        }
        Ok(())
    }

    /// How runs are cut.
    pub fn sizes(&self) -> RunSizes {
        self.sizes
    }

    /// All runs, for reading. Numbers in the last column are ranks themselves.
    pub fn into_runs(self) -> Vec<Run> {
        self.with_ranks(None)
    }

    /// All runs, for reading, where the rows with a number in the last column have the rank at its place in `ranks`.
    pub fn into_ranked_runs(self, ranks: Arc<[u32]>) -> Vec<Run> {
        self.with_ranks(Some(ranks))
    }

    fn with_ranks(self, ranks: Option<Arc<[u32]>>) -> Vec<Run> {
        let (file, keys) = (Arc::new(self.file), self.keys);
        let runs = self.runs.into_iter().filter(|(pieces, _)| !pieces.is_empty());
        let most_rank = ranks.iter().flat_map(|ranks| ranks.iter().copied()).max().unwrap_or(u32::MAX);
        let run = |(mut pieces, spread): (Vec<Piece>, Option<Arc<KeySpread>>)| {
            if keys.cut_has_rank() {
                for piece in &mut pieces {
                    let number = piece.first_number;
                    let rank = ranks.as_ref().map_or(number, |ranks| ranks[number as usize]);
                    piece.cut.extend(rank_key(rank));
                }
            }
            let (file, keys, ranks) = (file.clone(), keys.clone(), ranks.clone());
            Run { file, pieces: pieces.into(), keys, ranks, most_rank, spread }
        };
        runs.map(run).collect()
    }
}

/// A column of numbers below `end`, which are ranked later: no wider than it has to be.
pub fn numbers_column(numbers: impl Iterator<Item = u32>, end: usize) -> Column {
    if end <= 1 << 16 {
        Column::Flat(numbers.map(|number| number as u16).collect::<Vec<u16>>().into())
    } else {
        Column::Flat(numbers.collect::<Vec<u32>>().into())
    }
}

/// The numbers in the last column of a block, or what `of_number` makes of them.
fn numbers_of(block: &Block, of_number: impl Fn(u32) -> u32) -> Result<Vec<u32>> {
    let numbers = block.columns().last().map(Column::flat);
    let numbers = numbers.ok_or_else(|| err!(LOGICAL_ERROR, "Rows on disk have no numbers"))?;
    match numbers.values::<u16>() {
        Ok(numbers) => Ok(numbers.iter().map(|&number| of_number(u32::from(number))).collect()),
        Err(_) => Ok(numbers.values::<u32>()?.iter().map(|&number| of_number(number)).collect()),
    }
}

/// The number of the first row of a block that has rows.
fn first_number(block: &Block) -> Result<u32> {
    Ok(numbers_of(&block.slice(0, 1), |number| number)?[0])
}

/// The rows of a block with ranks in place of their numbers.
fn with_ranks(block: Block, ranks: &[u32]) -> Result<Block> {
    let n_rows = block.n_rows();
    // The disk may give anything back. No rank is as large as that, see where numbers are given.
    let of_rows = numbers_of(&block, |number| ranks.get(number as usize).copied().unwrap_or(u32::MAX))?;
    ensure!(!of_rows.contains(&u32::MAX), CORRUPTED_DATA, "A temporary block has an unknown number");
    let mut columns = block.into_columns();
    columns.pop();
    columns.push(Column::Flat(of_rows.into()));
    Ok(Block::new(columns, n_rows))
}

/// How a rank stands in a key.
fn rank_key(rank: u32) -> Vec<u8> {
    let order = Order { nullable: false, ..Order::ASCENDING };
    sort_keys(&[(&Column::Flat(vec![rank].into()), order)], 1).bytes
}

/// A run that is being read.
struct Cursor {
    run: Run,
    next_piece: usize,
    keys: Keys,
    /// How the keys differ.
    spread: KeySpread,
    /// Rows of the piece that are not out yet.
    rows: Range<usize>,
    /// The number of its block among the blocks of the merge.
    block: u32,
    /// Bytes of a row of the block, about.
    row_bytes: usize,
}

/// Merges runs block by block: of the rows that are read it takes those up to a key that all runs have been read to, and sorts them
/// by numbers that are made of their keys. That touches a row less often than a heap of the runs does. Holds a piece of each run.
pub struct Merge {
    /// Those that have rows.
    cursors: Vec<Cursor>,
    /// Blocks that rows of the next output are of.
    blocks: Vec<Block>,
    rows: Vec<BlockRow>,
    entries: Vec<Entry>,
    /// The key behind the last.
    until: Option<Vec<u8>>,
    /// Do rows come out without the columns that are the keys' own?
    takes_off: bool,
    buffers: ReadBuffers,
}

impl Merge {
    /// Opens runs, which are not too many to be read at a time, for their rows whose keys are in a range: `from` is the first key,
    /// `until` is behind the last. With `takes_off` they come out without the columns that are the keys' own.
    pub(super) fn open(runs: &[Run], from: &[u8], until: Option<Vec<u8>>, takes_off: bool) -> Result<Merge> {
        let (cursors, blocks, rows, entries) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let buffers = ReadBuffers::default();
        let mut merge = Merge { cursors, blocks, rows, entries, until, takes_off, buffers };
        for run in runs {
            let mut cursor = run.cursor(run.piece_of(from));
            if merge.load(&mut cursor, from)? {
                merge.cursors.push(cursor);
            }
        }
        Ok(merge)
    }

    /// Reads the next piece of a run that has rows from the key `from` on; false where no such row is in the range of keys.
    fn load(&mut self, cursor: &mut Cursor, from: &[u8]) -> Result<bool> {
        loop {
            let Some(block) = cursor.load(self.takes_off, &mut self.buffers)? else { return Ok(false) };
            cursor.rows.start = cursor.rows_before(from);
            if let Some(until) = &self.until {
                cursor.rows.end = cursor.rows_before(until).max(cursor.rows.start);
            }
            if !cursor.rows.is_empty() {
                cursor.block = self.blocks.len() as u32;
                self.blocks.push(block);
                return Ok(true);
            }
        }
    }

    /// The next rows, at most so many; none when all are out.
    pub(super) fn next(&mut self, max_rows: usize) -> Result<Option<Block>> {
        self.select(max_rows)?;
        if self.rows.is_empty() {
            return Ok(None);
        }
        let out = Block::interleave(&self.blocks.iter().collect::<Vec<_>>(), &self.rows);
        self.drop_read();
        Ok(Some(out))
    }

    /// Leaves out the next rows. `check` is called now and then and may end the work.
    pub(super) fn skip(&mut self, n_rows: usize, check: &dyn Fn() -> Result<()>) -> Result<()> {
        let mut left = n_rows;
        while left > 0 && !self.cursors.is_empty() {
            self.select(left.min(ROWS_AT_ONCE))?;
            left -= self.rows.len();
            check()?;
            self.drop_read();
        }
        Ok(())
    }

    /// Finds the next rows, at most so many, and some where there are any.
    fn select(&mut self, max_rows: usize) -> Result<()> {
        self.rows.clear();
        let mut bytes = 0;
        while !self.cursors.is_empty() && self.rows.len() < max_rows {
            let row_bytes = self.cursors.iter().map(|cursor| cursor.row_bytes).max().unwrap_or(1).max(1);
            let fitting = MOST_BYTES.saturating_sub(bytes) / row_bytes;
            let mut left = (max_rows - self.rows.len()).min(fitting);
            if self.rows.is_empty() {
                // Also where one has more bytes than that.
                left = left.max(1);
            } else if left <= self.rows.len() / FEW_LEFT {
                break;
            }
            let taken = self.select_some(left / self.cursors.len())?;
            bytes += taken * row_bytes;
        }
        Ok(())
    }

    /// Finds the next row.
    fn select_one(&mut self) -> Result<usize> {
        let by_first = |one: &&mut Cursor, other: &&mut Cursor| one.first_key().cmp(other.first_key());
        let Some(cursor) = self.cursors.iter_mut().min_by(by_first) else { return Ok(0) };
        self.rows.push(BlockRow { block: cursor.block, row: cursor.rows.start as u32 });
        cursor.rows.start += 1;
        self.load_read()?;
        Ok(1)
    }

    /// Finds the next rows, of no run more than `most`; one row where that is nothing. Says how many.
    fn select_some(&mut self, most: usize) -> Result<usize> {
        if most == 0 {
            // Rows of several runs may have equal keys.
            return self.select_one();
        }
        let last = |cursor: &Cursor| cursor.rows.end.min(cursor.rows.start + most) - 1;
        let keys = self.cursors.iter().map(|cursor| cursor.keys.get(last(cursor)));
        let Some(bound) = keys.min().map(<[u8]>::to_vec) else { return Ok(0) };
        let first = self.rows.len();
        let (mut n_runs, mut spread) = (0, KeySpread::default());
        for cursor in &self.cursors {
            if cursor.first_key() <= &bound[..] {
                (n_runs, spread) = (n_runs + 1, merged_spread(spread, &cursor.spread));
            }
        }
        let packing = spread.packing();
        let mut entries = std::mem::take(&mut self.entries);
        entries.clear();
        for (number, cursor) in self.cursors.iter_mut().enumerate() {
            let within = cursor.rows.start..last(cursor) + 1;
            let end = bisect::partition_point(within, |row| cursor.keys.get(row) <= &bound[..]);
            let rows = cursor.rows.start..end;
            cursor.rows.start = end;
            if n_runs == 1 {
                let block = cursor.block;
                self.rows.extend(rows.map(|row| BlockRow { block, row: row as u32 }));
            } else {
                let keys = &cursor.keys;
                entries.extend(rows.map(|row| entry(keys.prefix(row, &packing), number as u32, row as u32)));
            }
        }
        let cursors = &self.cursors;
        let key = |entry: Entry| {
            let (number, row) = place(entry);
            cursors[number as usize].keys.get(row as usize)
        };
        packing.sort(&mut entries, false, &key, &|| Ok(()))?;
        self.rows.extend(entries.iter().map(|&entry| {
            let (number, row) = place(entry);
            BlockRow { block: cursors[number as usize].block, row }
        }));
        self.entries = entries;
        self.load_read()?;
        Ok(self.rows.len() - first)
    }

    /// Reads on in runs of which all rows that were read have been selected.
    fn load_read(&mut self) -> Result<()> {
        let mut at = 0;
        while at < self.cursors.len() {
            if !self.cursors[at].rows.is_empty() {
                at += 1;
                continue;
            }
            let mut cursor = self.cursors.swap_remove(at);
            if self.load(&mut cursor, &[])? {
                self.cursors.push(cursor);
            }
        }
        Ok(())
    }

    /// Lets go of blocks of which all rows are out.
    fn drop_read(&mut self) {
        let mut blocks = std::mem::take(&mut self.blocks);
        for cursor in &mut self.cursors {
            self.blocks.push(std::mem::take(&mut blocks[cursor.block as usize]));
            cursor.block = self.blocks.len() as u32 - 1;
        }
    }
}

/// How the keys of both differ.
fn merged_spread(mut spread: KeySpread, other: &KeySpread) -> KeySpread {
    spread.merge(other);
    spread
}

impl Run {
    fn cursor(&self, next_piece: usize) -> Cursor {
        let (keys, spread) = (Keys::default(), KeySpread::default());
        Cursor { run: self.clone(), next_piece, keys, spread, rows: 0..0, block: 0, row_bytes: 0 }
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
        cursor.load(true, &mut ReadBuffers::default())?;
        let before: usize = self.pieces[..piece].iter().map(|piece| piece.n_rows).sum();
        Ok(before + cursor.rows_before(key))
    }
}

impl Cursor {
    /// The key of the first row that is not out, which there must be.
    fn first_key(&self) -> &[u8] {
        self.keys.get(self.rows.start)
    }

    /// How many rows of the piece, from the first that is not out on, and those before it, are before a key.
    fn rows_before(&self, key: &[u8]) -> usize {
        bisect::partition_point(self.rows.clone(), |row| self.keys.get(row) < key)
    }

    /// Reads the next piece; none when there is no more.
    fn load(&mut self, takes_off: bool, buffers: &mut ReadBuffers) -> Result<Option<Block>> {
        let Some(Piece { place, .. }) = self.run.pieces.get(self.next_piece) else {
            (self.keys, self.rows) = (Keys::default(), 0..0);
            return Ok(None);
        };
        self.next_piece += 1;
        let mut block = read_block(&mut self.run.file.read_with(place, buffers)?)?;
        if let Some(ranks) = &self.run.ranks {
            block = with_ranks(block, ranks)?;
        }
        let keys = &self.run.keys;
        let of_rows = keys.of(&block, keys.columns.len());
        let between = match (&self.run.spread, block.n_rows()) {
            (Some(spread), 1..) => {
                let last = of_rows.get(block.n_rows() - 1);
                spread.between(of_rows.get(0), last, self.run.most_rank)
            }
            _ => None,
        };
        self.spread = between.unwrap_or_else(|| {
            let mut spread = KeySpread::default();
            spread.add(&of_rows);
            spread
        });
        self.keys = Keys::new(of_rows);
        self.rows = 0..block.n_rows();
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
            writer.begin(None);
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
