//! One remembered value per group, of any type: what `any`, `min`, `argMax` and their kin are made of.
//!
//! - [`kinds`]: the cells: numbers as they are, strings of up to 22 bytes in place, anything else as a column of one row
//! - [`text`]: the strings among them, with [`free_lists`]

mod free_lists;
pub mod kinds;
mod text;

use chalet_base::{Result, ensure};
use chalet_columns::{Builder, Vector};
use chalet_types::{DataType, I256, Physical, U256, bf16};
use kinds::{Anything, Fixeds, Natives, StringSlots};
use std::any::Any;
use std::cmp::Ordering;
use std::ops::Range;

/// Which of several values a slot keeps. Of equal values the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    First,
    Last,
    Min,
    Max,
}

impl Keep {
    /// Does a value take the place of one to which it compares so?
    #[inline(always)]
    fn takes(self, order: Ordering) -> bool {
        match self {
            Keep::First => false,
            Keep::Last => true,
            Keep::Min => order.is_lt(),
            Keep::Max => order.is_gt(),
        }
    }

    /// NaN and NULL lose against everything: they are the largest for the minimum, the smallest for the maximum.
    fn nan_low(self) -> bool {
        self == Keep::Max
    }
}

/// The slots of all groups.
pub trait Slots: Send {
    fn grow(&mut self, n: usize);

    /// Puts a value into a slot.
    fn set(&mut self, slot: usize, vector: &Vector, row: usize) -> Result<()>;

    /// Offers a run of rows to one slot; the row that it took in the end.
    fn fold_rows(
        &mut self,
        keep: Keep,
        slot: usize,
        vector: &Vector,
        rows: Range<usize>,
    ) -> Result<Option<usize>>;

    /// Offers row `i` to slot `groups[i]`; with `taken`, appends the rows that were taken, in order.
    fn fold_groups(
        &mut self,
        keep: Keep,
        groups: &[u32],
        vector: &Vector,
        taken: Option<&mut Vec<u32>>,
    ) -> Result<()>;

    /// Lets each row of a range vote for its value in one slot: a slot whose count is 0 takes the value, the count rises by equal values
    /// and falls by others.
    fn vote_rows(
        &mut self,
        slot: usize,
        vector: &Vector,
        rows: Range<usize>,
        counts: &mut [u64],
    ) -> Result<()>;

    /// The same for row `i` in slot `groups[i]`.
    fn vote_groups(&mut self, groups: &[u32], vector: &Vector, counts: &mut [u64]) -> Result<()>;

    /// How a row compares to what a slot holds.
    fn order(&self, keep: Keep, slot: usize, vector: &Vector, row: usize) -> Result<Ordering>;

    /// Offers slot `from[i]` of other slots to slot `into[i]`; says for each how it compared: taken when Less (whatever
    /// `keep` is), as good when Equal, worse or unset when Greater.
    fn merge(
        &mut self,
        keep: Keep,
        other: &mut dyn Slots,
        from: &[u32],
        into: &[u32],
    ) -> Result<Vec<Ordering>>;

    /// Copies slot `i` of other slots into a slot, set or not.
    fn copy(&mut self, slot: usize, other: &mut dyn Slots, i: usize) -> Result<()>;

    fn is_set(&self, slot: usize) -> bool;

    /// How many slots are not set.
    fn n_unset(&self) -> usize;

    fn serialise(&self, slot: usize, out: &mut Vec<u8>);

    /// Reads what `serialise` wrote as the only slot of new slots.
    fn deserialise(&self, bytes: &mut &[u8]) -> Result<Box<dyn Slots>>;

    /// The values of slots `0..n`, defaults where unset.
    fn finish(&self, n: usize, ty: &DataType) -> Result<Vector>;

    /// Appends the value of a slot, the default where it is unset.
    fn push(&self, slot: usize, out: &mut Builder) -> Result<()>;

    fn memory(&self) -> usize;

    fn as_any(&mut self) -> &mut dyn Any;
}

