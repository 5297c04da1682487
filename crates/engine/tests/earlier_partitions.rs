//! Tables whose partitions got their names in another way when they were written: rows of one value stay in one partition.

use chalet_engine::{Database, RunOptions, Session};
use std::fs;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// A folder that is gone with the test.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        Place(std::env::temp_dir().join(format!("chalet-earlier-{name}-{}", std::process::id())))
    }

    fn open(&self) -> Session {
        Database::open(self.0.to_str().expect("a path of ASCII")).expect("the database").session()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run(session: &Session, sql: &str) -> String {
    let options = RunOptions { format: Some("TSVRaw".into()), ..RunOptions::default() };
    let answer = session.run(sql, options).unwrap_or_else(|e| panic!("{sql}: {e}"));
    String::from_utf8_lossy(&answer.bytes).into_owned()
}

fn journals(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for one in fs::read_dir(folder).expect("the folder") {
        let path = one.expect("a file").path();
        match path.is_dir() {
            true => found.extend(journals(&path)),
            false if path.ends_with("journal") => found.push(path),
            false => {}
        }
    }
    found
}

/// Gives partitions other names in the records of a journal: `storage/merge_tree/journal.rs` has the layout.
fn rename_partitions(journal: &Path, names: &[(String, String)]) {
    const HEADER: usize = 64;
    const HEAD: usize = 16;
    let number = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    // Lengths below 128 are one byte.
    let text = |name: &str| [&[name.len() as u8][..], name.as_bytes()].concat();
    let bytes = fs::read(journal).expect("the journal");
    let (id, committed) = (number(&bytes, 8), number(&bytes, 16) as usize);
    let mut out = bytes[..HEADER].to_vec();
    let (mut at, mut n_renamed) = (HEADER, 0);
    while at < committed {
        let end = at + HEAD + number(&bytes, at) as usize;
        let mut record = bytes[at + HEAD..end].to_vec();
        for (from, to) in names {
            let (from, to) = (text(from), text(to));
            while let Some(place) = record.windows(from.len()).position(|found| found == from) {
                record.splice(place..place + from.len(), to.iter().copied());
                n_renamed += 1;
            }
        }
        let length = record.len() as u64;
        let checksum = xxh3_64_with_seed(&record, id ^ (out.len() as u64).rotate_left(32) ^ length);
        out.extend([length.to_le_bytes(), checksum.to_le_bytes()].concat());
        out.extend(record);
        at = end;
    }
    assert!(n_renamed >= names.len(), "no record of {} names {names:?}", journal.display());
    let end = out.len() as u64;
    out[16..24].copy_from_slice(&end.to_le_bytes());
    let checksum = xxh3_64(&out[..24]);
    out[24..32].copy_from_slice(&checksum.to_le_bytes());
    fs::write(journal, out).expect("written");
}

const IDS: &str =
    "SELECT DISTINCT partition, partition_id FROM system.parts WHERE table = 't' AND active ORDER BY ALL";

/// A table of two partitions with few and many rows, and one of few, all of which have the names of an earlier version.
fn earlier(place: &Place, key: &str, values: [&str; 2], old: [&str; 2]) {
    let db = place.open();
    run(&db, &format!("CREATE TABLE t (p {key}, x UInt64) ENGINE = MergeTree PARTITION BY p ORDER BY x"));
    run(&db, "SYSTEM STOP MERGES t");
    run(&db, &format!("INSERT INTO t SELECT {}, number FROM numbers(20000)", values[0]));
    run(&db, &format!("INSERT INTO t VALUES ({}, 1), ({}, 2)", values[0], values[1]));
    let names: Vec<(String, String)> = run(&db, IDS)
        .lines()
        .zip(old)
        .map(|(line, old)| (line.split('\t').nth(1).expect("an id").to_string(), old.to_string()))
        .collect();
    drop(db);
    let journals = journals(&place.0);
    assert_eq!(journals.len(), 1, "{journals:?}");
    rename_partitions(&journals[0], &names);
}

fn check(place: &Place, values: [&str; 3], shown: [&str; 3], old: [&str; 2]) {
    let ids = |names: &[(&str, &str)]| -> String {
        names.iter().map(|(shown, id)| format!("{shown}\t{id}\n")).collect()
    };
    let both = ids(&[(shown[0], old[0]), (shown[1], old[1])]);
    let counts = "SELECT count(), countIf(p = {a}), countIf(p = {b}) FROM t";
    let counted = |db: &Session| {
        run(db, &counts.replace("{a}", values[0]).replace("{b}", values[1])).trim_end().to_string()
    };

    let db = place.open();
    run(&db, "SYSTEM STOP MERGES t");
    assert_eq!(run(&db, IDS), both, "as they were found");
    assert_eq!(counted(&db), "20002\t20001\t1");
    run(&db, &format!("INSERT INTO t VALUES ({}, 3), ({}, 4)", values[0], values[1]));
    assert_eq!(run(&db, IDS), both, "inserted rows go to their partitions");
    drop(db);

    let db = place.open();
    assert_eq!(run(&db, IDS), both, "after a restart");
    run(&db, "SYSTEM START MERGES t");
    run(&db, "OPTIMIZE TABLE t FINAL");
    let parts = "SELECT partition_id, count(), sum(rows) FROM system.parts WHERE table = 't' AND active GROUP BY 1 ORDER BY 1";
    let mut merged = [format!("{}\t1\t20002\n", old[0]), format!("{}\t1\t2\n", old[1])];
    merged.sort();
    assert_eq!(run(&db, parts), merged.concat(), "one part of each partition");
    run(&db, &format!("ALTER TABLE t DETACH PARTITION {}", values[1]));
    assert_eq!(counted(&db), "20002\t20002\t0");
    run(&db, &format!("ALTER TABLE t ATTACH PARTITION {}", values[1]));
    assert_eq!(counted(&db), "20004\t20002\t2");
    assert_eq!(run(&db, IDS), both, "detached and attached");
    run(&db, &format!("ALTER TABLE t DELETE WHERE x = 5 AND p = {} SETTINGS mutations_sync = 2", values[0]));
    run(&db, &format!("INSERT INTO t VALUES ({}, 9)", values[2]));
    assert_eq!(
        run(&db, "SELECT uniqExact(partition_id) FROM system.parts WHERE table = 't' AND active"),
        "3\n"
    );
    drop(db);

    let db = place.open();
    assert_eq!(counted(&db), "20004\t20001\t2");
    run(&db, &format!("ALTER TABLE t DROP PARTITION {}", values[0]));
    assert_eq!(counted(&db), "3\t0\t2");
    run(&db, &format!("ALTER TABLE t DROP PARTITION ID '{}'", old[1]));
    assert_eq!(counted(&db), "1\t0\t0");
    drop(db);

    // Nothing is left that says what the partition was called before.
    let db = place.open();
    run(&db, &format!("INSERT INTO t VALUES ({}, 1)", values[0]));
    assert_eq!(counted(&db), "2\t1\t0");
    assert!(!run(&db, IDS).contains(old[0]));
}

#[test]
fn hashes() {
    let place = Place::new("hashes");
    let old = ["0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"];
    earlier(&place, "String", ["'a'", "'b'"], old);
    check(&place, ["'a'", "'b'", "'c'"], ["a", "b", "c"], old);
}

#[test]
fn days() {
    let place = Place::new("days");
    let (old, shown) = (["20240101", "20240102"], ["2024-01-01", "2024-01-02", "2024-01-03"]);
    let values = ["toDate32('2024-01-01')", "toDate32('2024-01-02')", "toDate32('2024-01-03')"];
    earlier(&place, "Date32", [values[0], values[1]], old);
    check(&place, values, shown, old);
}
