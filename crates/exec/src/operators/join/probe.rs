//! The operator that finds partners of left rows. Keeps the left side's order; holds one block of pairs. Right rows that have
//! found no partner come after all others. Where the right side is on disk, so is the left: see
//! [`partitioned`](super::partitioned).

use super::asof::LeftValues;
use super::pairs::Pairs;
use super::partitioned::PartitionedJoin;
use super::range_index::RangeIndex;
use super::table::{BuildSpec, JoinTable, built, key_hashes, usable_keys};
use super::{NO_ROW, not_made};
use crate::expression::Program;
use crate::operators::collect::blocks_as_source;
use crate::pipeline::{Emit, Flow, Operator, OperatorWorker};
use crate::spill::partitions::{LazyWriter, PartitionWriter};
use crate::spill::{Purpose, Threshold};
use crate::{ExecContext, QueryControl};
use chalet_base::Result;
use chalet_columns::{Block, BooleanBuffer};
use chalet_plan::{AnyRule, AsofOp, JoinKind, JoinStrictness};
use chalet_storage::Scan;
use chalet_types::DataType;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The operator that looks left rows up in the table of the right side.
#[derive(Clone)]
pub struct Probe {
    pub slot: Arc<OnceLock<JoinTable>>,
    pub kind: JoinKind,
    pub strictness: JoinStrictness,
    pub any_rule: AnyRule,
    /// Keys over the left side's columns, then the ASOF value if there is one, then the bounds of inequalities.
    pub keys: Program,
    pub null_safe: Vec<bool>,
    pub asof: Option<AsofOp>,
    pub residual: Option<Residual>,
    /// Types of the result's columns that come from the right.
    pub right_types: Vec<DataType>,
    /// Pairs of one output block, about.
    pub max_block_size: usize,
    /// One left block may have very many pairs: the query must be stoppable between them.
    pub control: Arc<QueryControl>,
    /// How the right side is indexed.
    pub build: BuildSpec,
    /// Types of the result's columns that come from the left: they hold defaults where a right row has no partner.
    pub left_types: Vec<DataType>,
    /// Which of these, and which of those from the right, are read above: the others are not made.
    pub left_is_read: Vec<bool>,
    pub right_is_read: Vec<bool>,
    pub threshold: Threshold,
    /// Left rows on disk, of workers that have ended.
    pub spilled: Arc<Mutex<Vec<PartitionWriter>>>,
}

/// What else must hold of a pair of rows.
#[derive(Clone)]
pub struct Residual {
    /// Positions of the columns that it reads, on both sides.
    pub left: Vec<usize>,
    pub right: Vec<usize>,
    /// Over these columns, those of the left side first.
    pub condition: Program,
}

impl Operator for Probe {
    fn name(&self) -> &'static str {
        "Join"
    }

    fn worker(&self) -> Result<Box<dyn OperatorWorker>> {
        Ok(Box::new(Worker { probe: self.clone(), writer: LazyWriter::default() }))
    }

    /// Left rows that were partitioned to disk, joined with the partitions of the right side; and right rows that have found
    /// no partner.
    fn rest(&self, ctx: &ExecContext) -> Result<Option<Arc<dyn Scan>>> {
        // Where no row can come through the joins below, only a right side that is put out itself is built.
        let Some(table) = self.slot.get() else { return Ok(None) };
        if table.is_spilled() {
            let left = std::mem::take(&mut *self.spilled.lock().unwrap_or_else(PoisonError::into_inner));
            return Ok(Some(PartitionedJoin::open(self.clone(), left, table.take_partitions())));
        }
        if !self.keeps_unmatched() {
            return Ok(None);
        }
        Ok(Some(blocks_as_source(table.unmatched(&self.left_types, self.max_block_size), ctx)))
    }
}

impl Probe {
    /// Are right rows put out that have found no partner?
    pub(crate) fn keeps_unmatched(&self) -> bool {
        matches!(self.kind, JoinKind::Right | JoinKind::Full) && self.strictness != JoinStrictness::Semi
    }

