//! Kernels that move rows about and never look at them: gather, slice, repeat, concatenate.

use crate::{Buf, Column, Data, Fixed, List, Native, Strings, Struct, Vector, bits, each_native};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use std::ops::Range;
use std::sync::Arc;

impl Vector {
    /// The rows of the given numbers, in that order.
    pub fn gather(&self, rows: &[u32]) -> Vector {
        let nulls = self.validity.as_ref().filter(|validity| validity.null_count() > 0);
        let validity = nulls.map(|validity| NullBuffer::new(bits::gather(validity.inner(), rows)));
        Vector::new(self.data.gather(rows), validity)
    }

    /// The rows `offset..offset + len`, which share the buffers. Panics where there are not as many.
    pub fn slice(&self, offset: usize, len: usize) -> Vector {
        Vector::new(self.data.slice(offset, len), self.validity.as_ref().map(|v| v.slice(offset, len)))
    }

    /// The first row, `n` times.
    pub fn repeat(&self, n: usize) -> Vector {
        fn fill<T: Native>(values: &Buf<T>, n: usize) -> Data {
            T::wrap(Buf::from_vec(vec![values[0]; n]))
        }
        let data = match &self.data {
            Data::Str(s) => Data::Str(s.with_views(vec![s.views()[0]; n].into())),
            data @ (Data::Nothing(_) | Data::Fixed(_) | Data::List(_) | Data::Struct(_)) => {
                data.gather(&vec![0; n])
            }
            data => each_native!(data, values => fill(values, n), _ => unreachable!("handled above")),
        };
        Vector::new(data, self.is_null(0).then(|| NullBuffer::new_null(n)))
    }

    /// One after the other; all of one representation.
    pub fn concat(parts: &[&Vector]) -> Vector {
        if let [one] = parts {
            return Vector::clone(one);
        }
        let validity = parts.iter().any(|p| p.validity.is_some()).then(|| {
            let mut bits = BooleanBufferBuilder::new(parts.iter().map(|p| p.len()).sum());
            for part in parts {
                match &part.validity {
                    Some(v) => bits.append_buffer(v.inner()),
                    None => bits.append_n(part.len(), true),
                }
            }
            NullBuffer::new(bits.finish())
        });
        let data: Vec<&Data> = parts.iter().map(|p| &p.data).collect();
        Vector::new(Data::concat(&data), validity)
    }

    /// The same values, copied where they lie at an address that `is_borrowed`, also those inside lists and tuples. Not
    /// of texts, offsets and validity: those are never borrowed.
    pub fn detached(self, is_borrowed: &dyn Fn(usize) -> bool) -> Vector {
        fn own<T: Native>(values: Buf<T>, is_borrowed: &dyn Fn(usize) -> bool) -> Buf<T> {
            let borrowed = !values.is_empty() && is_borrowed(values.as_ptr() as usize);
            if borrowed { Buf::from_vec(values.to_vec()) } else { values }
        }
        let data = each_native!(self.data, values => Native::wrap(own(values, is_borrowed)),
        Data::Fixed(f) => Data::Fixed(Fixed { width: f.width, bytes: own(f.bytes, is_borrowed) }),
        Data::List(l) => {
            let values = Arc::unwrap_or_clone(l.values).detached(is_borrowed);
            Data::List(List { offsets: l.offsets, values: Arc::new(values) })
        }
        Data::Struct(s) => {
            let fields = s.fields.into_iter().map(|field| field.detached(is_borrowed));
            Data::Struct(Struct { fields: fields.collect(), len: s.len })
        }
        other @ (Data::Nothing(_) | Data::Str(_)) => other);
        Vector { data, validity: self.validity }
    }

    /// A copy that keeps no more memory alive than it needs; cheap when there is nothing to save.
    pub fn compact(&self) -> Vector {
        let data = match &self.data {
            Data::Str(s) => Data::Str(s.compact()),
            Data::List(l) => {
                let l = l.normalised();
                Data::List(List { offsets: l.offsets, values: Arc::new(l.values.compact()) })
            }
            Data::Struct(s) => {
                Data::Struct(Struct { fields: s.fields.iter().map(Vector::compact).collect(), len: s.len })
            }
            other => other.clone(),
        };
        Vector { data, validity: self.validity.clone() }
    }
}

