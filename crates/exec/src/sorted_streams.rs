//! Merging sorted streams of blocks: a k-way merge that gallops, so that streams that hardly overlap cost little more than copying them,
//! and blocks that lie before all others pass as they are. Where streams overlap so much that there is little to gallop over, the rows
//! that all of them have up to a key some way ahead are sorted by their normalized keys: runs are found and merged there without
//! a branch for every row.

use crate::operators::key_prefix::{Entry, KeySpread, entry, place};
use chalet_base::bisect::partition_point;
use chalet_base::{Result, bail};
use chalet_columns::Block;
use chalet_columns::interleave::BlockRow;
use chalet_columns::keys::RowKeys;
use chalet_storage::ScanWorker;
use std::cmp::Ordering;

/// Makes the keys of the rows of a block, whose bytes compare as the rows are sorted.
pub type MakeKeys<'a> = &'a dyn Fn(&Block) -> Result<RowKeys>;

/// What a merge puts out at once, about.
#[derive(Clone, Copy, Debug)]
pub struct MergedSize {
    pub rows: usize,
    pub bytes: usize,
}

/// A sorted stream, and where in its current block it is.
struct Stream {
    rows: Box<dyn ScanWorker>,
    /// Its block among those of the merge.
    block: u32,
    row: usize,
    /// Keys of the first and the last row of the block. Those of all rows are made when they are needed.
    first: Vec<u8>,
    last: Vec<u8>,
    keys: Option<Keys>,
}

/// Keys of all rows of a block, and how they differ.
struct Keys {
    of_rows: RowKeys,
    spread: KeySpread,
}

/// So few rows of a stream before the next one of another are a short run.
const SHORT_RUN: usize = 16;
/// After so many short runs in a row, rows ahead are sorted.
const SHORT_RUNS: u32 = 8;

/// Sorted streams as one; equal rows come in the order of the streams.
pub struct SortedStreams {
    streams: Vec<Stream>,
    /// Those that have rows, by their next ones: the least is the last.
    queue: Vec<u32>,
    /// The blocks that rows of the next output are of.
    blocks: Vec<Block>,
    rows: Vec<BlockRow>,
    size: MergedSize,
}

impl Stream {
    /// The key of its next row.
    fn key(&self) -> &[u8] {
        match &self.keys {
            Some(keys) => keys.of_rows.get(self.row),
            // Whoever stops within a block has made the keys.
            None => &self.first,
        }
    }

    /// Keys of all rows of its block, which is given.
    fn keys(&mut self, block: &Block, make: MakeKeys) -> Result<&Keys> {
        let keys = match self.keys.take() {
            Some(keys) => keys,
            None => {
                let (of_rows, mut spread) = (make(block)?, KeySpread::default());
                spread.add(&of_rows);
                Keys { of_rows, spread }
            }
        };
        Ok(self.keys.insert(keys))
    }

    /// Takes the next block and gives it; none at the end.
    fn load(&mut self, keys: MakeKeys) -> Result<Option<Block>> {
        while let Some(morsel) = self.rows.next()? {
            let block = morsel.block;
            if block.is_empty() {
                continue;
            }
            let key_of = |row: usize| Ok(keys(&block.slice(row, 1))?.get(0).to_vec());
            (self.row, self.first, self.last, self.keys) = (0, key_of(0)?, key_of(block.n_rows() - 1)?, None);
            return Ok(Some(block));
        }
        Ok(None)
    }
}

impl SortedStreams {
    /// A merge of these streams.
    pub fn open(
        streams: Vec<Box<dyn ScanWorker>>,
        keys: MakeKeys,
        size: MergedSize,
    ) -> Result<SortedStreams> {
        let (queue, blocks, rows) = (Vec::with_capacity(streams.len()), Vec::new(), Vec::new());
        let of = |rows| Stream { rows, block: 0, row: 0, first: Vec::new(), last: Vec::new(), keys: None };
        let streams: Vec<Stream> = streams.into_iter().map(of).collect();
        let mut merge = SortedStreams { streams, queue, blocks, rows, size };
        for stream in 0..merge.streams.len() as u32 {
            merge.load(stream, keys)?;
        }
        Ok(merge)
    }

