//! Calls of aggregates against the kernel's answers in `golden/calls.txt`, computed in every way the engine may:
//! at once, row by row, in parts that are merged, through serialised states, and among other groups.

use chalet_aggregates::{Resolved, register, resolve};
use chalet_base::Result;
use chalet_columns::{Builder, Vector};
use chalet_function_api::{Argument, Context, Registry, States};
use chalet_text::{Cursor, Reader, Style, Syntax, TextSettings, Writer};
use chalet_types::{DataType, Value};
use std::collections::BTreeMap;

/// A difference that is known, by the beginning of the call; and why.
const KNOWN: &[(&str, &str)] = &[
    ("argMinArray(a, a2)", "of equal keys the kernel takes another one"),
    ("argMinOrDefault(", "of equal keys the kernel takes another one than for argMin itself"),
    ("argMinOrNull(", "of equal keys the kernel takes another one than for argMin itself"),
    ("argMinOrDefaultArray(", "of equal keys the kernel takes another one"),
    ("any_respect_nullsArgMin(n, ns)", "the kernel takes a row whose key is NULL"),
    ("mannWhitneyUTest(", "of some of the rows it is an error; see the test of it alone"),
    ("sumCountArgM", "the kernel makes this sumCount Nullable, and no other but -OrNull"),
    ("sumCountIfOrDefault(n", "the kernel makes this sumCount Nullable, and no other but -OrNull"),
];

/// Functions whose last digits depend on the order of a hash table, or on how a mathematical function is computed.
const LAST_DIGITS: &[&str] =
    &["entropy", "studentTTest", "welchTTest", "mannWhitneyUTest", "cramersV", "theilsU", "contingency"];

/// Functions whose answer depends on how the rows are divided.
const DIVISION_MATTERS: &[&str] = &["anyHeavy"];

struct Table {
    columns: Vec<(String, DataType)>,
    rows: Vec<String>,
}

impl Table {
    fn column(&self, name: &str) -> Option<(DataType, Vector)> {
        let index = self.columns.iter().position(|(column, _)| column == name)?;
        let ty = &self.columns[index].1;
        let reader = Reader::new(ty, Syntax::Escaped, &TextSettings::default());
        let mut builder = Builder::new(ty);
        for row in &self.rows {
            let field = row.split('\t').nth(index)?;
            let mut cursor = Cursor::new(field.as_bytes());
            reader.read(&mut cursor, &mut builder).unwrap_or_else(|e| panic!("{name} {field}: {e}"));
        }
        Some((ty.clone(), builder.finish()))
    }
}

/// `name(parameters)(args)` or `name(args)`.
fn split_call(call: &str) -> (&str, &str, &str) {
    let (head, args) = call.strip_suffix(')').unwrap().rsplit_once('(').unwrap();
    match head.split_once('(') {
        Some((name, parameters)) => (name, parameters.strip_suffix(')').unwrap(), args),
        None => (head, "", args),
    }
}

fn parameter(text: &str) -> Value {
    if let Some(list) = text.strip_prefix('[') {
        return Value::Array(list.trim_end_matches(']').split(", ").map(parameter).collect());
    }
    match text.strip_prefix('\'') {
        Some(quoted) => Value::string(quoted.trim_end_matches('\'')),
        None if text.contains('.') => Value::Float(text.parse().unwrap()),
        None => Value::UInt(text.parse().unwrap()),
    }
}

fn parameters(text: &str) -> Vec<Value> {
    // No text in the file has a quoted comma but the delimiter ', '.
    let text = text.replace("', '", "'\u{1}'").replace("','", "'\u{2}'");
    let parts = text.split(", ").filter(|part| !part.is_empty());
    parts.map(|part| parameter(&part.replace('\u{1}', ", ").replace('\u{2}', ","))).collect()
}

struct Case<'a> {
    resolved: &'a Resolved,
    args: Vec<Vector>,
    n_rows: usize,
}

