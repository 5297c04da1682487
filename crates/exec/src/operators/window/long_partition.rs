//! Partitions that are not held as a whole: their rows come part by part, in order, and each part is computed from what was carried
//! over from those before and from some rows around it.

use super::frames::Frames;
use super::running::{FramedRows, growing};
use super::{BYTES_A_ROW, Call, Window};
use crate::control::QueryControl;
use chalet_base::{Result, err};
use chalet_columns::{Block, Column, Vector};
use chalet_function_api::{PartOf, Partitions, Peers, Reach, States, WindowFunction};
use chalet_memory::Reservation;
use chalet_plan::{FrameBound, FrameSpec, FrameUnit, WindowImpl};
use std::ops::Range;

/// Rows around a part that results in it depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Surroundings {
    pub before: usize,
    pub after: usize,
    /// Rows that are equal under ORDER BY must not be parted.
    pub peers: bool,
    /// Results depend on all rows: they wait until these were seen.
    pub totals: bool,
    /// Results depend on what was computed for the rows before, more than how many these are.
    in_sequence: bool,
}

/// More rows around a part are not held either.
const MOST_AROUND: usize = 1 << 16;

/// How a call is computed part by part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strategy {
    /// From the rows around, as if they were a partition.
    Around,
    /// By a state that takes the rows as they come.
    Growing,
    /// From the place of the part in the partition.
    Place,
    /// By a state that has taken all rows of the partition.
    Total,
}

/// What the parts of a partition before one leave for it, and all rows together.
pub(super) struct Carried {
    /// By call.
    states: Vec<Option<Box<dyn States>>>,
    rows: usize,
    peers: usize,
    totals: Totals,
}

/// What is known of a partition all of whose rows were seen.
#[derive(Default)]
pub(super) struct Totals {
    n_rows: usize,
    /// By call: the value of an aggregate over all rows.
    values: Vec<Option<Vector>>,
}

/// The same while rows are still to come.
pub(super) struct Gathered {
    n_rows: usize,
    states: Vec<Option<Box<dyn States>>>,
}

impl Window {
    /// What parts of partitions have to see around them; none where some result depends on the whole partition.
    pub(super) fn surroundings(&self) -> Option<Surroundings> {
        let mut all = Surroundings::default();
        for number in 0..self.calls.len() {
            let (_, around) = self.strategy(number)?;
            all.before = all.before.max(around.before);
            all.after = all.after.max(around.after);
            all.peers |= around.peers;
            all.totals |= around.totals;
            all.in_sequence |= around.in_sequence;
        }
        (all.before.max(all.after) <= MOST_AROUND).then_some(all)
    }

    fn strategy(&self, number: usize) -> Option<(Strategy, Surroundings)> {
        let call = &self.calls[number];
        let by_peers = call.frame.unit != FrameUnit::Rows;
        let carried = |strategy, peers, totals, in_sequence| {
            Some((strategy, Surroundings { peers, totals, in_sequence, ..Surroundings::default() }))
        };
        let around = |before, after, peers| {
            Some((Strategy::Around, Surroundings { before, after, peers, ..Surroundings::default() }))
        };
        let (reach, uses_frames) = match &call.function {
            WindowImpl::Aggregate(_) if self.is_whole(&call.frame) => {
                return carried(Strategy::Total, false, true, true);
            }
            WindowImpl::Aggregate(_) if is_growing(&call.frame) => {
                return carried(Strategy::Growing, by_peers, false, true);
            }
            WindowImpl::Aggregate(_) => (Reach::Frame, true),
            WindowImpl::Window(function) => (function.reach(&call.constants), function.uses_frames()),
        };
        match (reach, frame_reach(&call.frame)) {
            (Reach::Place { peers, total }, _) => {
                // Where a frame is of rows, each is a group of its own.
                let together = by_peers && peers != Peers::Nothing;
                carried(Strategy::Place, together, total, by_peers && peers == Peers::Counted)
            }
            (Reach::Rows { before, after }, _) if !uses_frames => around(before, after, false),
            (Reach::Rows { before, after }, Some((further, ahead))) => {
                around(before.max(further), after.max(ahead), false)
            }
            (Reach::Rows { before, after }, None) if is_growing(&call.frame) => {
                around(before, after, by_peers)
            }
            (Reach::Frame, Some((before, after))) => around(before, after, false),
            _ => None,
        }
    }

