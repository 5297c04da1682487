//! Columns of Native blocks, byte by byte: what is written some values at a time is what a loop over single ones gives.

use chalet_columns::{Column, Data, NullBuffer, Strings, Vector};
use chalet_formats::binary::Cursor;
use chalet_formats::native::{read_column, write_column};
use chalet_types::DataType;

fn written(ty: &DataType, column: &Column) -> Vec<u8> {
    let mut out = vec![7; 3];
    write_column(&mut out, ty, column).unwrap();
    out.split_off(3)
}

#[test]
fn strings_of_all_lengths() {
    for n in [0usize, 1, 11, 12, 13, 127, 128, 129, 300, 20_000] {
        let texts: Vec<Vec<u8>> =
            (0..40).map(|i| (0..n + i % 3).map(|at| (at * 7 + i) as u8).collect()).collect();
        let strings: Strings = texts.iter().collect();
        for from in [0, 5] {
            let part = strings.slice(from, texts.len() - from);
            let vector = Vector { data: Data::Str(part), validity: None };
            let mut expected = Vec::new();
            for text in &texts[from..] {
                chalet_formats::binary::put_string(&mut expected, text);
            }
            assert_eq!(written(&DataType::String, &Column::Flat(vector)), expected, "{n}");
        }
    }
}

#[test]
fn null_maps_of_all_lengths() {
    let ty = DataType::Nullable(DataType::UInt8.into());
    for n in 0..200usize {
        for from in [0, 1, 8, 13] {
            let all = n + from;
            let valid: Vec<bool> = (0..all).map(|row| (row * row + n) % 5 < 3).collect();
            let validity = NullBuffer::from(valid.clone());
            let vector = Vector {
                data: Data::U8((0..all).map(|x| x as u8).collect::<Vec<_>>().into()),
                validity: Some(validity),
            };
            let part = vector.slice(from, n);
            let bytes = written(&ty, &Column::Flat(part));
            let map: Vec<u8> = valid[from..].iter().map(|&valid| u8::from(!valid)).collect();
            assert_eq!(bytes[..n], map, "{n} from {from}");
            assert_eq!(bytes.len(), 2 * n);
        }
    }
    let vector = Vector { data: Data::U8(vec![1, 2, 3].into()), validity: None };
    assert_eq!(written(&ty, &Column::Flat(vector)), [0, 0, 0, 1, 2, 3]);
}

#[test]
fn a_dictionary_is_written_like_its_values() {
    // Equal values, the default one, NULLs and values that no row has; codes of one byte and of two.
    for (n_values, nullable) in [(5u32, false), (5, true), (300, false), (300, true)] {
        let texts: Vec<String> =
            (0..n_values).map(|i| if i == 3 { String::new() } else { format!("value {}", i / 2) }).collect();
        let validity =
            nullable.then(|| NullBuffer::from((0..n_values).map(|i| i % 4 != 1).collect::<Vec<bool>>()));
        let values = Vector { data: Data::Str(texts.iter().collect()), validity };
        let codes: Vec<u32> = (0..1000).map(|row| row * row % (n_values - 1)).collect();
        let column = Column::Dict { codes: codes.into(), values };
        let inner = if nullable { DataType::Nullable(DataType::String.into()) } else { DataType::String };
        let ty = DataType::LowCardinality(inner.into());
        let bytes = written(&ty, &column);
        assert!(bytes == written(&ty, &Column::Flat(column.flat().into_owned())), "{n_values} {nullable}");
        let back = read_column(&mut Cursor::new(&bytes), &ty, 1000).unwrap();
        let (back, column) = (back.flat().into_owned(), column.flat().into_owned());
        assert!((0..1000).all(|row| back.value(row) == column.value(row)), "{n_values} {nullable}");
    }
}
