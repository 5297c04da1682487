//! Quotas: how much a user may have of the server in an interval of time. What is spent is counted for all connections of a user together, from one
//! multiple of the interval to the next; who has spent more than that waits for the next one.

use chalet_base::{Error, Result, bail, ensure};
use chalet_engine::Progress;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// What is counted, in the words of ClickHouse's quotas. Times are in nanoseconds.
pub const RESOURCES: [&str; 8] = [
    "queries",
    "errors",
    "result_rows",
    "result_bytes",
    "read_rows",
    "read_bytes",
    "written_bytes",
    "execution_time",
];
const QUERIES: usize = 0;
const ERRORS: usize = 1;
const RESULT_ROWS: usize = 2;
const RESULT_BYTES: usize = 3;
const READ_ROWS: usize = 4;
const READ_BYTES: usize = 5;
const WRITTEN_BYTES: usize = 6;
const EXECUTION_TIME: usize = 7;

type Amounts = [u64; RESOURCES.len()];

/// The limits of an interval.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    /// Its length.
    pub seconds: u64,
    /// The most of each of [`RESOURCES`]; `None` is no limit.
    pub most: [Option<u64>; RESOURCES.len()],
}

/// The quota of a user.
#[derive(Debug)]
pub struct Quota {
    user: String,
    intervals: Vec<Interval>,
    /// By interval: when it ends, and what was spent in it.
    spent: Mutex<Vec<(u64, Amounts)>>,
}

impl Quota {
    /// Fails where an interval has no length.
    pub fn new(user: &str, intervals: Vec<Interval>) -> Result<Quota> {
        ensure!(
            intervals.iter().all(|interval| interval.seconds > 0),
            BAD_ARGUMENTS,
            "Quota of user {user}: an interval takes a second at least"
        );
        let spent = Mutex::new(vec![(0, Amounts::default()); intervals.len()]);
        Ok(Quota { user: user.to_owned(), intervals, spent })
    }

    fn spent(&self) -> MutexGuard<'_, Vec<(u64, Amounts)>> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds to what was spent. Fails where that is more than there is now of one of `checked`.
    fn spend(&self, amounts: &Amounts, checked: &[usize], now: u64) -> Result<()> {
        let mut spent = self.spent();
        let mut exceeded = Ok(());
        for (interval, (end, sums)) in self.intervals.iter().zip(spent.iter_mut()) {
            if now >= *end {
                *end = (now / interval.seconds + 1) * interval.seconds;
                *sums = Amounts::default();
            }
            sums.iter_mut().zip(amounts).for_each(|(sum, amount)| *sum = sum.saturating_add(*amount));
            let over = checked.iter().find(|&&at| interval.most[at].is_some_and(|most| sums[at] > most));
            if let (Some(&at), Ok(())) = (over, &exceeded) {
                exceeded = self.exceeded(interval, at, sums[at], *end);
            }
        }
        exceeded
    }

