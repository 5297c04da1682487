//! A folder for a test, and what is asked of the database in it.

use chalet_base::Result;
use chalet_engine::{Database, RunOptions, Session};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A folder that is gone with the test; the database is a folder in it.
pub struct Place(pub PathBuf);

impl Place {
    pub fn new() -> Place {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        wait_for_no_disk();
        let name = format!("chalet-durability-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        let base = std::env::temp_dir().canonicalize().expect("a folder for temporary files").join(name);
        fs::create_dir_all(&base).expect("a folder");
        Place(base)
    }

    /// The folder of the database.
    pub fn database(&self) -> PathBuf {
        self.0.join("db")
    }

    pub fn try_open(&self) -> Result<Database> {
        Database::open(self.database().to_str().expect("a path of UTF-8"))
    }

    pub fn open(&self) -> Session {
        self.try_open().expect("the database").session()
    }

    /// The folder as it is now, in another place.
    pub fn copy(&self) -> Place {
        let made = Place::new();
        copy(&self.0, &made.0);
        made
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for found in fs::read_dir(from).expect("the folder") {
        let found = found.expect("a file");
        let to = to.join(found.file_name());
        if found.file_type().expect("a type").is_dir() {
            copy(&found.path(), &to);
        } else {
            fs::copy(found.path(), to).expect("copied");
        }
    }
}

pub fn try_run(session: &Session, sql: &str) -> Result<String> {
    let options = RunOptions { format: Some("TSVRaw".into()), ..RunOptions::default() };
    Ok(String::from_utf8_lossy(&session.run(sql, options)?.bytes).into_owned())
}

#[track_caller]
pub fn run(session: &Session, sql: &str) -> String {
    try_run(session, sql).unwrap_or_else(|e| panic!("{sql}: {e}"))
}

/// In a build that can.
pub fn wait_for_no_disk() {
    #[cfg(debug_assertions)]
    chalet_storage::disk::fs::observe::wait_for_no_disk();
}

/// All that a database says of itself: definitions, rows, parts that are kept aside. Tables that cannot be read are named with
/// their error.
pub fn contents(db: &Session) -> String {
    let mut said = String::new();
    for database in run(db, "SHOW DATABASES").lines() {
        if matches!(database, "system" | "information_schema" | "INFORMATION_SCHEMA") {
            continue;
        }
        said += &format!("{database}\n");
        for table in run(db, &format!("SHOW TABLES FROM `{database}`")).lines() {
            said += &run(db, &format!("SHOW CREATE TABLE `{database}`.`{table}`"));
            let rows =
                try_run(db, &format!("SELECT count(), sum(cityHash64(*)) FROM `{database}`.`{table}`"));
            said += &rows.unwrap_or_else(|e| format!("{}\n", e.code().name));
            compare_projections(db, &format!("`{database}`.`{table}`"));
        }
    }
    let asides =
        "SELECT database, table, partition_id, count() FROM system.detached_parts GROUP BY ALL ORDER BY ALL";
    said += &run(db, asides);
    for function in ["f", "g"] {
        said +=
            &try_run(db, &format!("SELECT {function}(1)")).unwrap_or_else(|e| format!("{}\n", e.code().name));
    }
    said
}

/// What projections say is what the rows say.
fn compare_projections(db: &Session, table: &str) {
    for sql in [
        format!("SELECT n % 3 AS r, count(), sum(p) FROM {table} GROUP BY r ORDER BY r"),
        format!("SELECT count(), sum(n) FROM {table} WHERE s >= 'C' AND s < 'D'"),
    ] {
        let without = try_run(db, &format!("{sql} SETTINGS optimize_use_projections = 0"));
        if let (Ok(found), Ok(without)) = (try_run(db, &sql), without) {
            assert_eq!(found, without, "{sql}");
        }
    }
}

/// How many files there are of each kind; those of parts must be the parts' that there are.
pub fn files(place: &Place) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    let mut folders = vec![(place.database(), String::new())];
    while let Some((folder, shown)) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let entry = entry.expect("a file");
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = match name.rsplit_once('.') {
                Some((_, kind @ ("parquet" | "prj"))) => format!("*.{kind}"),
                _ if name.bytes().all(|byte| byte.is_ascii_digit()) => "*".to_string(),
                _ => name,
            };
            let shown = format!("{shown}/{kind}");
            if entry.file_type().expect("a type").is_dir() {
                folders.push((entry.path(), shown.clone()));
            }
            *found.entry(shown).or_default() += 1;
        }
    }
    found
}

/// How often a test does what takes its time: `by_default`, or as the environment says.
pub fn amount(variable: &str, by_default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(by_default)
}

/// Says how far a test is for which somebody chose an amount, past libtest, which keeps what is printed until the end: a run that is
/// stopped has its count.
pub fn tell_progress(variable: &str, done: u64, what: &str) {
    let asked = amount(variable, 0);
    if asked > 0 && (done.is_multiple_of((asked / 100).max(1)) || done == asked) {
        let _ = writeln!(std::io::stderr(), "{done} of {asked} {what}");
    }
}

/// Numbers that look random: the same ones for the same seed.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn flip(&mut self) -> bool {
        self.next() & 1 == 0
    }
}
