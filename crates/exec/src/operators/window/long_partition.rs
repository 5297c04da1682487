//! Partitions that are not held as a whole: their rows come part by part, in order, and each part is computed from what was carried
//! over from those before and from some rows around it.

use super::frames::Frames;
use super::neighbours::equal_neighbours;
use super::running::{FramedRows, growing};
use super::{BYTES_A_ROW, Call, Window};
use crate::control::QueryControl;
use chalet_base::{Result, err};
use chalet_columns::{Block, Column, Vector};
use chalet_function_api::{PartOf, Partitions, Peers, Reach, States, WindowFunction};
use chalet_memory::Reservation;
use chalet_plan::{FrameBound, FrameSpec, FrameUnit, WindowImpl};
use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;

/// Rows around a part that results in it depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Surroundings {
    pub before: usize,
    pub after: usize,
    /// Rows that are equal under ORDER BY must not be parted.
    pub peers: bool,
    /// Results depend on all rows: they wait until these were seen.
    pub totals: bool,
    /// Which rows results depend on is known once the frames are, which end somewhere behind the row.
    frames: bool,
    /// Results depend on what was computed for the rows before, more than how many these are.
    in_sequence: bool,
}

/// Parts that see more rows around them are not computed for themselves: most of the work would be done twice.
const MOST_AROUND: usize = 1 << 16;

/// How a call is computed part by part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strategy {
    /// From the rows around, as if they were a partition.
    Around,
    /// From the rows of their frames, found by what the rows are sorted by.
    Framed,
    /// By a state that takes the rows as they come.
    Growing,
    /// The same, up to the end of the frame, which is another than the row.
    Following,
    /// From the place of the part in the partition.
    Place,
    /// By a state that has taken all rows of the partition.
    Total,
}

