//! Binary and delimited formats, every byte of them broken and cut once: rows or an error, never a panic.

use chalet_columns::Block;
use chalet_formats::input::read_all;
use chalet_formats::output::Memory;
use chalet_formats::registry::BUILTIN;
use chalet_formats::{FormatSettings, Input, ReadRequest, Schema, Statistics, WriteRequest};
use std::sync::Arc;

const COLUMNS: &[(&str, &str)] = &[
    ("u", "UInt8"),
    ("i", "Int64"),
    ("f", "Float64"),
    ("s", "String"),
    ("n", "Nullable(Int32)"),
    ("d", "Date32"),
    ("ts", "DateTime64(6)"),
    ("de", "Decimal(18, 2)"),
    ("a", "Array(String)"),
    ("m", "Map(String, Int32)"),
    ("t", "Tuple(x Int32, y Nullable(String))"),
    ("b", "Bool"),
];

const ROWS: &str = "(1, -5, 0.5, 'one', NULL, '2024-01-02', '2024-01-02 03:04:05.678901', 1.25, ['x', 'yy'], {'k': 1}, \
                    (7, NULL), true), (200, 9000000000, -1e300, '', 70000, '1960-01-01', '1969-12-31 23:59:59.5', -0.01, [], {}, \
                    (-1, 'z'), false), (0, 0, 0, 'one', 3, '1970-01-01', '1970-01-01 00:00:00', 0, [''], {'a': 2, 'b': 3}, (0, \
                    ''), true)";

fn schema(columns: &[(&str, &str)]) -> Schema {
    columns.iter().map(|(name, ty)| (name.to_string(), ty.parse().unwrap())).collect()
}

fn settings(pairs: &[(&str, &str)]) -> Arc<FormatSettings> {
    let mut settings = FormatSettings::default();
    for (name, value) in pairs {
        assert!(settings.set(name, value).unwrap(), "{name}");
    }
    Arc::new(settings)
}

fn block_of(schema: &Schema, rows: &str) -> Block {
    let format = BUILTIN.get("Values").unwrap();
    let mut scan = format.open(rows.as_bytes().to_vec().into(), ReadRequest::all(schema.clone())).unwrap();
    Block::concat(&read_all(&mut *scan, 100).unwrap())
}

fn written(format: &str, schema: &Schema, block: &Block, settings: &Arc<FormatSettings>) -> Vec<u8> {
    let memory = Memory::default();
    let mut request = WriteRequest::new(schema.clone());
    request.settings = settings.clone();
    let mut writer = BUILTIN.get(format).unwrap().writer(request, Box::new(memory.clone())).unwrap();
    writer.write(block).unwrap();
    writer.finish(&Statistics::default()).unwrap();
    memory.take()
}

/// Reads what can be read, and looks at it; the number of rows.
fn read(
    format: &str,
    bytes: &[u8],
    schema: Option<&Schema>,
    settings: &Arc<FormatSettings>,
) -> Option<usize> {
    let format = BUILTIN.get(format).unwrap();
    let schema = match schema {
        Some(schema) => schema.clone(),
        None => format.infer_schema(&mut Input::from(bytes.to_vec()), settings).ok()?,
    };
    let request = ReadRequest::all(schema).with_settings(settings.clone());
    let mut scan = format.open(bytes.to_vec().into(), request).ok()?;
    let mut n_rows = 0;
    while let Some(mut unit) = scan.next_unit().ok()? {
        while let Some(block) = unit.next_block(1000).ok()? {
            n_rows += block.n_rows();
            for column in block.columns() {
                (0..block.n_rows().min(5)).for_each(|row| drop(column.value(row)));
            }
            // A lie of a row count must not keep the test busy.
            if n_rows > 10_000 {
                return Some(n_rows);
            }
        }
    }
    Some(n_rows)
}

