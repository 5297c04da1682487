//! A process is killed while its threads insert, merge, alter and define: what it was told is done is there, and what was not is there
//! as a whole or not at all. `CHALET_KILL_ROUNDS` says how often.

use crate::place::{Place, Random, amount, files, run, tell_progress, try_run, wait_for_no_disk};
use chalet_engine::{Database, Session};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Where the child finds its database.
const PLACE: &str = "CHALET_KILLED_PLACE";

const SETUP: &[&str] = &[
    "CREATE TABLE t (batch UInt64, row UInt64, rows UInt64, s String) ENGINE = MergeTree PARTITION BY batch % 3 ORDER BY s",
    "CREATE TABLE l (batch UInt64, row UInt64, rows UInt64) ENGINE = Log",
    "CREATE TABLE c (id UInt32, value UInt64, filling String) ENGINE = MergeTree ORDER BY id",
    "INSERT INTO c SELECT number, 0, hex(sipHash128(number)) FROM numbers(8000)",
    "CREATE TABLE source (p UInt8, n UInt64, s String) ENGINE = MergeTree PARTITION BY p ORDER BY n",
    "INSERT INTO source SELECT number % 2, number, hex(sipHash128(number)) FROM numbers(16000)",
    "CREATE TABLE q AS source",
    "CREATE TABLE a (n UInt64) ENGINE = MergeTree ORDER BY n",
    "INSERT INTO a SELECT number FROM numbers(1000)",
];

fn done(what: &str, number: u64) {
    eprintln!("{what} {number}");
}

/// One after the other, from one on that was not yet.
fn work(what: &'static str, first: u64, database: &Database) {
    let db = database.session();
    let mut random = Random(first);
    for n in first.. {
        // The first one is done soon.
        let rows = if n == first { 1 } else { [1, 100, 20_000][random.below(3)] };
        let sql = match what {
            "t" => format!(
                "INSERT INTO t SELECT {n}, number, {rows}, toString(number * {n}) FROM numbers({rows})"
            ),
            "l" => format!("INSERT INTO l SELECT {n}, number, {rows} FROM numbers({rows})"),
            "optimize" => format!("OPTIMIZE TABLE {}", ["t", "t FINAL", "c FINAL"][n as usize % 3]),
            "c" => format!("ALTER TABLE c UPDATE value = {n} WHERE 1"),
            "a" => match n % 2 {
                0 => format!("ALTER TABLE a DROP COLUMN c{}", n - 1),
                _ => format!("ALTER TABLE a ADD COLUMN c{n} UInt64 DEFAULT {n}"),
            },
            "q" => match n % 4 {
                0 => "ALTER TABLE q REPLACE PARTITION 0 FROM source".into(),
                1 => "ALTER TABLE q DETACH PARTITION 0".into(),
                2 => "ALTER TABLE q ATTACH PARTITION 0".into(),
                _ => "ALTER TABLE q DROP PARTITION 0".to_string(),
            },
            _ => match n % 3 {
                0 => format!("CREATE TABLE x{n} ENGINE = MergeTree ORDER BY n AS SELECT {n} AS n"),
                1 => format!("RENAME TABLE x{} TO y{}", n - 1, n - 1),
                _ => format!("DROP TABLE y{}", n - 2),
            },
        };
        match try_run(&db, &sql) {
            Ok(_) => done(what, n),
            // Others replace the same parts.
            Err(error)
                if what == "optimize" && error.code() == chalet_base::codes::CANNOT_ASSIGN_OPTIMIZE => {}
            Err(error) => {
                eprintln!("failed {sql} {error}");
                return;
            }
        }
    }
}

const WORKERS: [&str; 7] = ["t", "l", "optimize", "c", "a", "q", "x"];

/// Not a test: what is killed.
#[test]
#[ignore = "run by the test that kills it"]
fn child() {
    let Ok(place) = std::env::var(PLACE) else { return };
    wait_for_no_disk();
    let (place, firsts) = place.split_once(' ').expect("numbers");
    let database = Database::open(place).expect("the database");
    std::thread::scope(|threads| {
        for (what, first) in WORKERS.into_iter().zip(firsts.split(' ')) {
            let (first, database) = (first.parse().expect("a number"), &database);
            threads.spawn(move || work(what, first, database));
        }
    });
}

/// What was done of each kind when the process was killed.
fn killed(place: &Place, next: &BTreeMap<&str, u64>, after: Duration) -> BTreeMap<String, u64> {
    let firsts = WORKERS.map(|what| next[what].to_string()).join(" ");
    let mut child = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "killed::child", "--ignored", "--nocapture"])
        .env(PLACE, format!("{} {firsts}", place.database().display()))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a process");
    let lines = BufReader::new(child.stderr.take().expect("its words")).lines();
    let reader = std::thread::spawn(move || {
        let mut last = BTreeMap::new();
        for line in lines.map_while(Result::ok) {
            assert!(!line.starts_with("failed"), "{line}");
            if let Some((what, number)) = line.split_once(' ')
                && let Ok(number) = number.parse::<u64>()
            {
                last.insert(what.to_string(), number);
            }
        }
        last
    });
    std::thread::sleep(after);
    assert!(child.try_wait().expect("its state").is_none(), "it has ended by itself");
    child.kill().expect("killed");
    child.wait().expect("its end");
    reader.join().expect("what it said")
}

/// A batch that is not whole.
const WRONG: &str =
    "SELECT batch FROM {} GROUP BY batch HAVING count() != any(rows) OR uniqExact(row) != any(rows)";

fn number(db: &Session, sql: &str) -> u64 {
    run(db, sql).trim().parse().expect("a number")
}

