//! Numbers for values: equal values have equal numbers, so that functions of sets compare numbers of any type alike.

use chalet_base::hash::HashMap;
use chalet_columns::keys::group_keys;
use chalet_columns::strings::INLINE;
use chalet_columns::{Buf, Column, Data, Native, Strings, Vector, each_native};

/// Stands for NULL among values of less than 64 bits, which leave the upper half free.
const NULL: u64 = 1 << 63;

/// The bits of values of at most 64 bits, whatever is NULL among them.
pub fn bits(vector: &Vector) -> Option<Vec<u64>> {
    fn words<T: Native>(values: &Buf<T>) -> Option<Vec<u64>> {
        let bytes = values.as_bytes();
        Some(match size_of::<T>() {
            1 => bytes.iter().map(|&b| b.into()).collect(),
            2 => bytes.as_chunks().0.iter().map(|b| u16::from_le_bytes(*b).into()).collect(),
            4 => bytes.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b).into()).collect(),
            8 => bytes.as_chunks().0.iter().map(|b| u64::from_le_bytes(*b)).collect(),
            _ => return None,
        })
    }
    each_native!(&vector.data, values => words(values), _ => None)
}

/// A number for every row. NULL has a number of its own; floats are equal when their bits are.
pub fn ids(vector: &Vector) -> Vec<u64> {
    fn wide_numbers<T: Native>(values: &Buf<T>) -> Vec<u64> {
        numbered(values.as_bytes().chunks_exact(size_of::<T>()))
    }
    let wide = vector.data.physical().width().is_none_or(|width| width > 4);
    let direct = each_native!(&vector.data, values => Some(bits(vector).unwrap_or_else(|| wide_numbers(values))),
        Data::Nothing(n) => Some(vec![NULL; *n]),
        Data::Str(strings) => Some(numbered_strings(strings)),
        Data::Fixed(fixed) => Some(numbered(fixed.iter())),
        Data::List(_) | Data::Struct(_) => None);
    let Some(mut numbers) = direct else {
        let keys = group_keys(&[&Column::Flat(vector.clone())], vector.len());
        return numbered((0..keys.len()).map(|row| keys.get(row)));
    };
    let Some(validity) = &vector.validity else { return numbers };
    if wide {
        // Any 64 bits may be a value: the numbers are numbered, beginning at 1.
        let mut seen: HashMap<u64, u64> = HashMap::default();
        for (number, valid) in numbers.iter_mut().zip(validity) {
            let next = seen.len() as u64 + 1;
            *number = if valid { *seen.entry(*number).or_insert(next) } else { NULL };
        }
    } else {
        numbers.iter_mut().zip(validity).filter(|(_, valid)| !valid).for_each(|(number, _)| *number = NULL);
    }
    numbers
}

/// Numbers of strings. Those that are held in their views are compared as such, without a look at bytes.
fn numbered_strings(strings: &Strings) -> Vec<u64> {
    let mut short: HashMap<u128, u64> = HashMap::default();
    let mut long: HashMap<&[u8], u64> = HashMap::default();
    let number = |(row, &view): (usize, &u128)| {
        let next = (short.len() + long.len()) as u64;
        if view as u32 as usize <= INLINE {
            *short.entry(view).or_insert(next)
        } else {
            *long.entry(strings.get(row)).or_insert(next)
        }
    };
    strings.views().iter().enumerate().map(number).collect()
}

/// Numbers of pairs of numbers.
pub fn paired(mut a: Vec<u64>, b: &[u64]) -> Vec<u64> {
    let narrow = |numbers: &[u64]| numbers.iter().fold(0, |all, number| all | number) <= u32::MAX.into();
    if narrow(&a) && narrow(b) {
        a.iter_mut().zip(b).for_each(|(x, y)| *x = *x << 32 | y);
        return a;
    }
    let mut seen: HashMap<(u64, u64), u64> = HashMap::default();
    for (x, &y) in a.iter_mut().zip(b) {
        let next = seen.len() as u64;
        *x = *seen.entry((*x, y)).or_insert(next);
    }
    a
}

fn numbered<'a>(values: impl Iterator<Item = &'a [u8]>) -> Vec<u64> {
    let mut seen: HashMap<&[u8], u64> = HashMap::default();
    values
        .map(|value| {
            let next = seen.len() as u64;
            *seen.entry(value).or_insert(next)
        })
        .collect()
}