/// Empty slots for values of a type.
pub fn slots_of(ty: &DataType) -> Box<dyn Slots> {
    if ty.is_nullable() {
        return SlotVec::boxed(Anything::new(ty));
    }
    match ty.physical() {
        Physical::U8 => SlotVec::boxed(Natives::<u8>::default()),
        Physical::U16 => SlotVec::boxed(Natives::<u16>::default()),
        Physical::U32 => SlotVec::boxed(Natives::<u32>::default()),
        Physical::U64 => SlotVec::boxed(Natives::<u64>::default()),
        Physical::U128 => SlotVec::boxed(Natives::<u128>::default()),
        Physical::U256 => SlotVec::boxed(Natives::<U256>::default()),
        Physical::I8 => SlotVec::boxed(Natives::<i8>::default()),
        Physical::I16 => SlotVec::boxed(Natives::<i16>::default()),
        Physical::I32 => SlotVec::boxed(Natives::<i32>::default()),
        Physical::I64 => SlotVec::boxed(Natives::<i64>::default()),
        Physical::I128 => SlotVec::boxed(Natives::<i128>::default()),
        Physical::I256 => SlotVec::boxed(Natives::<I256>::default()),
        Physical::BF16 => SlotVec::boxed(Natives::<bf16>::default()),
        Physical::F32 => SlotVec::boxed(Natives::<f32>::default()),
        Physical::F64 => SlotVec::boxed(Natives::<f64>::default()),
        Physical::Str => SlotVec::boxed(StringSlots),
        Physical::Fixed(width) => {
            SlotVec::boxed(Fixeds { width: width as usize, uuid: *ty == DataType::Uuid })
        }
        Physical::List | Physical::Struct | Physical::Nothing => SlotVec::boxed(Anything::new(ty)),
    }
}

