//! The power goes at any call of the file system: what a statement that had returned has changed is there, and of the one that was
//! running all or nothing. `CHALET_POWER_CUTS` says how often (else as often as there is time), `CHALET_SEED` with which first statements.

use crate::disk_model::{Call, Disk, Recorder};
use crate::place::{Place, Random, amount, contents, run, tell_progress, try_run};
use chalet_storage::disk::fs::observe::observe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Statements over the tables of a run; those that cannot be done change nothing.
const STATEMENTS: &[&str] = &[
    "INSERT INTO t SELECT number % 3, number, 'small' FROM numbers(20)",
    "INSERT INTO t SELECT number % 2, number, repeat(hex(sipHash128(number, 2)), 10) FROM numbers(1900)",
    "INSERT INTO l SELECT number, toString(number) FROM numbers(10)",
    "INSERT INTO l SELECT number, hex(sipHash128(number)) FROM numbers(2000)",
    "INSERT INTO u SELECT 1, number, repeat(hex(sipHash128(number)), 10) FROM numbers(1000)",
    "OPTIMIZE TABLE t FINAL",
    "ALTER TABLE t UPDATE s = 'updated' WHERE n % 5 = 1",
    "DELETE FROM t WHERE n % 7 = 3",
    "ALTER TABLE t ADD COLUMN c UInt32 DEFAULT 3",
    "ALTER TABLE t DROP COLUMN c",
    "ALTER TABLE t DROP COLUMN s, ADD COLUMN s String DEFAULT 'other'",
    "ALTER TABLE t MODIFY COLUMN s LowCardinality(String)",
    "ALTER TABLE t MODIFY COLUMN s String",
    "ALTER TABLE t DETACH PARTITION 0",
    "ALTER TABLE t ATTACH PARTITION 0",
    "ALTER TABLE t DROP PARTITION 2",
    "ALTER TABLE t REPLACE PARTITION 1 FROM u",
    "CREATE TABLE t (p UInt8, n UInt64, s String, PROJECTION g (SELECT n % 3 AS r, count(), sum(p) GROUP BY r)) ENGINE = MergeTree PARTITION BY p ORDER BY n SETTINGS lightweight_mutation_projection_mode = 'rebuild'",
    "CREATE TABLE u (p UInt8, n UInt64, s String, PROJECTION o (SELECT s, n ORDER BY s)) ENGINE = MergeTree PARTITION BY p ORDER BY n",
    "CREATE TABLE l (n UInt64, s String) ENGINE = Log",
    "CREATE TABLE v ENGINE = MergeTree ORDER BY n AS SELECT * FROM l",
    "CREATE OR REPLACE TABLE u (p UInt8, n UInt64, s String) ENGINE = MergeTree PARTITION BY p ORDER BY n",
    "RENAME TABLE v TO w",
    "DROP TABLE w",
    "DROP TABLE l",
    "DROP TABLE t",
    "TRUNCATE TABLE t",
    "TRUNCATE TABLE l",
    "EXCHANGE TABLES t AND u",
    "ALTER TABLE t ADD PROJECTION o (SELECT s, n ORDER BY s)",
    "ALTER TABLE t MATERIALIZE PROJECTION o",
    "ALTER TABLE t CLEAR PROJECTION g",
    "ALTER TABLE t MATERIALIZE PROJECTION g",
    "ALTER TABLE t DROP PROJECTION o",
    "CREATE FUNCTION f AS x -> x + 1",
    "DROP FUNCTION f",
];
/// Those that make the tables come first.
const FIRST: [usize; 3] = [17, 18, 19];
const STATEMENTS_OF_A_RUN: usize = 14;
const CUTS_OF_A_RUN: u64 = 24;

