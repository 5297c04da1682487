//! The buffer of a sort: rows to be sorted, with normalized keys whose bytes compare as the rows do; equal rows keep their order.

use super::key_prefix::{Entry, KeySpread, Packing, Rest, entry, place};
use crate::pipeline::Position;
use chalet_base::Result;
use chalet_columns::Block;
use chalet_columns::interleave::BlockRow;
use chalet_columns::keys::RowKeys;
use chalet_memory::parallel;
use std::ops::Range;

/// Blocks with the normalized keys of their rows; sorted by references, so that each row moves once.
#[derive(Default)]
pub struct SortBuffer {
    blocks: Vec<(Position, Block, Keys)>,
    n_rows: usize,
    spread: KeySpread,
}

/// Normalized keys of the rows of a block; without offsets where all have one length.
#[derive(Default)]
pub struct Keys {
    bytes: Vec<u8>,
    width: usize,
    offsets: Vec<usize>,
    /// Where rows have other places than their keys: the key's number for each row.
    of_rows: Vec<u32>,
}

impl Keys {
    /// The keys of the rows of a block.
    pub fn new(keys: RowKeys) -> Keys {
        let width = keys.bytes.len() / keys.len().max(1);
        let is_fixed = keys.offsets.iter().enumerate().all(|(row, &offset)| offset == row * width);
        let RowKeys { bytes, offsets } = keys;
        Keys { bytes, width, offsets: if is_fixed { Vec::new() } else { offsets }, of_rows: Vec::new() }
    }

    /// The key of a row.
    #[inline(always)]
    pub fn get(&self, row: usize) -> &[u8] {
        let (start, end) = self.bounds(self.of_rows.get(row).map_or(row, |&key| key as usize));
        &self.bytes[start..end]
    }

    /// The first eight bytes that are compared of the key of a row that stands where it came.
    #[inline(always)]
    pub fn prefix(&self, row: usize, packing: &Packing) -> u64 {
        let (start, end) = self.bounds(row);
        packing.prefix(&self.bytes, start, end)
    }

    /// The sixteen bytes behind these.
    #[inline(always)]
    pub fn rest(&self, row: usize, packing: &Packing) -> Rest {
        let (start, end) = self.bounds(row);
        packing.rest(&self.bytes, start, end)
    }

    #[inline(always)]
    fn bounds(&self, row: usize) -> (usize, usize) {
        match self.offsets.get(row..row + 2) {
            Some(ends) => (ends[0], ends[1]),
            None => (row * self.width, (row + 1) * self.width),
        }
    }

    fn memory(&self) -> usize {
        self.bytes.len() + self.offsets.len() * 8 + self.of_rows.len() * 4
    }
}

impl SortBuffer {
    /// Adds a block and the keys of its rows.
    pub fn push(&mut self, position: Position, block: Block, keys: RowKeys) {
        self.n_rows += block.n_rows();
        self.spread.add(&keys);
        self.blocks.push((position, block, Keys::new(keys)));
    }

    /// Adds a block of which nobody asks for keys.
    pub fn push_without_keys(&mut self, position: Position, block: Block) {
        self.n_rows += block.n_rows();
        self.blocks.push((position, block, Keys::default()));
    }

    /// Takes all rows of another buffer over.
    pub fn append(&mut self, other: SortBuffer) {
        self.n_rows += other.n_rows;
        self.spread.merge(&other.spread);
        self.blocks.extend(other.blocks);
    }

    /// Cuts the blocks into buffers, one for each range of their numbers.
    pub fn split(self, ranges: &[Range<usize>]) -> Vec<SortBuffer> {
        let mut blocks = self.blocks.into_iter();
        let part = |range: &Range<usize>| {
            let blocks: Vec<_> = blocks.by_ref().take(range.len()).collect();
            let n_rows = blocks.iter().map(|(_, block, _)| block.n_rows()).sum();
            SortBuffer { blocks, n_rows, spread: self.spread.clone() }
        };
        ranges.iter().map(part).collect()
    }

    /// Puts the rows of a block into another order: the `rows[i]`-th stands at `i`. Nobody reads the columns at `unread`.
    pub fn reorder(&mut self, number: u32, rows: Vec<u32>, unread: &[usize]) {
        let (_, block, keys) = &mut self.blocks[number as usize];
        *block = block.gather_read(&rows, unread);
        keys.of_rows = rows;
    }

    /// The number of rows of all blocks.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The number of blocks.
    pub fn n_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Bytes of memory that the blocks and their keys take.
    pub fn memory(&self) -> usize {
        self.blocks.iter().map(|(_, block, keys)| block.memory() + keys.memory()).sum()
    }

    /// The block of this number, and the keys of its rows.
    pub fn block(&self, number: u32) -> &(Position, Block, Keys) {
        &self.blocks[number as usize]
    }