impl Case<'_> {
    fn states(&self, n: usize) -> Box<dyn States> {
        let mut states = self.resolved.aggregate.states();
        states.grow(n);
        states
    }

    fn text(&self, states: &mut dyn States, n: usize, group: usize) -> Result<String> {
        let result = states.finish(n)?;
        assert_eq!(result.len(), n);
        let mut out = Vec::new();
        Writer::new(&self.resolved.result, Style::Escaped, &TextSettings::default())
            .write(&mut out, &result, group);
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    fn at_once(&self) -> Result<String> {
        let mut states = self.states(1);
        states.add(0, &self.args, 0..self.n_rows)?;
        self.text(&mut *states, 1, 0)
    }

    /// Results are asked for after each row, as windows do.
    fn row_by_row(&self) -> Result<String> {
        let mut states = self.states(1);
        for row in 0..self.n_rows {
            states.add(0, &self.args, row..row + 1)?;
            states.finish(1)?;
        }
        self.text(&mut *states, 1, 0)
    }

    /// Group 1 gets all rows, groups 0 and 2 some.
    fn among_groups(&self) -> Result<String> {
        let rows: Vec<u32> = (0..self.n_rows as u32).flat_map(|row| [row, row, row]).collect();
        let groups: Vec<u32> =
            (0..self.n_rows as u32).flat_map(|row| [1, if row % 2 == 0 { 0 } else { 2 }, 2]).collect();
        let args: Vec<Vector> = self.args.iter().map(|arg| arg.gather(&rows)).collect();
        let mut states = self.states(3);
        states.add_groups(&groups, &args)?;
        self.text(&mut *states, 3, 1)
    }

    fn parts(&self) -> Result<Vec<Box<dyn States>>> {
        let half = self.n_rows / 2;
        [0..half, half..half, half..self.n_rows]
            .into_iter()
            .map(|rows| {
                let mut states = self.states(1);
                states.add(0, &self.args, rows)?;
                Ok(states)
            })
            .collect()
    }

    fn merged(&self) -> Result<String> {
        let mut whole = self.states(2);
        for mut part in self.parts()? {
            whole.merge(&mut *part, &[0], &[1])?;
        }
        self.text(&mut *whole, 2, 1)
    }

    fn through_bytes(&self) -> Result<String> {
        let mut whole = self.states(2);
        for part in self.parts()? {
            let mut bytes = Vec::new();
            part.serialise(0, &mut bytes);
            let mut rest = &bytes[..];
            whole.deserialise(1, &mut rest)?;
            assert!(rest.is_empty(), "{} bytes of a state were not read", rest.len());
            // Bytes that end early are an error and nothing worse.
            for end in 0..bytes.len() {
                let _ = self.states(1).deserialise(0, &mut &bytes[..end]);
            }
        }
        self.text(&mut *whole, 2, 1)
    }
}

/// Equal but for the last digits of numbers: sums of floats depend on how the rows are divided.
fn close(a: &str, b: &str) -> bool {
    let split =
        |text: &str| -> Vec<String> { text.split(|c: char| "[](),".contains(c)).map(String::from).collect() };
    let (a, b) = (split(a), split(b));
    a.len() == b.len()
        && a.iter().zip(&b).all(|(x, y)| {
            x == y
                || match (x.parse::<f64>(), y.parse::<f64>()) {
                    (Ok(x), Ok(y)) => (x - y).abs() <= 1e-5 * x.abs().max(y.abs()).max(1.0),
                    _ => false,
                }
        })
}

