//! The project's chores as one program, so that they need nothing but cargo: `cargo xtask help` lists them.

mod exceptions;
mod module_graph;
mod oracle;
mod project;
mod rust_source;
mod tidy;
mod touch;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask COMMAND

  tidy                 check the house rules that a program can check
  circles ROOM         list which files of a room use one another in a circle
  touch [BASE]         list and count the code files changed since BASE (default: main)
  bless [FILE...]      fill the answers of .slt files from the real kernel
  oracle [ARGUMENT...] run tests/oracle/oracle.py in an environment that has the kernel
  oracle-python        print the Python of that environment
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (command, rest) = match arguments.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("help", &[][..]),
    };
    let done = match command {
        "tidy" => tidy::run(),
        "circles" => tidy::circles::print(rest.first().map_or("", String::as_str)),
        "touch" => touch::run(rest),
        "bless" => oracle::run("bless", rest),
        "oracle" => oracle::run_any(rest),
        "oracle-python" => oracle::print_python(),
        "help" | "-h" | "--help" => {
            print!("{USAGE}");
            Ok(())
        }
        other => Err(format!("no command {other}\n\n{USAGE}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
