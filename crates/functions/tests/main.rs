//! Calls of functions over literals, compared with recorded answers of the kernel (`tests/golden/*.txt`).
//!
//! A line is an expression, a tab, and what the kernel says: `type<TAB>value` in TabSeparated, or `!` and the
//! code of the error. `tools/bless_functions.py` fills the answers in. Each expression runs twice: over constants, and
//! with the first argument of each call as a column of three equal rows.

mod evaluate;

use chalet_base::codes::{BAD_ARGUMENTS, ILLEGAL_COLUMN, ILLEGAL_TYPE_OF_ARGUMENT};
use evaluate::{Mode, evaluate};
use std::fmt::Write;
use std::path::PathBuf;

#[test]
fn golden_answers() {
    let recorded = PathBuf::from("tests/golden");
    let folder = std::env::var_os("GOLDEN_FOLDER").map_or(recorded, Into::into);
    let only = std::env::var("GOLDEN").ok();
    let mut report = String::new();
    let (mut total, mut wrong) = (0, 0);
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let foreign = file.extension().is_none_or(|extension| extension != "txt");
        if foreign || only.as_ref().is_some_and(|only| *only != name) {
            continue;
        }
        for (number, line) in std::fs::read_to_string(&file).unwrap().lines().enumerate() {
            let Some((expression, expected)) = line.split_once('\t') else { continue };
            total += 1;
            let constant = shown(evaluate(expression, Mode::Constants));
            let column = shown(evaluate(expression, Mode::Columns));
            let place = format!("{name}.txt:{}", number + 1);
            // An argument that has to be constant.
            let wants_constants = [ILLEGAL_COLUMN, BAD_ARGUMENTS].map(|code| format!("!{}", code.number));
            // Of two mistakes another one may be told first.
            let is_told_first =
                expected.starts_with('!') && column == format!("!{}", ILLEGAL_TYPE_OF_ARGUMENT.number);
            if constant != expected {
                wrong += 1;
                writeln!(report, "{place}: {expression}\n  kernel: {expected}\n  ours:   {constant}")
                    .unwrap();
            } else if column != expected && !is_told_first && !wants_constants.contains(&column) {
                wrong += 1;
                writeln!(report, "{place}: {expression}\n  constant: {expected}\n  columns:  {column}")
                    .unwrap();
            }
        }
    }
    assert!(wrong == 0, "{wrong} of {total} answers differ:\n{report}");
    assert!(total > 0, "no golden answers were found");
}

/// The page of missing functions lists none that has been written.
#[test]
fn the_page_of_missing_functions_is_current() {
    let page = std::fs::read_to_string("../../docs/functions.md").unwrap();
    let cells = page.lines().filter(|line| line.starts_with("| `")).filter_map(|row| row.split('|').nth(1));
    let missing: Vec<&str> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    assert!(missing.len() > 20, "the table of docs/functions.md was not found");
    let mut registry = chalet_function_api::Registry::default();
    chalet_functions::register(&mut registry);
    let written: Vec<&str> = registry.scalars.names().filter(|name| missing.contains(name)).collect();
    assert!(written.is_empty(), "take off docs/functions.md: {written:?}");
}

/// The recorded form of a result.
fn shown(result: chalet_base::Result<String>) -> String {
    match result {
        Ok(text) => text,
        Err(error) => {
            if std::env::var("GOLDEN_MESSAGES").is_ok() {
                eprintln!("{error}");
            }
            format!("!{}", error.code().number)
        }
    }
}
