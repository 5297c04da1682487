//! What the kernel wrote is read back as the data that it was written from; damaged data is refused, never panicked on.

use crate::corpus::{Case, cases};
use chalet_columns::Block;
use chalet_formats::input::read_all;
use chalet_formats::output::Memory;
use chalet_formats::registry::BUILTIN;
use chalet_formats::{Input, ReadRequest, Schema, Statistics, WriteRequest};

/// Text that shows every value of a block.
fn shown(schema: &Schema, block: &Block) -> String {
    let memory = Memory::default();
    let format = BUILTIN.get("TabSeparated").unwrap();
    let mut writer = format.writer(WriteRequest::new(schema.clone()), Box::new(memory.clone())).unwrap();
    writer.write(block).unwrap();
    writer.finish(&Statistics::default()).unwrap();
    String::from_utf8_lossy(&memory.take()).into_owned()
}

fn read(format: &str, input: Input, schema: &Schema, max_rows: usize) -> chalet_base::Result<Block> {
    let mut scan = BUILTIN.get(format)?.open(input, ReadRequest::all(schema.clone()))?;
    Ok(Block::concat(&read_all(&mut *scan, max_rows)?))
}

/// Why a piece does not hold all of the data, if it does not.
fn loses(case: &Case, format: &str) -> Option<&'static str> {
    let raw = format.contains("Raw") || format.contains("LineAsString");
    match (case.name.as_str(), format) {
        _ if raw => Some("raw text is ambiguous"),
        ("totals", _) if format != "Native" && !format.contains("Binary") => Some("totals follow the rows"),
        ("floats", f) if f.contains("JSON") && !f.contains("Strings") => Some("JSON has no nan and inf"),
        ("empty", _) => Some("nothing to compare"),
        ("nullables" | "misc", f) if f.contains("Strings") => {
            Some("NULL is indistinguishable inside of text")
        }
        _ => None,
    }
}

#[test]
fn what_the_kernel_wrote() {
    let mut failed = Vec::new();
    let mut compared = 0;
    for case in cases() {
        let schema = case.schema();
        let Some((_, block)) = case.native("native") else { continue };
        let expected = shown(&schema, &block);
        for (name, bytes) in &case.pieces {
            let Ok(format) = BUILTIN.get(name) else { continue };
            if format.input.is_none() || name == "native" || loses(&case, name).is_some() {
                continue;
            }
            for max_rows in [1, 65_536] {
                compared += 1;
                match read(name, bytes.clone().into(), &schema, max_rows) {
                    Ok(found) if shown(&schema, &found) == expected => {}
                    Ok(found) => {
                        let found = shown(&schema, &found);
                        let at = found.bytes().zip(expected.bytes()).take_while(|(a, b)| a == b).count();
                        let cut = |s: &str| {
                            String::from_utf8_lossy(
                                &s.as_bytes()[at.saturating_sub(30)..(at + 60).min(s.len())],
                            )
                            .into_owned()
                        };
                        failed.push(format!(
                            "{} from {name}:\n  read     {:?}\n  expected {:?}",
                            case.name,
                            cut(&found),
                            cut(&expected)
                        ));
                    }
                    Err(error) => failed.push(format!("{} from {name}: {error}", case.name)),
                }
            }
        }
    }
    assert!(compared > 200, "only {compared} compared");
    assert!(failed.is_empty(), "{} of {compared}:\n{}", failed.len(), failed.join("\n"));
}

/// A stream and memory, one unit and many: the same rows.
#[test]
fn units_hold_all_rows() {
    let rows = 300_000u64;
    let texts: [(&str, Box<dyn Fn(u64) -> String>); 5] = [
        ("TSV", Box::new(|i| format!("{i}\ttext {i} \\n\\\n end\n"))),
        ("CSV", Box::new(|i| format!("{i},\"text \"\"{i}\"\"\nend, of\"\n"))),
        ("JSONEachRow", Box::new(|i| format!("{{\"n\":{i},\"s\":\"a}}\\\"{i}\"}}\n"))),
        ("JSONCompactEachRow", Box::new(|i| format!("[{i}, \"a]\\\"{i}\"]\n"))),
        ("TSKV", Box::new(|i| format!("n={i}\ts=text {i}\n"))),
    ];
    let schema: Schema =
        vec![("n".into(), "UInt64".parse().unwrap()), ("s".into(), "String".parse().unwrap())];
    for (format, line) in texts {
        let text: String = (0..rows).map(&line).collect();
        for stream in [false, true] {
            let bytes = text.clone().into_bytes();
            let input =
                if stream { Input::stream(Box::new(std::io::Cursor::new(bytes))) } else { bytes.into() };
            let mut scan =
                BUILTIN.get(format).unwrap().open(input, ReadRequest::all(schema.clone())).unwrap();
            let mut expected = 0;
            let mut units = 0;
            while let Some(mut unit) = scan.next_unit().unwrap() {
                units += 1;
                while let Some(block) = unit.next_block(10_000).unwrap() {
                    let numbers = block.column(0).flat();
                    for n in numbers.values::<u64>().unwrap() {
                        assert_eq!(*n, expected, "{format}");
                        expected += 1;
                    }
                }
            }
            assert_eq!(expected, rows, "{format}");
            assert!(units > 1, "{format}");
        }
        // An error deep in the file knows its row.
        let broken = text.replace("250000", "\"x");
        let mut scan = BUILTIN
            .get(format)
            .unwrap()
            .open(broken.into_bytes().into(), ReadRequest::all(schema.clone()))
            .unwrap();
        let error = read_all(&mut *scan, 65_536).unwrap_err();
        assert!(error.message().contains("(at row 250001)"), "{format}: {error}");
    }
}

/// Random edits of good data: errors, or other values, but never a panic.
#[test]
fn damaged_data() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n.max(1) as u64) as usize
    };
    let mut refused = 0;
    for case in cases() {
        let schema = case.schema();
        for (name, bytes) in &case.pieces {
            let Ok(format) = BUILTIN.get(name) else { continue };
            let Some(_) =
                format.input.filter(|_| name != "native" && bytes.len() < 20_000 && !bytes.is_empty())
            else {
                continue;
            };
            for _ in 0..40 {
                let mut damaged = bytes.clone();
                for _ in 0..1 + random(4) {
                    let at = random(damaged.len());
                    match random(5) {
                        0 => damaged[at] = random(256) as u8,
                        1 => damaged.truncate(at),
                        2 => damaged.insert(at, b"\"',\t\n\\{}[]()=\0\xff-+.eNn"[random(21)]),
                        3 => {
                            damaged.remove(at);
                        }
                        _ => {
                            let end = (at + random(50)).min(damaged.len());
                            let again = damaged[at..end].to_vec();
                            damaged.splice(at..at, again);
                        }
                    }
                    if damaged.is_empty() {
                        break;
                    }
                }
                refused += usize::from(read(name, damaged.clone().into(), &schema, 100).is_err());
                let _ = format.infer_schema(&mut damaged.into(), &Default::default());
            }
        }
    }
    assert!(refused > 1000, "only {refused} refused");
}
