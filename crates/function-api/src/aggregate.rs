//! The traits of aggregate functions. States live in columns: one object holds the states of all groups.

use crate::{Argument, Context, Example};
use chalet_base::{Result, err};
use chalet_columns::Vector;
use chalet_types::{DataType, Value};
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

/// Everything about an aggregate function but its code. Fields that are left out come from [`AggregateRecord::DEFAULT`].
pub struct AggregateRecord {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    /// Name and aliases match in any case.
    pub case_insensitive: bool,
    /// More aliases, which match in any case though the name does not.
    pub any_case_aliases: &'static [&'static str],
    pub summary: &'static str,
    pub syntax: &'static str,
    /// Runnable, and run by the tests.
    pub examples: &'static [Example],
    pub nulls: AggregateNulls,
    /// What the result is when an argument is the literal NULL: 0 rather than NULL (`count`, `uniq`).
    pub zero_when_only_null: bool,
    /// The name of the variant that `RESPECT NULLS` asks for, if there is one.
    pub respecting_nulls: &'static str,
    /// Whether the result depends on the order of rows.
    pub row_order: RowOrder,
    /// Only usable OVER a window.
    pub window_only: bool,
    /// Its states are those of the function of this name, whatever the parameters; empty: its own, of these parameters.
    pub states_of: &'static str,
    /// The name in the types of its states, where it is another one.
    pub name_in_types: &'static str,
    /// The version that the types of its states show.
    pub state_version: u64,
    /// A state of Nullable arguments that gives a plain result begins with a byte that is 1.
    pub null_flag: bool,
    /// Its states are bytes that this engine alone reads.
    pub own_states: bool,
    /// Servers of all versions write its states of numbers of up to 64 bits, strings, dates and date-times, none of them Nullable, as
    /// we do.
    pub portable_states: bool,
    /// A second argument that is a string is a parameter, and shown as one.
    pub string_is_parameter: bool,
}

/// What the order of rows means to an aggregate function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowOrder {
    /// Nothing.
    Free,
    /// The result depends on it. States of rows that follow each other merge in that order.
    Merged,
    /// As above, and merged states are not those of the rows one by one: one worker takes them all.
    OneWorker,
}

/// What the framework does with NULL arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregateNulls {
    /// Rows with a NULL in any argument are skipped; the result is Nullable, NULL when no row was left.
    Skip,
    /// Rows with a NULL in any argument are skipped; the result is not Nullable (`count`, `groupArray`).
    SkipPlainResult,
    /// The function sees Nullable types and validity.
    Seen,
}

impl AggregateRecord {
    /// The usual answers, for `..AggregateRecord::DEFAULT`; names and documentation are empty.
    pub const DEFAULT: AggregateRecord = AggregateRecord {
        name: "",
        aliases: &[],
        case_insensitive: false,
        any_case_aliases: &[],
        summary: "",
        syntax: "",
        examples: &[],
        nulls: AggregateNulls::Skip,
        zero_when_only_null: false,
        respecting_nulls: "",
        row_order: RowOrder::Free,
        window_only: false,
        states_of: "",
        name_in_types: "",
        state_version: 0,
        null_flag: true,
        own_states: false,
        portable_states: false,
        string_is_parameter: false,
    };
}

/// An aggregate function by name.
pub trait AggregateFunction: Send + Sync {
    /// What the function says of itself.
    fn record(&self) -> &'static AggregateRecord;

    /// Checks parameters (`quantile(0.9)`) and argument types. Types come without LowCardinality, and without
    /// Nullable unless the record says `Seen`.
    fn bind(&self, parameters: &[Value], args: &[Argument], ctx: &Context) -> Result<Arc<dyn Aggregate>>;

    /// The same for states that others may read and merge with their own: what the states hold of rows is what the kernel holds, where
    /// results alone would not need it.
    fn bind_for_states(
        &self,
        parameters: &[Value],
        args: &[Argument],
        ctx: &Context,
    ) -> Result<Arc<dyn Aggregate>> {
        self.bind(parameters, args, ctx)
    }

    /// The arguments in the type of its states, where that is the type of another function
    /// ([`AggregateRecord::name_in_types`]) with other arguments.
    fn state_arguments(&self, args: &[Argument]) -> Option<Vec<DataType>> {
        let _ = args;
        None
    }
}

/// An aggregate function with its types decided.
pub trait Aggregate: Send + Sync {
    /// The type of the result of a group.
    fn result_type(&self) -> DataType;

    /// No states yet.
    fn states(&self) -> Box<dyn States>;

    /// How the result over all rows follows from results over parts of them, when it does.
    fn split(&self) -> Option<Split> {
        None
    }

    /// Is the result the number of different values of the arguments, as UInt64? Rows with a NULL among them do not count.
    fn counts_distinct(&self) -> bool {
        false
    }

    /// What of a table's statistics the result over all its rows is, when the only argument is a column.
    fn of_all_rows(&self) -> Option<OfAllRows> {
        None
    }

