//! One file of tests against a fresh session: every record runs, failures are gathered.

use crate::modes::Mode;
use crate::on_disk;
use crate::scratch::Scratch;
use chalet_base::{Error, Result, err};
use chalet_engine::{Database, RunOptions, Session};
use sqllogictest::{DB, DBOutput, DefaultColumnType, Record, Runner};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A record that runs for longer has no end: it is interrupted, and fails.
const RECORD_LIMIT: Duration = Duration::from_secs(300);

/// What came of a file.
#[derive(Default)]
pub struct Report {
    /// Statements that did as recorded.
    pub passed: Vec<String>,
    pub failed: Vec<Failure>,
    pub elapsed: Duration,
}

/// A record that did not do as recorded.
pub struct Failure {
    pub place: String,
    pub sql: String,
    pub message: String,
}

/// The engine as the runner of the `sqllogictest` crate sees it.
struct Engine {
    session: Session,
    mode: &'static Mode,
}

impl Engine {
    fn open(mode: &'static Mode, path: &str) -> Result<Engine> {
        Ok(Engine { session: Database::open(path)?.session(), mode })
    }

    /// The mode's settings, but not over those that the statement itself names: it reads or sets them.
    fn settings(&self, sql: &str) -> Vec<(String, String)> {
        let wanted = self.mode.settings.iter().filter(|(name, _)| !sql.contains(name));
        wanted.map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    fn answer(&self, sql: &str) -> Result<Vec<u8>> {
        let text = match self.mode {
            Mode { reprint: true, .. } => reprinted(sql),
            Mode { on_disk: true, .. } => on_disk::statement(sql),
            _ => sql.to_string(),
        };
        let started = Instant::now();
        let options = RunOptions {
            format: Some("TabSeparated".into()),
            settings: self.settings(sql),
            interrupt: Some(Arc::new(move || started.elapsed() > RECORD_LIMIT)),
            ..RunOptions::default()
        };
        let run = || self.session.run(&text, options).map(|answer| answer.bytes);
        catch_unwind(AssertUnwindSafe(run))
            .unwrap_or_else(|_| Err(err!(LOGICAL_ERROR, "The engine panicked")))
    }
}

/// The statement parsed and printed; what does not parse stays as it is, to fail as it would.
fn reprinted(sql: &str) -> String {
    let Ok(statements) = chalet_syntax::parse_statements(sql) else { return sql.to_string() };
    let mut text: Vec<String> = Vec::with_capacity(statements.len());
    for statement in statements {
        // Data in the text are bytes of the format, not of the dialect.
        if let chalet_syntax::ast::StatementKind::Insert(insert) = &statement.kind
            && matches!(insert.source, chalet_syntax::ast::InsertSource::Inline { .. })
        {
            return sql.to_string();
        }
        text.push(statement.to_string());
    }
    text.join(";\n")
}

impl DB for Engine {
    type Error = Error;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>> {
        let bytes = self.answer(sql)?;
        if bytes.is_empty() {
            return Ok(DBOutput::Rows { types: vec![DefaultColumnType::Text], rows: Vec::new() });
        }
        let text = String::from_utf8_lossy(&bytes);
        let text = text.strip_suffix('\n').unwrap_or(&text);
        let raw = has_format(sql);
        let rows = text.split('\n').map(|line| vec![row(line, raw)]).collect();
        Ok(DBOutput::Rows { types: vec![DefaultColumnType::Text], rows })
    }

    fn engine_name(&self) -> &str {
        "chalet"
    }
}

/// Does a FORMAT clause end the statement? Names of settings may have that word in them.
fn has_format(sql: &str) -> bool {
    let upper = sql.trim_end().to_ascii_uppercase();
    upper.match_indices("FORMAT").any(|(at, word)| {
        let before = upper[..at].chars().next_back();
        let behind = &upper[at + word.len()..];
        let rest = behind.trim_start();
        if rest.len() == behind.len() || before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            return false;
        }
        let name = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let tail = rest[name..].trim();
        name > 0 && (tail.is_empty() || tail.starts_with("SETTINGS") && !tail.contains(['(', ')']))
    })
}

fn row(line: &str, raw: bool) -> String {
    if raw {
        return if line.is_empty() { "(empty)".into() } else { line.into() };
    }
    let cells = line.split('\t').map(|cell| if cell.is_empty() { "(empty)" } else { cell });
    cells.collect::<Vec<_>>().join("\t")
}

/// Runs a file in a folder of its own, which becomes the working directory of the process meanwhile.
pub fn run_file(file: &Path, data: Option<&Path>, mode: &'static Mode) -> std::io::Result<Report> {
    let started = Instant::now();
    let mut report = Report::default();
    let name = file.to_string_lossy().into_owned();
    let script = std::fs::read_to_string(file)?;
    let records = match sqllogictest::parse_with_name::<DefaultColumnType>(&script, name.clone()) {
        Ok(records) => records,
        Err(error) => {
            let message = error.to_string();
            report.failed.push(Failure { place: name, sql: String::new(), message });
            return Ok(report);
        }
    };
    let home = std::env::current_dir()?;
    // Few files ask for the data, and copies of all its files take longer than most of them run.
    let scratch = Scratch::new(data.filter(|_| script.contains("data/")))?;
    std::env::set_current_dir(scratch.path())?;
    let place = if mode.on_disk { Some(Scratch::new(None)?) } else { None };
    let path = place.as_ref().map_or(":memory:".into(), |place| place.path().to_string_lossy());
    let mut runner = Runner::new(|| async { Engine::open(mode, &path) });
    runner.with_normalizer(if mode.on_disk { |text| on_disk::answer(text) } else { |text| text.clone() });
    for record in records {
        let (place, sql) = match &record {
            Record::Statement { loc, sql, .. } | Record::Query { loc, sql, .. } => {
                (loc.to_string(), sql.clone())
            }
            _ => (String::new(), String::new()),
        };
        let counts = !place.is_empty();
        match runner.run(record) {
            Ok(_) if counts => report.passed.push(sql),
            Ok(_) => {}
            Err(error) => report.failed.push(Failure { place, sql, message: error.to_string() }),
        }
    }
    if mode.on_disk {
        let before = on_disk::outline(&path);
        drop(runner);
        let after = on_disk::outline(&path);
        if before.is_err() || before != after {
            let message =
                format!("closed and opened again, the database is another one:\n{before:?}\n\n{after:?}");
            report.failed.push(Failure { place: name, sql: String::new(), message });
        }
    }
    std::env::set_current_dir(home)?;
    report.elapsed = started.elapsed();
    Ok(report)
}