    /// All blocks by their numbers.
    pub fn blocks(&self) -> Vec<&Block> {
        self.blocks.iter().map(|(_, block, _)| block).collect()
    }

    /// Takes the blocks out, with the keys of their rows.
    pub fn into_blocks(self) -> Vec<(Position, Block, Keys)> {
        self.blocks
    }

    /// The key of a row.
    #[inline(always)]
    pub fn key(&self, entry: Entry) -> &[u8] {
        let (block, row) = place(entry);
        self.blocks[block as usize].2.get(row as usize)
    }

    /// How the keys differ.
    pub fn spread(&self) -> &KeySpread {
        &self.spread
    }

    /// Which bytes of the keys tell rows apart.
    pub fn packing(&self) -> Packing {
        self.spread.packing()
    }

    /// Numbers the blocks by their positions, so that equal rows keep their order however the rows came.
    pub fn number_blocks(&mut self) {
        self.blocks.sort_by_key(|(position, ..)| *position);
    }

    /// Are the rows in order as they are? Asks no further than to the first that is not.
    pub fn is_in_order(&self, packing: &Packing) -> bool {
        let mut before: Option<(u64, &[u8])> = None;
        self.blocks.iter().all(|(_, block, keys)| {
            (0..block.n_rows()).all(|row| {
                let (prefix, key) = (keys.prefix(row, packing), keys.get(row));
                let follows =
                    before.is_none_or(|(last, bytes)| last < prefix || last == prefix && bytes <= key);
                before = Some((prefix, key));
                follows
            })
        })
    }

    /// Calls `put` with the entry of every row of a block, which is that of number `as_number` in the entries.
    #[inline(always)]
    pub fn entries_of(&self, number: u32, as_number: u32, packing: &Packing, mut put: impl FnMut(Entry)) {
        let (_, block, keys) = &self.blocks[number as usize];
        for row in 0..block.n_rows() {
            put(entry(keys.prefix(row, packing), as_number, row as u32));
        }
    }

    /// References to the first `limit` rows in order. `check` is called now and then and may end the work.
    pub fn order(&mut self, limit: usize, check: &dyn Fn() -> Result<()>) -> Result<Vec<Entry>> {
        self.number_blocks();
        self.order_numbered(limit, false, check)
    }

    /// As [`order`](Self::order), of rows that lie in long stretches that are in order.
    pub fn merge(&mut self, check: &dyn Fn() -> Result<()>) -> Result<Vec<Entry>> {
        self.order_numbered(usize::MAX, true, check)
    }

    fn order_numbered(
        &self,
        limit: usize,
        has_runs: bool,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<Vec<Entry>> {
        let packing = self.packing();
        let mut entries: Vec<Entry> = Vec::with_capacity(self.n_rows);
        (0..self.blocks.len() as u32)
            .for_each(|number| self.entries_of(number, number, &packing, |e| entries.push(e)));
        let key = |entry: Entry| self.key(entry);
        if limit < entries.len() {
            if limit > 0 {
                let compare = |a: &Entry, b: &Entry| {
                    let by_prefix = (*a >> 64).cmp(&(*b >> 64));
                    by_prefix.then_with(|| key(*a).cmp(key(*b))).then_with(|| a.cmp(b))
                };
                entries.select_nth_unstable_by(limit - 1, compare);
            }
            entries.truncate(limit);
        }
        packing.sort(&mut entries, has_runs, &key, check)?;
        Ok(entries)
    }

    /// All rows as one block; none where no block came. At most so many threads gather the columns.
    pub fn sorted(mut self, n_threads: usize, check: &dyn Fn() -> Result<()>) -> Result<Option<Block>> {
        if let ([_], 1) = (&self.blocks[..], self.n_rows) {
            return Ok(self.blocks.pop().map(|(_, block, _)| block));
        }
        let entries = self.order(usize::MAX, check)?;
        let blocks = self.blocks();
        let Some(first) = blocks.first() else { return Ok(None) };
        let (n_rows, n_columns) = (entries.len(), first.columns().len());
        let n_threads = n_threads.min(n_rows.saturating_mul(n_columns) / VALUES_A_THREAD);
        let rows = block_rows(&entries);
        let columns = match &blocks[..] {
            [one] => {
                let rows: Vec<u32> = rows.iter().map(|at| at.row).collect();
                parallel::map(n_columns, n_threads, |i| Ok(one.column(i).gather(&rows)))?
            }
            _ => parallel::map(n_columns, n_threads, |i| Ok(Block::interleave_column(&blocks, i, &rows)))?,
        };
        Ok(Some(Block::new(columns, n_rows)))
    }
}

/// Fewer values are not worth a thread.
const VALUES_A_THREAD: usize = 1 << 18;

/// Where rows are.
pub fn block_rows(entries: &[Entry]) -> Vec<BlockRow> {
    let at = |&entry: &Entry| {
        let (block, row) = place(entry);
        BlockRow { block, row }
    };
    entries.iter().map(at).collect()
}