    /// Has each left row one partner at most, or does the join not ask for others?
    fn asks_for_one_partner(&self, table: &JoinTable) -> bool {
        use JoinKind::{Full, Inner, Left, Right};
        use JoinStrictness::{All, Anti, Any, Asof, Semi};
        let one = match (self.strictness, self.kind) {
            (Asof, Inner | Left) => true,
            (All, Inner | Left | Right | Full) => table.index.is_unique(),
            (Any | Semi | Anti, Left) => true,
            _ => false,
        };
        one && self.residual.is_none()
    }

    /// Does each left row come out with all of its partners, without another condition?
    fn takes_all_pairs(&self) -> bool {
        let is_left = matches!(self.kind, JoinKind::Inner | JoinKind::Cross | JoinKind::Left);
        self.strictness == JoinStrictness::All && is_left && self.residual.is_none()
    }

    /// Is every right row put out once at most, whatever else is asked of a pair?
    fn takes_right_rows_once(&self) -> bool {
        use JoinStrictness::{Anti, Any, Semi};
        let once = self.kind == JoinKind::Right && matches!(self.strictness, Any | Semi | Anti);
        once && !self.gives_left_rows_one_partner() && self.residual.is_none() && self.asof.is_none()
    }

    /// Is it ANY over right rows of which one stands for all of its key?
    fn gives_left_rows_one_partner(&self) -> bool {
        self.strictness == JoinStrictness::Any && self.any_rule.distinct_right_keys
    }

    /// The one of the partners of a left row that ANY takes.
    fn chosen_of(&self, partners: &[u32]) -> Option<u32> {
        if self.any_rule.takes_last { partners.last().copied() } else { partners.first().copied() }
    }

    /// Joins left rows with one partner each, or [`NO_ROW`]: whole columns at a time.
    fn join_one_partner(&self, table: &JoinTable, block: &Block, partners: &[u32]) -> Option<Block> {
        if matches!(self.kind, JoinKind::Right | JoinKind::Full) {
            partners.iter().filter(|&&right| right != NO_ROW).for_each(|&right| _ = table.use_row(right));
        }
        let keeps_left = matches!(self.kind, JoinKind::Left | JoinKind::Full)
            && matches!(self.strictness, JoinStrictness::All | JoinStrictness::Any | JoinStrictness::Asof);
        if keeps_left {
            return Some(self.output(table, block.clone(), partners));
        }
        let wants_partner = self.strictness != JoinStrictness::Anti;
        let n_rows = partners.len();
        let mut pairs = Pairs { left: vec![0; n_rows], right: vec![0; n_rows] };
        let mut n_pairs = 0;
        // Every row is written, and counted if it is wanted: no branch to guess.
        for (row, &right) in partners.iter().enumerate() {
            (pairs.left[n_pairs], pairs.right[n_pairs]) = (row as u32, right);
            n_pairs += usize::from((right != NO_ROW) == wants_partner);
        }
        if n_pairs == 0 {
            return None;
        }
        pairs.left.truncate(n_pairs);
        pairs.right.truncate(n_pairs);
        let left = if n_pairs == n_rows { block.clone() } else { self.left_rows(block, &pairs.left) };
        Some(self.output(table, left, &pairs.right))
    }

    /// Rows of a left block.
    pub(super) fn left_rows(&self, block: &Block, rows: &[u32]) -> Block {
        let columns = block.columns().iter().zip(&self.left_types).zip(&self.left_is_read);
        let made = columns.map(
            |((column, ty), &is_read)| {
                if is_read { column.gather(rows) } else { not_made(ty, rows.len()) }
            },
        );
        Block::new(made.collect(), rows.len())
    }

    /// Left rows beside their partners.
    pub(super) fn output(&self, table: &JoinTable, left: Block, partners: &[u32]) -> Block {
        let mut columns = left.into_columns();
        columns.extend(table.gather_or_default(partners, &self.right_types, &self.right_is_read));
        Block::new(columns, partners.len())
    }

