//! Values read in every syntax and written back: a table of texts, types and what they become.

use chalet_columns::Builder;
use chalet_text::{Cursor, Reader, Style, Syntax, TextSettings, Writer};
use chalet_types::DataType;

/// What a text becomes, in the style of tab-separated files, or the code of the error.
fn read(ty: &str, syntax: Syntax, text: &str) -> Result<String, i32> {
    let ty: DataType = ty.parse().unwrap();
    let settings = TextSettings::default();
    let mut builder = Builder::new(&ty);
    let mut cursor = Cursor::new(text.as_bytes());
    let reader = Reader::new(&ty, syntax, &settings);
    reader.read(&mut cursor, &mut builder).map_err(|e| e.code().number)?;
    let vector = builder.finish();
    let mut out = Vec::new();
    Writer::new(&ty, Style::Escaped, &settings).write(&mut out, &vector, 0);
    out.extend_from_slice(b"|");
    out.extend_from_slice(cursor.rest());
    Ok(String::from_utf8(out).unwrap())
}

/// Whatever the text is, the reader answers or fails; it never panics.
#[test]
fn any_text_is_survived() {
    let settings = TextSettings::default();
    let basic =
        TextSettings { date_time_input_format: chalet_text::DateTimeInput::Basic, ..settings.clone() };
    let types = [
        "UInt8",
        "Int256",
        "Float64",
        "Decimal(76, 10)",
        "Date",
        "Date32",
        "DateTime('Asia/Tokyo')",
        "Time64(9)",
        "DateTime64(9, 'America/New_York')",
        "UUID",
        "IPv6",
        "Bool",
        "String",
        "FixedString(3)",
        "Enum8('a' = 1)",
        "Array(Nullable(Date))",
        "Tuple(a UInt8, b String)",
        "Map(String, Array(UInt8))",
    ];
    let alphabet = b"0123456789-+.:eE/ TZ'\"\\,[](){}nulNaif\t\nx\xff";
    // A small linear congruence: the same texts on every run.
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    for ty in types {
        let ty: DataType = ty.parse().unwrap();
        for syntax in [Syntax::Plain, Syntax::Escaped, Syntax::Raw, Syntax::Quoted, Syntax::Csv, Syntax::Json]
        {
            for settings in [&settings, &basic] {
                let reader = Reader::new(&ty, syntax, settings);
                for _ in 0..300 {
                    let text: Vec<u8> = (0..next() % 40).map(|_| alphabet[next() % alphabet.len()]).collect();
                    let mut builder = Builder::new(&ty);
                    let read = reader.read(&mut Cursor::new(&text), &mut builder);
                    assert!(read.is_err() || builder.len() == 1, "{ty} {syntax:?} {text:?}");
                }
            }
        }
    }
    for text in ["-9223372036854775808", "99999999999999999999", "-99999999999999999999.9"] {
        for ty in ["DateTime64(9)", "DateTime64(0)", "Time64(9)", "Decimal(9, 2)"] {
            let ty: DataType = ty.parse().unwrap();
            let reader = Reader::new(&ty, Syntax::Plain, &basic);
            let _ = reader.read(&mut Cursor::new(text.as_bytes()), &mut Builder::new(&ty));
        }
    }
}

