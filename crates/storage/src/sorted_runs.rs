//! Scans of sorted parts, each of which can be read for itself: what reading in order and FINAL merge.

use crate::ScanWorker;
use chalet_base::Result;
use chalet_types::Value;

/// The runs of a scan: rows in the order of the table's sorting key. They come as the request of the scan asks for them, and what
/// does not pass its filter may be missing.
pub trait SortedRuns: Send + Sync {
    /// How many runs there are.
    fn n_runs(&self) -> usize;

    /// Values of the first sorting key, ascending, and about how many rows there are from each to the next. Empty where the rows are not
    /// known to ascend by it: only all of a run can be read then.
    fn samples(&self) -> Vec<(Value, usize)>;

    /// The rows of a run within a range, in order, or in reverse.
    fn open(&self, run: usize, range: &KeyRange, reversed: bool) -> Result<Box<dyn ScanWorker>>;
}

/// Values of the first sorting key: from `low` on, up to but without `high`; either end may be open.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyRange {
    pub low: Option<Value>,
    pub high: Option<Value>,
}