/// How values of one representation are held and compared.
pub trait Kind: Clone + Send + 'static {
    type Cell: Clone + Default + Send + 'static;
    type View<'a>: Copy;

    fn view<'a>(&self, vector: &'a Vector) -> Result<Self::View<'a>>;
    fn store(&self, cell: &mut Self::Cell, view: Self::View<'_>, row: usize);
    /// How a row compares to a cell.
    fn order(&self, cell: &Self::Cell, view: Self::View<'_>, row: usize, nan_low: bool) -> Ordering;
    fn order_cells(&self, new: &Self::Cell, old: &Self::Cell, nan_low: bool) -> Ordering;
    fn put(&self, cell: &Self::Cell, out: &mut Vec<u8>);
    fn take(&self, bytes: &mut &[u8]) -> Result<Self::Cell>;
    fn push(&self, cell: &Self::Cell, out: &mut Builder) -> Result<()>;

    /// The bytes of a slot, set or not.
    fn put_slot(&self, cell: Option<&Self::Cell>, out: &mut Vec<u8>) {
        out.push(u8::from(cell.is_some()));
        if let Some(cell) = cell {
            self.put(cell, out);
        }
    }

    /// Takes what `put_slot` wrote.
    fn take_slot(&self, bytes: &mut &[u8]) -> Result<Option<Self::Cell>> {
        let flag = chalet_columns::wire::take_u8(bytes)?;
        ensure!(flag < 2, INCORRECT_DATA, "Aggregate state has the flag {flag}");
        if flag == 1 { self.take(bytes).map(Some) } else { Ok(None) }
    }

    fn heap(&self, cell: &Self::Cell) -> usize {
        let _ = cell;
        0
    }

    /// The row of the range that would be kept, if it has a faster way to find it than by pairs.
    fn best(&self, view: Self::View<'_>, rows: Range<usize>, keep: Keep) -> Option<usize> {
        let _ = (view, rows, keep);
        None
    }
}

struct SlotVec<K: Kind> {
    kind: K,
    cells: Vec<K::Cell>,
    set: Vec<bool>,
    n_unset: usize,
}

impl<K: Kind> SlotVec<K> {
    fn boxed(kind: K) -> Box<dyn Slots> {
        Box::new(SlotVec { kind, cells: Vec::new(), set: Vec::new(), n_unset: 0 })
    }

    #[inline(always)]
    fn offer(&mut self, keep: Keep, slot: usize, view: K::View<'_>, row: usize) -> bool {
        let cell = &mut self.cells[slot];
        let taken = !self.set[slot]
            || match keep {
                Keep::First => false,
                Keep::Last => true,
                Keep::Min => self.kind.order(cell, view, row, false).is_lt(),
                Keep::Max => self.kind.order(cell, view, row, true).is_gt(),
            };
        if taken {
            self.kind.store(cell, view, row);
            self.mark(slot);
        }
        taken
    }

    #[inline(always)]
    fn vote(&mut self, slot: usize, view: K::View<'_>, row: usize, count: &mut u64) {
        if *count == 0 {
            self.kind.store(&mut self.cells[slot], view, row);
            self.mark(slot);
            *count = 1;
        } else if self.kind.order(&self.cells[slot], view, row, false).is_eq() {
            *count += 1;
        } else {
            *count -= 1;
        }
    }

    #[inline(always)]
    fn mark(&mut self, slot: usize) {
        self.n_unset -= usize::from(!self.set[slot]);
        self.set[slot] = true;
    }

    #[inline(always)]
    fn offer_groups(&mut self, keep: Keep, groups: &[u32], view: K::View<'_>, taken: Option<&mut Vec<u32>>) {
        match taken {
            None => groups.iter().enumerate().for_each(|(row, &group)| {
                self.offer(keep, group as usize, view, row);
            }),
            Some(taken) => {
                for (row, &group) in groups.iter().enumerate() {
                    if self.offer(keep, group as usize, view, row) {
                        taken.push(row as u32);
                    }
                }
            }
        }
    }
}

impl<K: Kind> Slots for SlotVec<K> {
    fn grow(&mut self, n: usize) {
        if self.cells.len() < n {
            self.n_unset += n - self.cells.len();
            self.cells.resize_with(n, K::Cell::default);
            self.set.resize(n, false);
        }
    }

    fn set(&mut self, slot: usize, vector: &Vector, row: usize) -> Result<()> {
        let view = self.kind.view(vector)?;
        self.kind.store(&mut self.cells[slot], view, row);
        self.mark(slot);
        Ok(())
    }

    fn fold_rows(
        &mut self,
        keep: Keep,
        slot: usize,
        vector: &Vector,
        mut rows: Range<usize>,
    ) -> Result<Option<usize>> {
        let view = self.kind.view(vector)?;
        let candidate = match keep {
            _ if rows.is_empty() => None,
            Keep::First => Some(rows.start),
            Keep::Last => Some(rows.end - 1),
            _ => self.kind.best(view, rows.clone(), keep),
        };
        if let Some(row) = candidate {
            return Ok(self.offer(keep, slot, view, row).then_some(row));
        }
        let mut last = None;
        for row in &mut rows {
            if self.offer(keep, slot, view, row) {
                last = Some(row);
            }
        }
        Ok(last)
    }

    fn fold_groups(
        &mut self,
        keep: Keep,
        groups: &[u32],
        vector: &Vector,
        taken: Option<&mut Vec<u32>>,
    ) -> Result<()> {
        let view = self.kind.view(vector)?;
        // One loop for each, so that the choice is not made per row.
        match keep {
            Keep::First => self.offer_groups(Keep::First, groups, view, taken),
            Keep::Last => self.offer_groups(Keep::Last, groups, view, taken),
            Keep::Min => self.offer_groups(Keep::Min, groups, view, taken),
            Keep::Max => self.offer_groups(Keep::Max, groups, view, taken),
        }
        Ok(())
    }

    fn vote_rows(
        &mut self,
        slot: usize,
        vector: &Vector,
        rows: Range<usize>,
        counts: &mut [u64],
    ) -> Result<()> {
        let view = self.kind.view(vector)?;
        let count = &mut counts[slot];
        rows.for_each(|row| self.vote(slot, view, row, count));
        Ok(())
    }

    fn vote_groups(&mut self, groups: &[u32], vector: &Vector, counts: &mut [u64]) -> Result<()> {
        let view = self.kind.view(vector)?;
        for (row, &group) in groups.iter().enumerate() {
            self.vote(group as usize, view, row, &mut counts[group as usize]);
        }
        Ok(())
    }

    fn order(&self, keep: Keep, slot: usize, vector: &Vector, row: usize) -> Result<Ordering> {
        let view = self.kind.view(vector)?;
        Ok(self.kind.order(&self.cells[slot], view, row, keep.nan_low()))
    }

    fn merge(
        &mut self,
        keep: Keep,
        other: &mut dyn Slots,
        from: &[u32],
        into: &[u32],
    ) -> Result<Vec<Ordering>> {
        let other = same_slots::<K>(other)?;
        let mut outcome = vec![Ordering::Greater; from.len()];
        for ((&from, &into), outcome) in from.iter().zip(into).zip(&mut outcome) {
            let (i, slot) = (from as usize, into as usize);
            if !other.set[i] {
                continue;
            }
            let order = match keep {
                _ if !self.set[slot] => Ordering::Less,
                Keep::First => Ordering::Greater,
                Keep::Last => Ordering::Less,
                _ => {
                    let order = self.kind.order_cells(&other.cells[i], &self.cells[slot], keep.nan_low());
                    match keep.takes(order) {
                        true => Ordering::Less,
                        false if order.is_eq() => Ordering::Equal,
                        false => Ordering::Greater,
                    }
                }
            };
            if order.is_lt() {
                self.cells[slot] = std::mem::take(&mut other.cells[i]);
                self.mark(slot);
            }
            *outcome = order;
        }
        Ok(outcome)
    }

    fn copy(&mut self, slot: usize, other: &mut dyn Slots, i: usize) -> Result<()> {
        let other = same_slots::<K>(other)?;
        self.cells[slot] = other.cells[i].clone();
        self.n_unset += usize::from(self.set[slot]);
        self.n_unset -= usize::from(other.set[i]);
        self.set[slot] = other.set[i];
        Ok(())
    }

    fn is_set(&self, slot: usize) -> bool {
        self.set[slot]
    }

    fn n_unset(&self) -> usize {
        self.n_unset
    }

    fn serialise(&self, slot: usize, out: &mut Vec<u8>) {
        self.kind.put_slot(self.set[slot].then_some(&self.cells[slot]), out);
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<Box<dyn Slots>> {
        let cell = self.kind.take_slot(bytes)?;
        let (set, n_unset) = (vec![cell.is_some()], usize::from(cell.is_none()));
        Ok(Box::new(SlotVec { kind: self.kind.clone(), cells: vec![cell.unwrap_or_default()], set, n_unset }))
    }

    fn finish(&self, n: usize, ty: &DataType) -> Result<Vector> {
        let mut out = Builder::new(ty);
        (0..n).try_for_each(|slot| self.push(slot, &mut out))?;
        Ok(out.finish())
    }

    #[inline]
    fn push(&self, slot: usize, out: &mut Builder) -> Result<()> {
        if self.set.get(slot) == Some(&true) {
            return self.kind.push(&self.cells[slot], out);
        }
        out.push_default();
        Ok(())
    }

    fn memory(&self) -> usize {
        let heap: usize = if size_of::<K::Cell>() == 0 || !std::mem::needs_drop::<K::Cell>() {
            0
        } else {
            self.cells.iter().map(|cell| self.kind.heap(cell)).sum()
        };
        self.cells.capacity() * size_of::<K::Cell>() + self.set.capacity() + heap
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

fn same_slots<K: Kind>(other: &mut dyn Slots) -> Result<&mut SlotVec<K>> {
    other
        .as_any()
        .downcast_mut()
        .ok_or_else(|| chalet_base::err!(LOGICAL_ERROR, "Slots of different types cannot be merged"))
}
