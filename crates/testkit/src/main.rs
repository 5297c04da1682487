//! `chalet-testkit [--mode NAME]... [--data DIR] [--gaps FILE] [--write-gaps] [-v] PATH...`: runs SQL tests, in all modes
//! unless some are named.
//!
//! The file of gaps lists statements that are known to fail. One that fails without being listed is a failure, and so is
//! a listed one that passes in every mode: so the list is always true.

use chalet_testkit::gaps::Gaps;
use chalet_testkit::modes::{MODES, Mode, mode};
use chalet_testkit::runner::run_file;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

struct Options {
    paths: Vec<PathBuf>,
    modes: Vec<&'static Mode>,
    data: Option<PathBuf>,
    gaps: PathBuf,
    write_gaps: bool,
    verbose: bool,
}

fn main() -> ExitCode {
    match options() {
        Ok(options) => run(&options),
        Err(message) => {
            eprintln!("chalet-testkit: {message}");
            ExitCode::from(2)
        }
    }
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        paths: Vec::new(),
        modes: Vec::new(),
        data: None,
        gaps: PathBuf::from("tests/gaps.txt"),
        write_gaps: false,
        verbose: false,
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--mode" => {
                let name = args.next().unwrap_or_default();
                options.modes.push(mode(&name).ok_or_else(|| format!("there is no mode '{name}'"))?);
            }
            "--data" => options.data = args.next().map(PathBuf::from),
            "--gaps" => options.gaps = args.next().map(PathBuf::from).unwrap_or_default(),
            "--write-gaps" => options.write_gaps = true,
            "-v" => options.verbose = true,
            flag if flag.starts_with('-') => return Err(format!("unknown option {flag}")),
            path => options.paths.push(PathBuf::from(path)),
        }
    }
    if options.paths.is_empty() {
        options.paths.push(PathBuf::from("tests/sql"));
    }
    if options.modes.is_empty() {
        options.modes = MODES.iter().collect();
    }
    if options.data.is_none() {
        options.data = Some(PathBuf::from("tests/data")).filter(|p| p.exists());
    }
    // Files run in folders of their own: paths must not depend on the working directory.
    let absolute = |p: &Path| std::path::absolute(p).map_err(|e| e.to_string());
    options.data = options.data.as_deref().map(absolute).transpose()?;
    options.gaps = absolute(&options.gaps)?;
    Ok(options)
}

fn run(options: &Options) -> ExitCode {
    // Date-times print in the machine's zone: the recorded answers are of UTC.
    // SAFETY: no other thread is running yet.
    unsafe { std::env::set_var("TZ", "UTC") };
    // Panics are caught and reported as failures of their record.
    std::panic::set_hook(Box::new(|info| eprintln!("panic: {info}")));
    let mut files = Vec::new();
    for path in &options.paths {
        collect(path, &mut files);
    }
    files.sort();
    let mut gaps = match Gaps::read(&options.gaps) {
        Ok(gaps) => gaps,
        Err(message) => {
            eprintln!("chalet-testkit: {message}");
            return ExitCode::from(2);
        }
    };
    let (mut passed, mut failed, mut known) = (0, 0, 0);
    for mode in &options.modes {
        for file in &files {
            let shown = file.display();
            let name = file.to_string_lossy();
            let Ok(absolute) = std::path::absolute(file) else { continue };
            let report = match run_file(&absolute, options.data.as_deref(), mode) {
                Ok(report) => report,
                Err(error) => {
                    failed += 1;
                    println!("{shown} [{}]: {error}", mode.name);
                    continue;
                }
            };
            passed += report.passed.len();
            report.passed.iter().for_each(|sql| gaps.saw(&name, sql, true));
            let (old, new): (Vec<_>, Vec<_>) =
                report.failed.iter().partition(|f| gaps.contains(&name, &f.sql));
            report.failed.iter().for_each(|f| gaps.saw(&name, &f.sql, false));
            known += old.len();
            failed += new.len();
            if options.verbose || !new.is_empty() {
                let good = report.passed.len();
                println!(
                    "{shown} [{}]: {good} passed, {} failed, {} known gaps, {:.1?}",
                    mode.name,
                    new.len(),
                    old.len(),
                    report.elapsed
                );
            }
            let told = if options.verbose { report.failed.iter().collect() } else { new };
            told.iter().for_each(|f| println!("--- {}\n{}", f.place, f.message));
        }
    }
    if options.write_gaps {
        return match gaps.write(&options.gaps) {
            Ok(n) => {
                println!("{n} gaps written to {}", options.gaps.display());
                ExitCode::SUCCESS
            }
            Err(message) => {
                eprintln!("chalet-testkit: {message}");
                ExitCode::FAILURE
            }
        };
    }
    for (file, sql) in gaps.closed() {
        failed += 1;
        println!("--- {file}: passes now, take it off the list of gaps:\n{sql}");
    }
    println!("{known} records failed as listed in {}", options.gaps.display());
    println!("sql: {passed} passed, {failed} failed");
    if failed == 0 && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_file() {
        files.push(path.to_path_buf());
        return;
    }
    let Ok(entries) = std::fs::read_dir(path) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "slt") {
            files.push(path);
        }
    }
}
