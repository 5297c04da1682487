//! Dictionary encoding: finding the distinct values of a vector, so that functions run once for each of them.

use crate::{Buf, Column, Data, Native, Vector, each_native};
use chalet_base::hash::HashMap;
use std::hash::Hash;

/// Encoding pays when a value stands in this many rows on average.
const ROWS_PER_VALUE: usize = 4;

impl Vector {
    /// Strings and numbers as codes into their distinct values, in order of appearance; what repeats too little, and values of
    /// other kinds, stay flat.
    pub fn into_dictionary(self) -> Column {
        match self.coded() {
            Some((codes, first_rows)) => {
                Column::Dict { codes: Buf::from(codes), values: self.gather(&first_rows).compact() }
            }
            None => Column::Flat(self),
        }
    }

    fn coded(&self) -> Option<Coded> {
        match &self.data {
            Data::Str(strings) => self.coded_by(|row| strings.get(row)),
            Data::Fixed(fixed) => self.coded_by(|row| fixed.get(row)),
            data => each_native!(data, values => self.coded_numbers(values), _ => None),
        }
    }

    /// Numbers of up to 64 bits, whose bits are compared.
    fn coded_numbers<T: Native>(&self, values: &Buf<T>) -> Option<Coded> {
        const WIDTH: usize = size_of::<u64>();
        let (width, bytes) = (size_of::<T>(), values.as_bytes());
        let word = |row: usize| {
            let mut word = [0; WIDTH];
            word[..width].copy_from_slice(&bytes[row * width..(row + 1) * width]);
            u64::from_le_bytes(word)
        };
        if width <= WIDTH { self.coded_by(word) } else { None }
    }

    fn coded_by<K: Hash + Eq>(&self, key: impl Fn(usize) -> K) -> Option<Coded> {
        let n = self.len();
        let most = n / ROWS_PER_VALUE;
        let mut known: HashMap<Option<K>, u32> = HashMap::default();
        let (mut codes, mut first_rows) = (Vec::with_capacity(n), Vec::new());
        for row in 0..n {
            let value = (!self.is_null(row)).then(|| key(row));
            let code = *known.entry(value).or_insert_with(|| {
                first_rows.push(row as u32);
                first_rows.len() as u32 - 1
            });
            if first_rows.len() > most {
                return None;
            }
            codes.push(code);
        }
        Some((codes, first_rows))
    }
}

/// The code of each row, and the row in which each value stands first.
type Coded = (Vec<u32>, Vec<u32>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NullBuffer, StringBuilder};

    fn vector(rows: usize, distinct: usize) -> Vector {
        let mut builder = StringBuilder::with_capacity(rows);
        (0..rows)
            .for_each(|row| builder.push(format!("a value of some length {}", row % distinct).as_bytes()));
        Vector::new(
            Data::Str(builder.finish()),
            Some(NullBuffer::from_iter((0..rows).map(|row| row % 5 != 3))),
        )
    }

    #[test]
    fn repeated_strings_are_coded() {
        let plain = vector(1000, 7);
        let Column::Dict { codes, values } = plain.clone().into_dictionary() else { panic!("not coded") };
        assert_eq!((codes.len(), values.len(), values.null_count()), (1000, 8, 1));
        let column = Column::Dict { codes, values };
        for row in 0..1000 {
            assert_eq!(column.is_null(row), row % 5 == 3);
            let (vector, at) = column.locate(row);
            let (Data::Str(coded), Data::Str(strings)) = (&vector.data, &plain.data) else {
                panic!("no strings")
            };
            assert!(column.is_null(row) || coded.get(at) == strings.get(row));
        }
    }

    #[test]
    fn repeated_numbers_are_coded() {
        let numbers: Vec<u16> = (0..1000).map(|row| row % 9 * 31).collect();
        let plain = Vector::from(numbers.clone());
        let Column::Dict { codes, values } = plain.into_dictionary() else { panic!("not coded") };
        let Data::U16(values) = &values.data else { panic!("no numbers") };
        assert_eq!(values.len(), 9);
        assert!(codes.iter().zip(&numbers).all(|(&code, &number)| values[code as usize] == number));
        let distinct = Vector::from((0..1000u64).collect::<Vec<_>>());
        assert!(matches!(distinct.into_dictionary(), Column::Flat(_)));
    }

    #[test]
    fn distinct_strings_stay_flat() {
        assert!(matches!(vector(1000, 900).into_dictionary(), Column::Flat(_)));
        assert!(matches!(vector(0, 1).into_dictionary(), Column::Dict { .. } | Column::Flat(_)));
    }
}
