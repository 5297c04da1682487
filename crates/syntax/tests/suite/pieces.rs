//! Values of literals, positions, inline data, structures: what the round trip cannot see because both ways share it.

use chalet_syntax::ast::{ExprKind, InsertSource, Literal, SetExpr, StatementKind};
use chalet_syntax::{parse_expression, parse_statements, parse_structure};

fn literal(sql: &str) -> Literal {
    match parse_expression(sql).unwrap().kind {
        ExprKind::Literal(literal) => literal,
        other => panic!("{sql}: {other:?}"),
    }
}

#[test]
fn literals() {
    for (sql, bytes) in [
        (r"'a\nb'", &b"a\nb"[..]),
        (r"'\x41\x4'", b"A\\x4"),
        (r"'it''s'", b"it's"),
        (r"'\q\%\_\\'", b"\\q\\%\\_\\"),
        (r"'\0\a\b\f\v\e\t\r'", b"\0\x07\x08\x0c\x0b\x1b\t\r"),
        (r"'\xFF'", b"\xff"),
        ("x'4142'", b"AB"),
        ("x'414'", b"\x04\x14"),
        ("b'0100000101000010'", b"AB"),
        ("b'101'", b"\x05"),
        ("$$a'b$$", b"a'b"),
        ("$t$a$$b$t$", b"a$$b"),
        ("‘a’", b"a"),
    ] {
        assert_eq!(literal(sql), Literal::String(bytes.to_vec()), "{sql}");
    }
    for (sql, value) in [
        ("18446744073709551615", Literal::UInt(u64::MAX)),
        ("18446744073709551616", Literal::Float(18446744073709551616.0)),
        ("-9223372036854775808", Literal::Int(i64::MIN)),
        ("-9223372036854775809", Literal::Float(-9223372036854775809.0)),
        ("0xff", Literal::UInt(255)),
        ("0b101", Literal::UInt(5)),
        ("1_000", Literal::UInt(1000)),
        ("-0", Literal::UInt(0)),
        ("0x1p3", Literal::Float(8.0)),
        ("0x1.8p1", Literal::Float(3.0)),
        ("1e5", Literal::Float(1e5)),
        ("5.", Literal::Float(5.0)),
        ("-inf", Literal::Float(f64::NEG_INFINITY)),
        ("NaN", Literal::Float(f64::NAN)),
        ("TRUE", Literal::Bool(true)),
        ("null", Literal::Null),
    ] {
        assert_eq!(literal(sql), value, "{sql}");
    }
}

#[test]
fn spans_are_bytes_of_the_text() {
    let sql = "SELECT 'é', (a + b) AS c FROM t; SELECT 2";
    let statements = parse_statements(sql).unwrap();
    assert_eq!(&sql[statements[0].span.range()], "SELECT 'é', (a + b) AS c FROM t");
    assert_eq!(&sql[statements[1].span.range()], "SELECT 2");
    let StatementKind::Query(query) = &statements[0].kind else { panic!() };
    let SetExpr::Select(select) = &query.body else { panic!() };
    let texts: Vec<&str> = select.projection.iter().map(|e| &sql[e.span.range()]).collect();
    assert_eq!(texts, ["'é'", "(a + b)"]);
    let ExprKind::Call(call) = &select.projection[1].kind else { panic!() };
    assert_eq!(&sql[call.args[1].span.range()], "b");
}

#[test]
fn inline_data() {
    for (sql, wanted, rest) in [
        ("INSERT INTO t VALUES (1, 'a;b'), (2, 'c')", " (1, 'a;b'), (2, 'c')", 0),
        ("INSERT INTO t VALUES (1); SELECT 2", " (1)", 1),
        ("INSERT INTO t FORMAT CSV 1,2", "1,2", 0),
        ("INSERT INTO t FORMAT CSV\n1,2\n3,4;\n", "1,2\n3,4;\n", 0),
        ("INSERT INTO t FORMAT JSONEachRow\r\n{\"a\": ';'}", "{\"a\": ';'}", 0),
        ("INSERT INTO t FORMAT CSV\n1,2\n\nSELECT 2; SELECT 3", "1,2\n", 2),
        ("INSERT INTO t FORMAT CSV 1,2\n\n-- over\n\n", "1,2\n", 0),
        ("INSERT INTO t FORMAT CSV", "", 0),
        ("INSERT INTO t FORMAT CSV\n 'unclosed", " 'unclosed", 0),
    ] {
        let statements = parse_statements(sql).unwrap();
        assert_eq!(statements.len(), 1 + rest, "{sql}");
        let StatementKind::Insert(insert) = &statements[0].kind else { panic!() };
        let InsertSource::Inline { data, .. } = &insert.source else { panic!() };
        assert_eq!(data.content, wanted.as_bytes(), "{sql}");
        assert_eq!(&sql[data.span.range()], wanted, "{sql}");
    }
}

#[test]
fn structures() {
    let columns =
        parse_structure("a UInt8, `b c` Nullable(String) DEFAULT 'x', t Tuple(x Int8, y String),").unwrap();
    let types: Vec<&str> = columns.iter().map(|c| c.ty.as_ref().unwrap().text.as_str()).collect();
    assert_eq!(types, ["UInt8", "Nullable(String)", "Tuple(x Int8, y String)"]);
    assert_eq!(columns[1].name.name, "b c");
    assert_eq!(parse_structure("a UInt8 b").unwrap_err().code().number, 62);
}

#[test]
fn multi_line_layout() {
    let sql = "WITH x AS (SELECT 1) SELECT a, b FROM t INNER JOIN (SELECT 1 AS k) AS y ON a = k WHERE c GROUP BY a, b";
    let wanted = "\
WITH
    x AS
    (
        SELECT 1
    )
SELECT
    a,
    b
FROM t
INNER JOIN
(
    SELECT 1 AS k
) AS y ON a = k
WHERE c
GROUP BY
    a,
    b";
    assert_eq!(chalet_syntax::print::format(&parse_statements(sql).unwrap()[0]), wanted);
}