impl Data {
    fn gather(&self, rows: &[u32]) -> Data {
        fn pick<T: Native>(values: &Buf<T>, rows: &[u32]) -> Data {
            let values = &values[..];
            T::wrap(rows.iter().map(|&r| values[r as usize]).collect())
        }
        each_native!(self, values => pick(values, rows),
        Data::Nothing(_) => Data::Nothing(rows.len()),
        Data::Str(s) => {
            let views = &s.views()[..];
            Data::Str(s.with_views(rows.iter().map(|&r| views[r as usize]).collect()))
        }
        Data::Fixed(f) => {
            Data::Fixed(Fixed { width: f.width, bytes: picked_fixed(f, rows).into() })
        }
        Data::List(l) => Data::List(gather_list(l, rows)),
        Data::Struct(s) => {
            Data::Struct(Struct { fields: s.fields.iter().map(|f| f.gather(rows)).collect(), len: rows.len() })
        })
    }

    fn slice(&self, offset: usize, len: usize) -> Data {
        fn cut<T: Native>(values: &Buf<T>, offset: usize, len: usize) -> Data {
            T::wrap(values.slice(offset, len))
        }
        each_native!(self, values => cut(values, offset, len),
        Data::Nothing(_) => Data::Nothing(len),
        Data::Str(s) => Data::Str(s.slice(offset, len)),
        Data::Fixed(f) => {
            Data::Fixed(Fixed { width: f.width, bytes: f.bytes.slice(offset * f.width, len * f.width) })
        }
        Data::List(l) => {
            Data::List(List { offsets: l.offsets.slice(offset, len + 1), values: l.values.clone() })
        }
        Data::Struct(s) => {
            Data::Struct(Struct { fields: s.fields.iter().map(|f| f.slice(offset, len)).collect(), len })
        })
    }

    fn concat(parts: &[&Data]) -> Data {
        fn join<T: Native>(_: &Buf<T>, parts: &[&Data]) -> Data {
            let total = parts.iter().map(|p| p.len()).sum();
            let mut values: Vec<T> = Vec::with_capacity(total);
            parts.iter().filter_map(|p| T::unwrap(p)).for_each(|p| values.extend_from_slice(p));
            debug_assert_eq!(values.len(), total);
            T::wrap(values.into())
        }
        /// All parts as one variant.
        macro_rules! all {
            ($variant:ident) => {
                parts.iter().filter_map(|p| if let Data::$variant(x) = p { Some(x) } else { None })
            };
        }
        let Some(first) = parts.first() else {
            return Data::Nothing(0);
        };
        each_native!(first, values => join(values, parts),
        Data::Nothing(_) => Data::Nothing(parts.iter().map(|p| p.len()).sum()),
        Data::Str(_) => Data::Str(Strings::concat(&all!(Str).collect::<Vec<_>>())),
        Data::Fixed(f) => {
            let mut bytes = Vec::with_capacity(parts.iter().map(|p| p.len() * f.width).sum());
            all!(Fixed).for_each(|p| bytes.extend_from_slice(&p.bytes));
            Data::Fixed(Fixed { width: f.width, bytes: bytes.into() })
        }
        Data::List(_) => {
            let lists: Vec<List> = all!(List).map(List::normalised).collect();
            let mut offsets = vec![0i64];
            for list in &lists {
                let base = offsets[offsets.len() - 1];
                offsets.extend(list.offsets[1..].iter().map(|o| o + base));
            }
            let values: Vec<&Vector> = lists.iter().map(|l| &*l.values).collect();
            Data::List(List { offsets: offsets.into(), values: Arc::new(Vector::concat(&values)) })
        }
        Data::Struct(s) => {
            let fields = (0..s.fields.len())
                .map(|i| Vector::concat(&all!(Struct).map(|p| &p.fields[i]).collect::<Vec<_>>()));
            Data::Struct(Struct { fields: fields.collect(), len: parts.iter().map(|p| p.len()).sum() })
        })
    }
}

