//! Small inputs, good and bad: schemas, rows and error codes as the kernel has them.

use chalet_formats::input::read_all;
use chalet_formats::output::Memory;
use chalet_formats::registry::BUILTIN;
use chalet_formats::{FormatSettings, ReadRequest, Schema, Statistics, WriteRequest};
use chalet_types::DataType;
use std::sync::Arc;

/// Inputs that are read otherwise, each group with its reason.
const KNOWN: &[&str] = &[
    // Numbers of which no integer type holds all.
    "{\"a\":[1,-1,9223372036854775808]}",
    // A name that is empty, which the kernel takes for a partition of a folder.
    "{\"\":1}",
    // Int64 and Float64 in one column of TSKV make the kernel fall back to String.
    "a=1\tb=x\na=1.5\tc=[1]\n",
    // Expressions in Values, for which an engine is needed.
    "(1,'x'),(2,3)",
    "(1,'x'),(1+1,upper('y'));",
    "(1,'x'),(1+1,foo('y'))",
    "('1','a')",
    "(-1,'x')",
    "(1.5,'x')",
    "(1,a)",
];

fn unescape(field: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = field.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'\\' => match bytes.next().unwrap() {
                b't' => b'\t',
                b'n' => b'\n',
                b'r' => b'\r',
                b'0' => 0,
                other => other,
            },
            other => other,
        });
    }
    out
}

fn found(
    mode: &str,
    format: &str,
    structure: &str,
    settings: &str,
    data: Vec<u8>,
) -> chalet_base::Result<String> {
    let mut given = FormatSettings::default();
    for pair in settings.split(';').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap();
        assert!(given.set(name, value)?, "{name}");
    }
    let given = Arc::new(given);
    let format = BUILTIN.get(format)?;
    if mode == "desc" {
        let schema = format.infer_schema(&mut data.into(), &given)?;
        return Ok(schema.iter().map(|c| format!("{}\t{}\n", c.0, c.1)).collect());
    }
    let tuple: DataType = format!("Tuple({structure})").parse()?;
    let DataType::Tuple(fields) = tuple else { panic!("{structure}") };
    let schema: Schema =
        fields.iter().map(|f| (f.name.as_deref().unwrap().to_string(), f.ty.clone())).collect();
    let request = ReadRequest::all(schema.clone()).with_settings(given.clone());
    let blocks = read_all(&mut *format.open(data.into(), request)?, 65_536)?;
    let memory = Memory::default();
    let request = WriteRequest { settings: given, ..WriteRequest::new(schema) };
    let mut writer = BUILTIN.get("TabSeparated")?.writer(request, Box::new(memory.clone()))?;
    blocks.iter().try_for_each(|block| writer.write(block))?;
    writer.finish(&Statistics::default())?;
    Ok(String::from_utf8_lossy(&memory.take()).into_owned())
}

#[test]
fn as_the_kernel_reads() {
    let path = "tests/corpus/reading.tsv";
    let bytes = std::fs::read(path).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let mut failed = Vec::new();
    let mut n = 0;
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [mode, format, structure, settings, data, answer] = fields[..] else { panic!("{line}") };
        let (structure, answer) = (unescape(structure), String::from_utf8(unescape(answer)).unwrap());
        let data = unescape(data);
        let shown = String::from_utf8_lossy(&data).into_owned();
        n += 1;
        let ours = match found(mode, format, std::str::from_utf8(&structure).unwrap(), settings, data) {
            Ok(text) => text,
            Err(error) => format!("ERR {}", error.code().number),
        };
        let known = KNOWN.contains(&shown.as_str()) && (format != "Values" || mode == "read");
        if (ours == answer) == known {
            failed.push(format!(
                "{mode} {format} {shown:?} {settings}\n  ours   {ours:?}\n  kernel {answer:?}"
            ));
        }
    }
    assert!(n > 400, "only {n} cases");
    assert!(failed.is_empty(), "{} of {n}:\n{}", failed.len(), failed.join("\n"));
}
