//! Rows partitioned by their keys (radix partitioning), by all workers: each worker takes ranges of rows and sorts their entries by
//! partition, so that afterwards a partition can be worked on by itself, in a cache.

use crate::tasks::Team;
use chalet_base::Result;
use chalet_columns::BooleanBuffer;
use std::ops::Range;
use std::sync::Arc;

/// A row and a word that stands for its key. Twelve bytes: most of what large joins hold is these.
#[derive(Clone, Copy)]
#[repr(C, packed(4))]
pub struct Entry {
    pub word: u64,
    pub row: u32,
}

/// Entries by partition; those of one partition are in the order of the rows.
pub struct PartitionedRows {
    chunks: Vec<Chunk>,
}

struct Chunk {
    entries: Vec<Entry>,
    /// Where the first partition begins, and where each one ends.
    bounds: Vec<u32>,
}

/// Rows that a worker takes at a time: 2 to this power.
const CHUNK_BITS: u32 = 18;

/// The rows of each chunk.
pub fn chunks(n_rows: usize) -> impl ExactSizeIterator<Item = Range<usize>> {
    let size = 1 << CHUNK_BITS;
    (0..n_rows.div_ceil(size)).map(move |at| at * size..n_rows.min((at + 1) * size))
}

impl PartitionedRows {
    /// Partitions the rows that are `valid`. `words` gives the words of a range of rows, `partition` the partition of a word, below
    /// `n_partitions`.
    pub fn new(
        team: &Team,
        valid: &BooleanBuffer,
        n_partitions: usize,
        words: impl Fn(Range<usize>) -> Vec<u64> + Send + Sync + 'static,
        partition: impl Fn(u64) -> usize + Send + Sync + 'static,
    ) -> Result<Arc<PartitionedRows>> {
        let valid = valid.clone();
        let ranges: Vec<Range<usize>> = chunks(valid.len()).collect();
        let chunks = team.collect_all(ranges.len(), move |at| {
            let rows = ranges[at].clone();
            let words = words(rows.clone());
            let valid = valid.slice(rows.start, rows.len());
            Ok(Chunk::new(&words, &valid, rows.start as u32, n_partitions, &partition))
        })?;
        Ok(Arc::new(PartitionedRows { chunks }))
    }

    /// Entries of a partition.
    pub fn len(&self, partition: usize) -> usize {
        self.pieces(partition).map(<[Entry]>::len).sum()
    }

    /// The entries of a partition.
    pub fn entries(&self, partition: usize) -> impl Iterator<Item = Entry> {
        self.pieces(partition).flatten().copied()
    }

    /// The entries of a partition, piece by piece: a loop over each is faster than one over all.
    pub fn pieces(&self, partition: usize) -> impl Iterator<Item = &[Entry]> {
        self.chunks.iter().map(move |chunk| {
            &chunk.entries[chunk.bounds[partition] as usize..chunk.bounds[partition + 1] as usize]
        })
    }
}

impl Chunk {
    fn new(
        words: &[u64],
        valid: &BooleanBuffer,
        first: u32,
        n_partitions: usize,
        partition: impl Fn(u64) -> usize,
    ) -> Chunk {
        let all_valid = valid.count_set_bits() == words.len();
        let is_valid = |row: usize| all_valid || valid.value(row);
        let mut bounds = vec![0u32; n_partitions + 1];
        for (row, &word) in words.iter().enumerate() {
            bounds[partition(word) + 1] += u32::from(is_valid(row));
        }
        for at in 0..n_partitions {
            bounds[at + 1] += bounds[at];
        }
        let mut next = bounds.clone();
        let mut entries = vec![Entry { word: 0, row: 0 }; bounds[n_partitions] as usize];
        for (row, &word) in words.iter().enumerate() {
            if is_valid(row) {
                let at = &mut next[partition(word)];
                entries[*at as usize] = Entry { word, row: first + row as u32 };
                *at += 1;
            }
        }
        Chunk { entries, bounds }
    }
}