fn gather_list(list: &List, rows: &[u32]) -> List {
    let ranges: Vec<Range<usize>> = rows.iter().map(|&row| list.range(row as usize)).collect();
    list.values.lists(&ranges)
}

impl Vector {
    /// A list for each range of these values, which are copied stretch by stretch.
    pub fn lists(&self, ranges: &[Range<usize>]) -> List {
        let mut offsets = Vec::with_capacity(ranges.len() + 1);
        let mut end = 0;
        offsets.push(end);
        for range in ranges {
            end += range.len() as i64;
            offsets.push(end);
        }
        List { offsets: offsets.into(), values: Arc::new(self.copy_ranges(ranges, end as usize)) }
    }

    /// The rows of some ranges, one range behind the other: `len` rows in all.
    fn copy_ranges(&self, ranges: &[Range<usize>], len: usize) -> Vector {
        let nulls = self.validity.as_ref().filter(|validity| validity.null_count() > 0);
        let validity = nulls.map(|validity| {
            let mut bits = BooleanBufferBuilder::new(len);
            let (bytes, offset) = (validity.inner().values(), validity.inner().offset());
            ranges.iter().for_each(|r| bits.append_packed_range(offset + r.start..offset + r.end, bytes));
            NullBuffer::new(bits.finish())
        });
        Vector::new(self.data.copy_ranges(ranges, len), validity)
    }
}

impl Data {
    fn copy_ranges(&self, ranges: &[Range<usize>], len: usize) -> Data {
        fn copied<T: Copy>(values: &[T], ranges: &[Range<usize>], len: usize) -> Vec<T> {
            let mut out = Vec::with_capacity(len);
            ranges.iter().for_each(|range| out.extend_from_slice(&values[range.clone()]));
            out
        }
        fn natives<T: Native>(values: &Buf<T>, ranges: &[Range<usize>], len: usize) -> Data {
            T::wrap(copied(values, ranges, len).into())
        }
        each_native!(self, values => natives(values, ranges, len),
        Data::Nothing(_) => Data::Nothing(len),
        Data::Str(s) => Data::Str(s.with_views(copied(s.views(), ranges, len).into())),
        Data::Fixed(f) => {
            let mut bytes = Vec::with_capacity(len * f.width);
            ranges.iter().for_each(|r| bytes.extend_from_slice(&f.bytes[r.start * f.width..r.end * f.width]));
            Data::Fixed(Fixed { width: f.width, bytes: bytes.into() })
        }
        Data::List(l) => {
            let lists: Vec<Range<usize>> = ranges.iter().cloned().flatten().map(|row| l.range(row)).collect();
            Data::List(l.values.lists(&lists))
        }
        Data::Struct(s) => {
            let fields = s.fields.iter().map(|field| field.copy_ranges(ranges, len));
            Data::Struct(Struct { fields: fields.collect(), len })
        })
    }
}

/// Each value as often as `offsets` say.
/// Values of one width, one behind the other: sixteen bytes at once, since copying a few is a call.
fn picked_fixed(fixed: &Fixed, rows: &[u32]) -> Vec<u8> {
    const STEP: usize = 16;
    let (width, bytes) = (fixed.width, &fixed.bytes[..]);
    if width == STEP {
        let values = bytes.as_chunks::<STEP>().0;
        return rows.iter().map(|&row| values[row as usize]).collect::<Vec<_>>().into_flattened();
    }
    if width > STEP {
        let mut out = Vec::with_capacity(rows.len() * width);
        rows.iter().for_each(|&row| out.extend_from_slice(fixed.get(row as usize)));
        return out;
    }
    // What is copied too much is overwritten by the next value, or cut off.
    let mut out = vec![0; rows.len() * width + STEP];
    for (place, &row) in rows.iter().enumerate() {
        let at = row as usize * width;
        let into = &mut out[place * width..][..STEP];
        match bytes[at..].first_chunk::<STEP>() {
            Some(chunk) => into.copy_from_slice(chunk),
            None => into[..width].copy_from_slice(&bytes[at..at + width]),
        }
    }
    out.truncate(rows.len() * width);
    out
}

fn repeated<T: Native>(values: &Buf<T>, offsets: &[i64], total: usize) -> Data {
    T::wrap(repeats(values, offsets, total).into())
}