    /// Is every frame the whole partition?
    fn is_whole(&self, frame: &FrameSpec) -> bool {
        // Without an order all rows are peers.
        let takes_peers = frame.unit != FrameUnit::Rows && self.orders.is_empty();
        let is_end = |bound: &FrameBound, end: FrameBound| {
            *bound == end || takes_peers && *bound == FrameBound::CurrentRow
        };
        is_end(&frame.start, FrameBound::UnboundedPreceding)
            && is_end(&frame.end, FrameBound::UnboundedFollowing)
    }

    /// What parts have to see around them, where each can be computed for itself: only its place in the partition matters.
    pub(super) fn independent_parts(&self) -> Option<Surroundings> {
        self.surroundings().filter(|around| !around.in_sequence)
    }

    /// The same where parts see nothing around them, so that each may be any range of the only partition.
    pub(super) fn range_parts(&self) -> Option<Surroundings> {
        let sees_nothing = |around: &Surroundings| around.before == 0 && around.after == 0;
        self.independent_parts().filter(|around| self.n_partition == 0 && sees_nothing(around))
    }

    /// States of those calls that are computed in one way, by call.
    fn states_of(&self, wanted: Strategy) -> Vec<Option<Box<dyn States>>> {
        let of_call = |number: usize| match (&self.calls[number].function, self.strategy(number)?.0) {
            (WindowImpl::Aggregate(aggregate), strategy) if strategy == wanted => {
                let mut states = aggregate.states();
                states.grow(1);
                Some(states)
            }
            _ => None,
        };
        (0..self.calls.len()).map(of_call).collect()
    }

    /// Nothing carried yet: a partition begins, of which the totals are known where they are needed.
    pub(super) fn nothing_carried(&self, totals: Totals) -> Carried {
        Carried { states: self.states_of(Strategy::Growing), rows: 0, peers: 0, totals }
    }

    /// What the rows before a part leave for it where nothing but their number matters.
    pub(super) fn carried_at(&self, rows: usize, all: usize) -> Carried {
        let totals = Totals { n_rows: all, values: Vec::new() };
        Carried { states: Vec::new(), rows, peers: 0, totals }
    }

    /// Nothing gathered yet.
    pub(super) fn nothing_gathered(&self) -> Gathered {
        Gathered { n_rows: 0, states: self.states_of(Strategy::Total) }
    }

    /// Takes rows of a partition into its totals.
    pub(super) fn gather(&self, block: &Block, gathered: &mut Gathered) -> Result<()> {
        gathered.n_rows += block.n_rows();
        let mut next_arg = self.n_partition + self.orders.len();
        for (call, states) in self.calls.iter().zip(&mut gathered.states) {
            let args = next_arg..next_arg + call.arg_types.len();
            next_arg = args.end;
            if let Some(states) = states {
                let args: Vec<Vector> =
                    self.inputs[args].iter().map(|&at| block.column(at).flat().into_owned()).collect();
                states.add(0, &args, 0..block.n_rows())?;
            }
        }
        Ok(())
    }

    /// The results for the rows of a block from `start` on, beside their columns, as far as what they depend on is there; the rows
    /// before `start` have theirs. Gives also the rows that are still needed, of which as many as it says have their results.
    pub(super) fn compute_part(
        &self,
        block: Block,
        start: usize,
        is_last: bool,
        carried: &mut Carried,
        control: &QueryControl,
    ) -> Result<(Option<Block>, Block, usize)> {
        let n_rows = block.n_rows();
        let around = self.surroundings().unwrap_or_default();
        let peers = self.peers_of(&block, around);
        let mut end = if is_last { n_rows } else { n_rows.saturating_sub(around.after) };
        if around.peers && !is_last {
            // More peers of the last row may come.
            end = peers.iter().rev().map(|peers| peers.start).find(|&boundary| boundary <= end).unwrap_or(0);
        }
        let end = end.max(start);
        let kept = end.saturating_sub(around.before);
        let rest = block.slice(kept, n_rows - kept);
        let computed = match start == end {
            true => None,
            false => Some(self.compute_rows(block, start..end, &peers, carried, control)?),
        };
        Ok((computed, rest, end - kept))
    }