/// What the parts of a partition before one leave for it, and all rows together.
pub(super) struct Carried {
    /// By call.
    states: Vec<Option<Box<dyn States>>>,
    /// By call: how many of the rows that are kept its state has taken.
    taken: Vec<usize>,
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
            all.frames |= around.frames;
            all.in_sequence |= around.in_sequence;
        }
        Some(all)
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
        let framed = |strategy| {
            let frames = Surroundings { peers: by_peers, frames: true, ..Surroundings::default() };
            Some((strategy, frames))
        };
        let (reach, uses_frames) = match &call.function {
            WindowImpl::Aggregate(_) if self.is_whole(&call.frame) => {
                return carried(Strategy::Total, false, true, true);
            }
            WindowImpl::Aggregate(_) if is_growing(&call.frame) => {
                return carried(Strategy::Growing, by_peers, false, true);
            }
            WindowImpl::Aggregate(_)
                if call.frame.start == FrameBound::UnboundedPreceding
                    && call.frame.end != FrameBound::UnboundedFollowing =>
            {
                return framed(Strategy::Following);
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
            // What the parts that are held have of a frame without an end is enough.
            (Reach::Rows { before, after }, _) if let Some((further, ahead)) = known_reach(&call.frame) => {
                let ends_by_peers = [&call.frame.start, &call.frame.end].contains(&&FrameBound::CurrentRow);
                let peers = by_peers && ends_by_peers && !self.is_whole(&call.frame);
                around(before.max(further), after.max(ahead), peers)
            }
            (Reach::Rows { before, after }, _) if is_bounded(&call.frame) => {
                let (strategy, frames) = framed(Strategy::Framed)?;
                Some((strategy, Surroundings { before, after, ..frames }))
            }
            (Reach::Frame, Some((before, after))) => around(before, after, false),
            (Reach::Frame, None) if is_bounded(&call.frame) => framed(Strategy::Framed),
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
        let is_near = |around: &Surroundings| around.before.max(around.after) <= MOST_AROUND;
        self.surroundings().filter(|around| !around.in_sequence && !around.frames && is_near(around))
    }

    /// The same where parts see nothing around them, so that each may be any range of the only partition.
    pub(super) fn range_parts(&self) -> Option<Surroundings> {
        let sees_nothing = |around: &Surroundings| around.before == 0 && around.after == 0;
        self.independent_parts().filter(|around| self.n_partition == 0 && sees_nothing(around))
    }

    /// States of those calls that are computed in one way, by call.
    fn states_of(&self, wanted: &[Strategy]) -> Vec<Option<Box<dyn States>>> {
        let of_call = |number: usize| match (&self.calls[number].function, self.strategy(number)?.0) {
            (WindowImpl::Aggregate(aggregate), strategy) if wanted.contains(&strategy) => {
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
        let states = self.states_of(&[Strategy::Growing, Strategy::Following]);
        Carried { states, taken: vec![0; self.calls.len()], rows: 0, peers: 0, totals }
    }

    /// What the rows before a part leave for it where nothing but their number matters.
    pub(super) fn carried_at(&self, rows: usize, all: usize) -> Carried {
        let totals = Totals { n_rows: all, values: Vec::new() };
        Carried { states: Vec::new(), taken: Vec::new(), rows, peers: 0, totals }
    }

    /// Nothing gathered yet.
    pub(super) fn nothing_gathered(&self) -> Gathered {
        Gathered { n_rows: 0, states: self.states_of(&[Strategy::Total]) }
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
        let frames = if around.frames { self.found_frames(&block, &peers)? } else { Vec::new() };
        if !is_last {
            // More rows may come for a frame that goes on to the last one.
            let known = |frames: &Rc<Found>| frames.partition_point(|frame| frame.end < n_rows);
            end = frames.iter().flatten().map(known).fold(end, usize::min);
        }
        let end = end.max(start);
        let mut kept = end.saturating_sub(around.before);
        for (number, frames) in frames.iter().enumerate() {
            let Some(frames) = frames else { continue };
            let needed = match self.strategy(number) {
                Some((Strategy::Framed, _)) => frames.get(end).map(|frame| frame.start),
                _ if end > start => Some(frames[end - 1].end),
                _ => Some(carried.taken[number]),
            };
            kept = needed.map_or(kept, |needed| kept.min(needed));
        }
        let rest = block.slice(kept, n_rows - kept);
        let computed = match start == end {
            true => None,
            false => Some(self.compute_rows(block, start..end, (&peers, &frames), carried, control)?),
        };
        carried.taken.iter_mut().for_each(|taken| *taken = taken.saturating_sub(kept));
        Ok((computed, rest, end - kept))
    }

    /// By call: the frames of the rows of a block, as far as it has their rows, where the strategy asks for them.
    fn found_frames(&self, block: &Block, peers: &[Range<usize>]) -> Result<Vec<Option<Rc<Found>>>> {
        let alone = OnceCell::new();
        let mut found: Vec<Option<Rc<Found>>> = Vec::with_capacity(self.calls.len());
        for (number, call) in self.calls.iter().enumerate() {
            if !matches!(self.strategy(number), Some((Strategy::Framed | Strategy::Following, _))) {
                found.push(None);
                continue;
            }
            // Calls over one window mostly have the same frames.
            let same = |(known, frames): (&Call, &Option<Rc<Found>>)| {
                frames.clone().filter(|_| known.frame == call.frame)
            };
            let known = self.calls.iter().zip(&found).find_map(same);
            found.push(Some(match known {
                Some(frames) => frames,
                None => {
                    let order = self.inputs.get(self.n_partition).filter(|_| !self.orders.is_empty());
                    let order = order.map(|&at| block.column(at).flat());
                    let peers = match call.frame.unit {
                        FrameUnit::Rows => alone.get_or_init(|| singles(block.n_rows())),
                        _ => peers,
                    };
                    Rc::new(self.frames(call, order.as_deref(), peers, block.n_rows())?)
                }
            }));
        }
        Ok(found)
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
        self.compute_rows(block, own, (&peers, &[]), &mut carried, control)
    }

    fn peers_of(&self, block: &Block, around: Surroundings) -> Vec<Range<usize>> {
        if !around.peers {
            return Vec::new();
        }
        let keys = &self.inputs[self.n_partition..self.n_partition + self.orders.len()];
        let columns = keys.iter().map(|&at| block.column(at)).zip(self.orders.iter().copied());
        equal_neighbours(&columns.collect::<Vec<_>>(), block.n_rows())
    }

    /// The results for some rows of a block, beside their columns.
    fn compute_rows(
        &self,
        block: Block,
        own: Range<usize>,
        (peers, found): (&[Range<usize>], &[Option<Rc<Found>>]),
        carried: &mut Carried,
        control: &QueryControl,
    ) -> Result<Block> {
        let n_rows = block.n_rows();
        let mut memory = Reservation::new(control.memory.clone());
        memory.grow(n_rows * BYTES_A_ROW * self.calls.len().max(1))?;
        let inputs: Vec<Vector> =
            self.inputs.iter().map(|&at| block.column(at).flat().into_owned()).collect();
        let part = Part { inputs: &inputs, peers, found, own: own.clone(), n_rows };
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
            (Some(strategy @ (Strategy::Growing | Strategy::Following)), _) => {
                let (ends, from): (Vec<usize>, usize) = match part.found.get(number) {
                    Some(Some(frames)) if strategy == Strategy::Following => {
                        (frames[own.clone()].iter().map(|frame| frame.end).collect(), carried.taken[number])
                    }
                    _ if by_peers => (part.peer_ends(), own.start),
                    _ => ((own.start + 1..=own.end).collect(), own.start),
                };
                carried.taken[number] = ends.last().copied().unwrap_or(from);
                let state = carried.states[number].as_mut();
                let state = state.ok_or_else(|| err!(LOGICAL_ERROR, "A part of a partition has no state"))?;
                let check = || control.check_with_interrupt();
                let results = growing(&mut **state, args, from, ends.into_iter(), &check)?;
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
                let alone = singles(part.n_rows);
                let peers = if by_peers { part.peers } else { &alone };
                let own_frames;
                let frames = match part.found.get(number) {
                    Some(Some(frames)) => &frames[..],
                    _ => {
                        own_frames =
                            self.frames(call, part.inputs.get(self.n_partition), peers, part.n_rows)?;
                        &own_frames[..]
                    }
                };
                match function {
                    WindowImpl::Aggregate(aggregate) => {
                        let check = || control.check_with_interrupt();
                        let partitions = std::slice::from_ref(&own);
                        let framed = FramedRows { partitions, frames, check: &check };
                        framed.aggregate(&**aggregate, args)
                    }
                    WindowImpl::Window(function) => {
                        part.among_neighbours(&**function, call, args, peers, frames)
                    }
                }
            }
        }
    }

    /// The frames of all rows, as if they were a partition; `order` is what they are sorted by first.
    fn frames(
        &self,
        call: &Call,
        order: Option<&Vector>,
        peers: &[Range<usize>],
        n_rows: usize,
    ) -> Result<Found> {
        let all = 0..n_rows;
        let frames = Frames {
            spec: &call.frame,
            partitions: std::slice::from_ref(&all),
            peers,
            order: order.zip(self.orders.first()),
            order_type: self.order_types.first(),
            n_rows,
        };
        frames.compute()
    }
}

/// Frames of the rows of a block.
type Found = Vec<Range<usize>>;

/// Rows of a partition: those that get their results, and some around them.
struct Part<'a> {
    inputs: &'a [Vector],
    /// All rows that are equal under ORDER BY, where somebody asks for them.
    peers: &'a [Range<usize>],
    /// By call: frames that are known already.
    found: &'a [Option<Rc<Found>>],
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

/// As [`frame_reach`], where the sides without an end count as nothing and where the peers of the row do.
fn known_reach(frame: &FrameSpec) -> Option<(usize, usize)> {
    let known = |bound: &FrameBound| match bound {
        FrameBound::UnboundedPreceding | FrameBound::UnboundedFollowing => FrameBound::CurrentRow,
        other => other.clone(),
    };
    let (start, end) = (known(&frame.start), known(&frame.end));
    let unit = match (&start, &end) {
        (FrameBound::CurrentRow, FrameBound::CurrentRow) => FrameUnit::Rows,
        _ => frame.unit,
    };
    frame_reach(&FrameSpec { unit, start, end })
}

/// Does the frame neither begin with the partition nor end with it?
fn is_bounded(frame: &FrameSpec) -> bool {
    frame.start != FrameBound::UnboundedPreceding && frame.end != FrameBound::UnboundedFollowing
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
