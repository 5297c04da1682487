//! Deep nesting is an error with a code, never a stack overflow, also on the small stack of a test thread.

use chalet_syntax::parse_statements;

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