    /// The next rows; none at the end.
    pub fn next(&mut self, keys: MakeKeys) -> Result<Option<Block>> {
        let (mut bytes, mut n_short) = (0, 0);
        while self.rows.len() < self.size.rows && bytes < self.size.bytes && !self.queue.is_empty() {
            if n_short >= SHORT_RUNS {
                bytes += self.sort_ahead(keys)?;
                n_short = 0;
                continue;
            }
            let (least, end) = self.least_run(keys)?;
            let stream = &mut self.streams[least as usize];
            let block = &self.blocks[stream.block as usize];
            let is_whole = stream.row == 0 && end == block.n_rows();
            if is_whole && !self.rows.is_empty() && block.n_rows() >= self.size.rows / 2 {
                // It is worth passing on as it is, behind what comes before it.
                break;
            }
            if is_whole && self.rows.is_empty() && block.n_rows() <= self.size.rows {
                let block = block.clone();
                self.queue.pop();
                self.load(least, keys)?;
                self.drop_read()?;
                return Ok(Some(block));
            }
            let end = end.min(stream.row + self.size.rows - self.rows.len());
            let n = end - stream.row;
            n_short = if n < SHORT_RUN && self.queue.len() > 1 { n_short + 1 } else { 0 };
            bytes += block.memory() / block.n_rows().max(1) * n;
            self.rows.extend((stream.row..end).map(|row| BlockRow { block: stream.block, row: row as u32 }));
            self.queue.pop();
            if end == block.n_rows() {
                self.load(least, keys)?;
            } else {
                stream.keys(block, keys)?;
                stream.row = end;
                self.enqueue(least);
            }
        }
        if self.rows.is_empty() {
            return Ok(None);
        }
        let out = Block::interleave(&self.blocks.iter().collect::<Vec<_>>(), &std::mem::take(&mut self.rows));
        self.drop_read()?;
        Ok(Some(out))
    }

    /// Goes on to the next block of a stream, which is not in the queue, if it has one.
    fn load(&mut self, at: u32, keys: MakeKeys) -> Result<()> {
        let stream = &mut self.streams[at as usize];
        if let Some(block) = stream.load(keys)? {
            stream.block = self.blocks.len() as u32;
            self.blocks.push(block);
            self.enqueue(at);
        }
        Ok(())
    }

    /// Puts a stream into the queue. Equal rows go by the streams.
    fn enqueue(&mut self, at: u32) {
        let key = |at: u32| (self.streams[at as usize].key(), at);
        let place = self.queue.partition_point(|&other| key(other) > key(at));
        self.queue.insert(place, at);
    }

    /// The stream with the least row, and the row of its block up to which no other stream has a lesser one.
    fn least_run(&mut self, keys: MakeKeys) -> Result<(u32, usize)> {
        let Some((&least, others)) = self.queue.split_last() else {
            bail!(LOGICAL_ERROR, "No stream is left")
        };
        let block = &self.blocks[self.streams[least as usize].block as usize];
        let n_rows = block.n_rows();
        let Some(&second) = others.last() else { return Ok((least, n_rows)) };
        let precedes = |own: &[u8], bound: &[u8]| match own.cmp(bound) {
            Ordering::Less => true,
            Ordering::Equal => least < second,
            Ordering::Greater => false,
        };
        if precedes(&self.streams[least as usize].last, self.streams[second as usize].key()) {
            return Ok((least, n_rows));
        }
        self.streams[least as usize].keys(block, keys)?;
        let (stream, bound) = (&self.streams[least as usize], self.streams[second as usize].key());
        let Some(keys) = &stream.keys else { bail!(LOGICAL_ERROR, "A stream has no keys") };
        let precedes = |row: usize| precedes(keys.of_rows.get(row), bound);
        // Steps that double, then bisection: runs are long where parts hardly overlap, and short where they do.
        let (mut low, mut step) = (stream.row + 1, 1);
        while low + step < n_rows && precedes(low + step - 1) {
            low += step;
            step *= 2;
        }
        Ok((least, partition_point(low..(low + step).min(n_rows), precedes)))
    }

    /// Takes the rows of all streams up to a key that no more than a share of the output lies before in any of them, sorted. Gives about
    /// how many bytes they take.
    fn sort_ahead(&mut self, keys: MakeKeys) -> Result<usize> {
        let room = self.size.rows - self.rows.len();
        let ahead = (room / self.queue.len().max(1)).max(1);
        let mut spread = KeySpread::default();
        // Equal rows go by the streams.
        let mut queued = std::mem::take(&mut self.queue);
        queued.sort_unstable();
        for &at in &queued {
            let stream = &mut self.streams[at as usize];
            spread.merge(&stream.keys(&self.blocks[stream.block as usize], keys)?.spread);
        }
        let packing = spread.packing();
        let key = |at: u32, row: usize| match &self.streams[at as usize].keys {
            Some(keys) => keys.of_rows.get(row),
            None => &[],
        };
        let n_rows = |at: u32| self.blocks[self.streams[at as usize].block as usize].n_rows();
        let row_ahead = |at: u32| (self.streams[at as usize].row + ahead).min(n_rows(at)) - 1;
        let bound = queued.iter().map(|&at| (key(at, row_ahead(at)), at)).min();
        let mut entries: Vec<Entry> = Vec::with_capacity(room);
        let (mut ends, mut bytes) = (Vec::with_capacity(queued.len()), 0);
        for &at in &queued {
            let start = self.streams[at as usize].row;
            let end = partition_point(start..row_ahead(at) + 1, |row| Some((key(at, row), at)) <= bound);
            let block = &self.blocks[self.streams[at as usize].block as usize];
            bytes += block.memory() / block.n_rows().max(1) * (end - start);
            if let Some(keys) = &self.streams[at as usize].keys {
                let (offsets, all) = (&keys.of_rows.offsets, &keys.of_rows.bytes);
                let prefix = |row: usize| packing.prefix(all, offsets[row], offsets[row + 1]);
                entries.extend((start..end).map(|row| entry(prefix(row), at, row as u32)));
            }
            ends.push(end);
        }
        packing.sort(
            &mut entries,
            true,
            &|entry| key(place(entry).0, place(entry).1 as usize),
            &|| Ok(()),
        )?;
        let streams = &self.streams;
        self.rows.extend(entries.iter().map(|&entry| {
            let (at, row) = place(entry);
            BlockRow { block: streams[at as usize].block, row }
        }));
        for (at, end) in queued.into_iter().zip(ends) {
            if end == self.blocks[self.streams[at as usize].block as usize].n_rows() {
                self.load(at, keys)?;
            } else {
                self.streams[at as usize].row = end;
                self.enqueue(at);
            }
        }
        Ok(bytes)
    }

