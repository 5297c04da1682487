//! Left rows with all of their partners, as row numbers of both sides in step.

use super::NO_ROW;
use super::index::{KeyIndex, Span};
use super::probe::Probe;
use super::table::JoinTable;
use chalet_columns::Block;

/// Row numbers of both sides, in step.
#[derive(Default)]
pub(super) struct Pairs {
    pub left: Vec<u32>,
    pub right: Vec<u32>,
}

/// So many left rows are looked at together: what one asks of memory is on its way while others are.
const BATCH: usize = 128;

impl Pairs {
    pub fn push(&mut self, left: usize, right: u32) {
        self.left.push(left as u32);
        self.right.push(right);
    }

    /// The rows of both sides, beside each other.
    pub fn output(&self, probe: &Probe, table: &JoinTable, left: &Block) -> Block {
        probe.output(table, probe.left_rows(left, &self.left), &self.right)
    }

    /// Adds left rows from `start` on, each with every partner in their order and, where they are kept, those without one beside
    /// [`NO_ROW`], until there are `enough` pairs. Returns the first row that is not added.
    pub fn add_all(
        &mut self,
        index: &KeyIndex,
        groups: &[u32],
        start: usize,
        enough: usize,
        keeps_left: bool,
    ) -> usize {
        let order = index.order();
        let least = u32::from(keeps_left);
        let mut row = start;
        let mut spans = [Span::NONE; BATCH];
        while row < groups.len() && self.left.len() < enough.max(1) {
            let batch = &groups[row..groups.len().min(row + BATCH)];
            index.spans(batch, &mut spans[..batch.len()]);
            let room = enough.saturating_sub(self.left.len());
            let mut n_pairs = 0;
            let n_rows = spans[..batch.len()].iter().take_while(|span| {
                let is_room = n_pairs < room.max(1);
                n_pairs += if is_room { span.len.max(least) as usize } else { 0 };
                is_room
            });
            let n_rows = n_rows.count();
            self.add(row as u32, &spans[..n_rows], n_pairs, order, least);
            row += n_rows;
        }
        row
    }

    /// Adds rows from `first` on, of which each has its partners at a span of the order; `n_pairs` in all.
    fn add(&mut self, first: u32, spans: &[Span], n_pairs: usize, order: Option<&[u32]>, least: u32) {
        let mut at = self.left.len();
        // Two pairs are written for each row, whether or not it has them: the next row's are written over those that it has not.
        self.left.resize(at + n_pairs + 2, 0);
        self.right.resize(at + n_pairs + 2, 0);
        let order = order.unwrap_or_default();
        for (span, row) in spans.iter().zip(first..) {
            let (place, len) = (span.start as usize, span.len as usize);
            (self.left[at], self.right[at]) = (row, span.first);
            (self.left[at + 1], self.right[at + 1]) = (row, order.get(place + 1).copied().unwrap_or(NO_ROW));
            if len > 2 {
                self.left[at + 2..at + len].fill(row);
                self.right[at + 2..at + len].copy_from_slice(&order[place + 2..place + len]);
            }
            at += len.max(least as usize);
        }
        self.left.truncate(at);
        self.right.truncate(at);
    }
}
