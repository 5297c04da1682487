//! Which parts to merge: neighbours of one partition, of sizes that are alike, so that a row is written a few times only,
//! however many INSERTs there are.

use super::part::Part;
use super::parts::State;
use chalet_base::hash::HashSet;
use std::sync::Arc;

/// Parts that are to become one.
pub struct MergeChoice {
    /// Neighbours, in order.
    pub parts: Vec<Arc<Part>>,
}

/// So many parts of about one size are merged at once, at least.
const LEAST_PARTS: usize = 6;
/// Small ones may wait for each other longer, since they are in memory.
const LEAST_SMALL_PARTS: usize = 32;
/// And at most.
const MOST_PARTS: usize = 128;
/// Of these so many that are files: a merge holds a granule of each column of each.
const MOST_FILES: usize = 16;
/// Parts in memory of fewer bytes are small.
const SMALL_BYTES: u64 = 1 << 14;
/// A part that is this many times as large as those behind it together is left as it is.
const MOST_RATIO: u64 = 3;
/// What has so many bytes is merged only when it is asked for.
const MOST_BYTES: u64 = 150 << 30;

/// The merge that does most good, if one does any: of those that nobody else has claimed.
pub(super) fn choose(state: &State, claimed: &HashSet<u64>) -> Option<MergeChoice> {
    let mut best: Option<(usize, &[Arc<Part>])> = None;
    let same = |a: &Arc<Part>, b: &Arc<Part>| a.info.partition.id == b.info.partition.id;
    for partition in state.parts.chunk_by(same) {
        for free in partition.split(|part| claimed.contains(&part.info.number)) {
            if let Some(run) = best_run(free)
                && best.is_none_or(|(n, _)| run.len() > n)
            {
                best = Some((run.len(), run));
            }
        }
    }
    best.map(|(_, run)| MergeChoice { parts: run.to_vec() })
}

/// The longest run of parts at the end of which none is much larger than the others: a tiered merge.
fn best_run(parts: &[Arc<Part>]) -> Option<&[Arc<Part>]> {
    let mut best: Option<&[Arc<Part>]> = None;
    let mut end = parts.len();
    while end > 0 {
        let (mut start, mut bytes, mut largest, mut files) = (end, 0u64, 0, 0);
        while start > 0 && end - start < MOST_PARTS {
            let size = parts[start - 1].info.raw_bytes;
            let others = bytes.max(1);
            if start < end && size > others.saturating_mul(MOST_RATIO) || bytes + size > MOST_BYTES {
                break;
            }
            files += usize::from(parts[start - 1].resident().is_none());
            if files > MOST_FILES {
                break;
            }
            bytes += size;
            largest = largest.max(size);
            start -= 1;
        }
        let run = &parts[start..end];
        let least = if largest < SMALL_BYTES { LEAST_SMALL_PARTS } else { LEAST_PARTS };
        if run.len() >= least && best.is_none_or(|best| run.len() > best.len()) {
            best = Some(run);
        }
        end = start.min(end - 1);
    }
    best
}