    /// Is the result the sum of the only argument in 64 bits, wrapping where it overflows? Of a Nullable argument, the sum of what is not
    /// NULL, and NULL where nothing is.
    fn sums_integers(&self) -> bool {
        false
    }
}

/// What statistics may know of a column without its being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfAllRows {
    /// The number of rows; the argument, if there is one, is never NULL.
    Count,
    /// The number of values of the argument that are not NULL.
    CountOfValues,
    /// The smallest value, NULLs aside.
    Min,
    /// The largest value, NULLs aside.
    Max,
}

/// An aggregate in two steps.
pub struct Split {
    /// Over parts of the rows, with the same arguments.
    pub parts: Vec<Arc<dyn Aggregate>>,
    /// Over the results of all `parts`, in their order.
    pub total: Arc<dyn Aggregate>,
}

/// What each of some frames adds to the one before: whether it begins anew, and its rows that were not in that one. The frames are as
/// those of [`States::running_frames`].
pub fn frame_steps(frames: &[Range<usize>]) -> impl Iterator<Item = (bool, Range<usize>)> {
    let mut before: Option<&Range<usize>> = None;
    frames.iter().map(move |frame| {
        let known = before.filter(|before| before.start == frame.start);
        before = Some(frame);
        (known.is_none(), known.map_or(frame.start, |known| known.end)..frame.end)
    })
}

/// The states of many groups. Groups are numbered from 0; states begin empty.
pub trait States: Send {
    /// Makes at least `n` states.
    fn grow(&mut self, n: usize);

    /// Adds a run of rows to one group.
    fn add(&mut self, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()>;

    /// Adds row `i` to group `groups[i]`, for all rows.
    fn add_groups(&mut self, groups: &[u32], args: &[Vector]) -> Result<()>;

    /// Can no row change any of the states that there are, as the rows after the first that `any` keeps? Rows need not be
    /// prepared for them then.
    fn is_settled(&self) -> bool {
        false
    }

    /// Merges state `from[i]` of `other`, which is of the same aggregate, into group `into[i]`. For order-dependent
    /// aggregates, the rows of `other` come after. What is left of the merged states in `other` is not defined; the
    /// others stay. The work is in proportion to `from`, so that a caller may take `other` apart.
    fn merge(&mut self, other: &mut dyn States, from: &[u32], into: &[u32]) -> Result<()>;

    /// Can [`States::divide`] take states apart?
    fn is_divisible(&self) -> bool {
        false
    }

    /// Takes the state of a group apart into `parts`, a power of two, when it is large enough for several threads to merge it: each
    /// part is the only group of states of its own. Parts of one number, from all states of a group, merge without those of
    /// other numbers. What is left of the state is not defined.
    fn divide(&mut self, group: usize, parts: usize) -> Option<Vec<Box<dyn States>>> {
        let _ = (group, parts);
        None
    }

    /// Puts the parts of a state together, in the order of [`States::divide`], as the state of a group that is empty.
    fn unite(&mut self, group: usize, parts: &mut [&mut (dyn States + 'static)]) -> Result<()> {
        let _ = parts;
        Err(err!(LOGICAL_ERROR, "The state of group {group} was not divided"))
    }

    /// Appends the bytes of one state; stable across versions of one major number, for spilling and AggregateFunction columns.
    fn serialise(&self, group: usize, out: &mut Vec<u8>);

    /// Merges a state from the front of `bytes` into a group and moves `bytes` behind it.
    fn deserialise(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()>;

    /// The results of groups `0..n`, in order, of the aggregate's result type. Groups that do not exist yet are empty.
    /// Rows may be added afterwards and results taken again, as windows do.
    fn finish(&mut self, n: usize) -> Result<Vector>;

    /// The results of group 0 as it grows: rows `from..ends[0]` are added to it before the first one, those up to `ends[1]`
    /// before the second, and so on. Ends ascend; there is at least one.
    fn running(&mut self, args: &[Vector], from: usize, ends: &[usize]) -> Result<Vector> {
        let starts = std::iter::once(&from).chain(ends);
        let results: Result<Vec<Vector>> = starts
            .zip(ends)
            .map(|(&start, &end)| {
                self.add(0, args, start..end)?;
                self.finish(1)
            })
            .collect();
        Ok(Vector::concat(&results?.iter().collect::<Vec<_>>()))
    }

    /// The results over `frames`, each of which begins where the one before it did and ends no earlier, or begins anew. None where the
    /// aggregate is no quicker here than with a state for each that begins; else what group 0 held is lost.
    fn running_frames(&mut self, args: &[Vector], frames: &[Range<usize>]) -> Result<Option<Vector>> {
        let _ = (args, frames);
        Ok(None)
    }

    /// Bytes of memory held.
    fn memory(&self) -> usize;

    /// The states as what they are, for others of the same aggregate to merge.
    fn as_any(&mut self) -> &mut dyn Any;
}