    #[cold]
    fn exceeded(&self, interval: &Interval, at: usize, sum: u64, end: u64) -> Result<()> {
        let shown = |amount: u64| match at {
            EXECUTION_TIME => format!("{}", amount as f64 / 1e9),
            _ => amount.to_string(),
        };
        let end =
            jiff::Timestamp::from_second(end.try_into().unwrap_or(i64::MAX)).unwrap_or(jiff::Timestamp::MAX);
        let end = end.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S");
        bail!(
            QUOTA_EXCEEDED,
            "Quota for user `{user}` for {seconds}s has been exceeded: {name} = {sum}/{most}. Interval will end at {end}. \
             Name of quota template: `{user}`",
            user = self.user,
            seconds = interval.seconds,
            name = RESOURCES[at],
            sum = shown(sum),
            most = shown(interval.most[at].unwrap_or_default()),
        )
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// What a statement takes of the quota of its user, if there is one. Clones are of the same statement.
#[derive(Clone)]
pub struct Charge(Option<Arc<Charged>>);

struct Charged {
    quota: Arc<Quota>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What was charged of the statement's progress.
    known: Amounts,
    /// The first refusal.
    refused: Option<Error>,
}

impl Charge {
    /// Begins a statement. Fails where its user has spent more than there is, of anything.
    pub fn begin(quota: Option<&Arc<Quota>>) -> Result<Charge> {
        let Some(quota) = quota else { return Ok(Charge(None)) };
        let mut amounts = Amounts::default();
        amounts[QUERIES] = 1;
        let all: Vec<usize> = (0..RESOURCES.len()).collect();
        let charge = Charge(Some(Arc::new(Charged { quota: quota.clone(), state: Mutex::default() })));
        charge.end(quota.spend(&amounts, &all, now()))?;
        Ok(charge)
    }

    /// Counts rows that go to the client.
    pub fn add_result(&self, rows: u64, bytes: u64) -> Result<()> {
        let Some(charged) = &self.0 else { return Ok(()) };
        let mut amounts = Amounts::default();
        (amounts[RESULT_ROWS], amounts[RESULT_BYTES]) = (rows, bytes);
        charged.quota.spend(&amounts, &[RESULT_ROWS, RESULT_BYTES], now())
    }

    /// Counts what was done since the last time. False where the statement is to end.
    pub fn on_progress(&self, progress: &Progress) -> bool {
        let Some(charged) = &self.0 else { return true };
        let mut state = charged.state();
        let mut done = Amounts::default();
        done[READ_ROWS] = progress.read_rows;
        done[READ_BYTES] = progress.read_bytes;
        done[WRITTEN_BYTES] = progress.written_bytes;
        done[EXECUTION_TIME] = u64::try_from(progress.elapsed.as_nanos()).unwrap_or(u64::MAX);
        let mut amounts = Amounts::default();
        for at in [READ_ROWS, READ_BYTES, WRITTEN_BYTES, EXECUTION_TIME] {
            amounts[at] = done[at].saturating_sub(state.known[at]);
            state.known[at] = state.known[at].max(done[at]);
        }
        let checked = [READ_ROWS, READ_BYTES, WRITTEN_BYTES, EXECUTION_TIME];
        match charged.quota.spend(&amounts, &checked, now()) {
            Ok(()) => true,
            Err(refused) => {
                state.refused.get_or_insert(refused);
                false
            }
        }
    }

    /// Ends the statement: where it was refused to go on, that is its error. Errors are counted.
    pub fn end<T>(&self, done: Result<T>) -> Result<T> {
        let Some(charged) = &self.0 else { return done };
        let refused = charged.state().refused.take();
        let done = refused.map_or(done, Err);
        if done.is_err() {
            let mut amounts = Amounts::default();
            amounts[ERRORS] = 1;
            charged.quota.spend(&amounts, &[], now())?;
        }
        done
    }
}

impl Charged {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quota(limits: &[(usize, u64)]) -> Quota {
        let mut most = [None; RESOURCES.len()];
        limits.iter().for_each(|(at, limit)| most[*at] = Some(*limit));
        Quota::new("a", vec![Interval { seconds: 60, most }]).unwrap()
    }

    #[test]
    fn an_interval_begins_anew() {
        let quota = quota(&[(QUERIES, 2)]);
        let mut one = Amounts::default();
        one[QUERIES] = 1;
        let ask = |now| quota.spend(&one, &[QUERIES], now);
        assert!(ask(600).is_ok() && ask(659).is_ok());
        let error = ask(659).unwrap_err();
        assert_eq!(error.code().number, 201);
        assert!(
            error.message().starts_with("Quota for user `a` for 60s has been exceeded: queries = 3/2. "),
            "{error}"
        );
        assert!(ask(660).is_ok());
    }

    #[test]
    fn progress_is_counted_once() {
        let quota = Arc::new(quota(&[(READ_ROWS, 100)]));
        let charge = Charge::begin(Some(&quota)).unwrap();
        let told = |read_rows| charge.on_progress(&Progress { read_rows, ..Progress::default() });
        assert!(told(60) && told(60) && told(100) && !told(101));
        assert_eq!(charge.end(Ok(())).unwrap_err().code().number, 201);
        assert!(Charge::begin(Some(&quota)).is_err());
        // Of whom nothing is counted nothing is refused.
        assert!(
            Charge::begin(None).unwrap().on_progress(&Progress { read_rows: 1000, ..Progress::default() })
        );
    }

    #[test]
    fn errors_are_counted() {
        let quota = Arc::new(quota(&[(ERRORS, 1)]));
        for _ in 0..2 {
            let charge = Charge::begin(Some(&quota)).unwrap();
            let failed = charge.end::<()>(Err(chalet_base::err!(SYNTAX_ERROR, "Syntax error")));
            assert_eq!(failed.unwrap_err().code().number, 62);
        }
        assert_eq!(Charge::begin(Some(&quota)).map(drop).unwrap_err().code().number, 201);
        assert!(Quota::new("a", vec![Interval { seconds: 0, most: [None; RESOURCES.len()] }]).is_err());
    }
}
