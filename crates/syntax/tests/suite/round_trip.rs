//! Printed text parses to an equal tree, on one line and on many.

use crate::corpus;
use chalet_syntax::ast::Statement;
use chalet_syntax::{parse_statements, print};

/// What is wrong with printing these statements, if anything.
pub fn round_trip_failure(statements: &[Statement]) -> Option<String> {
    for statement in statements {
        for text in [print::print(statement), print::format(statement)] {
            match parse_statements(&text) {
                Err(error) => return Some(format!("{text}\n    {error}")),
                Ok(again) if again.len() != 1 || again[0] != *statement => {
                    return Some(format!("{text}\n    parses to {again:?}\n    not        {statement:?}"));
                }
                Ok(_) => {}
            }
        }
    }
    None
}

#[test]
fn printed_text_parses_to_the_same_tree() {
    let failures: Vec<String> = corpus()
        .into_iter()
        .filter_map(|sql| round_trip_failure(&parse_statements(sql).ok()?).map(|f| format!("{sql}\n    {f}")))
        .collect();
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}
