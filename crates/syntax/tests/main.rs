//! The tests of the dialect, one binary.

#[test]
fn simple_selects() {
    for sql in [
        "SELECT 1",
        "SELECT a, count() FROM t WHERE x > 1 GROUP BY a HAVING count() > 2 ORDER BY 2 DESC LIMIT 10",
        "WITH 1 AS x, y AS (SELECT 2) SELECT * FROM y, z ANY LEFT JOIN w USING a",
        "SELECT CASE WHEN a THEN b END, x::Nullable(String), [1,2][1], t.1.2, f(0.5)(x) OVER (PARTITION BY y)",
    ] {
        chalet_syntax::parse_statements(sql).unwrap();
    }
    for n in [10_000, 100_000] {
        for (open, close) in [
            ("(", ")"),
            ("[", "]"),
            ("f(", ")"),
            ("-", ""),
            ("not ", ""),
            ("(select ", ")"),
            ("case when ", ""),
        ] {
            let sql = format!("SELECT {}1{}", open.repeat(n), close.repeat(n));
            assert!(chalet_syntax::parse_statements(&sql).is_err());
        }
        for chain in ["+1", "[1]", ".1", "::Int8", " between 1 and 2"] {
            let sql = format!("SELECT x{}", chain.repeat(n));
            assert!(chalet_syntax::parse_statements(&sql).is_err());
        }
    }
}
