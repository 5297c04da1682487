//! Supertypes of all pairs of types against recorded answers of the kernel (`supertypes.tsv`): two types, then the
//! type of an array of both, or `!` and the number of the error.

use chalet_types::DataType;
use chalet_types::supertype::common_supertype;

#[test]
fn supertypes_agree_with_the_kernel() {
    let mut wrong = Vec::new();
    let lines: Vec<&str> = include_str!("supertypes.tsv").lines().collect();
    for line in &lines {
        let cells: Vec<&str> = line.split('\t').collect();
        let types: [DataType; 2] = [cells[0].parse().unwrap(), cells[1].parse().unwrap()];
        for pair in [types.clone(), [types[1].clone(), types[0].clone()]] {
            let ours = match common_supertype(&pair) {
                Ok(ty) => ty.array().pretty().replace('\n', "\\n"),
                Err(e) => format!("!{}", e.code().number),
            };
            // Of two zones, and of Bool and UInt8, the first one stays: only that order is recorded.
            let either_order = |ty: &DataType| ty.time_zone().is_none() && *ty.bare() != DataType::Bool;
            if ours != cells[2] && (pair == types || pair.iter().all(either_order)) {
                wrong.push(format!("{}\t{}\t{}\t{ours}", pair[0], pair[1], cells[2]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), lines.len(), wrong.join("\n"));
}
