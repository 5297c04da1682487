//! Going on on disk: temporary files for operators that hold more than they should, and when they should.
//!
//! - [`file`]: a temporary file of compressed pieces
//! - [`runs`]: sorted runs, and merging them
//! - [`merge_scan`]: the merged rows as a table, which all workers make together
//! - [`partitions`]: rows by the hash of their values
//! - [`spool`]: rows as they came, to be read once more
//! - [`input_order`]: rows back in the order in which they came

pub mod file;
pub mod input_order;
pub mod merge_scan;
pub mod partitions;
pub mod runs;
pub mod spool;

use crate::ExecContext;
use chalet_base::events::Event;
use chalet_memory::{Reservation, process};
pub use file::{Place, ReadBuffers, TempFile};

/// Which operator writes, for the counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Sort,
    Aggregation,
    Distinct,
    Join,
    /// Rows of a partition that wait for the others.
    Window,
    /// Rows that several places of a statement read.
    Share,
}

/// The counters of one operator: how often it wrote, how often what it wrote was merged, bytes on disk and before compression.
pub(crate) struct Counters {
    pub write_part: Event,
    pub merge: Event,
    pub compressed: Event,
    pub uncompressed: Event,
}

impl Purpose {
    pub(crate) fn counters(self) -> Counters {
        macro_rules! counters {
            ($write_part:ident, $merge:ident, $compressed:ident, $uncompressed:ident) => {
                Counters {
                    write_part: Event::$write_part,
                    merge: Event::$merge,
                    compressed: Event::$compressed,
                    uncompressed: Event::$uncompressed,
                }
            };
        }
        match self {
            Purpose::Sort => counters!(
                ExternalSortWritePart,
                ExternalSortMerge,
                ExternalSortCompressedBytes,
                ExternalSortUncompressedBytes
            ),
            Purpose::Aggregation => counters!(
                ExternalAggregationWritePart,
                ExternalAggregationMerge,
                ExternalAggregationCompressedBytes,
                ExternalAggregationUncompressedBytes
            ),
            Purpose::Distinct => counters!(
                ExternalDistinctWritePart,
                ExternalDistinctMerge,
                ExternalDistinctCompressedBytes,
                ExternalDistinctUncompressedBytes
            ),
            Purpose::Share => counters!(
                ExternalSharedRowsWritePart,
                ExternalSharedRowsMerge,
                ExternalSharedRowsCompressedBytes,
                ExternalSharedRowsUncompressedBytes
            ),
            Purpose::Window => counters!(
                ExternalWindowWritePart,
                ExternalWindowMerge,
                ExternalWindowCompressedBytes,
                ExternalWindowUncompressedBytes
            ),
            Purpose::Join => counters!(
                ExternalJoinWritePart,
                ExternalJoinMerge,
                ExternalJoinCompressedBytes,
                ExternalJoinUncompressedBytes
            ),
        }
    }

    /// The operator in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Purpose::Sort => "ORDER BY",
            Purpose::Aggregation => "GROUP BY",
            Purpose::Distinct => "DISTINCT",
            Purpose::Join => "JOIN",
            Purpose::Window => "OVER",
            Purpose::Share => "WITH",
        }
    }
}

/// From when on an operator goes to disk: `max_bytes_before_external_*` and `max_bytes_ratio_before_external_*`.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpillLimits {
    /// Bytes; 0 for none.
    pub bytes: u64,
    /// A part of what the query may use, or the process where the query has no limit; 0 for none.
    pub ratio: f64,
}

impl SpillLimits {
    /// Only the ratio, one half, is set by default.
    pub const DEFAULT: SpillLimits = SpillLimits { bytes: 0, ratio: 0.5 };
}

/// The threshold of one operator, all sizes in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Threshold {
    /// What one worker of it may hold.
    own: u64,
    /// What the query may use.
    query: u64,
    /// What it may use with what is known to come: writing takes some memory itself.
    foreseen: u64,
    /// Twice the workers there may be.
    shares: u64,
}

impl Threshold {
    /// The threshold of these limits for a query.
    pub fn new(limits: SpillLimits, ctx: &ExecContext) -> Threshold {
        let allowed = Some(ctx.control.limits.max_memory_usage).filter(|&bytes| bytes > 0);
        // None at all is no limit in what follows.
        let room = process::room_for(ctx.control.memory.current()).map(|bytes| bytes.max(1));
        let most = allowed.into_iter().chain(room).min().unwrap_or(0);
        let part = (most as f64 * limits.ratio) as u64;
        // Where both settings are off, something is left because writing takes some memory itself.
        let least = [limits.bytes, part, most / 4 * 3].into_iter().filter(|&bytes| bytes > 0).min();
        Threshold {
            own: if limits.bytes == 0 { u64::MAX } else { limits.bytes },
            query: least.unwrap_or(u64::MAX),
            foreseen: if most == 0 { u64::MAX } else { most / 4 * 3 },
            shares: 2 * ctx.settings.max_threads as u64,
        }
    }

    /// Should the worker whose memory this is go to disk? One with little of what the query uses would win nothing.
    pub fn is_passed(&self, memory: &Reservation) -> bool {
        self.will_be_passed(memory, 0)
    }

    /// The same where every worker will take so many bytes more, of which it knows already.
    pub fn will_be_passed(&self, memory: &Reservation, more: usize) -> bool {
        let held = memory.bytes() as u64;
        let used = memory.tracker().current();
        let is_much = used > self.query || used + more as u64 * self.shares / 2 > self.foreseen;
        held > self.own || is_much && held * self.shares >= used
    }

    /// What reading back may use, in bytes: a part of what made the operator write.
    pub fn reading(&self) -> u64 {
        self.query.min(self.own) / 4
    }
}
