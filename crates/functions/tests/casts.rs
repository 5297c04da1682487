//! Casts between all pairs of types against recorded answers of the kernel (`tests/cast_answers/*.tsv`).
//!
//! The first line of a file names the target types; each other line is a source type, a value as text, and what
//! the value becomes in each target type in TabSeparated, or `!` and the number of the error. `?` stands where ours
//! differs on purpose: floats beyond 64 bits are exact here, and errors of FixedString are those of String.

use chalet_columns::{Builder, Column, Vector};
use chalet_function_api::call::{BoundFunction, Input};
use chalet_function_api::{Argument, Context, Registry};
use chalet_text::{Cursor, Reader, Style, Syntax, TextSettings, Writer};
use chalet_types::{DataType, Value};
use std::fmt::Write;
use std::path::PathBuf;

fn source(ty: &DataType, text: &str) -> Vector {
    let settings = TextSettings::default();
    let mut builder = Builder::new(ty);
    let syntax = if matches!(ty.bare(), DataType::Map(..)) { Syntax::Quoted } else { Syntax::Plain };
    let reader = Reader::new(ty, syntax, &settings);
    reader.read(&mut Cursor::new(text.as_bytes()), &mut builder).unwrap();
    builder.finish()
}

fn cast(
    registry: &Registry,
    name: &str,
    value: &Vector,
    from: &DataType,
    to: &str,
) -> Result<String, String> {
    let ctx = Context::default();
    let show = |e: chalet_base::Error| format!("!{}", e.code().number);
    let function = registry.scalars.get(name).unwrap();
    let args = [
        Argument::of_type(from.clone()),
        Argument { constant: Some(Value::from(to)), ..Argument::of_type(DataType::String) },
    ];
    let bound = BoundFunction::bind(function.clone(), &args, &ctx).map_err(show)?;
    let target = Column::of_value(&Value::from(to), &DataType::String, 1).unwrap();
    let inputs = vec![Input::Column(Column::Flat(value.clone())), Input::Column(target)];
    let column = bound.execute(inputs, 1, &ctx).map_err(show)?;
    let mut out = Vec::new();
    let (vector, row) = column.locate(0);
    Writer::new(&bound.result, Style::Escaped, &TextSettings::default()).write(&mut out, vector, row);
    Ok(String::from_utf8_lossy(&out).into_owned())
}

#[test]
fn casts_agree_with_the_kernel() {
    let mut registry = Registry::default();
    chalet_functions::register(&mut registry);
    let recorded = PathBuf::from("tests/cast_answers");
    let folder = std::env::var_os("GOLDEN_CASTS").map_or(recorded, Into::into);
    let (mut total, mut wrong, mut report) = (0, 0, String::new());
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap().path();
        let function = file.file_stem().unwrap().to_str().unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let mut lines = text.lines();
        let targets: Vec<&str> = lines.next().unwrap().split('\t').skip(2).collect();
        for line in lines {
            let cells: Vec<&str> = line.split('\t').collect();
            let from: DataType = cells[0].parse().unwrap();
            let value = source(&from, cells[1]);
            for (to, expected) in targets.iter().zip(&cells[2..]) {
                if *expected == "?" {
                    continue;
                }
                total += 1;
                let ours = cast(&registry, function, &value, &from, to).unwrap_or_else(|e| e);
                if ours != *expected {
                    wrong += 1;
                    writeln!(report, "{function}\t{}\t{}\t{to}\t{expected}\t{ours}", cells[0], cells[1])
                        .unwrap();
                }
            }
        }
    }
    assert!(total > 0, "no golden casts were found");
    assert!(
        wrong == 0,
        "{wrong} of {total} casts differ (function, from, value, to, kernel, ours):\n{report}"
    );
}