#[test]
fn values_of_each_syntax() {
    use Syntax::*;
    for (ty, syntax, text, expected) in [
        ("UInt8", Plain, "300", Ok("44|")),
        ("UInt8", Plain, "-1", Err(72)),
        ("UInt8", Plain, "", Err(32)),
        ("UInt8", Plain, "12abc", Err(6)),
        ("Nullable(UInt8)", Plain, "300", Ok("\\N|")),
        ("Int64", Plain, "99999999999999999999", Ok("7766279631452241919|")),
        ("UInt8", Escaped, "5\tx", Ok("5|\tx")),
        ("Nullable(UInt8)", Escaped, "\\N\tx", Ok("\\N|\tx")),
        ("String", Escaped, "a\\tb\tx", Ok("a\\tb|\tx")),
        ("String", Csv, "\"a\"\"b\",x", Ok("a\"b|,x")),
        ("String", Csv, "plain  ,x", Ok("plain|,x")),
        ("UInt8", Csv, " 1 ,2", Ok("1|,2")),
        ("Nullable(String)", Csv, ",2", Ok("\\N|,2")),
        ("Float64", Plain, "+5", Ok("5|")),
        ("Float64", Plain, "-inf", Ok("-inf|")),
        ("Float64", Plain, "1e", Err(6)),
        ("BFloat16", Plain, "1.1", Ok("1.09375|")),
        ("Decimal(9, 2)", Plain, "1.999", Ok("1.99|")),
        ("Decimal(9, 2)", Plain, "12345678", Err(69)),
        ("Decimal(9, 2)", Plain, "1e2", Ok("100|")),
        ("Date", Plain, "2020-1-2", Ok("2020-01-02|")),
        ("Date", Plain, "2021-02-29", Ok("2021-03-01|")),
        ("Date32", Plain, "1800-01-01", Ok("1800-01-01|")),
        ("Date", Plain, "2020-01-02 10:11:12", Ok("2020-01-02|")),
        ("DateTime('UTC')", Plain, "Thu, 2 Jan 2020 03:04:05 +0100", Ok("2020-01-02 02:04:05|")),
        ("DateTime('America/New_York')", Quoted, "'2020-07-02 03:04:05'", Ok("2020-07-02 03:04:05|")),
        ("DateTime('UTC')", Quoted, "1577836800]", Ok("2020-01-01 00:00:00|]")),
        ("DateTime64(3, 'UTC')", Plain, "1577836800.5", Ok("2020-01-01 00:00:00.500|")),
        ("DateTime64(3, 'UTC')", Json, "\"2020-01-02T03:04:05.5Z\"}", Ok("2020-01-02 03:04:05.500|}")),
        ("Time", Plain, "-100:00:00", Ok("-100:00:00|")),
        ("Time64(3)", Plain, "12:34:56.5", Ok("12:34:56.500|")),
        ("UUID", Plain, "61f0c4045cb311e7907ba6006ad3dba0", Ok("61f0c404-5cb3-11e7-907b-a6006ad3dba0|")),
        ("IPv4", Plain, "1.2.3.256", Err(675)),
        ("IPv6", Plain, "1:0:0:2::3", Ok("1:0:0:2::3|")),
        ("IPv6", Plain, "::ffff:1.2.3.4", Ok("::ffff:1.2.3.4|")),
        ("Enum8('a' = 1, 'b' = 2)", Plain, "2", Ok("b|")),
        ("Enum8('a' = 1, 'b' = 2)", Plain, "c", Err(691)),
        ("Bool", Plain, "Enabled", Ok("true|")),
        ("Bool", Json, "true,", Ok("true|,")),
        ("FixedString(3)", Plain, "ab", Ok("ab\\0|")),
        ("FixedString(3)", Plain, "abcd", Err(131)),
        ("Array(UInt8)", Plain, "[1, 2 ,3,]", Ok("[1,2,3]|")),
        ("Array(UInt8)", Plain, "[1,2]x", Err(632)),
        ("Array(UInt8)", Plain, "['1']", Err(130)),
        ("Array(String)", Quoted, "['a''b','c\\'d']x", Ok("['a\\'b','c\\'d']|x")),
        ("Array(Nullable(UInt8))", Plain, "[1,NULL]", Ok("[1,NULL]|")),
        ("Tuple(UInt8, String)", Plain, "(1, 'a' )", Ok("(1,'a')|")),
        ("Tuple(UInt8, String)", Plain, "(1)", Err(27)),
        ("Tuple(UInt8, String)", Csv, "1,\"a\",x", Ok("(1,'a')|,x")),
        ("Map(String, UInt8)", Quoted, "{'a':1,'b':2}", Ok("{'a':1,'b':2}|")),
        ("Map(UInt8, String)", Json, "{\"1\":\"x\"}", Ok("{1:'x'}|")),
        ("Tuple(a UInt8, b String)", Json, "{\"b\":\"x\",\"c\":[{}],\"a\":5}", Ok("(5,'x')|")),
        ("Array(String)", Json, "[\"a\\u00e9\\ud83d\\ude00\", {\"x\": 1}]", Ok("['aé😀','{\"x\": 1}']|")),
        ("Array(UInt8)", Csv, "\"[1,2]\",x", Ok("[1,2]|,x")),
    ] {
        assert_eq!(read(ty, syntax, text), expected.map(str::to_string), "{ty} {syntax:?} {text}");
    }
}

/// A text followed by the rest of a line of its format, read as the kernel's formats read it.
fn read_in_format(ty: &DataType, format: &str, text: &str) -> Result<String, i32> {
    let settings = TextSettings::default();
    let (line, syntax, ty, style) = match format {
        "TSV" => (format!("{text}\t7"), Syntax::Escaped, ty.clone(), Style::Escaped),
        "CSV" => (format!("{text},7"), Syntax::Csv, ty.clone(), Style::Escaped),
        "JSON" => (format!("{text},\"y\":7}}"), Syntax::Json, ty.clone(), Style::Escaped),
        _ => (format!("[{text}]"), Syntax::Plain, ty.clone().array(), Style::Escaped),
    };
    let mut builder = Builder::new(&ty);
    let mut cursor = Cursor::new(line.as_bytes());
    let reader = Reader::new(&ty, syntax, &settings);
    reader.read(&mut cursor, &mut builder).map_err(|e| e.code().number)?;
    if syntax == Syntax::Json {
        cursor.skip_whitespace();
    }
    let rest: &[u8] = match format {
        "TSV" => b"\t7",
        "CSV" => b",7",
        "JSON" => b",\"y\":7}",
        _ => b"",
    };
    if cursor.rest() != rest {
        return Err(if format == "CSV" { 117 } else { 27 });
    }
    let mut out = Vec::new();
    Writer::new(&ty, style, &settings).write(&mut out, &builder.finish(), 0);
    let out = String::from_utf8_lossy(&out).into_owned();
    Ok(match format {
        "Quoted" => out[1..out.len() - 1].to_string(),
        _ => out,
    })
}

/// `reading.tsv` records what the kernel reads: type, format, text, and the value or `!` and the number of the error.
/// Numbers of errors are not compared: they depend on what a format does around the value.
#[test]
fn formats_read_as_the_kernel_reads() {
    let mut wrong = Vec::new();
    let lines: Vec<&str> = include_str!("reading.tsv").lines().collect();
    for line in &lines {
        let cells: Vec<&str> = line.splitn(4, '\t').collect();
        // Backslashes are doubled in the file, and a single one makes a tab.
        let text: Vec<String> = cells[2].split("\\\\").map(|part| part.replace("\\t", "\t")).collect();
        let text = text.join("\\");
        let ty: DataType = cells[0].parse().unwrap();
        let ours = read_in_format(&ty, cells[1], &text).unwrap_or_else(|code| format!("!{code}"));
        let both_fail = ours.starts_with('!') && cells[3].starts_with('!');
        let codes = std::env::var_os("CODES").is_some();
        if ours != cells[3] && (!both_fail || codes) {
            wrong.push(format!("{line}\t{ours}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), lines.len(), wrong.join("\n"));
}
