//! `touch`: how many code files a change touches. Adding a function should touch two.

use crate::project::{Project, git};

pub fn run(arguments: &[String]) -> Result<(), String> {
    let base = match arguments {
        [] => "main",
        [base] => base,
        _ => return Err("touch takes at most one argument, the commit to compare with".into()),
    };
    let project = Project::open()?;
    let changed = git(&project.root, &["diff", "--name-only", base])?;
    let new = git(&project.root, &["ls-files", "--others", "--exclude-standard"])?;
    let mut files: Vec<&str> = changed.lines().chain(new.lines()).filter(|f| is_code(f)).collect();
    files.sort_unstable();
    files.dedup();
    for file in &files {
        println!("{file}");
    }
    println!("{} code files changed since {base}", files.len());
    Ok(())
}

/// Tests, golden files and documents are what a change should touch; they do not count.
fn is_code(file: &str) -> bool {
    let code = [".rs", ".py", ".pyi"].iter().any(|suffix| file.ends_with(suffix));
    code && !file.starts_with("tests/") && !file.contains("/tests/")
}
