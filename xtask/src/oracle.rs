//! `bless` and `oracle`: the Python harness and fuzzer of the real kernel, in an environment that is made when missing.

use crate::project::Project;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The packages of the oracle's environment, the kernel among them.
const REQUIREMENTS: &str = "tests/oracle/requirements.txt";

/// `oracle ARGUMENT...`: the harness with arguments of the caller.
pub fn run_any(arguments: &[String]) -> Result<(), String> {
    match arguments.split_first() {
        Some((command, rest)) => run(command, rest),
        None => run("--help", &[]),
    }
}

/// `oracle-python`: prints the Python that has the kernel, for others to install into and run.
pub fn print_python() -> Result<(), String> {
    println!("{}", python(&Project::open()?.root)?.display());
    Ok(())
}

/// Runs one command of the harness.
pub fn run(command: &str, arguments: &[String]) -> Result<(), String> {
    let project = Project::open()?;
    // The fuzzer is a program of its own beside the harness.
    let (program, command) = match command {
        "fuzz" => ("tests/oracle/fuzz.py", None),
        _ => ("tests/oracle/oracle.py", Some(command)),
    };
    let program = project.root.join(program);
    if !program.is_file() {
        return Err(format!("{} is missing", program.display()));
    }
    let python = python(&project.root)?;
    finish(Command::new(python).arg(&program).args(command).args(arguments).current_dir(&project.root))
}

/// A Python that has the kernel: the one named by CHALET_ORACLE_PYTHON, or our own environment.
fn python(root: &Path) -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os("CHALET_ORACLE_PYTHON") {
        return Ok(named.into());
    }
    let folder = root.join(".venv-oracle");
    let python = folder.join("bin/python");
    let ready = folder.join("ready");
    let requirements = root.join(REQUIREMENTS);
    let wanted = std::fs::read_to_string(&requirements).map_err(|e| format!("{REQUIREMENTS}: {e}"))?;
    if std::fs::read_to_string(&ready).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    eprintln!("making .venv-oracle of {REQUIREMENTS} (once, about 130 MB to download)");
    let base = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    finish(Command::new(base).args(["-m", "venv", "--clear"]).arg(&folder))?;
    finish(
        Command::new(&python).args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(&requirements),
    )?;
    std::fs::write(&ready, wanted).map_err(|e| format!("{}: {e}", ready.display()))?;
    Ok(python)
}

fn finish(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|e| format!("{command:?} does not run: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}")) }
}
