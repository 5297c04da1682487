//! The cells of slots: numbers as they are, short strings in place, anything else as a column of one row.

use super::text::Text;
use super::{Keep, Kind};
use chalet_base::Result;
use chalet_columns::rows::RowCodec;
use chalet_columns::wire::{take, take_array};
use chalet_columns::{Buf, Builder, Data, Fixed, Native, Strings, Vector};
use chalet_types::DataType;
use std::cmp::Ordering;
use std::marker::PhantomData;
use std::ops::Range;

/// Fixed-width numbers.
#[derive(Clone)]
pub struct Natives<T>(PhantomData<T>);

impl<T> Default for Natives<T> {
    fn default() -> Self {
        Natives(PhantomData)
    }
}

/// Orders numbers, NaN below or above all of them.
#[inline(always)]
pub fn order_natives<T: Native>(a: T, b: T, nan_low: bool) -> Ordering {
    if a < b {
        Ordering::Less
    } else if a > b {
        Ordering::Greater
    } else if a == b {
        Ordering::Equal
    } else {
        // `x != x` only for NaN.
        #[allow(clippy::eq_op)]
        let order = (a != a).cmp(&(b != b));
        if nan_low { order.reverse() } else { order }
    }
}

impl<T: Native> Kind for Natives<T> {
    type Cell = T;
    type View<'a> = &'a [T];

    #[inline(always)]
    fn view<'a>(&self, vector: &'a Vector) -> Result<&'a [T]> {
        vector.values()
    }

    #[inline(always)]
    fn store(&self, cell: &mut T, view: &[T], row: usize) {
        *cell = view[row];
    }

    #[inline(always)]
    fn order(&self, cell: &T, view: &[T], row: usize, nan_low: bool) -> Ordering {
        order_natives(view[row], *cell, nan_low)
    }

    fn order_cells(&self, new: &T, old: &T, nan_low: bool) -> Ordering {
        order_natives(*new, *old, nan_low)
    }

    fn put(&self, cell: &T, out: &mut Vec<u8>) {
        out.extend_from_slice(Buf::from_vec(vec![*cell]).as_bytes());
    }

    fn take(&self, bytes: &mut &[u8]) -> Result<T> {
        let bytes = take(bytes, size_of::<T>())?;
        let values: Buf<T> = Buf::from_arrow(Buf::from_vec(bytes.to_vec()).to_arrow());
        Ok(values[0])
    }

    fn push(&self, cell: &T, out: &mut Builder) -> Result<()> {
        out.natives::<T>()?.push(*cell);
        out.mark_valid();
        Ok(())
    }

    /// One pass for the value, without branches, and one for its row.
    fn best(&self, view: &[T], rows: Range<usize>, keep: Keep) -> Option<usize> {
        let start = rows.start;
        let values = &view[rows];
        let max = keep == Keep::Max;
        let mut best = *values.first()?;
        // NaN is not equal to itself; it gives way to anything.
        #[allow(clippy::eq_op)]
        if best != best {
            best = *values.iter().find(|&&x| x == x).unwrap_or(&best);
        }
        let better = |best: T, x: T| match max {
            true if x > best => x,
            false if x < best => x,
            _ => best,
        };
        let mut lanes = [best; 8];
        let chunks = values.chunks_exact(8);
        let rest = chunks.remainder();
        for chunk in chunks {
            for (lane, &x) in lanes.iter_mut().zip(chunk) {
                *lane = better(*lane, x);
            }
        }
        let best = lanes.into_iter().chain(rest.iter().copied()).fold(best, better);
        Some(start + values.iter().position(|&x| x == best).unwrap_or(0))
    }
}

/// String.
#[derive(Clone)]
pub struct StringSlots;

/// As `a.cmp(b)`, without a call where the first words tell.
#[inline]
fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let words = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0);
    let mut same = 0;
    for (a, b) in words {
        if a != b {
            return u64::from_be_bytes(*a).cmp(&u64::from_be_bytes(*b));
        }
        same += 8;
    }
    a[same..].cmp(&b[same..])
}

impl Kind for StringSlots {
    type Cell = Text;
    type View<'a> = &'a Strings;