/// What was done, and what there was after each statement.
struct Run {
    calls: Vec<Call>,
    /// How many calls had been made, what there was then, and the statement.
    steps: Vec<(usize, String, &'static str)>,
}

fn recorded(seed: u64) -> Run {
    let mut random = Random(seed);
    let place = Place::new();
    let recorder = Arc::new(Recorder::new(&place.0));
    let observation = observe(&place.0, recorder.clone());
    let db = place.open();
    let mut steps = vec![(recorder.len(), contents(&db), "opening")];
    let chosen: Vec<usize> = (0..STATEMENTS_OF_A_RUN).map(|_| random.below(STATEMENTS.len())).collect();
    for number in FIRST.into_iter().chain(chosen) {
        let _ = try_run(&db, STATEMENTS[number]);
        steps.push((recorder.len(), contents(&db), STATEMENTS[number]));
    }
    drop(db);
    drop(observation);
    Run { calls: recorder.calls(), steps }
}

impl Run {
    /// What may be there after a number of calls.
    fn allowed(&self, n_calls: usize) -> (Vec<&str>, String) {
        let done = self.steps.iter().rposition(|(len, ..)| *len <= n_calls);
        let Some(done) = done else { return (vec![&self.steps[0].1], "while it was made".into()) };
        let mut allowed = vec![&*self.steps[done].1];
        let next = self.steps.get(done + 1).filter(|_| n_calls > self.steps[done].0);
        allowed.extend(next.map(|(_, found, _)| &**found));
        (allowed, next.map_or("between statements", |(.., sql)| sql).to_string())
    }
}

/// Opens a database, and says what is in it and which calls that made.
fn opened(place: &Place, more: &str) -> (String, Vec<(usize, String)>, Vec<Call>) {
    let recorder = Arc::new(Recorder::new(&place.0));
    let _observation = observe(&place.0, recorder.clone());
    let db = place.open();
    let found = contents(&db);
    let mut steps = vec![(recorder.len(), found.clone())];
    for sql in more.split(';').filter(|sql| !sql.is_empty()) {
        let _ = try_run(&db, sql);
        steps.push((recorder.len(), contents(&db)));
    }
    drop(db);
    (found, steps, recorder.calls())
}

const MORE: &str = "INSERT INTO t (n) SELECT 77777 FROM numbers(3);INSERT INTO l (n) VALUES (77777);CREATE TABLE z (x UInt8) ENGINE = Log";

fn cut(run: &Run, seed: u64) {
    let mut random = Random(seed);
    let n_calls = random.below(run.calls.len() + 1);
    let (allowed, during) = run.allowed(n_calls);
    let mut disk = Disk::of(&Place::new().0);
    run.calls[..n_calls].iter().for_each(|call| disk.apply(call));
    let place = Place::new();
    // Half of the time the process goes first, and the power while the next one is at work.
    let is_killed = random.flip();
    if is_killed {
        disk.kill(&place.0);
    } else {
        disk.cut(&place.0, &mut random);
        disk = Disk::of(&place.0);
    }
    let told = format!("seed {seed}, after {n_calls} calls, killed {is_killed}, {during}");
    let (found, steps, calls) = opened(&place, if random.flip() { MORE } else { "" });
    assert!(allowed.contains(&&*found), "{told}\nfound\n{found}\nallowed\n{}", allowed.join("\nor\n"));
    // What was found when it was opened stays, and what was done then.
    let again = Place::new();
    let n_calls = random.below(calls.len() + 1).max(if random.flip() { 0 } else { calls.len() });
    calls[..n_calls].iter().for_each(|call| disk.apply(call));
    disk.cut(&again.0, &mut random);
    let (second, ..) = opened(&again, "");
    let is_right = match steps.iter().rposition(|(len, _)| *len <= n_calls) {
        None => allowed.contains(&&*second),
        Some(done) => {
            let in_between = n_calls > steps[done].0;
            second == steps[done].1 || in_between && steps.get(done + 1).is_some_and(|step| second == step.1)
        }
    };
    assert!(
        is_right,
        "{told}, cut again after {n_calls} calls of {}\nfirst\n{found}\nthen\n{second}",
        calls.len()
    );
}

#[test]
fn power_cuts() {
    // As many as there is time for, unless somebody says how many.
    let n_cuts = amount("CHALET_POWER_CUTS", 0);
    let until = (n_cuts == 0).then(|| Instant::now() + Duration::from_secs(20));
    let runs = if n_cuts == 0 { 40 } else { n_cuts.div_ceil(CUTS_OF_A_RUN) };
    let first = amount("CHALET_SEED", 1);
    let has_time = || until.is_none_or(|until| Instant::now() < until);
    let done = AtomicU64::new(0);
    std::thread::scope(|threads| {
        for thread in 0..2 {
            let (done, has_time) = (&done, &has_time);
            threads.spawn(move || {
                for seed in (0..runs).filter(|number| number % 2 == thread).map(|number| first + number) {
                    if !has_time() && seed > first + 1 {
                        break;
                    }
                    let run = recorded(seed);
                    for i in (0..CUTS_OF_A_RUN).take_while(|i| *i < 12 || has_time()) {
                        cut(&run, seed * 1000 + i);
                        tell_progress("CHALET_POWER_CUTS", done.fetch_add(1, Relaxed) + 1, "cuts");
                    }
                }
            });
        }
    });
    println!("{} cuts", done.load(Relaxed));
}

/// The model of the disk is one: what was synced is there, and what was not is not always.
#[test]
fn the_model_of_a_disk() {
    let place = Place::new();
    let run = recorded(3);
    let mut disk = Disk::of(&place.0);
    run.calls.iter().for_each(|call| disk.apply(call));
    let (mut all, mut some) = (0, 0);
    for seed in 0..20 {
        let after = Place::new();
        disk.cut(&after.0, &mut Random(seed));
        all += 1;
        let files = crate::place::files(&after);
        some += u32::from(files.contains_key("/writer"));
    }
    assert!(some < all && some > 0, "{some} of {all}");
    let now = Place::new();
    disk.kill(&now.0);
    assert_eq!(run_first(&now), run.steps.last().expect("a step").1);
}

fn run_first(place: &Place) -> String {
    let db = place.open();
    run(&db, "SELECT 1");
    contents(&db)
}
