//! Functions that exist only over windows: ranks, row numbers, values of other rows.

use crate::{AggregateRecord, Argument, Context};
use chalet_base::Result;
use chalet_columns::Vector;
use chalet_types::{DataType, Value};
use std::ops::Range;

/// One partition of a window, sorted.
pub struct Partition<'a> {
    /// Arguments of the function, one row per row of the partition.
    pub args: &'a [Vector],
    /// Rows that are equal under ORDER BY, as consecutive ranges that cover the partition.
    pub peers: &'a [Range<usize>],
    /// The frame of every row.
    pub frames: &'a [Range<usize>],
    pub n_rows: usize,
}

/// A function of a whole partition: one result per row.
pub trait WindowFunction: Send + Sync {
    /// What the function says of itself.
    fn record(&self) -> &'static AggregateRecord;

    /// The type of the result. Fails on parameters and argument types that the function does not take.
    fn result_type(&self, parameters: &[Value], args: &[Argument], ctx: &Context) -> Result<DataType>;

    /// Looks at the whole partition whatever the frame, so that an explicit frame is an error (`lag`).
    fn ignores_frame(&self) -> bool {
        false
    }

    /// The results of all rows of the partition.
    fn execute(&self, partition: &Partition, args: &[DataType], result: &DataType) -> Result<Vector>;
}
