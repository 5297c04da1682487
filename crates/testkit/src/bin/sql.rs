//! `sql STATEMENTS [FORMAT]`: runs statements in a fresh session, for trying things out without Python.

use chalet_engine::{Database, RunOptions};
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(sql) = args.first() else {
        eprintln!("usage: sql STATEMENTS [FORMAT]");
        return ExitCode::from(2);
    };
    let format = args.get(1).cloned().unwrap_or_else(|| "PrettyCompact".into());
    let options = RunOptions { format: Some(format), ..RunOptions::default() };
    let answer = Database::open(":memory:").and_then(|database| database.session().run(sql, options));
    match answer {
        Ok(answer) => {
            // A closed pipe is the reader's way to say that it has seen enough.
            let _ = std::io::stdout().write_all(&answer.bytes);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
