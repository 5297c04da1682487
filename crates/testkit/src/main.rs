//! `chalet-testkit [--mode NAME]... [--data DIR] [-v] PATH...`: runs SQL tests, all modes unless some are named.

use chalet_testkit::modes::{MODES, Mode, mode};
use chalet_testkit::runner::run_file;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

struct Options {
    paths: Vec<PathBuf>,
    modes: Vec<&'static Mode>,
    data: Option<PathBuf>,
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
    let mut options = Options { paths: Vec::new(), modes: Vec::new(), data: None, verbose: false };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--mode" => {
                let name = args.next().unwrap_or_default();
                options.modes.push(mode(&name).ok_or_else(|| format!("there is no mode '{name}'"))?);
            }
            "--data" => options.data = args.next().map(PathBuf::from),
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
    let (mut passed, mut failed) = (0, 0);
    for mode in &options.modes {
        for file in &files {
            let shown = file.display();
            let Ok(absolute) = std::path::absolute(file) else { continue };
            match run_file(&absolute, options.data.as_deref(), mode) {
                Ok(report) => {
                    passed += report.passed;
                    failed += report.failed.len();
                    if options.verbose || !report.failed.is_empty() {
                        let (good, bad) = (report.passed, report.failed.len());
                        println!(
                            "{shown} [{}]: {good} passed, {bad} failed, {:.1?}",
                            mode.name, report.elapsed
                        );
                    }
                    for (place, message) in &report.failed {
                        println!("--- {place}\n{message}");
                    }
                }
                Err(error) => {
                    failed += 1;
                    println!("{shown} [{}]: {error}", mode.name);
                }
            }
        }
    }
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