    /// The results for some rows of a block, which are those of the only partition from row `first` of `all` on; the others are there
    /// for what [`independent_parts`](Self::independent_parts) asks for.
    pub(super) fn compute_independent(
        &self,
        block: Block,
        own: Range<usize>,
        (first, all): (usize, usize),
        control: &QueryControl,
    ) -> Result<Block> {
        let peers = self.peers_of(&block, self.surroundings().unwrap_or_default());
        let mut carried = self.carried_at(first, all);
        self.compute_rows(block, own, &peers, &mut carried, control)
    }

    fn peers_of(&self, block: &Block, around: Surroundings) -> Vec<Range<usize>> {
        if around.peers { self.peers(block, std::iter::once(0..block.n_rows())) } else { Vec::new() }
    }

    /// The results for some rows of a block, beside their columns.
    fn compute_rows(
        &self,
        block: Block,
        own: Range<usize>,
        peers: &[Range<usize>],
        carried: &mut Carried,
        control: &QueryControl,
    ) -> Result<Block> {
        let n_rows = block.n_rows();
        let mut memory = Reservation::new(control.memory.clone());
        memory.grow(n_rows * BYTES_A_ROW * self.calls.len().max(1))?;
        let inputs: Vec<Vector> =
            self.inputs.iter().map(|&at| block.column(at).flat().into_owned()).collect();
        let part = Part { inputs: &inputs, peers, own: own.clone(), n_rows };
        let mut results = Vec::with_capacity(self.calls.len());
        let mut next_arg = self.n_partition + self.orders.len();
        for number in 0..self.calls.len() {
            let args = next_arg..next_arg + self.calls[number].arg_types.len();
            next_arg = args.end;
            results.push(Column::Flat(self.results(number, &part, args, carried, control)?));
            control.check_with_interrupt()?;
        }
        carried.rows += own.len();
        carried.peers += part.own_peers().len();
        Ok(self.beside(block.slice(own.start, own.len()), results))
    }

    /// What one call gives for the rows of a part.
    fn results(
        &self,
        number: usize,
        part: &Part,
        args: Range<usize>,
        carried: &mut Carried,
        control: &QueryControl,
    ) -> Result<Vector> {
        let call = &self.calls[number];
        let args = &part.inputs[args];
        let own = part.own.clone();
        let by_peers = call.frame.unit != FrameUnit::Rows;
        match (self.strategy(number).map(|(strategy, _)| strategy), &call.function) {
            (Some(Strategy::Growing), _) => {
                let ends = if by_peers { part.peer_ends() } else { (own.start + 1..=own.end).collect() };
                let state = carried.states[number].as_mut();
                let state = state.ok_or_else(|| err!(LOGICAL_ERROR, "A part of a partition has no state"))?;
                let check = || control.check_with_interrupt();
                let results = growing(&mut **state, args, own.start, ends.into_iter(), &check)?;
                Ok(Vector::concat(&results.iter().collect::<Vec<_>>()))
            }
            (Some(Strategy::Total), _) => {
                let value = carried.totals.values.get(number).and_then(Option::as_ref);
                let value = value.ok_or_else(|| err!(LOGICAL_ERROR, "A partition has no total"))?;
                Ok(value.gather(&vec![0; own.len()]))
            }
            (Some(Strategy::Place), WindowImpl::Window(function)) => {
                // Where a frame is of rows, each is a group of its own.
                let peers_before = if by_peers { carried.peers } else { carried.rows };
                let (rows_before, n_rows) = (carried.rows, carried.totals.n_rows);
                part.alone(&**function, call, args, PartOf { rows_before, peers_before, n_rows })
            }
            (_, WindowImpl::Window(function)) if !function.uses_frames() => {
                part.among_neighbours(&**function, call, args, part.peers, &[])
            }
            (_, function) => {
                let (all, alone) = (0..part.n_rows, singles(part.n_rows));
                let peers = if by_peers { part.peers } else { &alone };
                let frames = Frames {
                    spec: &call.frame,
                    partitions: std::slice::from_ref(&all),
                    peers,
                    order: part.inputs.get(self.n_partition).zip(self.orders.first()),
                    order_type: self.order_types.first(),
                    n_rows: part.n_rows,
                };
                let frames = frames.compute()?;
                match function {
                    WindowImpl::Aggregate(aggregate) => {
                        let check = || control.check_with_interrupt();
                        let partitions = std::slice::from_ref(&own);
                        let framed = FramedRows { partitions, frames: &frames, check: &check };
                        framed.aggregate(&**aggregate, args)
                    }
                    WindowImpl::Window(function) => {
                        part.among_neighbours(&**function, call, args, peers, &frames)
                    }
                }
            }
        }
    }
}