/// Fails where something is not as it must be; returns what is done now.
fn check(db: &Session, last: &BTreeMap<&str, u64>) -> BTreeMap<&'static str, u64> {
    let mut now = BTreeMap::new();
    for table in ["t", "l"] {
        assert_eq!(run(db, &WRONG.replace("{}", table)), "", "batches of {table} that are not whole");
        let (newest, batches) = (
            number(db, &format!("SELECT max(batch) FROM {table}")),
            number(db, &format!("SELECT uniqExact(batch) FROM {table}")),
        );
        assert_eq!(newest, batches, "a batch of {table} is missing");
        now.insert(table, newest);
    }
    assert_eq!(run(db, "SELECT count(), uniqExact(id), uniqExact(value) FROM c"), "8000\t8000\t1\n");
    now.insert("c", number(db, "SELECT any(value) FROM c"));
    assert_eq!(run(db, "SELECT count(), sum(n) FROM a"), "1000\t499500\n");
    // Which of these are there says how far it came, but for how often before.
    let columns =
        run(db, "SELECT toUInt64(substring(name, 2)) FROM system.columns WHERE table = 'a' AND name != 'n'");
    let base = last["a"];
    let added = columns.trim().parse::<u64>().ok();
    now.insert("a", added.unwrap_or(base + base % 2));
    if let Some(n) = added {
        assert_eq!(number(db, &format!("SELECT sum(c{n}) FROM a")), n * 1000);
    }
    // After DETACH rows are kept aside; otherwise the partition is there or not.
    let there = number(db, "SELECT count() FROM q");
    let aside = number(
        db,
        "SELECT sum(rows) FROM (SELECT 0 AS rows UNION ALL SELECT count() FROM system.detached_parts)",
    );
    assert!(there == 0 || there == 8000, "{there} rows in q");
    assert!(aside == 0 || there == 0, "{aside} parts aside and {there} rows");
    let state = match (there, aside) {
        (0, 0) => 3,
        (0, _) => 1,
        // After REPLACE and after ATTACH.
        _ => 0,
    };
    now.insert("q", state);
    now
}

/// Many rounds would spend their time on reading what earlier ones have written.
fn start_anew_when_large(place: &Place, last: &mut BTreeMap<&str, u64>) {
    let db = place.open();
    for table in ["t", "l"] {
        if number(&db, &format!("SELECT count() FROM {table}")) > 2_000_000 {
            run(&db, &format!("TRUNCATE TABLE {table}"));
            last.insert(table, 0);
        }
    }
}

#[test]
fn killed_while_many_write() {
    let place = Place::new();
    let db = place.open();
    SETUP.iter().for_each(|sql| _ = run(&db, sql));
    drop(db);
    let mut last: BTreeMap<&str, u64> = WORKERS.into_iter().map(|what| (what, 0)).collect();
    // Its partition is not there yet.
    last.insert("q", 3);
    let mut random = Random(amount("CHALET_SEED", 1));
    for round in 1..=amount("CHALET_KILL_ROUNDS", 8) {
        let mut next: BTreeMap<&str, u64> = last.iter().map(|(what, n)| (*what, n + 1)).collect();
        // Tables get new names, beginning with one that is made.
        next.insert("x", (last["x"] / 3 + 2) * 3);
        let told = killed(&place, &next, Duration::from_millis(300 + random.next() % 1500));
        let database = place.try_open().expect("the database");
        let db = database.session();
        let said = |what: &str| told.get(what).copied().unwrap_or(last[what]);
        let before: BTreeMap<&str, u64> = WORKERS.into_iter().map(|what| (what, said(what))).collect();
        let mut now = check(&db, &before);
        for what in ["t", "l", "c", "a"] {
            let (said, found) = (before[what], now[what]);
            assert!(found == said || found == said + 1, "{what}: {said} were done, {found} are there");
        }
        // In a circle of four, of which the first and the third look alike.
        let alike = |n: u64| [0, 1, 0, 3][n as usize % 4];
        let (state, said) = (now["q"], before["q"]);
        assert!(
            state == alike(said) || state == alike(said + 1),
            "partitions: after {said} as after {state}"
        );
        now.insert("q", said + u64::from(state != alike(said)));
        now.insert("x", before["x"]);
        now.insert("optimize", before["optimize"]);
        let others =
            "SELECT name FROM system.tables WHERE database = 'default' AND match(name, '^[xy][0-9]+$')";
        let others = run(&db, others);
        assert!(others.lines().count() <= 1, "{others}");
        for name in others.lines() {
            assert_eq!(run(&db, &format!("SELECT n FROM {name}")), format!("{}\n", &name[1..]));
            run(&db, &format!("DROP TABLE {name}"));
        }
        run(&db, "SYSTEM STOP MERGES");
        let n_parts = number(&db, "SELECT count() FROM system.parts WHERE path != ''")
            + number(&db, "SELECT count() FROM system.detached_parts WHERE path != ''");
        drop((db, database));
        let left = files(&place);
        let n_files = left.get("/tables/*/*.parquet").copied().unwrap_or(0) as u64;
        assert_eq!(n_files, n_parts, "{left:?}");
        assert_eq!(left["/tables/*"], 6, "{left:?}");
        assert!(left.keys().all(|name| !name.ends_with(".new")), "{left:?}");
        last = WORKERS.into_iter().map(|what| (what, now[what])).collect();
        start_anew_when_large(&place, &mut last);
        tell_progress("CHALET_KILL_ROUNDS", round, "kills");
    }
    println!("{last:?}");
    assert!(["t", "l", "c", "a"].iter().map(|what| last[what]).sum::<u64>() > 0, "{last:?}");
}