    /// Hashes of the keys of left rows.
    pub(super) fn hashes(&self, block: &Block) -> Result<Vec<u64>> {
        key_hashes(&self.keys, &self.null_safe, block)
    }
}

struct Worker {
    probe: Probe,
    /// Left rows that are written to disk, because the right side is.
    writer: LazyWriter,
}

impl OperatorWorker for Worker {
    fn push(&mut self, block: Block, emit: Emit) -> Result<Flow> {
        let table = built(&self.probe.slot)?;
        if table.is_spilled() {
            let hashes = self.probe.hashes(&block)?;
            let Probe { threshold, control, .. } = &self.probe;
            self.writer.writer(Purpose::Join, threshold, control)?.write(&block, &hashes)?;
            return Ok(Flow::Continue);
        }
        let mut left = LeftBlock::new(&self.probe, table, block)?;
        while let Some(out) = left.next(&self.probe, table)? {
            if emit(out)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Continue)
    }

    fn end(&mut self) -> Result<()> {
        let flushed = self.writer.take_flushed()?;
        self.probe.spilled.lock().unwrap_or_else(PoisonError::into_inner).extend(flushed);
        Ok(())
    }
}

/// A block of left rows, which are joined a few at a time.
pub(super) struct LeftBlock {
    block: Block,
    groups: Vec<u32>,
    asof: Option<LeftValues>,
    /// Where the rows that inequalities leave are in the range index, for each row.
    ranges: Option<Vec<Range<usize>>>,
    /// The first row that is not joined yet.
    start: usize,
}

impl LeftBlock {
    /// Looks the keys of all rows up.
    pub fn new(probe: &Probe, table: &JoinTable, block: Block) -> Result<LeftBlock> {
        let n_rows = block.n_rows();
        let mut keys = probe.keys.evaluate(&block)?;
        let mut others = keys.split_off(probe.null_safe.len());
        let asof = probe.asof.map(|_| others.remove(0));
        let asof = asof.zip(table.asof.as_ref()).map(|(asof, right)| {
            let (mut asof, valid) = usable_keys(vec![asof], &[false], n_rows);
            right.left(asof.swap_remove(0), valid)
        });
        let (keys, mut valid) = usable_keys(keys, &probe.null_safe, n_rows);
        let bounds = table.range.as_ref().zip(probe.build.range.as_ref()).map(|(index, spec)| {
            let (bounds, are_there) = spec.usable(others, n_rows);
            valid = &valid & &are_there;
            (index, index.left(bounds))
        });
        let groups = table.index.find(&keys, &valid);
        let ranges = bounds.map(|(index, left)| index.places(&table.index, &groups, &left));
        Ok(LeftBlock { block, groups, asof, ranges, start: 0 })
    }

    /// What comes of the next rows: they are taken in runs whose pairs make about one block. None behind the last.
    pub fn next(&mut self, probe: &Probe, table: &JoinTable) -> Result<Option<Block>> {
        let LeftBlock { block, groups, asof, ranges, start } = self;
        if *start == 0 && probe.asks_for_one_partner(table) {
            *start = block.n_rows();
            let partners = match (asof, &table.asof, probe.asof) {
                (Some(left), Some(right), Some(op)) => right.nearest_rows(&table.index, groups, op, left),
                _ => table.index.one_row_each(std::mem::take(groups), probe.any_rule.takes_last),
            };
            return Ok(probe.join_one_partner(table, block, &partners));
        }
        if ranges.is_none() && probe.takes_right_rows_once() {
            return self.newly_found(probe, table);
        }
        let keeps_left = probe.kind == JoinKind::Left;
        if asof.is_none() && ranges.is_none() && probe.takes_all_pairs() {
            probe.control.check_with_interrupt()?;
            let mut pairs = Pairs::default();
            *start = pairs.add_all(&table.index, groups, *start, probe.max_block_size, keeps_left);
            return Ok((!pairs.left.is_empty()).then(|| pairs.output(probe, table, block)));
        }
        while *start < block.n_rows() {
            probe.control.check_with_interrupt()?;
            let mut end = *start;
            let mut n_pairs = 0;
            while end < block.n_rows() && (end == *start || n_pairs < probe.max_block_size) {
                n_pairs += match ranges {
                    Some(ranges) => ranges[end].len().max(1),
                    None if asof.is_some() => 1,
                    None => table.index.rows_of(&groups[end]).len().max(1),
                };
                end += 1;
            }
            let (asof, ranges) = (asof.as_ref(), ranges.as_deref());
            let run = Run { probe, table, block, groups, asof, ranges };
            let out = run.join(*start..end)?;
            *start = end;
            if out.is_some() {
                return Ok(out);
            }
        }
        Ok(None)
    }