    fn view<'a>(&self, vector: &'a Vector) -> Result<&'a Strings> {
        vector.strings()
    }

    #[inline]
    fn store(&self, cell: &mut Text, view: &Strings, row: usize) {
        cell.set(view.get(row));
    }

    #[inline]
    fn order(&self, cell: &Text, view: &Strings, row: usize, _: bool) -> Ordering {
        compare(view.get(row), cell.bytes())
    }

    fn order_cells(&self, new: &Text, old: &Text, _: bool) -> Ordering {
        new.bytes().cmp(old.bytes())
    }

    fn put(&self, cell: &Text, out: &mut Vec<u8>) {
        out.extend((cell.bytes().len() as i32 + 1).to_le_bytes());
        out.extend_from_slice(cell.bytes());
        out.push(0);
    }

    fn take(&self, bytes: &mut &[u8]) -> Result<Text> {
        self.take_slot(bytes).map(Option::unwrap_or_default)
    }

    /// As the kernel: the length in 32 bits, with a zero byte at the end that counts; -1 when there is no string.
    fn put_slot(&self, cell: Option<&Text>, out: &mut Vec<u8>) {
        match cell {
            Some(cell) => self.put(cell, out),
            None => out.extend((-1i32).to_le_bytes()),
        }
    }

    fn take_slot(&self, bytes: &mut &[u8]) -> Result<Option<Text>> {
        let length = i32::from_le_bytes(take_array(bytes)?);
        let Ok(length) = usize::try_from(length) else { return Ok(None) };
        let text = take(bytes, length)?;
        Ok(Some(Text::of(text.strip_suffix(b"\0").unwrap_or(text))))
    }

    fn push(&self, cell: &Text, out: &mut Builder) -> Result<()> {
        push_bytes(cell, out)
    }

    fn heap(&self, cell: &Text) -> usize {
        cell.heap()
    }

    /// Compares strings where they lie, and copies only the winner.
    fn best(&self, view: &Strings, rows: Range<usize>, keep: Keep) -> Option<usize> {
        let mut best = rows.start;
        for row in rows.skip(1) {
            if keep.takes(view.get(row).cmp(view.get(best))) {
                best = row;
            }
        }
        Some(best)
    }
}

fn push_bytes(cell: &Text, out: &mut Builder) -> Result<()> {
    use chalet_columns::builder::Values;
    match &mut out.values {
        Values::Str(strings) => strings.push(cell.bytes()),
        Values::Fixed { bytes, .. } => bytes.extend_from_slice(cell.bytes()),
        _ => chalet_base::bail!(LOGICAL_ERROR, "Result of an aggregate is not of its type"),
    }
    out.mark_valid();
    Ok(())
}

/// FixedString, UUID, IPv6: compared as bytes.
#[derive(Clone)]
pub struct Fixeds {
    pub width: usize,
    pub uuid: bool,
}

impl Fixeds {
    /// The kernel keeps a UUID as two little-endian halves. Its own inverse.
    fn swapped(&self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        if self.uuid {
            bytes.chunks_exact_mut(8).for_each(<[u8]>::reverse);
        }
        bytes
    }
}

impl Kind for Fixeds {
    type Cell = Text;
    type View<'a> = &'a Fixed;

    fn view<'a>(&self, vector: &'a Vector) -> Result<&'a Fixed> {
        vector.fixed()
    }

    fn store(&self, cell: &mut Text, view: &Fixed, row: usize) {
        cell.set(view.get(row));
    }

    /// By the first eight bytes, which mostly tell values apart, as a number.
    fn best(&self, view: &Fixed, rows: Range<usize>, keep: Keep) -> Option<usize> {
        const WORD: usize = 8;
        let wanted = match keep {
            Keep::Min => Ordering::Less,
            Keep::Max => Ordering::Greater,
            Keep::First | Keep::Last => return None,
        };
        let cut = 8 * WORD.saturating_sub(view.width) as u32;
        let head = |row: usize| match view.bytes[row * view.width..].first_chunk::<WORD>() {
            Some(head) => u64::from_be_bytes(*head) >> cut,
            None => view.get(row).iter().fold(0, |head, &byte| head << 8 | u64::from(byte)),
        };
        let mut best = rows.start;
        let mut best_head = head(best);
        for row in rows.skip(1) {
            let head = head(row);
            let order = head.cmp(&best_head).then_with(|| view.get(row).cmp(view.get(best)));
            if order == wanted {
                (best, best_head) = (row, head);
            }
        }
        Some(best)
    }

    fn order(&self, cell: &Text, view: &Fixed, row: usize, _: bool) -> Ordering {
        view.get(row).cmp(cell.bytes())
    }

    fn order_cells(&self, new: &Text, old: &Text, _: bool) -> Ordering {
        new.bytes().cmp(old.bytes())
    }

    fn put(&self, cell: &Text, out: &mut Vec<u8>) {
        out.extend(self.swapped(cell.bytes()));
    }

    fn take(&self, bytes: &mut &[u8]) -> Result<Text> {
        Ok(Text::of(&self.swapped(take(bytes, self.width)?)))
    }

    fn push(&self, cell: &Text, out: &mut Builder) -> Result<()> {
        push_bytes(cell, out)
    }

    fn heap(&self, cell: &Text) -> usize {
        cell.heap()
    }
}

