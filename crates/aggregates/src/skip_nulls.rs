//! What stands around aggregates that do not see NULL: rows with a NULL in any argument are left out; a result that
//! no row reached is NULL.

use crate::selection::{ends_among, frames_among, select_valid, valid_rows};
use chalet_base::{Result, ensure};
use chalet_columns::{NullBuffer, RowMask, Vector};
use chalet_function_api::aggregate::{OfAllRows, Split};
use chalet_function_api::states::same_states;
use chalet_function_api::{Aggregate, States};
use chalet_types::DataType;
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

pub struct SkipNulls {
    inner: Arc<dyn Aggregate>,
    makes_null: bool,
    flagged: bool,
}

impl SkipNulls {
    /// With `makes_null`, the result becomes Nullable. Otherwise, with `flagged`, the bytes of a state begin with 1, as those
    /// of the kernel do.
    pub fn around(inner: Arc<dyn Aggregate>, makes_null: bool, flagged: bool) -> Arc<dyn Aggregate> {
        Arc::new(SkipNulls { inner, makes_null, flagged: flagged && !makes_null })
    }
}

impl Aggregate for SkipNulls {
    fn result_type(&self) -> DataType {
        let inner = self.inner.result_type();
        if self.makes_null { inner.nullable() } else { inner }
    }

    fn of_all_rows(&self) -> Option<OfAllRows> {
        match self.inner.of_all_rows()? {
            // Rows where the argument is not NULL are fewer.
            OfAllRows::Count | OfAllRows::CountOfValues => {
                (!self.makes_null).then_some(OfAllRows::CountOfValues)
            }
            known => self.makes_null.then_some(known),
        }
    }

    fn split(&self) -> Option<Split> {
        let Split { parts, total } = self.inner.split()?;
        // The first part is NULL where it has seen no row, and where it is, nothing of the parts counts.
        let makes_null = |at: usize| self.makes_null && at == 0;
        let parts = parts.into_iter().enumerate();
        let parts = parts.map(|(at, part)| SkipNulls::around(part, makes_null(at), false)).collect();
        Some(Split {
            parts,
            total: if self.makes_null { SkipNulls::around(total, true, false) } else { total },
        })
    }

    fn counts_distinct(&self) -> bool {
        !self.makes_null && self.inner.counts_distinct()
    }

    fn sums_integers(&self) -> bool {
        self.makes_null && self.inner.sums_integers()
    }

    fn states(&self) -> Box<dyn States> {
        let inner = self.inner.states();
        let seen = self.makes_null.then(Vec::new);
        Box::new(SkippingStates { inner, seen, flagged: self.flagged, n_unseen: 0 })
    }
}

/// One byte per group beside the inner state, when a result may be NULL.
struct SkippingStates {
    inner: Box<dyn States>,
    seen: Option<Vec<bool>>,
    flagged: bool,
    /// Groups that may be unseen; when there are none, rows need not be looked at.
    n_unseen: usize,
}

impl SkippingStates {
    fn see(&mut self, groups: &[u32]) {
        let Some(seen) = self.seen.as_mut().filter(|_| self.n_unseen > 0) else { return };
        for &group in groups {
            let seen = &mut seen[group as usize];
            self.n_unseen -= usize::from(!*seen);
            *seen = true;
        }
    }
}

impl States for SkippingStates {
    fn grow(&mut self, n: usize) {
        self.inner.grow(n);
        if let Some(seen) = &mut self.seen
            && seen.len() < n
        {
            self.n_unseen += n - seen.len();
            seen.resize(n, false);
        }
    }

    fn add(&mut self, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        if self.is_settled() {
            return Ok(());
        }
        let Some(valid) = valid_rows(args, rows.clone()) else {
            if !rows.is_empty() {
                self.see(&[group as u32]);
            }
            return self.inner.add(group, args, rows);
        };
        let valid = RowMask::new(&valid);
        if valid.is_empty() {
            return Ok(());
        }
        self.see(&[group as u32]);
        self.inner.add(group, &select_valid(args, rows, &valid), 0..valid.len())
    }

    fn add_groups(&mut self, groups: &[u32], args: &[Vector]) -> Result<()> {
        if self.is_settled() {
            return Ok(());
        }
        let Some(valid) = valid_rows(args, 0..groups.len()) else {
            self.see(groups);
            return self.inner.add_groups(groups, args);
        };
        let valid = RowMask::new(&valid);
        let of_valid = valid.values(groups);
        self.see(&of_valid);
        self.inner.add_groups(&of_valid, &select_valid(args, 0..groups.len(), &valid))
    }