    /// Lets go of blocks of which all rows are out.
    fn drop_read(&mut self) -> Result<()> {
        let mut blocks: Vec<Option<Block>> = std::mem::take(&mut self.blocks).into_iter().map(Some).collect();
        for &at in &self.queue {
            let stream = &mut self.streams[at as usize];
            let Some(block) = blocks[stream.block as usize].take() else {
                bail!(LOGICAL_ERROR, "Two streams have one block")
            };
            stream.block = self.blocks.len() as u32;
            self.blocks.push(block);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chalet_columns::keys::{Order, sort_keys};
    use chalet_columns::{Builder, Column};
    use chalet_storage::Morsel;
    use chalet_types::{DataType, Value};

    struct Blocks(std::vec::IntoIter<Block>);

    impl ScanWorker for Blocks {
        fn next(&mut self) -> Result<Option<Morsel>> {
            Ok(self.0.next().map(|block| Morsel { block, task: 0, number: 0 }))
        }
    }

    fn column(values: &[u64]) -> Column {
        let mut builder = Builder::new(&DataType::UInt64);
        values.iter().for_each(|&value| builder.push_value(&Value::UInt(value)).expect("a number"));
        Column::Flat(builder.finish())
    }

    /// Merges streams of sorted keys and compares with a stable sort of all: each row carries where it is from.
    fn check(streams: &[Vec<u64>], block_rows: usize, size: usize) {
        let mut expected: Vec<(u64, u64)> = Vec::new();
        let mut workers: Vec<Box<dyn ScanWorker>> = Vec::new();
        for (number, stream) in streams.iter().enumerate() {
            let places: Vec<u64> = (0..stream.len() as u64).map(|row| (number as u64) << 32 | row).collect();
            expected.extend(stream.iter().copied().zip(places.iter().copied()));
            let blocks = stream.chunks(block_rows).zip(places.chunks(block_rows));
            let blocks = blocks.map(|(keys, at)| Block::new(vec![column(keys), column(at)], keys.len()));
            workers.push(Box::new(Blocks(blocks.collect::<Vec<_>>().into_iter())));
        }
        expected.sort();
        let keys = |block: &Block| Ok(sort_keys(&[(block.column(0), Order::ASCENDING)], block.n_rows()));
        let size = MergedSize { rows: size, bytes: usize::MAX };
        let mut merge = SortedStreams::open(workers, &keys, size).expect("streams");
        let mut merged = Vec::new();
        while let Some(block) = merge.next(&keys).expect("rows") {
            assert!(block.n_rows() > 0 && block.n_rows() <= size.rows);
            let number = |column: usize, row: usize| match block.column(column).value(row) {
                Value::UInt(value) => value,
                other => panic!("{other:?}"),
            };
            merged.extend((0..block.n_rows()).map(|row| (number(0, row), number(1, row))));
        }
        assert_eq!(merged, expected);
    }

    #[test]
    fn streams_are_merged_however_much_they_overlap() {
        let mut seed = 1_u64;
        let mut random = move |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for (distinct, offset) in [(3, 0), (500, 0), (1 << 30, 0), (100, 90), (100, 1_000)] {
            let streams: Vec<Vec<u64>> = (0..5)
                .map(|stream| {
                    let n_rows = random(700);
                    let mut keys: Vec<u64> =
                        (0..n_rows).map(|_| random(distinct) + stream * offset).collect();
                    keys.sort_unstable();
                    keys
                })
                .collect();
            for (block_rows, size) in [(1, 1), (7, 10), (64, 50), (1_000, 256), (100, 10_000)] {
                check(&streams, block_rows, size);
            }
        }
    }
}
