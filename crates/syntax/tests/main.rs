//! The tests of the dialect, one binary.

mod suite;

/// The statements of `tests/corpus`, one a line.
pub fn corpus() -> Vec<&'static str> {
    [
        include_str!("corpus/select.sql"),
        include_str!("corpus/expr.sql"),
        include_str!("corpus/ddl.sql"),
        include_str!("corpus/other.sql"),
    ]
    .iter()
    .flat_map(|text| text.lines())
    .filter(|line| !line.is_empty())
    .collect()
}

#[test]
fn accepts_the_corpus() {
    let failures: Vec<String> = corpus()
        .into_iter()
        .filter_map(|sql| chalet_syntax::parse_statements(sql).err().map(|e| format!("{sql}\n    {e}")))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
