//! Columns to arrays and back.

use arrow_array::{Array, ArrayRef, BinaryViewArray, DictionaryArray, Int8Array, ListArray, StringArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType as Arrow, Field};
use chalet_columns::{Builder, Column, Vector};
use chalet_formats_arrow::{ExportOptions, StringsAs, field_of, from_arrow, to_arrow};
use chalet_types::{DataType, Value};
use std::sync::Arc;

fn ty(text: &str) -> DataType {
    text.parse().unwrap()
}

fn column(ty: &DataType, values: &[Value]) -> Column {
    let mut builder = Builder::new(ty);
    values.iter().for_each(|value| builder.push_value(value).unwrap());
    builder.finish().into()
}

fn values(column: &Column) -> Vec<Value> {
    (0..column.len()).map(|row| column.value(row)).collect()
}

/// Type, the type it comes back as, and two values.
fn samples() -> Vec<(&'static str, &'static str, [Value; 2])> {
    let int = |a: i64, b: i64| [Value::Int(a), Value::Int(b)];
    let uint = |a: u64, b: u64| [Value::UInt(a), Value::UInt(b)];
    let bytes = |a: &[u8], b: &[u8]| [Value::string(a), Value::string(b)];
    let list = |items: &[i64]| Value::Array(items.iter().map(|&i| Value::Int(i)).collect());
    vec![
        ("Bool", "Bool", uint(1, 0)),
        ("UInt8", "UInt8", uint(1, 255)),
        ("UInt16", "UInt16", uint(1, 65535)),
        ("UInt32", "UInt32", uint(1, 1 << 31)),
        ("UInt64", "UInt64", uint(1, u64::MAX)),
        ("Int8", "Int8", int(1, -128)),
        ("Int16", "Int16", int(1, -1)),
        ("Int32", "Int32", int(1, -1)),
        ("Int64", "Int64", int(1, i64::MIN)),
        ("Float32", "Float32", [Value::Float(1.5), Value::Float(-0.25)]),
        ("Float64", "Float64", [Value::Float(1.5), Value::Float(f64::INFINITY)]),
        ("String", "String", bytes(b"short", "a long string, longer than a view \u{e4}".as_bytes())),
        ("FixedString(3)", "FixedString(3)", bytes(b"abc", b"a\0\0")),
        ("UUID", "UUID", bytes(b"0123456789abcdef", &[255; 16])),
        ("IPv6", "FixedString(16)", bytes(b"0123456789abcdef", &[255; 16])),
        ("IPv4", "UInt32", uint(1, 2)),
        ("Date32", "Date32", int(-5, 2_932_896)),
        ("DateTime", "UInt32", uint(1, 1 << 31)),
        ("DateTime64(3, 'Europe/Berlin')", "DateTime64(3, 'Europe/Berlin')", int(1_577_934_245_123, -1)),
        ("DateTime64(9)", "DateTime64(9, 'UTC')", int(1_577_934_245_123, -1)),
        ("Time64(6)", "Time64(6)", int(5, 7)),
        ("Time64(3)", "Time64(3)", int(5, 7)),
        ("IntervalSecond", "IntervalSecond", int(5, -7)),
        ("IntervalDay", "Int64", int(5, -7)),
        ("Enum8('a' = 1, 'b' = -2)", "Int8", int(1, -2)),
        ("Decimal(9, 2)", "Decimal(9, 2)", int(150, -1)),
        ("Decimal(18, 4)", "Decimal(18, 4)", int(150, i64::MIN)),
        ("Decimal(38, 6)", "Decimal(38, 6)", [Value::Int128(150), Value::Int128(-(1i128 << 100))]),
        ("Decimal(76, 6)", "Decimal(76, 6)", [Value::Int256((-150).into()), Value::Int256(7.into())]),
        ("Array(Int32)", "Array(Int32)", [list(&[1, 2, 3]), list(&[])]),
        (
            "Array(Array(Nullable(String)))",
            "Array(Array(Nullable(String)))",
            [Value::Array(vec![Value::Array(vec![Value::Null, Value::from("x")])]), Value::Array(vec![])],
        ),
        (
            "Tuple(a Int32, b Nullable(String))",
            "Tuple(a Int32, b Nullable(String))",
            [
                Value::Tuple(vec![Value::Int(1), Value::Null]),
                Value::Tuple(vec![Value::Int(2), Value::from("y")]),
            ],
        ),
        (
            "Tuple(Int32, String)",
            "Tuple(`1` Int32, `2` String)",
            [
                Value::Tuple(vec![Value::Int(1), Value::from("x")]),
                Value::Tuple(vec![Value::Int(2), Value::from("y")]),
            ],
        ),
    ]
}