fn answers(
    registry: &Registry,
    table: &Table,
    call: &str,
) -> Result<Option<(String, Vec<(&'static str, String)>)>> {
    let (name, parameters_text, args_text) = split_call(call);
    let mut arguments = Vec::new();
    let mut args = Vec::new();
    for column in args_text.split(", ").filter(|arg| !arg.is_empty()) {
        let (ty, vector) = table.column(column).unwrap_or_else(|| panic!("no column {column}"));
        arguments.push(Argument::of_type(ty));
        args.push(vector);
    }
    let ctx = Context::default();
    let Some(resolved) = resolve(registry, name, &parameters(parameters_text), &arguments, &ctx)? else {
        return Ok(None);
    };
    assert_eq!(resolved.result, resolved.aggregate.result_type(), "{call}");
    let case = Case { resolved: &resolved, args, n_rows: table.rows.len() };
    Ok(Some((
        resolved.result.to_string(),
        vec![
            ("at once", case.at_once()?),
            ("row by row", case.row_by_row()?),
            ("among groups", case.among_groups()?),
            ("merged", case.merged()?),
            ("through bytes", case.through_bytes()?),
        ],
    )))
}

/// The difference, if there is one.
fn difference(registry: &Registry, table: &Table, call: &str, expected: &str) -> Option<String> {
    let got = answers(registry, table, call);
    if let Some(code) = expected.strip_prefix("error ") {
        return match got {
            Err(e) if e.code().number.to_string() == code => None,
            Err(e) => Some(format!("error {code} expected, got {e}")),
            Ok(None) => Some("unknown".into()),
            Ok(Some((ty, _))) => Some(format!("error {code} expected, got {ty}")),
        };
    }
    let (expected_type, expected) = expected.split_once('\t').unwrap();
    let expected_type = expected_type.replace("\\'", "'").replace("Tuple( ", "Tuple(");
    match got {
        Err(e) => Some(format!("{e}")),
        Ok(None) => Some("unknown".into()),
        Ok(Some((ty, _))) if ty != expected_type => Some(format!("type {expected_type} expected, got {ty}")),
        Ok(Some((_, answers))) => answers.into_iter().find_map(|(way, answer)| {
            if way != "at once" && DIVISION_MATTERS.iter().any(|name| call.starts_with(name)) {
                return None;
            }
            let exact = way == "at once" && !LAST_DIGITS.iter().any(|name| call.starts_with(name));
            let same = if exact { answer == expected } else { close(&answer, expected) };
            (!same).then(|| format!("{way}: {expected} expected, got {answer}"))
        }),
    }
}

#[test]
fn calls_answer_as_the_kernel_does() {
    let mut registry = Registry::default();
    register(&mut registry);
    let path = "tests/golden/calls.txt";
    let text = std::fs::read_to_string(path).unwrap();
    let only = std::env::var("ONLY").ok();
    let mut table = Table { columns: Vec::new(), rows: Vec::new() };
    let mut name = String::new();
    let mut wrong: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut n_calls = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if let Some(next) = line.strip_prefix("table ") {
            name = next.to_string();
            table = Table { columns: Vec::new(), rows: Vec::new() };
        } else if let Some(column) = line.strip_prefix("column ") {
            let (column, ty) = column.split_once(' ').unwrap();
            table.columns.push((column.to_string(), ty.parse().unwrap()));
        } else if let Some(row) = line.strip_prefix("row ") {
            table.rows.push(row.to_string());
        } else if let Some((call, expected)) = line.split_once(" => ") {
            if only.as_ref().is_some_and(|only| !call.starts_with(only.as_str())) {
                continue;
            }
            n_calls += 1;
            if KNOWN.iter().any(|(known, _)| call.starts_with(known)) {
                continue;
            }
            if let Some(difference) = difference(&registry, &table, call, expected) {
                let function = split_call(call).0.to_string();
                wrong.entry(function).or_default().push(format!("{name}: {call}: {difference}"));
            }
        }
    }
    let n_wrong: usize = wrong.values().map(Vec::len).sum();
    let all = std::env::var("ALL").is_ok();
    for lines in wrong.values() {
        lines.iter().take(if all { usize::MAX } else { 3 }).for_each(|line| eprintln!("{line}"));
    }
    assert!(n_calls > 0);
    assert_eq!(n_wrong, 0, "of {n_calls} calls");
}
