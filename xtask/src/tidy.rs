//! `tidy`: the house rules that a program can check, each in its own module, in one list.

pub mod circles;
mod documents;
mod edges;
mod layout;
mod names;
mod sizes;
mod stubs;
mod terms;
mod words;

use crate::project::Project;

/// One broken rule: where, and what to do about it.
pub struct Finding {
    pub place: String,
    pub message: String,
}

impl Finding {
    pub fn new(place: impl Into<String>, message: impl Into<String>) -> Finding {
        Finding { place: place.into(), message: message.into() }
    }
}

type Check = fn(&Project) -> Result<Vec<Finding>, String>;

const CHECKS: &[(&str, Check)] = &[
    ("rooms use only the rooms they may", edges::check),
    ("crates and files are laid out alike", layout::check),
    ("the map names every room and dependency", documents::check),
    ("files are small", sizes::check),
    ("functions are small", sizes::check_functions),
    ("circles of files are small", circles::check),
    ("nothing is a stub", stubs::check),
    ("no function name is matched outside its room", names::check),
    ("names use the terms of the field", terms::check),
    ("nothing of one machine is in the text", words::check),
];

pub fn run() -> Result<(), String> {
    let project = Project::open()?;
    let mut broken = 0;
    for (rule, check) in CHECKS {
        let findings = check(&project)?;
        println!("{} {rule}", if findings.is_empty() { "ok  " } else { "FAIL" });
        for Finding { place, message } in &findings {
            println!("     {place}: {message}");
        }
        broken += findings.len();
    }
    sizes::print_summary(&project);
    if broken == 0 { Ok(()) } else { Err(format!("tidy: {broken} findings")) }
}
