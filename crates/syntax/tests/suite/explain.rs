//! EXPLAIN AST against the kernel's (`corpus/explain_ast.tsv`: query, escaped output).

use chalet_syntax::{explain_ast, parse_statements};

#[test]
fn trees_are_the_kernels() {
    let table = include_str!("../corpus/explain_ast.tsv");
    let mut failures = Vec::new();
    for line in table.lines() {
        let (sql, wanted) = line.split_once('\t').unwrap();
        let got = explain_ast(&parse_statements(sql).unwrap()[0]).unwrap();
        if got.trim_end().replace('\\', "\\\\").replace('\n', "\\n") != wanted {
            failures.push(format!("{sql}\n{got}"));
        }
    }
    assert!(table.lines().count() > 70);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn other_statements_say_so() {
    let statements = parse_statements("KILL QUERY WHERE 1").unwrap();
    assert_eq!(explain_ast(&statements[0]).unwrap_err().code().number, 48);
}
