//! Functions that exist only over windows: ranks, row numbers, values of other rows.

use crate::{AggregateRecord, Argument, Context};
use chalet_base::Result;
use chalet_columns::Vector;
use chalet_types::{DataType, Value};
use std::ops::Range;
use std::sync::Arc;

/// Whole partitions of a window, one behind the other, sorted. All ranges count rows from the first row of the first partition.
pub struct Partitions<'a> {
    /// Arguments of the function, one row per row of the partitions.
    pub args: &'a [Vector],
    /// The rows of each partition, as consecutive ranges that cover all rows.
    pub ranges: &'a [Range<usize>],
    /// Rows of one partition that are equal under ORDER BY, as consecutive ranges that cover all rows.
    pub peers: &'a [Range<usize>],
    /// The frame of every row, for functions that look at it.
    pub frames: &'a [Range<usize>],
    pub n_rows: usize,
    /// Where the rows are only a part of one partition: all that a function needs to know of the others.
    pub part: Option<PartOf>,
}

/// Where rows are in their partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartOf {
    /// Rows of the partition before them, and groups of peers.
    pub rows_before: usize,
    pub peers_before: usize,
    /// All rows of the partition, for functions that need to know ([`Reach::Place`]).
    pub n_rows: usize,
}

impl Partitions<'_> {
    /// Where the rows of one of the ranges are in their partition.
    pub fn place(&self, rows: &Range<usize>) -> PartOf {
        self.part.unwrap_or(PartOf { n_rows: rows.len(), ..PartOf::default() })
    }
}

/// What the result of a row depends on: a partition may be too long to be held as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All rows of the partition.
    Partition,
    /// The rows of its frame.
    Frame,
    /// So many rows before it and after it, and in the frame where the function uses that.
    Rows { before: usize, after: usize },
    /// How many rows and groups of peers of the partition are before it, which [`Partitions::part`] says; with `total`, the number
    /// of all rows too.
    Place { peers: Peers, total: bool },
}

/// What a result depends on of rows that are equal under ORDER BY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peers {
    Nothing,
    /// Peers come together.
    Together,
    /// That, and how many groups of peers are before them.
    Counted,
}

/// A function over partitions: one result per row.
pub trait WindowFunction: Send + Sync {
    /// What the function says of itself.
    fn record(&self) -> &'static AggregateRecord;

    /// The type of the result. Fails on parameters and argument types that the function does not take.
    fn result_type(&self, parameters: &[Value], args: &[Argument], ctx: &Context) -> Result<DataType>;

    /// The function with its parameters, where the results depend on them. Fails on values that it does not take.
    fn with_parameters(&self, parameters: &[Value]) -> Result<Option<Arc<dyn WindowFunction>>> {
        let _ = parameters;
        Ok(None)
    }

    /// Looks at the whole partition whatever the frame, so that an explicit frame is an error (`lag`).
    fn ignores_frame(&self) -> bool {
        false
    }

    /// Is a frame one that the function takes when it is written out? `rows` says that it counts rows, `whole` that it is the
    /// whole partition.
    fn takes_frame(&self, rows: bool, whole: bool) -> bool {
        let _ = (rows, whole);
        true
    }

    /// Is the argument at this place converted to the type of the result before it comes to `execute`?
    fn converts_argument(&self, index: usize) -> bool {
        let _ = index;
        false
    }

    /// Does the result depend on the frame?
    fn uses_frames(&self) -> bool {
        true
    }

    /// What the result of a row depends on; `constants` are the values of the arguments that are constant.
    fn reach(&self, constants: &[Option<Value>]) -> Reach {
        let _ = constants;
        Reach::Partition
    }

    /// The results of all rows.
    fn execute(&self, partitions: &Partitions, args: &[DataType], result: &DataType) -> Result<Vector>;
}
