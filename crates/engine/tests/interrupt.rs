//! Functions that take long on purpose stop when the host asks, and when the time of the query is over.

use chalet_engine::{Database, RunOptions};
use std::sync::Arc;
use std::time::{Duration, Instant};

const ASKED_AFTER: Duration = Duration::from_millis(100);
/// What the project promises, and what a machine that does other things may add to it.
const STOPS_WITHIN: Duration = Duration::from_millis(100 + 400);
/// A machine that is busy delays some attempts, a fault delays all.
const ATTEMPTS: usize = 10;

/// The error of a statement that stops in time, in one of a few attempts.
fn stops(sql: &str, settings: &[(&str, &str)], asks: bool) -> String {
    let mut late = Vec::new();
    for _ in 0..ATTEMPTS {
        let (error, took) = stopped(sql, settings, asks);
        if took < STOPS_WITHIN {
            return error;
        }
        late.push(took);
    }
    panic!("{sql}, {settings:?}: {late:?}")
}

/// The error, and how long it took from when the statement was asked to stop.
fn stopped(sql: &str, settings: &[(&str, &str)], asks: bool) -> (String, Duration) {
    let session = Database::open(":memory:").expect("a database in memory").session();
    let start = Instant::now();
    let interrupt = asks.then(|| {
        let ask: Arc<dyn Fn() -> bool + Send + Sync> = Arc::new(move || start.elapsed() > ASKED_AFTER);
        ask
    });
    let settings = settings.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let result = session.run(sql, RunOptions { interrupt, settings, ..RunOptions::default() });
    let late = start.elapsed().saturating_sub(ASKED_AFTER);
    let Err(error) = result else { panic!("{sql} ran to its end") };
    (error.to_string(), late)
}

#[test]
fn the_host_stops_a_sleep() {
    for threads in ["1", "4"] {
        for sql in ["SELECT sleep(3)", "SELECT count() FROM numbers(3) WHERE sleepEachRow(1) = 0"] {
            let error = stops(sql, &[("max_threads", threads)], true);
            assert!(error.contains("QUERY_WAS_CANCELLED"), "{sql}: {error}");
        }
    }
}

#[test]
fn the_time_limit_stops_a_sleep() {
    let error = stops("SELECT sleep(3)", &[("max_execution_time", "0.1")], false);
    assert!(error.contains("TIMEOUT_EXCEEDED"), "{error}");
}