    /// The next left rows that are the first to find right rows, beside these. Rows of one key are found together: where the first
    /// was, all were, so that many left rows with few keys do not look at all right rows again and again.
    fn newly_found(&mut self, probe: &Probe, table: &JoinTable) -> Result<Option<Block>> {
        let mut pairs = Pairs::default();
        let puts_out = probe.strictness != JoinStrictness::Anti;
        for row in self.start..self.block.n_rows() {
            self.start = row + 1;
            let partners = table.index.rows_of(&self.groups[row]);
            if partners.first().is_none_or(|&first| table.is_used(first)) {
                continue;
            }
            for &right in partners {
                if table.use_row(right) && puts_out {
                    pairs.push(row, right);
                }
            }
            if pairs.left.len() >= probe.max_block_size {
                probe.control.check_with_interrupt()?;
                break;
            }
        }
        if pairs.left.is_empty() {
            return Ok(None);
        }
        Ok(Some(pairs.output(probe, table, &self.block)))
    }
}

/// A run of left rows and what it is joined with.
struct Run<'a> {
    probe: &'a Probe,
    table: &'a JoinTable,
    block: &'a Block,
    groups: &'a [u32],
    asof: Option<&'a LeftValues>,
    ranges: Option<&'a [Range<usize>]>,
}

