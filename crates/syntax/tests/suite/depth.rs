//! Deep nesting is an error with a code, never a stack overflow, also on the small stack of a test thread.

use chalet_syntax::ast::{SetExpr, StatementKind};
use chalet_syntax::visit::count_nodes;
use chalet_syntax::{column_name, explain_ast, parse_statements, print};

#[test]
fn deep_nesting_is_an_error() {
    let nests = [
        ("(", ")"),
        ("[", "]"),
        ("f(", ")"),
        ("-", ""),
        ("not ", ""),
        ("(select ", ")"),
        ("case when ", ""),
        ("x -> ", ""),
    ];
    for n in [2_000, 100_000] {
        for (open, close) in nests {
            let sql = format!("SELECT {}1{}", open.repeat(n), close.repeat(n));
            let error = parse_statements(&sql).unwrap_err();
            assert!([306, 62].contains(&error.code().number), "{open}: {error}");
        }
        for chain in ["+1", "[1]", ".1", "::Int8", " = 1", " IS NULL", " UNION ALL SELECT 1 UNION SELECT 1"] {
            let sql = format!("SELECT x{}", chain.repeat(n));
            assert_eq!(parse_statements(&sql).unwrap_err().code().number, 167, "{chain}");
        }
        let sql = format!("SELECT CAST(x AS {}Int8{})", "Array(".repeat(n), ")".repeat(n));
        assert_eq!(parse_statements(&sql).unwrap_err().code().number, 306);
    }
    let sql = format!("SELECT x{}", " BETWEEN 1 AND 2".repeat(40));
    assert_eq!(parse_statements(&sql).unwrap_err().code().number, 168);
}

#[test]
fn wide_is_not_deep() {
    for joined in ["1,", "1 AND ", "1 OR ", "'a' || ", "1 UNION ALL SELECT "] {
        let sql = format!("SELECT {}1", joined.repeat(10_000));
        parse_statements(&sql).unwrap();
    }
    for (open, close) in [("(", ")"), ("f(", ")"), ("[", "]")] {
        let sql = format!("SELECT {}1{}", open.repeat(100), close.repeat(100));
        let parsed = parse_statements(&sql).unwrap();
        assert_eq!(parsed, parsed.clone());
    }
}

/// The longest accepted text of a family, by halving; it must be of at least `least` levels.
fn deepest_accepted(least: usize, text: &dyn Fn(usize) -> String) -> String {
    let (mut low, mut high) = (least, 1_001);
    assert!(parse_statements(&text(low)).is_ok(), "{}", text(3));
    assert!(parse_statements(&text(high)).is_err(), "{}", text(3));
    while high - low > 1 {
        let middle = (low + high) / 2;
        if parse_statements(&text(middle)).is_ok() { low = middle } else { high = middle }
    }
    text(low)
}

/// The deepest trees that the parser lets through can be walked by everything in this crate.
#[test]
fn accepted_depth_is_walkable() {
    let mut deepest = Vec::new();
    let nests =
        [("(", ")"), ("f(", ")"), ("[", "]"), ("-(", ")"), ("not ", ""), ("(select ", ")"), ("(x -> ", ")")];
    for (open, close) in nests {
        deepest.push(deepest_accepted(90, &|n| format!("SELECT {}x{}", open.repeat(n), close.repeat(n))));
    }
    for chain in ["+1", "[1]", ".1", "::Int8", " = 1"] {
        deepest.push(deepest_accepted(400, &|n| format!("SELECT x{}", chain.repeat(n))));
    }
    for sql in deepest {
        let statements = parse_statements(&sql).unwrap();
        assert_eq!(statements, statements.clone());
        let StatementKind::Query(query) = &statements[0].kind else { panic!() };
        let SetExpr::Select(select) = &query.body else { panic!() };
        assert!(!column_name(&select.projection[0]).is_empty());
        assert!(count_nodes(&select.projection[0]) > 0);
        assert!(!print::format(&statements[0]).is_empty());
        assert!(!explain_ast(&statements[0]).unwrap().is_empty());
    }
}

/// Rules that give up late and leave the text to another rule: read twice at each level, forty levels would never end.
#[test]
fn going_back_does_not_double_the_work_at_every_level() {
    let nests = [
        ("position(", ", 'a')"),
        ("substring(", ", 1)"),
        ("overlay(", ", 'a', 1)"),
        ("((SELECT ", ") + 1)"),
        ("((SELECT f(", ""),
        ("(WITH(", ""),
        ("(WITH((", ""),
    ];
    for (open, close) in nests {
        let text = format!("SELECT {}1{}", open.repeat(40), close.repeat(40));
        assert_eq!(parse_statements(&text).is_ok(), !close.is_empty(), "{open}");
    }
}
