//! Dictionary encoding: finding the distinct strings of a vector, so that functions run once for each of them.

use crate::{Buf, Column, Data, Vector};
use chalet_base::hash::HashMap;

/// Encoding pays when a value stands in this many rows on average.
const ROWS_PER_VALUE: usize = 4;

impl Vector {
    /// Strings as codes into their distinct values, in order of appearance; what repeats too little, and what is not
    /// made of strings, stays flat.
    pub fn into_dictionary(self) -> Column {
        match self.coded() {
            Some((codes, first_rows)) => {
                Column::Dict { codes: Buf::from(codes), values: self.gather(&first_rows).compact() }
            }
            None => Column::Flat(self),
        }
    }

    /// The code of each row, and the row in which each value stands first.
    fn coded(&self) -> Option<(Vec<u32>, Vec<u32>)> {
        let Data::Str(strings) = &self.data else { return None };
        let most = strings.len() / ROWS_PER_VALUE;
        let mut known: HashMap<Option<&[u8]>, u32> = HashMap::default();
        let (mut codes, mut first_rows) = (Vec::with_capacity(strings.len()), Vec::new());
        for (row, value) in strings.iter().enumerate() {
            let value = (!self.is_null(row)).then_some(value);
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
    fn distinct_strings_stay_flat() {
        assert!(matches!(vector(1000, 900).into_dictionary(), Column::Flat(_)));
        assert!(matches!(vector(0, 1).into_dictionary(), Column::Dict { .. } | Column::Flat(_)));
    }
}