    fn is_settled(&self) -> bool {
        self.n_unseen == 0 && self.inner.is_settled()
    }

    fn merge(&mut self, other: &mut dyn States, from: &[u32], into: &[u32]) -> Result<()> {
        let other = same_states::<Self>(other)?;
        if let (Some(seen), Some(others)) = (&mut self.seen, &other.seen) {
            for (&from, &into) in from.iter().zip(into) {
                let seen = &mut seen[into as usize];
                self.n_unseen -= usize::from(!*seen && others[from as usize]);
                *seen |= others[from as usize];
            }
        }
        self.inner.merge(&mut *other.inner, from, into)
    }

    fn is_divisible(&self) -> bool {
        self.seen.is_none() && self.inner.is_divisible()
    }

    fn divide(&mut self, group: usize, parts: usize) -> Option<Vec<Box<dyn States>>> {
        if !self.is_divisible() {
            return None;
        }
        let around = |inner| SkippingStates { inner, seen: None, flagged: self.flagged, n_unseen: 0 };
        let parts = self.inner.divide(group, parts)?.into_iter();
        Some(parts.map(|inner| Box::new(around(inner)) as Box<dyn States>).collect())
    }

    fn unite(&mut self, group: usize, parts: &mut [&mut (dyn States + 'static)]) -> Result<()> {
        let inner = parts.iter_mut().map(|part| Ok(&mut *same_states::<Self>(*part)?.inner));
        self.inner.unite(group, &mut inner.collect::<Result<Vec<_>>>()?)
    }

    fn serialise(&self, group: usize, out: &mut Vec<u8>) {
        let seen = self.seen.as_ref().is_none_or(|seen| seen[group]);
        if self.seen.is_some() || self.flagged {
            out.push(u8::from(seen));
        }
        if seen {
            self.inner.serialise(group, out);
        }
    }

    fn deserialise(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        if self.seen.is_some() || self.flagged {
            let flag = chalet_columns::wire::take_u8(bytes)?;
            ensure!(flag < 2, INCORRECT_DATA, "Aggregate state has the flag {flag}");
            if flag == 0 {
                return Ok(());
            }
        }
        self.see(&[group as u32]);
        self.inner.deserialise(group, bytes)
    }

    fn finish(&mut self, n: usize) -> Result<Vector> {
        self.grow(n);
        let result = self.inner.finish(n)?;
        Ok(match &self.seen {
            Some(seen) => result.with_nulls(Some(&NullBuffer::from(&seen[..n]))),
            None => result,
        })
    }

    fn running(&mut self, args: &[Vector], from: usize, ends: &[usize]) -> Result<Vector> {
        let rows = from..ends.last().copied().unwrap_or(from);
        let (results, grown): (Vector, Vec<bool>) = match valid_rows(args, rows.clone()) {
            None => (self.inner.running(args, from, ends)?, ends.iter().map(|&end| end > from).collect()),
            Some(valid) => {
                let valid = RowMask::new(&valid);
                let ends = ends_among(&valid, from, ends);
                let results = self.inner.running(&select_valid(args, rows, &valid), 0, &ends)?;
                (results, ends.iter().map(|&end| end > 0).collect())
            }
        };
        let Some(seen) = &self.seen else { return Ok(results) };
        let before = seen[0];
        if grown.last() == Some(&true) {
            self.see(&[0]);
        }
        Ok(results.with_nulls(Some(&grown.iter().map(|grown| before || *grown).collect::<NullBuffer>())))
    }

    fn running_frames(&mut self, args: &[Vector], frames: &[Range<usize>]) -> Result<Option<Vector>> {
        let rows = 0..frames.iter().map(|frame| frame.end).max().unwrap_or(0);
        let (results, has_values): (_, NullBuffer) = match valid_rows(args, rows.clone()) {
            None => (
                self.inner.running_frames(args, frames)?,
                frames.iter().map(|frame| !frame.is_empty()).collect(),
            ),
            Some(valid) => {
                let valid = RowMask::new(&valid);
                let frames = frames_among(&valid, rows.len(), frames);
                (
                    self.inner.running_frames(&select_valid(args, rows, &valid), &frames)?,
                    frames.iter().map(|frame| !frame.is_empty()).collect(),
                )
            }
        };
        Ok(results.map(|results| match &self.seen {
            Some(_) => results.with_nulls(Some(&has_values)),
            None => results,
        }))
    }

    fn memory(&self) -> usize {
        self.inner.memory() + self.seen.as_ref().map_or(0, Vec::capacity)
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