/// Rows of a partition: those that get their results, and some around them.
struct Part<'a> {
    inputs: &'a [Vector],
    /// All rows that are equal under ORDER BY, where somebody asks for them.
    peers: &'a [Range<usize>],
    own: Range<usize>,
    n_rows: usize,
}

impl Part<'_> {
    /// The results of a function for the rows of the part, which it knows to be one.
    fn alone(
        &self,
        function: &dyn WindowFunction,
        call: &Call,
        args: &[Vector],
        place: PartOf,
    ) -> Result<Vector> {
        let Range { start, end } = self.own;
        let peers = match call.frame.unit {
            FrameUnit::Rows => singles(end - start),
            _ => self.own_peers().iter().map(|rows| rows.start - start..rows.end - start).collect(),
        };
        let args: Vec<Vector> = args.iter().map(|arg| arg.slice(start, end - start)).collect();
        let ranges = &std::iter::once(0..end - start).collect::<Vec<_>>();
        let (args, peers, n_rows) = (&args[..], &peers[..], end - start);
        let partitions = Partitions { args, ranges, peers, frames: &[], n_rows, part: Some(place) };
        function.execute(&partitions, &call.arg_types, &call.result)
    }

    /// The results for the rows of the part, as if they and those around them were a partition.
    fn among_neighbours(
        &self,
        function: &dyn WindowFunction,
        call: &Call,
        args: &[Vector],
        peers: &[Range<usize>],
        frames: &[Range<usize>],
    ) -> Result<Vector> {
        let ranges = &std::iter::once(0..self.n_rows).collect::<Vec<_>>();
        let partitions = Partitions { args, ranges, peers, frames, n_rows: self.n_rows, part: None };
        let results = function.execute(&partitions, &call.arg_types, &call.result)?;
        Ok(results.slice(self.own.start, self.own.len()))
    }

    fn own_peers(&self) -> &[Range<usize>] {
        let first = self.peers.partition_point(|peers| peers.start < self.own.start);
        let end = self.peers.partition_point(|peers| peers.start < self.own.end);
        &self.peers[first..end.max(first)]
    }

    /// For each row of its own, where its peers end.
    fn peer_ends(&self) -> Vec<usize> {
        self.own_peers().iter().flat_map(|peers| std::iter::repeat_n(peers.end, peers.len())).collect()
    }
}

/// Each row for itself.
fn singles(n_rows: usize) -> Vec<Range<usize>> {
    (0..n_rows).map(|row| row..row + 1).collect()
}

impl Gathered {
    /// All rows were seen.
    pub fn finish(self) -> Result<Totals> {
        let value = |states: Option<Box<dyn States>>| states.map(|mut states| states.finish(1)).transpose();
        let values = self.states.into_iter().map(value).collect::<Result<_>>()?;
        Ok(Totals { n_rows: self.n_rows, values })
    }
}

/// Does the frame take in all rows up to the current one, or its peers?
fn is_growing(frame: &FrameSpec) -> bool {
    (&frame.start, &frame.end) == (&FrameBound::UnboundedPreceding, &FrameBound::CurrentRow)
}

/// The rows before and after each that are in its frame, where these are so many at most.
fn frame_reach(frame: &FrameSpec) -> Option<(usize, usize)> {
    let distance = |bound: &FrameBound| match bound {
        FrameBound::CurrentRow => Some((0, 0)),
        FrameBound::Preceding(n, _) => Some((usize::try_from(n.as_u64()?).ok()?, 0)),
        FrameBound::Following(n, _) => Some((0, usize::try_from(n.as_u64()?).ok()?)),
        FrameBound::UnboundedPreceding | FrameBound::UnboundedFollowing => None,
    };
    if frame.unit != FrameUnit::Rows {
        return None;
    }
    let (start, end) = (distance(&frame.start)?, distance(&frame.end)?);
    Some((start.0.max(end.0), start.1.max(end.1)))
}
