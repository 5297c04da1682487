//! No room compares a function's name with a literal: properties of the record say what others need to know.

use super::Finding;
use crate::exceptions;
use crate::project::Project;
use crate::rust_source::{self, Placed};
use std::collections::BTreeSet;

const OWNERS: &[&str] = &["crates/functions/src/", "crates/aggregates/src/"];
const READERS: &[&str] = &["crates/binder/src/", "crates/optimizer/src/", "crates/exec/src/"];

/// The fields of a record that hold a name the user may write.
const NAME_FIELDS: &[&str] = &["name", "names", "aliases"];

pub fn check(project: &Project) -> Result<Vec<Finding>, String> {
    let within = |folders: &[&str], file: &str| folders.iter().any(|f| file.starts_with(f));
    let mut registered = BTreeSet::new();
    for file in project.with_suffix(".rs").filter(|f| within(OWNERS, f)) {
        registered.extend(registered_names(&project.text(file).unwrap_or_default()));
    }
    let mut findings = Vec::new();
    let excepted = exceptions::by_file(project, "names")?;
    let mut unused = excepted.clone();
    for file in project.with_suffix(".rs").filter(|f| within(READERS, f)) {
        let tokens = rust_source::code_tokens(&project.text(file).unwrap_or_default());
        for (line, literal) in compared_literals(&tokens).into_iter().filter(|(_, l)| registered.contains(l))
        {
            let found = (file.to_owned(), literal);
            if excepted.contains(&found) {
                unused.remove(&found);
                continue;
            }
            let message =
                format!("compares with the function name \"{}\": ask for a property of its record", found.1);
            findings.push(Finding::new(format!("{file}:{line}"), message));
        }
    }
    let stale = |(file, name)| {
        Finding::new(exceptions::FILE, format!("{file} does not compare with \"{name}\" any more"))
    };
    findings.extend(unused.into_iter().map(stale));
    Ok(findings)
}

/// The string literals that follow `name:`, `names:` or `aliases:`, up to the next field.
fn registered_names(source: &str) -> BTreeSet<String> {
    let tokens = rust_source::code_tokens(source);
    let mut names = BTreeSet::new();
    for (idx, window) in tokens.windows(2).enumerate() {
        if NAME_FIELDS.iter().any(|f| window[0].is(f)) && window[1].is(":") {
            let value = tokens[idx + 2..].iter().take_while(|t| t.text().is_some() || is_list_symbol(t));
            names.extend(value.filter_map(Placed::text).map(str::to_owned));
        }
    }
    names
}

fn is_list_symbol(token: &Placed) -> bool {
    ["&", "[", "]", ","].iter().any(|s| token.is(s))
}

/// The string literals that stand in a pattern or beside `==` or `!=`.
fn compared_literals(tokens: &[Placed]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (idx, token) in tokens.iter().enumerate() {
        let Some(text) = token.text() else { continue };
        let (before, after) = (&tokens[..idx], &tokens[idx + 1..]);
        if is_equality_end(before) || is_equality_start(after) || is_pattern(before, after) {
            found.push((token.line, text.to_owned()));
        }
    }
    found
}

fn is_equality_end(before: &[Placed]) -> bool {
    matches!(before, [.., first, second] if (first.is("=") || first.is("!")) && second.is("="))
}

fn is_equality_start(after: &[Placed]) -> bool {
    matches!(after, [first, second, ..] if (first.is("=") || first.is("!")) && second.is("="))
}

/// `"a" =>`, `"a" | "b"`, `Some("a") =>`, `"a" if b =>`, `matches!(x, "a")`.
fn is_pattern(before: &[Placed], after: &[Placed]) -> bool {
    let alternative = matches!(after, [bar, next, ..] if bar.is("|") && next.text().is_some())
        || matches!(before, [.., previous, bar] if bar.is("|") && previous.text().is_some());
    let mut rest = after.iter().skip_while(|t| t.is(")") || t.is(","));
    let arm = match rest.next() {
        Some(first) if first.is("=") => rest.next().is_some_and(|second| second.is(">")),
        Some(first) => first.is("if"),
        None => false,
    };
    let matches_macro = before.iter().rev().take_while(|t| !t.is(";") && !t.is("{") && !t.is("}"));
    let open: Vec<&Placed> = matches_macro.collect();
    let in_matches = open.windows(2).any(|w| w[0].is("!") && w[1].is("matches"));
    alternative || arm || in_matches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(source: &str) -> Vec<String> {
        compared_literals(&rust_source::tokens(source)).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn names_come_from_records() {
        let source = "Record { name: \"reverse\", aliases: &[\"rev\", \"flip\"], doc: \"turns\" }";
        let names: Vec<String> = registered_names(source).into_iter().collect();
        assert_eq!(names, ["flip", "rev", "reverse"]);
    }

    #[test]
    fn comparisons_are_found() {
        assert_eq!(compared("if name == \"a\" || \"b\" != name {}"), ["a", "b"]);
        assert_eq!(
            compared("match n { \"a\" | \"b\" => 1, Some(\"c\") => 2, \"d\" if e => 3 }"),
            ["a", "b", "c", "d"]
        );
        assert_eq!(compared("matches!(name, \"a\")"), ["a"]);
    }

    #[test]
    fn uses_are_not() {
        assert_eq!(compared("let call = resolve(\"plus\", arguments); names.push(\"minus\");"), [""; 0]);
    }
}
