//! Writes a web-analytics table of the published shape of ClickBench's `hits`, since the real one cannot be
//! fetched everywhere. The same seed and row count give the same bytes, whatever the number of threads.

mod hit;
mod plan;
mod random;
mod schema;
mod text;
mod write;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
chalet-bench-generator --out FOLDER [--rows N] [--files N] [--seed N] [--threads N]

Writes hits_0.parquet ... into FOLDER; does nothing when they are there already.
";

pub struct Options {
    pub out: PathBuf,
    pub rows: u64,
    pub files: u64,
    pub seed: u64,
    pub threads: usize,
}

fn main() -> ExitCode {
    let done = parse(std::env::args().skip(1)).and_then(|options| write::run(&options));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut options = Options { out: PathBuf::new(), rows: 1_000_000, files: 10, seed: 1, threads };
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value\n\n{USAGE}"))?;
        let number = || value.replace('_', "").parse::<u64>().map_err(|e| format!("{name} {value}: {e}"));
        match name.as_str() {
            "--out" => options.out = value.into(),
            "--rows" => options.rows = number()?,
            "--files" => options.files = number()?.max(1),
            "--seed" => options.seed = number()?,
            "--threads" => options.threads = number()?.max(1) as usize,
            _ => return Err(format!("no option {name}\n\n{USAGE}")),
        }
    }
    if options.out.as_os_str().is_empty() {
        return Err(USAGE.into());
    }
    if options.rows < options.files {
        return Err(format!("{} rows do not fill {} files", options.rows, options.files));
    }
    Ok(options)
}
