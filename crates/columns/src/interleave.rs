//! Interleave: rows of several blocks as one block, in any order. Unlike concatenating and gathering, it needs no more memory
//! than its result takes.

use crate::strings::StringBuilder;
use crate::{Block, Buf, Column, Data, Fixed, List, Native, Strings, Struct, Vector, bits, each_native};
use arrow_buffer::{Buffer, NullBuffer};
use std::sync::Arc;

/// A row of one of several blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRow {
    pub block: u32,
    pub row: u32,
}

impl Block {
    /// The given rows of some blocks with equal columns, in that order; without blocks, none.
    pub fn interleave(blocks: &[&Block], rows: &[BlockRow]) -> Block {
        Block::interleave_read(blocks, rows, &[])
    }

    /// The same, but nobody reads the columns at `unread`: each of them has one of its values throughout.
    pub fn interleave_read(blocks: &[&Block], rows: &[BlockRow], unread: &[usize]) -> Block {
        let Some(first) = blocks.first() else { return Block::default() };
        if blocks.len() == 1 && unread.is_empty() {
            return first.gather(&rows.iter().map(|r| r.row).collect::<Vec<u32>>());
        }
        let columns = (0..first.columns().len()).map(|i| {
            let some =
                || blocks.iter().find(|block| !block.is_empty()).map(|block| block.column(i).slice(0, 1));
            match if unread.contains(&i) { some() } else { None } {
                Some(value) => Column::constant(value.into_flat(), rows.len()),
                None => Block::interleave_column(blocks, i, rows),
            }
        });
        Block::new(columns.collect(), rows.len())
    }

    /// One of their columns alone.
    pub fn interleave_column(blocks: &[&Block], column: usize, rows: &[BlockRow]) -> Column {
        let parts: Vec<&Column> = blocks.iter().map(|block| block.column(column)).collect();
        Column::Flat(Column::interleave(&parts, rows))
    }
}

impl Column {
    /// The given rows of some columns of one type, in that order.
    fn interleave(parts: &[&Column], rows: &[BlockRow]) -> Vector {
        let vectors: Vec<&Vector> = parts
            .iter()
            .map(|part| match part {
                Column::Flat(vector) | Column::Const { value: vector, .. } => vector,
                Column::Dict { values, .. } => values,
            })
            .collect();
        if parts.iter().all(|part| matches!(part, Column::Flat(_))) {
            return Vector::interleave(&vectors, rows);
        }
        let located = |r: &BlockRow| {
            let (_, row) = parts[r.block as usize].locate(r.row as usize);
            BlockRow { block: r.block, row: row as u32 }
        };
        Vector::interleave(&vectors, &rows.iter().map(located).collect::<Vec<_>>())
    }
}

impl Vector {
    /// The given rows of some vectors of one representation, in that order; `block` of a row is the number of its vector.
    fn interleave(parts: &[&Vector], rows: &[BlockRow]) -> Vector {
        let validity = parts.iter().any(|part| part.null_count() > 0).then(|| {
            let is_valid = |r: &BlockRow| u8::from(!parts[r.block as usize].is_null(r.row as usize));
            NullBuffer::new(bits::of_bytes(rows.iter().map(is_valid)))
        });
        let data: Vec<&Data> = parts.iter().map(|part| &part.data).collect();
        Vector::new(interleave(&data, rows), validity)
    }
}

fn interleave(parts: &[&Data], rows: &[BlockRow]) -> Data {
    fn pick<T: Native>(_: &Buf<T>, parts: &[&Data], rows: &[BlockRow]) -> Data {
        let slices: Vec<&[T]> =
            parts.iter().map(|part| T::unwrap(part).map_or(&[][..], |buf| &buf[..])).collect();
        T::wrap(rows.iter().map(|r| slices[r.block as usize][r.row as usize]).collect())
    }
    /// All parts as one variant; they are of one representation.
    macro_rules! all {
        ($variant:ident) => {
            parts.iter().filter_map(|part| if let Data::$variant(x) = part { Some(x) } else { None })
        };
    }
    let Some(first) = parts.first() else { return Data::Nothing(0) };
    each_native!(first, values => pick(values, parts, rows),
    Data::Nothing(_) => Data::Nothing(rows.len()),
    Data::Str(_) => Data::Str(strings(&all!(Str).collect::<Vec<_>>(), rows)),
    Data::Fixed(f) => {
        let fixed: Vec<&Fixed> = all!(Fixed).collect();
        let mut bytes = Vec::with_capacity(rows.len() * f.width);
        rows.iter().for_each(|r| bytes.extend_from_slice(fixed[r.block as usize].get(r.row as usize)));
        Data::Fixed(Fixed { width: f.width, bytes: bytes.into() })
    }
    Data::List(_) => Data::List(lists(&all!(List).collect::<Vec<_>>(), rows)),
    Data::Struct(s) => {
        let fields = (0..s.fields.len()).map(|i| {
            let fields: Vec<&Vector> = all!(Struct).map(|part| &part.fields[i]).collect();
            Vector::interleave(&fields, rows)
        });
        Data::Struct(Struct { fields: fields.collect(), len: rows.len() })
    })
}

