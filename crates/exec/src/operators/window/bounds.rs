//! Where partitions and groups of peers begin and end, in sorted rows: by the columns of their keys; or, where eight bytes tell all
//! keys apart, by the entries that were sorted, and then nobody has to gather these columns.

use super::Window;
use crate::operators::key_prefix::{Entry, Packing, prefix};
use chalet_base::switches::{self, Switch};
use chalet_columns::keys::{Order, RowKeys, group_keys, sort_keys};
use chalet_columns::{Block, Column};
use std::ops::Range;

/// Consecutive rows that belong together; each of the two covers all rows.
pub(super) struct Bounds {
    pub partitions: Vec<Range<usize>>,
    /// Rows of one partition that are equal under ORDER BY.
    pub peers: Vec<Range<usize>>,
}

/// The bits of the first eight bytes of keys that are of the partition.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartitionBits(u64);

impl PartitionBits {
    /// Are rows of one partition?
    pub fn same(self, a: Entry, b: Entry) -> bool {
        (prefix(a) ^ prefix(b)) & self.0 == 0
    }
}

impl Window {
    /// Which bits of sorted entries tell partitions apart, if eight bytes tell all keys apart.
    pub(super) fn partition_bits(&self, packing: &Packing) -> Option<PartitionBits> {
        let n_bytes = self.partition_bytes.filter(|_| self.n_partition > 0 && packing.is_whole())?;
        let n_told = packing.n_before(n_bytes) as u32;
        let bits = u64::MAX.checked_shl(u64::BITS - 8 * n_told).unwrap_or(0);
        switches::is_on(Switch::EntryBounds).then_some(PartitionBits(bits))
    }

    /// Where partitions and peers end, by their columns.
    pub(super) fn bounds(&self, block: &Block) -> Bounds {
        let n_rows = block.n_rows();
        let columns: Vec<&Column> =
            self.inputs[..self.n_partition].iter().map(|&at| block.column(at)).collect();
        let all = std::iter::once(0..n_rows).filter(|rows| !rows.is_empty());
        let partitions = runs(&columns, all, |columns| group_keys(columns, n_rows));
        let peers = self.peers(block, partitions.iter().cloned());
        Bounds { partitions, peers }
    }

    /// Consecutive rows, each within one of `ranges`, that are equal under ORDER BY.
    pub(super) fn peers(
        &self,
        block: &Block,
        ranges: impl Iterator<Item = Range<usize>>,
    ) -> Vec<Range<usize>> {
        let keys = self.n_partition..self.n_partition + self.orders.len();
        let columns: Vec<&Column> = self.inputs[keys].iter().map(|&at| block.column(at)).collect();
        runs(&columns, ranges, |columns| {
            let ordered: Vec<(&Column, Order)> =
                columns.iter().copied().zip(self.orders.iter().copied()).collect();
            sort_keys(&ordered, block.n_rows())
        })
    }
}

impl Bounds {
    /// Where they end in sorted entries, whose first eight bytes are all that is compared.
    pub fn of_entries(entries: &[Entry], bits: PartitionBits) -> Bounds {
        let mut bounds = Bounds { partitions: Vec::new(), peers: Vec::new() };
        let (mut partition, mut peers) = (0, 0);
        for end in 1..=entries.len() {
            let next = entries.get(end).copied();
            if next.is_some_and(|next| prefix(next) == prefix(entries[peers])) {
                continue;
            }
            bounds.peers.push(peers..end);
            peers = end;
            if !next.is_some_and(|next| bits.same(next, entries[partition])) {
                bounds.partitions.push(partition..end);
                partition = end;
            }
        }
        bounds
    }
}

/// Consecutive rows, each within one of `ranges`, that are equal in all of some columns, whose keys `keys` makes.
fn runs(
    columns: &[&Column],
    ranges: impl Iterator<Item = Range<usize>>,
    keys: impl Fn(&[&Column]) -> RowKeys,
) -> Vec<Range<usize>> {
    if columns.is_empty() {
        return ranges.collect();
    }
    let keys = keys(columns);
    let mut runs = Vec::new();
    for rows in ranges {
        let mut start = rows.start;
        for row in rows.start + 1..=rows.end {
            if row == rows.end || keys.get(row) != keys.get(start) {
                runs.push(start..row);
                start = row;
            }
        }
    }
    runs
}