fn repeats<T: Native>(values: &[T], offsets: &[i64], total: usize) -> Vec<T> {
    let mut out = Vec::with_capacity(total);
    for (value, ends) in values.iter().zip(offsets.windows(2)) {
        out.resize(out.len() + (ends[1] - ends[0]) as usize, *value);
    }
    out
}

impl Column {
    /// The rows of the given numbers, in that order. Constants stay constant and dictionaries keep their values.
    pub fn gather(&self, rows: &[u32]) -> Column {
        match self {
            Column::Flat(vector) => Column::Flat(vector.gather(rows)),
            Column::Const { value, .. } => Column::Const { value: value.clone(), len: rows.len() },
            Column::Dict { codes, values } => {
                let codes = &codes[..];
                Column::Dict {
                    codes: rows.iter().map(|&r| codes[r as usize]).collect(),
                    values: values.clone(),
                }
            }
        }
    }

    /// The rows `offset..offset + len`, which share the buffers. Panics where there are not as many.
    pub fn slice(&self, offset: usize, len: usize) -> Column {
        match self {
            Column::Flat(vector) => Column::Flat(vector.slice(offset, len)),
            Column::Const { value, .. } => Column::Const { value: value.clone(), len },
            Column::Dict { codes, values } => {
                Column::Dict { codes: codes.slice(offset, len), values: values.clone() }
            }
        }
    }

    /// One after the other, as a plain vector unless there is only one; all have the same type.
    pub fn concat(parts: &[&Column]) -> Column {
        if let [one] = parts {
            return Column::clone(one);
        }
        let flat: Vec<_> = parts.iter().map(|p| p.flat()).collect();
        Column::Flat(Vector::concat(&flat.iter().map(|v| &**v).collect::<Vec<_>>()))
    }

    /// Each row as often as `offsets` say: row `i` fills `offsets[i]..offsets[i + 1]` of the result. Lists and what holds
    /// them are not copied: the result refers to them as a dictionary.
    pub fn replicate(&self, offsets: &[i64]) -> Column {
        let total = (offsets[offsets.len() - 1] - offsets[0]) as usize;
        if let Column::Const { value, .. } = self {
            return Column::Const { value: value.clone(), len: total };
        }
        if let Column::Flat(Vector { data, validity }) = self {
            let of_data = each_native!(data, values => Some(repeated(values, offsets, total)), _ => None);
            if let Some(data) = of_data {
                let valid = |validity: &NullBuffer| {
                    let valid = bits::to_bytes(validity.inner());
                    NullBuffer::new(bits::nonzero(&repeats(&valid, offsets, total)))
                };
                return Column::Flat(Vector::new(data, validity.as_ref().map(valid)));
            }
        }
        let mut rows = Vec::with_capacity(total);
        for (row, window) in offsets.windows(2).enumerate() {
            rows.resize(rows.len() + (window[1] - window[0]) as usize, row as u32);
        }
        match self {
            Column::Flat(vector) if holds_lists(vector) && vector.len() <= total => {
                Column::Dict { codes: rows.into(), values: vector.clone() }
            }
            other => other.gather(&rows),
        }
    }

    /// Cuts rows into pieces of at most `most_rows`, and at most `most_elements` of the lists that the columns refer to as
    /// dictionaries: so much would be copied to make them plain. A row that has more is a piece of its own.
    pub fn pieces(
        columns: &[&Column],
        n_rows: usize,
        most_rows: usize,
        most_elements: usize,
    ) -> Vec<Range<usize>> {
        let lists: Vec<_> = columns
            .iter()
            .filter_map(|column| match column {
                Column::Dict { codes, values } => match &values.data {
                    Data::List(list) => Some((codes, list)),
                    _ => None,
                },
                _ => None,
            })
            .collect();
        let mut pieces = Vec::new();
        let (mut start, mut elements) = (0, 0usize);
        for row in 0..n_rows {
            let own: usize = lists.iter().map(|(codes, list)| list.range(codes[row] as usize).len()).sum();
            if row > start && (row - start >= most_rows || elements.saturating_add(own) > most_elements) {
                pieces.push(start..row);
                (start, elements) = (row, 0);
            }
            elements = elements.saturating_add(own);
        }
        if n_rows > start {
            pieces.push(start..n_rows);
        }
        pieces
    }
}