impl Run<'_> {
    fn join(&self, rows: Range<usize>) -> Result<Option<Block>> {
        use JoinKind::{Cross, Inner, Left};
        let probe = self.probe;
        if probe.strictness == JoinStrictness::All
            && matches!(probe.kind, Inner | Cross | Left)
            && !self.needs_check()
        {
            let pairs = self.all_pairs(rows, probe.kind == Left);
            return Ok((!pairs.left.is_empty()).then(|| pairs.output(probe, self.table, self.block)));
        }
        let candidates = self.candidates(rows.clone());
        let candidates = if self.needs_check() { self.matching(candidates)? } else { candidates };
        let pairs = self.choose(candidates, rows);
        Ok((!pairs.left.is_empty()).then(|| pairs.output(probe, self.table, self.block)))
    }

    /// Must the condition be asked about the candidates?
    fn needs_check(&self) -> bool {
        let is_met = self.table.range.as_ref().is_some_and(RangeIndex::is_exact);
        self.probe.residual.is_some() && !is_met
    }

    /// The right rows that may be partners of left rows.
    fn candidates(&self, rows: Range<usize>) -> Pairs {
        let index = &self.table.index;
        let mut pairs = Pairs::default();
        match (self.asof, &self.table.asof, self.probe.asof, self.ranges) {
            (Some(left), Some(right), Some(op), _) => {
                for row in rows {
                    let nearest = right.nearest(index, self.groups[row], op, left, row);
                    nearest.into_iter().for_each(|right| pairs.push(row, right));
                }
            }
            (_, _, _, Some(ranges)) => {
                rows.for_each(|row| self.add_range(row, &ranges[row], &mut pairs));
            }
            _ => _ = pairs.add_all(index, &self.groups[..rows.end], rows.start, usize::MAX, false),
        }
        pairs
    }

    /// Adds the right rows that the range index has at these places as partners of a left row.
    fn add_range(&self, row: usize, places: &Range<usize>, pairs: &mut Pairs) {
        if let Some(index) = &self.table.range {
            index.rows(places.clone(), &mut pairs.right);
        }
        pairs.left.resize(pairs.right.len(), row as u32);
    }

    /// Every left row with every one of its candidates, and those without one beside none where they are kept.
    fn all_pairs(&self, rows: Range<usize>, keeps_left: bool) -> Pairs {
        let found = self.candidates(rows.clone());
        if !keeps_left {
            return found;
        }
        let mut pairs = Pairs::default();
        let mut next = 0;
        for row in rows {
            let start = next;
            while found.left.get(next).is_some_and(|&left| left as usize == row) {
                next += 1;
            }
            found.right[start..next].iter().for_each(|&right| pairs.push(row, right));
            if start == next {
                pairs.push(row, NO_ROW);
            }
        }
        pairs
    }

    /// The pairs that meet the residual condition.
    fn matching(&self, pairs: Pairs) -> Result<Pairs> {
        let Some(residual) = &self.probe.residual else { return Ok(pairs) };
        if pairs.left.is_empty() {
            return Ok(pairs);
        }
        let left = residual.left.iter().map(|&at| self.block.column(at).gather(&pairs.left));
        let right = residual.right.iter().map(|&at| self.table.rows.column(at).gather(&pairs.right));
        let columns = left.chain(right).collect();
        let mask = residual.condition.mask(&Block::new(columns, pairs.left.len()))?;
        Ok(Pairs { left: pick(&pairs.left, &mask), right: pick(&pairs.right, &mask) })
    }

    /// What strictness and kind make of the matching pairs, which are in order of the left rows.
    fn choose(&self, pairs: Pairs, rows: Range<usize>) -> Pairs {
        use JoinKind::{Full, Inner, Left, Right};
        use JoinStrictness::{All, Anti, Any, Asof, Semi};
        let (kind, strictness) = (self.probe.kind, self.probe.strictness);
        let table = self.table;
        let keeps_left = matches!(kind, Left | Full) && matches!(strictness, All | Any | Asof);
        let chosen = |partners: &[u32]| self.probe.chosen_of(partners);
        let mut out = Pairs::default();
        let mut next = 0;
        for row in rows {
            let start = next;
            while next < pairs.left.len() && pairs.left[next] as usize == row {
                next += 1;
            }
            let partners = &pairs.right[start..next];
            let before = out.left.len();
            match (strictness, kind) {
                (All | Asof, _) => {
                    for &right in partners {
                        if matches!(kind, Right | Full) {
                            table.use_row(right);
                        }
                        out.push(row, right);
                    }
                }
                // One partner for each left row, or for each right row, or both.
                (Any, Left) => chosen(partners).into_iter().for_each(|r| out.push(row, r)),
                (Any, Inner) => {
                    if let Some(right) = chosen(partners)
                        && table.use_row(right)
                    {
                        out.push(row, right);
                    }
                }
                (Any, Right | Full) if self.probe.gives_left_rows_one_partner() => {
                    // Those of the same key are not put out without a partner either.
                    partners.iter().for_each(|&right| _ = table.use_row(right));
                    partners.iter().take(1).for_each(|&right| out.push(row, right));
                }
                (Any | Semi, Right) => {
                    partners.iter().filter(|&&r| table.use_row(r)).for_each(|&r| out.push(row, r));
                }
                (Any, _) => {
                    if let Some(right) = chosen(partners) {
                        table.use_row(right);
                        out.push(row, right);
                    }
                }
                (Semi, _) => chosen(partners).into_iter().for_each(|r| out.push(row, r)),
                (Anti, Right) => {
                    partners.iter().for_each(|&r| {
                        table.use_row(r);
                    });
                }
                (Anti, _) => {
                    if partners.is_empty() {
                        out.push(row, NO_ROW);
                    }
                }
            }
            if keeps_left && out.left.len() == before {
                out.push(row, NO_ROW);
            }
        }
        out
    }
}

fn pick(rows: &[u32], mask: &BooleanBuffer) -> Vec<u32> {
    mask.set_indices().map(|i| rows[i]).collect()
}