/// Breaks each byte in three ways, and cuts the data at each byte.
fn damage(format: &str, columns: &[(&str, &str)], rows: &str, changed: &[(&str, &str)]) {
    let (schema, settings) = (schema(columns), settings(changed));
    let whole = written(format, &schema, &block_of(&schema, rows), &settings);
    // Formats with types of their own are read in these: nobody is there to cast.
    let found = BUILTIN.get(format).unwrap().infer_schema(&mut Input::from(whole.clone()), &settings);
    let schema = found.unwrap_or(schema);
    assert_eq!(read(format, &whole, Some(&schema), &settings), Some(3), "{format}");
    damage_bytes(format, &whole, &schema, &settings);
}

fn damage_bytes(format: &str, whole: &[u8], schema: &Schema, settings: &Arc<FormatSettings>) {
    for at in 0..whole.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut broken = whole.to_vec();
            broken[at] ^= flip;
            read(format, &broken, Some(schema), settings);
            read(format, &broken, None, settings);
        }
        read(format, &whole[..at], Some(schema), settings);
        read(format, &whole[..at], None, settings);
    }
}

#[test]
fn broken_orc() {
    damage("ORC", COLUMNS, ROWS, &[("output_format_orc_compression_method", "none")]);
    damage("ORC", COLUMNS, ROWS, &[("output_format_orc_compression_method", "lz4")]);
}

#[test]
fn broken_avro() {
    damage("Avro", COLUMNS, ROWS, &[("output_format_avro_codec", "null")]);
    damage("Avro", COLUMNS, ROWS, &[]);
}

#[test]
fn broken_msg_pack() {
    damage("MsgPack", COLUMNS, ROWS, &[("input_format_msgpack_number_of_columns", "12")]);
}

#[test]
fn broken_bson() {
    damage("BSONEachRow", COLUMNS, ROWS, &[]);
}

#[test]
fn broken_npy() {
    let columns = [("array", "Array(Array(Int32))")];
    damage("Npy", &columns, "([[1, 2], [3, 4]]), ([[5, 6], [7, 8]]), ([[0, 0], [1, 1]])", &[]);
    damage("Npy", &[("array", "String")], "('a'), ('bcd'), ('')", &[]);
}

#[test]
fn broken_custom_separated() {
    for rule in ["Escaped", "Quoted", "CSV", "JSON"] {
        let changed = [
            ("format_custom_escaping_rule", rule),
            ("format_custom_row_before_delimiter", "<"),
            ("format_custom_result_after_delimiter", "."),
        ];
        damage(
            "CustomSeparatedWithNames",
            &COLUMNS[..5],
            "(1, 2, 3, 'x', 4), (5, 6, 7, '', NULL), (1, 2, 3, 'y', 4)",
            &changed,
        );
    }
}

#[test]
fn broken_rows_with_defaults() {
    let whole = b"\x02\x01a\x01b\x05UInt8\x06String\x00\x01\x00\x01x\x01\x00\x01y\x00\x03\x01";
    let schema = schema(&[("a", "UInt8"), ("b", "String")]);
    assert_eq!(read("RowBinaryWithNamesAndTypesAndDefaults", whole, None, &settings(&[])), Some(3));
    damage_bytes("RowBinaryWithNamesAndTypesAndDefaults", whole, &schema, &settings(&[]));
}

#[test]
fn broken_lines_and_forms() {
    let schema = schema(&[("a", "UInt8"), ("b", "Nullable(String)")]);
    let by_groups = settings(&[("format_regexp", "(.*)=(.*)"), ("format_regexp_escaping_rule", "Escaped")]);
    damage_bytes("Regexp", b"1=x\\N\n2=\\N\r\n3=", &schema, &by_groups);
    damage_bytes("Form", b"a=1&b=x%20y", &schema, &settings(&[]));
}

const SEVERAL_TYPES: &[(&str, &str)] = &[
    ("v", "Variant(UInt8, String, Array(UInt16))"),
    ("d", "Dynamic"),
    ("few", "Dynamic(max_types = 1)"),
    ("j", "JSON(max_dynamic_paths = 1, t UInt8)"),
];

const ROWS_OF_SEVERAL_TYPES: &str = r#"
    (1, 'x', 1, '{"a": 1, "b": [1, "x"], "t": 3}'),
    ('s', 5, 'y', '{}'),
    (NULL, NULL, true, '{"b": "z"}')"#;

