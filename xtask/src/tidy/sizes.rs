//! File sizes in code lines: lines that hold a token, before the file's tests.

use super::Finding;
use crate::project::Project;
use crate::rust_source;

/// Past this a file holds more than one thing.
const LIMIT: usize = 800;

pub fn check(project: &Project) -> Result<Vec<Finding>, String> {
    let too_long = sizes(project).into_iter().filter(|(_, lines)| *lines > LIMIT);
    Ok(too_long
        .map(|(f, n)| Finding::new(f, format!("{n} code lines, over {LIMIT}: split by thing")))
        .collect())
}

/// Says how the whole stands, since the limit is for the worst file only.
pub fn print_summary(project: &Project) {
    let mut lines: Vec<usize> = sizes(project).into_iter().map(|(_, lines)| lines).collect();
    lines.sort_unstable();
    let at = |percent: usize| lines.get(lines.len() * percent / 100).copied().unwrap_or(0);
    println!(
        "{} Rust files, {} code lines: median {}, 90th percentile {}, largest {}",
        lines.len(),
        lines.iter().sum::<usize>(),
        at(50),
        at(90),
        lines.last().unwrap_or(&0),
    );
}

fn sizes(project: &Project) -> Vec<(&str, usize)> {
    let files = project.with_suffix(".rs");
    files.map(|file| (file, code_lines(&project.text(file).unwrap_or_default()))).collect()
}

fn code_lines(source: &str) -> usize {
    let mut lines: Vec<usize> = rust_source::code_tokens(source).iter().map(|t| t.line).collect();
    lines.dedup();
    lines.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_blanks_and_tests_do_not_count() {
        assert_eq!(code_lines("//! a\n\nfn b() {\n    // c\n    d();\n}\n#[cfg(test)]\nmod tests {}\n"), 3);
    }
}
