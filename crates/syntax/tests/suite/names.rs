//! Names of result columns, against the names that the kernel gave (`corpus/names.tsv`: expression, name).

use chalet_syntax::{column_name, parse_expression};

#[test]
fn column_names_are_the_kernels() {
    let table = include_str!("../corpus/names.tsv");
    let mut failures = Vec::new();
    let mut count = 0;
    for line in table.lines() {
        let (sql, escaped) = line.split_once('\t').unwrap();
        let got = column_name(&parse_expression(sql).unwrap()).replace('\\', "\\\\").replace('\n', "\\n");
        if got != escaped {
            failures.push(format!("{sql}: {got} instead of {escaped}"));
        }
        count += 1;
    }
    assert!(count > 300);
    assert!(failures.is_empty(), "{} of {count}\n{}", failures.len(), failures.join("\n"));
}