#[test]
fn every_type_comes_back() {
    for (from, to, [a, b]) in samples() {
        let (from, to) = (ty(from), ty(to));
        for nullable in [false, true] {
            if nullable && !from.can_be_nullable() {
                continue;
            }
            let (from, to) = if nullable {
                (from.clone().nullable(), to.clone().nullable())
            } else {
                (from.clone(), to.clone())
            };
            let rows = if nullable {
                vec![Value::Null, a.clone(), b.clone(), Value::Null, a.clone()]
            } else {
                vec![a.clone(), b.clone(), a.clone()]
            };
            let column = column(&from, &rows);
            for strings in [StringsAs::Utf8, StringsAs::Binary, StringsAs::Utf8View, StringsAs::BinaryView] {
                let options = ExportOptions { strings, ..Default::default() };
                let field = field_of("c", &from, &options).unwrap();
                let array = to_arrow(&column, &from, &options).unwrap();
                assert_eq!(array.data_type(), field.data_type());
                let (back, back_ty) = from_arrow(&array, &field).unwrap();
                assert_eq!(back_ty, to);
                assert_eq!(values(&back), rows, "{from}");
                // A slice of an array begins inside its buffers.
                let (part, _) = from_arrow(&array.slice(1, 2), &field).unwrap();
                assert_eq!(values(&part), rows[1..3], "slice of {from}");
                let part = to_arrow(&column.slice(1, 2), &from, &options).unwrap();
                assert_eq!(
                    values(&from_arrow(&part, &field).unwrap().0),
                    rows[1..3],
                    "{from}, slice exported"
                );
            }
        }
    }
}

#[test]
fn maps_come_back() {
    let map = ty("Map(String, Nullable(UInt8))");
    let rows = vec![
        Value::Map(vec![(Value::from("k"), Value::UInt(1)), (Value::from("n"), Value::Null)]),
        Value::Map(vec![]),
    ];
    let column = column(&map, &rows);
    let options = ExportOptions::default();
    let (field, array) = (field_of("c", &map, &options).unwrap(), to_arrow(&column, &map, &options).unwrap());
    let (back, back_ty) = from_arrow(&array, &field).unwrap();
    assert_eq!(back_ty, map);
    assert_eq!(values(&back), values(&column));
}

#[test]
fn date_becomes_date32() {
    let date = column(&DataType::Date, &[Value::UInt(18262)]);
    let array = to_arrow(&date, &DataType::Date, &ExportOptions::default()).unwrap();
    let (back, back_ty) = from_arrow(&array, &Field::new("d", Arrow::Date32, false)).unwrap();
    assert_eq!((back.value(0), back_ty), (Value::Int(18262), DataType::Date32));
    let far: ArrayRef = Arc::new(arrow_array::Date32Array::from(vec![3_000_000]));
    let error = from_arrow(&far, &Field::new("d", Arrow::Date32, false)).unwrap_err();
    assert_eq!(error.code().number, 321);
}