fn holds_lists(vector: &Vector) -> bool {
    match &vector.data {
        Data::List(_) => true,
        Data::Struct(tuple) => tuple.fields.iter().any(holds_lists),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Builder;
    use chalet_types::Value;

    /// Lists of everything that a list may hold, with NULLs and behind an offset, are gathered value by value.
    #[test]
    fn lists_are_gathered() {
        let types = [
            "Array(Nullable(Int32))",
            "Array(String)",
            "Array(Array(Nullable(UInt8)))",
            "Array(FixedString(3))",
            "Array(Tuple(UInt64, Nullable(String)))",
            "Array(Nothing)",
        ];
        let texts = ["", "a", "bcd", "a text that does not fit into a view"];
        for ty in types {
            let ty: chalet_types::DataType = ty.parse().unwrap();
            let number = |i: usize| if i % 3 == 0 { Value::Null } else { Value::from(i as u64 % 200) };
            let element = |i: usize| match ty.element().unwrap().to_string().as_str() {
                "String" => Value::string(texts[i % 4]),
                "FixedString(3)" => Value::string(["abc", "xyz"][i % 2]),
                "Array(Nullable(UInt8))" => Value::Array((0..i % 4).map(number).collect()),
                "Nullable(Int32)" => number(i),
                _ => Value::Tuple(vec![
                    Value::from(i as u64),
                    if i % 4 == 1 { Value::Null } else { Value::string(texts[i % 4]) },
                ]),
            };
            let mut builder = Builder::new(&ty);
            for row in 0..40usize {
                let len = if ty.to_string() == "Array(Nothing)" { 0 } else { row * 7 % 5 };
                builder.push_value(&Value::Array((row..row + len).map(element).collect())).unwrap();
            }
            let column = builder.finish().slice(3, 35);
            let rows: Vec<u32> = (0..60u32).map(|i| i * 11 % 35).collect();
            let gathered = Column::Flat(column.gather(&rows));
            let column = Column::Flat(column);
            for (at, &row) in rows.iter().enumerate() {
                assert_eq!(gathered.value(at), column.value(row as usize), "{ty}");
            }
        }
    }

    #[test]
    fn lent_values_are_copied_wherever_they_are() {
        let numbers = Buf::from_vec(vec![1i64, 2, 3]);
        let address = numbers.as_ptr() as usize;
        let leaf = || Vector::from(Data::I64(numbers.clone()));
        let pair = Vector::from(Data::Struct(Struct { fields: vec![leaf(), leaf()], len: 3 }));
        let list = List { offsets: Buf::from_vec(vec![0i64, 1, 3]), values: Arc::new(pair) };
        let leaves = |vector: &Vector| -> Vec<Buf<i64>> {
            let Data::List(list) = &vector.data else { panic!("a list is {:?}", vector.data) };
            let Data::Struct(pair) = &list.values.data else { panic!("a pair is {:?}", list.values.data) };
            pair.fields.iter().filter_map(|field| i64::unwrap(&field.data).cloned()).collect()
        };
        let lists = Vector::from(Data::List(list));
        let same = lists.clone().detached(&|_| false);
        assert!(leaves(&same).iter().all(|leaf| leaf.as_ptr() as usize == address));
        let copied = leaves(&lists.detached(&|at| at == address));
        assert_eq!(copied.len(), 2);
        assert!(copied.iter().all(|leaf| leaf.as_ptr() as usize != address && leaf[..] == [1, 2, 3]));
        let bytes = Buf::from_vec(b"abcd".to_vec());
        let at = bytes.as_ptr() as usize;
        let fixed = Vector::from(Data::Fixed(Fixed { width: 2, bytes })).detached(&|_| true);
        let Data::Fixed(fixed) = &fixed.data else { panic!("fixed strings are {:?}", fixed.data) };
        assert!(fixed.bytes.as_ptr() as usize != at && fixed.get(1) == b"cd");
    }
}
