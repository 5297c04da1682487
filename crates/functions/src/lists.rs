//! What functions of arrays and maps share: element types, elements by number, lists of interleaved columns.

use chalet_base::{Result, bail, err};
use chalet_columns::{Buf, Column, Data, List, Native, NullBuffer, Vector, bits, each_native};
use chalet_function_api::{Arg, Argument, Call};
use chalet_types::DataType;
use std::sync::Arc;

/// The element type of an argument that must be an array.
pub fn array_element<'a>(name: &str, args: &'a [Argument], index: usize) -> Result<&'a DataType> {
    match &args[index].ty {
        DataType::Array(element) => Ok(element),
        ty => bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Argument {} for function {name} must be an array but it has type {ty}",
            index + 1
        ),
    }
}

/// The key and value types of an argument that must be a map.
pub fn map_types<'a>(name: &str, args: &'a [Argument], index: usize) -> Result<(&'a DataType, &'a DataType)> {
    match &args[index].ty {
        DataType::Map(key, value) => Ok((key, value)),
        ty => bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Argument {} for function {name} must be a map but it has type {ty}",
            index + 1
        ),
    }
}

/// The list of an argument with one row per row of the block, its elements normalised.
pub fn list_of(arg: &Arg, n_rows: usize) -> Result<List> {
    let list = arg.vector.list()?;
    Ok(if arg.constant { arg.vector.repeat(n_rows).list()?.normalised() } else { list.normalised() })
}

/// A list column.
pub fn list(offsets: Vec<i64>, values: Vector) -> Vector {
    Data::List(List { offsets: offsets.into(), values: Arc::new(values) }).into()
}

/// A list column over elements of other lists, by their numbers.
pub fn gathered(offsets: Vec<i64>, values: &Vector, elements: &[u32]) -> Column {
    list(offsets, values.gather(elements)).into()
}

/// The keys and the values of the pairs of a map.
pub fn pairs(list: &List) -> Result<(&Vector, &Vector)> {
    let pairs = list.values.structure()?;
    match &pairs.fields[..] {
        [keys, values] => Ok((keys, values)),
        _ => Err(err!(LOGICAL_ERROR, "A map of {} fields", pairs.fields.len())),
    }
}

/// Stands for an element that does not exist, in the numbers of elements.
pub const NONE: u32 = u32::MAX;

/// The elements of the given numbers, defaults of the type where there is [`NONE`]: NULL when it is Nullable.
pub fn gather_or_default(values: &Vector, elements: &[u32], ty: &DataType) -> Vector {
    if !elements.contains(&NONE) {
        return values.gather(elements);
    }
    if values.validity.is_none() && !ty.is_nullable() {
        let default = Vector::defaults(ty, 1);
        let picked =
            each_native!(&values.data, values => numbers_or_default(values, elements, &default), _ => None);
        if let Some(picked) = picked {
            return picked;
        }
    }
    // Only what is asked for is copied; row 0 of the joined vector is the default.
    let present: Vec<u32> = elements.iter().copied().filter(|&e| e != NONE).collect();
    let joined = Vector::concat(&[&Vector::defaults(ty, 1), &values.gather(&present)]);
    let mut next = 0;
    let rows = elements.iter().map(|&e| {
        next += u32::from(e != NONE);
        if e == NONE { 0 } else { next }
    });
    joined.gather(&rows.collect::<Vec<_>>())
}

/// The same of numbers.
fn numbers_or_default<T: Native>(values: &Buf<T>, elements: &[u32], default: &Vector) -> Option<Vector> {
    let default = T::unwrap(&default.data)?[0];
    let picked = elements.iter().map(|&e| if e == NONE { default } else { values[e as usize] });
    Some(T::wrap(picked.collect()).into())
}

/// The columns as one: the first of all in row 0, then the second of all in row 0, and so on. A column of one row
/// stands for all rows.
pub fn interleave(columns: &[Vector], n_rows: usize) -> Vector {
    if let Some(first) = columns.first() {
        let woven = each_native!(&first.data, values => Some(woven(values, columns, n_rows)), _ => None);
        if let Some(data) = woven {
            let has_nulls = columns.iter().any(|column| column.null_count() > 0);
            let validity = has_nulls.then(|| {
                let mut all = vec![1u8; columns.len() * n_rows];
                for (at, column) in columns.iter().enumerate() {
                    if let Some(validity) = &column.validity {
                        weave(&bits::to_bytes(validity.inner()), at, columns.len(), &mut all);
                    }
                }
                NullBuffer::new(bits::nonzero(&all))
            });
            return Vector::new(data, validity);
        }
    }
    let mut starts = Vec::with_capacity(columns.len());
    let mut next = 0u32;
    for column in columns {
        starts.push((next, u32::from(column.len() == n_rows)));
        next += column.len() as u32;
    }
    let joined = Vector::concat(&columns.iter().collect::<Vec<_>>());
    let mut rows = Vec::with_capacity(columns.len() * n_rows);
    for row in 0..n_rows as u32 {
        rows.extend(starts.iter().map(|(start, step)| start + row * step));
    }
    joined.gather(&rows)
}

/// [`interleave`] of numbers: each goes to its place.
fn woven<T: Native>(_: &Buf<T>, columns: &[Vector], n_rows: usize) -> Data {
    let mut all = vec![T::default(); columns.len() * n_rows];
    for (at, column) in columns.iter().enumerate() {
        if let Some(values) = T::unwrap(&column.data) {
            weave(values, at, columns.len(), &mut all);
        }
    }
    T::wrap(all.into())
}

/// Puts values, or one for all, at every so-many-th place.
fn weave<T: Copy>(values: &[T], first: usize, step: usize, into: &mut [T]) {
    let n_rows = into.len() / step;
    let places = into.iter_mut().skip(first).step_by(step);
    match values {
        [one] if n_rows != 1 => places.for_each(|place| *place = *one),
        _ => places.zip(values).for_each(|(place, value)| *place = *value),
    }
}

/// Offsets of lists that all have one length.
pub fn even_offsets(n_rows: usize, len: usize) -> Vec<i64> {
    (0..=n_rows).map(|row| (row * len) as i64).collect()
}

/// The element type of a result that is an array.
pub fn result_element<'a>(call: &'a Call) -> Result<&'a DataType> {
    match call.result {
        DataType::Array(element) => Ok(element),
        other => Err(err!(LOGICAL_ERROR, "{other} is not an array")),
    }
}
