//! Sizes of files and functions in code lines: lines that hold a token, before the file's tests.

use super::Finding;
use crate::exceptions;
use crate::project::Project;
use crate::rust_source::{self, Placed, Token};

/// Past this a file holds more than one thing.
const LIMIT: usize = 800;

pub fn check(project: &Project) -> Result<Vec<Finding>, String> {
    let too_long = sizes(project).into_iter().filter(|(_, lines)| *lines > LIMIT);
    Ok(too_long
        .map(|(f, n)| Finding::new(f, format!("{n} code lines, over {LIMIT}: split by thing")))
        .collect())
}

/// Past this a function does more than one thing.
const FUNCTION_LIMIT: usize = 100;

/// Exceptions are tables, or wait to be split.
pub fn check_functions(project: &Project) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    let excepted = exceptions::by_file(project, "functions")?;
    let mut unused = excepted.clone();
    for file in project.with_suffix(".rs") {
        let tokens = rust_source::code_tokens(&project.text(file).unwrap_or_default());
        for Function { name, line, tokens } in functions(&tokens) {
            let n = lines(tokens);
            if n <= FUNCTION_LIMIT {
                continue;
            }
            let found = (file.to_owned(), name.to_owned());
            if !excepted.contains(&found) {
                let message = format!("{name} has {n} code lines, over {FUNCTION_LIMIT}: split it by step");
                findings.push(Finding::new(format!("{file}:{line}"), message));
            }
            unused.remove(&found);
        }
    }
    let stale =
        |(file, name)| Finding::new(exceptions::FILE, format!("{name} of {file} is short: take it off"));
    findings.extend(unused.into_iter().map(stale));
    Ok(findings)
}

struct Function<'a> {
    name: &'a str,
    line: usize,
    /// From its name to the end of its body.
    tokens: &'a [Placed],
}

/// All functions that have a body, those inside of others too.
fn functions(tokens: &[Placed]) -> Vec<Function<'_>> {
    let mut found = Vec::new();
    for (at, pair) in tokens.windows(2).enumerate() {
        let [keyword, Placed { token: Token::Word(name), line }] = pair else { continue };
        if !keyword.is("fn") {
            continue;
        }
        let (mut nested, mut depth) = (0usize, 0usize);
        for (idx, token) in tokens.iter().enumerate().skip(at) {
            if token.is("(") || token.is("[") {
                nested += 1;
            } else if token.is(")") || token.is("]") {
                nested = nested.saturating_sub(1);
            } else if token.is(";") && nested == 0 && depth == 0 {
                break;
            } else if token.is("{") {
                depth += 1;
            } else if token.is("}") {
                depth = depth.saturating_sub(1);
                if depth == 0 && nested == 0 {
                    found.push(Function { name, line: *line, tokens: &tokens[at..=idx] });
                    break;
                }
            }
        }
    }
    found
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
    lines(&rust_source::code_tokens(source))
}

fn lines(tokens: &[Placed]) -> usize {
    let mut lines: Vec<usize> = tokens.iter().map(|t| t.line).collect();
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

    #[test]
    fn functions_are_measured_by_themselves() {
        let source = "fn a(x: [u8; 2]) -> B\nwhere\n    C: D,\n{\n    // e\n    fn f() {}\n    g(|| { 1 });\n}\ntrait H {\n    fn i();\n}\n";
        let tokens = rust_source::tokens(source);
        let sizes: Vec<_> =
            functions(&tokens).into_iter().map(|f| (f.name, f.line, lines(f.tokens))).collect();
        assert_eq!(sizes, [("a", 1, 7), ("f", 6, 1)]);
    }
}