/// So many buffers are no burden, however few strings they hold.
const MANY_BUFFERS: usize = 64;
/// Where there are more, each holds so many strings.
const LEAST_PER_BUFFER: usize = 16;

/// Bytes are copied only where many buffers would hold few strings each.
fn strings(parts: &[&Strings], rows: &[BlockRow]) -> Strings {
    let n_buffers: usize = parts.iter().map(|part| part.buffers().len()).sum();
    if n_buffers > MANY_BUFFERS && n_buffers > rows.len() / LEAST_PER_BUFFER {
        let mut builder = StringBuilder::with_capacity(rows.len());
        for r in rows {
            let (part, row) = (parts[r.block as usize], r.row as usize);
            builder.push_viewed(part.views()[row], part.get(row));
        }
        return builder.finish();
    }
    let mut buffers: Vec<Buffer> = Vec::with_capacity(n_buffers);
    let mut sources: Vec<(&[u128], u128)> = Vec::with_capacity(parts.len());
    let mut previous: Option<(&Arc<[Buffer]>, u128)> = None;
    for part in parts {
        let shift = match previous {
            Some((shared, shift)) if Arc::ptr_eq(shared, part.buffers()) => shift,
            _ => {
                let shift = (buffers.len() as u128) << 64;
                buffers.extend(part.buffers().iter().cloned());
                shift
            }
        };
        previous = Some((part.buffers(), shift));
        sources.push((part.views(), shift));
    }
    let moved = |r: &BlockRow| {
        let (views, shift) = sources[r.block as usize];
        let view = views[r.row as usize];
        if view as u32 as usize <= crate::strings::INLINE { view } else { view + shift }
    };
    let views: Vec<u128> = rows.iter().map(moved).collect();
    // SAFETY: each view is one of its part's, whose buffers stand from `shift` on in the list.
    unsafe { Strings::from_views(Buf::from_vec(views), buffers.into()) }
}

fn lists(parts: &[&List], rows: &[BlockRow]) -> List {
    let mut offsets = Vec::with_capacity(rows.len() + 1);
    let mut elements: Vec<BlockRow> = Vec::new();
    offsets.push(0i64);
    for r in rows {
        let range = parts[r.block as usize].range(r.row as usize);
        elements.extend(range.map(|element| BlockRow { block: r.block, row: element as u32 }));
        offsets.push(elements.len() as i64);
    }
    let values: Vec<&Vector> = parts.iter().map(|part| &*part.values).collect();
    List { offsets: offsets.into(), values: Arc::new(Vector::interleave(&values, &elements)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Builder;
    use chalet_types::Value;

    fn vector(ty: &str, values: &[Value]) -> Vector {
        let mut builder = Builder::new(&ty.parse().unwrap());
        values.iter().for_each(|value| builder.push_value(value).unwrap());
        builder.finish()
    }

    #[test]
    fn interleaving_is_concatenating_and_gathering() {
        let list = |items: &[u64]| Value::Array(items.iter().map(|&item| Value::UInt(item)).collect());
        let text = |i: usize| Value::from(format!("a string of some length, number {i}").as_str());
        let block = |seed: usize| {
            let codes: Vec<u32> = vec![1, 0, (seed % 2) as u32];
            let columns = vec![
                Column::Flat(vector("UInt32", &[seed, seed + 1, seed + 2].map(|i| Value::UInt(i as u64)))),
                Column::Flat(vector("Nullable(String)", &[text(seed), Value::Null, "ab".into()])),
                Column::Flat(vector("Array(UInt64)", &[list(&[seed as u64, 2]), list(&[]), list(&[5])])),
                Column::Flat(vector("FixedString(2)", &["ab", "c", "de"].map(Value::from))),
                Column::constant(vector("String", &[text(seed)]), 3),
                Column::Dict { codes: codes.into(), values: vector("String", &[text(seed), "x".into()]) },
            ];
            Block::new(columns, 3)
        };
        // Few blocks share buffers, many small ones are copied.
        for n_blocks in [1, 2, 100] {
            let blocks: Vec<Block> = (0..n_blocks).map(block).collect();
            let rows: Vec<BlockRow> =
                (0..7u32).map(|i| BlockRow { block: i * 5 % n_blocks as u32, row: (i * 2) % 3 }).collect();
            let flat: Vec<u32> = rows.iter().map(|r| r.block * 3 + r.row).collect();
            let expected = Block::concat(&blocks).gather(&flat);
            let found = Block::interleave(&blocks.iter().collect::<Vec<_>>(), &rows);
            for (expected, found) in expected.columns().iter().zip(found.columns()) {
                let (expected, found) = (expected.flat(), found.flat());
                (0..rows.len()).for_each(|row| assert_eq!(expected.value(row), found.value(row)));
            }
        }
    }
}