#[test]
fn low_cardinality_as_dictionary() {
    let low = ty("LowCardinality(Nullable(String))");
    let mut distinct = Builder::new(&ty("Nullable(String)"));
    [Value::Null, Value::from("a"), Value::from("b")].iter().for_each(|v| distinct.push_value(v).unwrap());
    let column = Column::Dict { codes: vec![1u32, 0, 2, 1].into(), values: distinct.finish() };
    for wide in [false, true] {
        let options = ExportOptions {
            low_cardinality_as_dictionary: true,
            use_64_bit_indexes_for_dictionary: wide,
            ..Default::default()
        };
        let field = field_of("c", &low, &options).unwrap();
        let array = to_arrow(&column, &low, &options).unwrap();
        assert_eq!(array.null_count(), 1);
        let (back, back_ty) = from_arrow(&array, &field).unwrap();
        assert!(matches!(back, Column::Dict { .. }));
        assert_eq!(back_ty, low);
        assert_eq!(values(&back), [Value::from("a"), Value::Null, Value::from("b"), Value::from("a")]);
    }
}

#[test]
fn views_share_their_bytes() {
    let text = "x".repeat(1000);
    let column = column(&DataType::String, &[Value::from(text.as_str())]);
    let options = ExportOptions { strings: StringsAs::BinaryView, ..Default::default() };
    let array = to_arrow(&column, &DataType::String, &options).unwrap();
    let view = array.as_any().downcast_ref::<BinaryViewArray>().unwrap();
    let Column::Flat(vector) = &column else { panic!() };
    assert_eq!(view.data_buffers()[0].as_ptr(), vector.strings().unwrap().buffers()[0].as_ptr());
}

#[test]
fn lies_are_refused() {
    let one: Arc<[Buffer]> = Arc::new([Buffer::from(b"abcdefghijklmnopqrstuvwxyz".to_vec())]);
    let view = |len: u32, buffer: u32, offset: u32| -> u128 {
        u128::from(len)
            | (u128::from(u32::from_le_bytes(*b"abcd")) << 32)
            | (u128::from(buffer) << 64)
            | (u128::from(offset) << 96)
    };
    let field = Field::new("s", Arrow::BinaryView, true);
    for bad in [view(27, 0, 0), view(13, 1, 0), view(13, 0, 20), view(13, 0, u32::MAX), view(13, 0, 1)] {
        // SAFETY: none, that is the point: the array lies, and the import must see it.
        let array =
            unsafe { BinaryViewArray::new_unchecked(ScalarBuffer::from(vec![bad]), one.clone(), None) };
        assert_eq!(from_arrow(&array, &field).unwrap_err().code().number, 117);
        let nulls = Some(NullBuffer::from(vec![false]));
        // SAFETY: as above; under a NULL the lie is harmless.
        let array =
            unsafe { BinaryViewArray::new_unchecked(ScalarBuffer::from(vec![bad]), one.clone(), nulls) };
        assert_eq!(values(&from_arrow(&array, &field).unwrap().0), [Value::Null]);
    }
    let keys = Int8Array::from(vec![0, 5]);
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    // SAFETY: as above: a key without a value.
    let array = unsafe { DictionaryArray::new_unchecked(keys, texts) };
    let field = Field::new("d", array.data_type().clone(), false);
    assert_eq!(from_arrow(&array, &field).unwrap_err().code().number, 117);
}

#[test]
fn null_lists_are_empty() {
    let item = Arc::new(Field::new("item", Arrow::Int8, false));
    let elements: ArrayRef = Arc::new(Int8Array::from(vec![1, 2, 3]));
    let offsets = OffsetBuffer::new(ScalarBuffer::from(vec![0, 2, 3]));
    let array = ListArray::new(item, offsets, elements, Some(NullBuffer::from(vec![false, true])));
    let field = Field::new("l", array.data_type().clone(), true);
    let (column, ty) = from_arrow(&array, &field).unwrap();
    assert_eq!(ty.to_string(), "Array(Int8)");
    assert_eq!(values(&column), [Value::Array(vec![]), Value::Array(vec![Value::Int(3)])]);
}

#[test]
fn nulls_of_a_field_that_denies_them_vanish() {
    let array = Int8Array::from(vec![Some(1), None]);
    let (column, ty) = from_arrow(&array, &Field::new("c", Arrow::Int8, false)).unwrap();
    assert_eq!(ty, DataType::Int8);
    let Column::Flat(Vector { validity, .. }) = column else { panic!() };
    assert!(validity.is_none());
}
