//! Syntax errors: the place and the shown text are the kernel's (`corpus/errors.tsv`: statement, message up to what
//! was expected), what was expected is our own grammar's.

use chalet_syntax::parse_statements;

fn message(sql: &str) -> String {
    let error = parse_statements(sql).expect_err(sql);
    assert_eq!(error.code().number, 62, "{sql}: {error}");
    error.message().to_string()
}

#[test]
fn places_are_the_kernels() {
    let mut failures = Vec::new();
    let table = include_str!("../corpus/errors.tsv");
    for line in table.lines() {
        let (sql, wanted) = line.split_once('\t').unwrap();
        let got = message(&sql.replace("\\n", "\n")).replace('\n', "\\n");
        if got.split(" Expected ").next() != Some(wanted) {
            failures.push(format!("{sql}\n    {got}\n    {wanted}"));
        }
    }
    assert!(table.lines().count() > 45);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn says_what_was_expected() {
    for (sql, wanted) in [
        ("select cast(1 as)", "data type"),
        ("alter table t foo", "ADD"),
        ("select * from t join u", "ON"),
        ("select a b c", "FROM"),
        ("drop table if exists", "identifier"),
        ("rename table a b", "TO"),
        ("select {a}", "Expected colon between name and type"),
        ("create table t (a UInt8) engine =", "identifier"),
        ("select sum(x) over (order x)", "BY"),
    ] {
        let message = message(sql);
        let expected = &message[message.find("Expected ").unwrap()..];
        assert!(expected.contains(wanted), "{message}");
    }
}

#[test]
fn lexical_errors_name_themselves() {
    for (sql, wanted) in [
        (
            "select 'abc",
            "Single quoted string is not closed: Syntax error: failed at position 8 ('abc): 'abc",
        ),
        (
            "select \"abc",
            "Double quoted string is not closed: Syntax error: failed at position 8 (\"abc): \"abc",
        ),
        ("select `abc", "Back quoted string is not closed: Syntax error: failed at position 8 (`abc): `abc"),
        ("select /* x", "Multiline comment is not closed: Syntax error: failed at position 8 (/* x): /* x"),
        ("select é", "Unrecognized token: Syntax error: failed at position 8 (é): é"),
        (
            "create materialized view v refresh after 1 day append#engine = Memory as select 1",
            "Unrecognized token: Syntax error: failed at position 54 (#): #engine = Memory as select 1",
        ),
    ] {
        assert_eq!(message(sql), wanted);
    }
}

#[test]
fn what_is_missing_is_named() {
    for (sql, wanted) in [
        ("MOVE USER a TO local_directory", "MOVE is not implemented"),
        ("EXPLAIN TABLE OVERRIDE f()", "EXPLAIN TABLE OVERRIDE is not implemented"),
    ] {
        let error = parse_statements(sql).expect_err(sql);
        assert_eq!((error.code().number, error.message()), (48, wanted));
    }
}
