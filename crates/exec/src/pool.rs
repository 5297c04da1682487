//! The workers of the process: started with the first query that can use them, shared by all queries. One that waits for somebody outside,
//! a client that reads slowly, is not counted while it does: others are started in its place.

use chalet_base::events;
use chalet_base::forks::PerProcess;
use chalet_memory::profile::{self, Kind};
use chalet_memory::thread;
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

type Job = Arc<dyn Fn(usize) + Send + Sync>;

/// Work that idle threads may join.
struct Offer {
    job: Job,
    /// The next worker number to give out; ends at `n`.
    next: usize,
    n: usize,
    /// Workers that started and have not finished.
    running: usize,
}

#[derive(Default)]
struct State {
    offers: VecDeque<Arc<Mutex<Offer>>>,
    /// Without those that wait for somebody outside.
    threads: usize,
    idle: usize,
}

struct Pool {
    state: Mutex<State>,
    wake: Condvar,
    done: Condvar,
}

static POOL: PerProcess<Pool> =
    PerProcess::new(|_| Pool { state: Mutex::default(), wake: Condvar::new(), done: Condvar::new() });

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets another thread join work under way.
#[derive(Clone)]
pub struct Recall(Weak<Mutex<Offer>>);

impl Recall {
    /// The job is offered once more, under a number that nobody had; nothing where its caller waits for the last ones already.
    pub fn one_more(&self) {
        let Some(offer) = self.0.upgrade() else { return };
        let state = lock(&POOL.state);
        if state.offers.iter().any(|open| Arc::ptr_eq(open, &offer)) {
            lock(&offer).n += 1;
            drop(state);
            POOL.wake.notify_one();
        }
    }
}

/// How often a caller that waits for others looks up, for signals of the host.
pub const WAIT: Duration = Duration::from_millis(10);

/// Runs `job(0)` on this thread and offers `job(1)` to `job(n - 1)` to the pool. Returns when all that started have
/// finished; those that no thread was free for are not run, so a job must be able to do all the work alone. While this
/// thread waits for the others it calls `poll` now and then. All are charged to the tracker of this thread.
pub fn run(n: usize, job: Arc<dyn Fn(usize) + Send + Sync>, poll: &dyn Fn()) {
    run_recalled(n, job, poll, &|_| ());
}

/// As [`run`], for jobs that end when there is nothing for them now: `begin` is given what lets a thread come back. It is called
/// before the work begins, where others may join it.
pub fn run_recalled(
    n: usize,
    job: Arc<dyn Fn(usize) + Send + Sync>,
    poll: &dyn Fn(),
    begin: &dyn Fn(Recall),
) {
    if n <= 1 {
        job(0);
        return;
    }
    let job: Job = match thread::current() {
        Some(tracker) => Arc::new(move |number| {
            let _scope = thread::enter(&tracker);
            job(number);
        }),
        None => job,
    };
    let job: Job = match profile::current() {
        Some((profile, around)) => Arc::new(move |number| {
            let _entered = profile.enter(&around);
            job(number);
        }),
        None => job,
    };
    // What the others count is counted for the query that they work for too.
    let counted = Arc::new(events::Shared::default());
    let of_others = counted.clone();
    let job: Job = Arc::new(move |number| {
        if number == 0 {
            return job(number);
        }
        let before = events::Counts::of_this_thread();
        job(number);
        of_others.add_since(&before);
    });
    let offer = Arc::new(Mutex::new(Offer { job: job.clone(), next: 1, n, running: 0 }));
    {
        let mut state = lock(&POOL.state);
        state.offers.push_back(offer.clone());
        let wanted = (n - 1).min(max_threads());
        while state.threads < wanted && state.idle < n - 1 {
            // Without a thread the caller does the work alone.
            if std::thread::Builder::new().name("chalet-worker".into()).spawn(work).is_err() {
                break;
            }
            state.threads += 1;
            state.idle += 1;
        }
    }
    begin(Recall(Arc::downgrade(&offer)));
    POOL.wake.notify_all();
    job(0);
    let _wait = profile::enter(Kind::Wait, "WaitForWorkers", 0);
    let mut state = lock(&POOL.state);
    state.offers.retain(|o| !Arc::ptr_eq(o, &offer));
    while lock(&offer).running > 0 {
        state = POOL.done.wait_timeout(state, WAIT).unwrap_or_else(PoisonError::into_inner).0;
        drop(state);
        poll();
        state = lock(&POOL.state);
    }
    drop(state);
    // A worker may still hold the offer for a moment. What the job holds is freed here, before the caller goes on.
    lock(&offer).job = Arc::new(|_| ());
    counted.adopt();
}

fn max_threads() -> usize {
    chalet_base::cores().max(2) * 4
}

thread_local! {
    /// This thread is a worker, and is counted.
    static IS_COUNTED: Cell<bool> = const { Cell::new(false) };
}

/// Does what may wait for somebody outside of the process. Where this thread is a worker, another one may be started for its work meanwhile.
pub fn waiting_outside<T>(wait: impl FnOnce() -> T) -> T {
    /// Counts the worker again, also where it unwinds.
    struct Back;

    impl Drop for Back {
        fn drop(&mut self) {
            lock(&POOL.state).threads += 1;
            IS_COUNTED.set(true);
        }
    }

    if !IS_COUNTED.replace(false) {
        return wait();
    }
    lock(&POOL.state).threads -= 1;
    let _back = Back;
    wait()
}

fn work() {
    IS_COUNTED.set(true);
    let mut state = lock(&POOL.state);
    loop {
        let found = state.offers.iter().find_map(|offer| {
            let mut open = lock(offer);
            (open.next < open.n).then(|| {
                open.next += 1;
                open.running += 1;
                (offer.clone(), open.job.clone(), open.next - 1)
            })
        });
        let Some((offer, job, number)) = found else {
            // Those that were waited for are back.
            if state.threads > max_threads() {
                state.threads -= 1;
                state.idle -= 1;
                return;
            }
            state = POOL.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        state.idle -= 1;
        drop(state);
        job(number);
        drop(job);
        state = lock(&POOL.state);
        lock(&offer).running -= 1;
        state.idle += 1;
        POOL.done.notify_all();
    }
}