/// Arrays, maps, tuples, and everything Nullable.
#[derive(Clone)]
pub struct Anything {
    codec: RowCodec,
    ty: DataType,
}

impl Anything {
    pub fn new(ty: &DataType) -> Anything {
        Anything { codec: RowCodec::new(ty), ty: ty.clone() }
    }
}

impl Kind for Anything {
    /// A vector of one row.
    type Cell = Option<Box<Vector>>;
    type View<'a> = &'a Vector;

    fn view<'a>(&self, vector: &'a Vector) -> Result<&'a Vector> {
        Ok(vector)
    }

    fn store(&self, cell: &mut Self::Cell, view: &Vector, row: usize) {
        // A copy: a slice would keep the whole block alive.
        let mut copy = Builder::new(&self.ty);
        copy.push_from(view, row);
        *cell = Some(Box::new(copy.finish()));
    }

    fn order(&self, cell: &Self::Cell, view: &Vector, row: usize, nan_low: bool) -> Ordering {
        cell.as_ref().map_or(Ordering::Less, |cell| order_rows(view, row, cell, 0, nan_low))
    }

    fn order_cells(&self, new: &Self::Cell, old: &Self::Cell, nan_low: bool) -> Ordering {
        match (new, old) {
            (Some(new), Some(old)) => order_rows(new, 0, old, 0, nan_low),
            (new, old) => new.is_some().cmp(&old.is_some()),
        }
    }

    fn put(&self, cell: &Self::Cell, out: &mut Vec<u8>) {
        if let Some(cell) = cell {
            self.codec.put(cell, 0, out);
        }
    }

    fn take(&self, bytes: &mut &[u8]) -> Result<Self::Cell> {
        let mut builder = Builder::new(&self.ty);
        self.codec.take(bytes, &mut builder)?;
        Ok(Some(Box::new(builder.finish())))
    }

    fn push(&self, cell: &Self::Cell, out: &mut Builder) -> Result<()> {
        match cell {
            Some(cell) => out.push_from(cell, 0),
            None => out.push_default(),
        }
        Ok(())
    }

    fn heap(&self, cell: &Self::Cell) -> usize {
        cell.as_ref().map_or(0, |cell| size_of::<Vector>() + cell.memory())
    }

    /// Compares rows where they lie, and copies only the winner.
    fn best(&self, view: &Vector, rows: Range<usize>, keep: Keep) -> Option<usize> {
        let mut best = rows.start;
        for row in rows.skip(1) {
            if keep.takes(order_rows(view, row, view, best, keep.nan_low())) {
                best = row;
            }
        }
        Some(best)
    }
}

/// Orders rows of one type, NaN and NULL at every depth below or above everything else.
pub fn order_rows(a: &Vector, row: usize, b: &Vector, other: usize, nan_low: bool) -> Ordering {
    let place = |order: Ordering| if nan_low { order.reverse() } else { order };
    match (a.is_null(row), b.is_null(other)) {
        (false, false) => {}
        (x, y) => return place(x.cmp(&y)),
    }
    match (&a.data, &b.data) {
        (Data::BF16(x), Data::BF16(y)) => order_natives(x[row], y[other], nan_low),
        (Data::F32(x), Data::F32(y)) => order_natives(x[row], y[other], nan_low),
        (Data::F64(x), Data::F64(y)) => order_natives(x[row], y[other], nan_low),
        (Data::List(x), Data::List(y)) => {
            let (left, right) = (x.range(row), y.range(other));
            let lengths = left.len().cmp(&right.len());
            left.zip(right)
                .map(|(i, j)| order_rows(&x.values, i, &y.values, j, nan_low))
                .find(|order| order.is_ne())
                .unwrap_or(lengths)
        }
        (Data::Struct(x), Data::Struct(y)) => x
            .fields
            .iter()
            .zip(&y.fields)
            .map(|(f, g)| order_rows(f, row, g, other, nan_low))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal),
        _ => a.compare(row, b, other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_compare_as_bytes_do() {
        let long = [b'a'; 20];
        let mut texts: Vec<Vec<u8>> = (0..=20).map(|n| long[..n].to_vec()).collect();
        for place in [0, 7, 8, 15, 19] {
            for byte in [0, b'b', 0xff] {
                let mut text = long.to_vec();
                text[place] = byte;
                texts.push(text);
            }
        }
        for a in &texts {
            texts.iter().for_each(|b| assert_eq!(compare(a, b), a.cmp(b), "{a:?} {b:?}"));
        }
    }
}