#[test]
fn broken_columns_of_several_types() {
    damage("RowBinaryWithNamesAndTypes", SEVERAL_TYPES, ROWS_OF_SEVERAL_TYPES, &[]);
    damage("Native", SEVERAL_TYPES, ROWS_OF_SEVERAL_TYPES, &[]);
    for changed in [
        &[("output_format_native_use_flattened_dynamic_and_json_serialization", "1")][..],
        &[("output_format_native_write_json_as_string", "1")],
        &[
            ("output_format_native_encode_types_in_binary_format", "1"),
            ("input_format_native_decode_types_in_binary_format", "1"),
        ],
    ] {
        damage(
            "Native",
            &SEVERAL_TYPES[2..],
            "(1, '{\"a\": [1], \"t\": 3}'), ('y', '{}'), (NULL, '{}')",
            changed,
        );
    }
}

#[test]
fn broken_objects_in_containers() {
    let columns = [("n", "Nullable(JSON)"), ("a", "Array(Tuple(x Dynamic, y JSON))")];
    let rows = r#"(NULL, []), ('{"q": [{"w": 1}]}', [(1, '{"a": 1}')]), ('{}', [])"#;
    damage("Native", &columns, rows, &[]);
    damage("RowBinaryWithNamesAndTypes", &columns, rows, &[]);
}

#[test]
fn broken_native_and_rows() {
    damage("Native", COLUMNS, ROWS, &[]);
    damage("RowBinaryWithNamesAndTypes", COLUMNS, ROWS, &[]);
}

#[test]
fn broken_templates() {
    let schema = schema(&[("a", "UInt8"), ("b", "Nullable(String)"), ("c", "Array(UInt8)")]);
    for row in
        ["<${a:CSV};${b:JSON} ${c:Quoted}>", "${a:Escaped}\t${b:Escaped}|${c:Raw}", "${:Escaped}${a:JSON}"]
    {
        let changed = settings(&[
            ("format_template_row_format", row),
            ("format_template_resultset_format", "[\n${data}\n${:CSV}]"),
            ("format_template_rows_between_delimiter", ",\n"),
        ]);
        for whole in [&b"[\n<1;\"x\" [1,2]>,\n<2;null []>\n5]"[..], b"[\n1\tx|[1],\n2\t\\N|[]\n]"] {
            damage_bytes("Template", whole, &schema, &changed);
            damage_bytes("TemplateIgnoreSpaces", whole, &schema, &changed);
        }
    }
}

#[test]
fn one_reads_nothing() {
    damage_bytes("One", b"anything", &schema(&[("dummy", "UInt8")]), &settings(&[]));
}

#[test]
fn broken_protobuf() {
    let schema = "syntax = \"proto3\"; message M { uint32 u = 1; sint64 i = 2; double f = 3; string s = 4; optional sfixed32 n = 5; \
                  string d = 6; string ts = 7; string de = 8; repeated string a = 9; map<string, int32> m = 10; T t = 11; bool b = \
                  12; message T { int32 x = 1; optional string y = 2; } }";
    let changed =
        [("format_schema_source", "string"), ("format_schema", schema), ("format_schema_message_name", "M")];
    for format in ["Protobuf", "ProtobufList"] {
        let (columns, settings) = (self::schema(COLUMNS), settings(&changed));
        let whole = written(format, &columns, &block_of(&columns, ROWS), &settings);
        assert_eq!(read(format, &whole, Some(&columns), &settings), Some(3), "{format}");
        damage_bytes(format, &whole, &columns, &settings);
    }
    // The schema may be damaged as well.
    for at in 0..schema.len() {
        let broken = [&schema[..at], &schema[at + 1..]].concat();
        let mut changed = changed;
        changed[1].1 = &broken;
        read("Protobuf", b"\x02\x08\x01", None, &settings(&changed));
        changed[1].1 = &schema[..at];
        read("Protobuf", b"\x02\x08\x01", None, &settings(&changed));
    }
}
