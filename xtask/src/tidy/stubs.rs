//! No stub is called done: what is not supported is an error that names it.

use super::Finding;
use crate::project::Project;
use crate::rust_source;

const MACROS: &[&str] = &["todo", "unimplemented"];

pub fn check(project: &Project) -> Result<Vec<Finding>, String> {
    let mut findings = Vec::new();
    for file in project.with_suffix(".rs") {
        for line in stubs(&project.text(file).unwrap_or_default()) {
            findings.push(Finding::new(
                format!("{file}:{line}"),
                "a stub: finish it, or return NOT_IMPLEMENTED naming the thing",
            ));
        }
    }
    Ok(findings)
}

fn stubs(source: &str) -> Vec<usize> {
    let tokens = rust_source::tokens(source);
    let found = tokens.windows(2).filter(|w| MACROS.iter().any(|m| w[0].is(m)) && w[1].is("!"));
    found.map(|w| w[0].line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stub_is_found_but_not_its_mention() {
        assert_eq!(stubs("// todo!()\nfn a() {\n    todo!(\"b\")\n}\nlet todo = !c;"), [3]);
    }
}
