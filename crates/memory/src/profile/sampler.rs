//! The thread that looks at what the threads of a query are in, at a steady pace. It is there only while it samples.

use super::{Profile, lock, nanoseconds};
use chalet_base::{Result, err};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two samples of a thread; 0 for none of the kind.
#[derive(Clone, Copy, Debug)]
pub struct Periods {
    pub real_ns: u64,
    /// Of the thread's time of the processor.
    pub cpu_ns: u64,
}

/// By which clock a sample is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceKind {
    Real,
    Cpu,
}

/// Samples are taken no more often than this.
const LEAST_PERIOD: Duration = Duration::from_micros(100);
/// More single samples are not kept; their sums are.
const MOST_SAMPLES: usize = 1 << 16;

/// What was seen, by threads' numbers and the nodes of their own trees.
#[derive(Default)]
pub(super) struct Sampled {
    pub period_ns: u64,
    pub weights: BTreeMap<(usize, u32), Weight>,
    pub samples: Vec<Seen>,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Weight {
    pub samples: u64,
    pub cpu_ns: u64,
}

pub(super) struct Seen {
    pub kind: TraceKind,
    pub at_ns: u64,
    pub number: usize,
    pub node: u32,
    pub weight_ns: u64,
}

/// A sampler at work; stops when dropped.
pub struct Sampler {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    pub(super) fn start(profile: Arc<Profile>, periods: Periods) -> Result<Sampler> {
        let stop: Arc<(Mutex<bool>, Condvar)> = Arc::default();
        let asked = stop.clone();
        let thread = std::thread::Builder::new()
            .name("chalet-sampler".into())
            .spawn(move || run(&profile, periods, &asked))
            .map_err(|error| err!(CANNOT_CREATE_TIMER, "Cannot start the thread of the profiler: {error}"))?;
        Ok(Sampler { stop, thread: Some(thread) })
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        *self.stop.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What is known of a thread from the last look.
#[derive(Clone, Copy)]
struct Last {
    cpu_ns: u64,
    /// Since the last single samples of each kind.
    real_due_ns: u64,
    cpu_due_ns: u64,
}

fn run(profile: &Profile, periods: Periods, stop: &(Mutex<bool>, Condvar)) {
    let shortest = [periods.real_ns, periods.cpu_ns].into_iter().filter(|&ns| ns > 0).min();
    let Some(shortest) = shortest else { return };
    let pause = Duration::from_nanos(shortest).max(LEAST_PERIOD);
    lock(&profile.sampled).period_ns = nanoseconds(pause);
    let mut last: BTreeMap<usize, Last> = BTreeMap::new();
    let mut before = Instant::now();
    let mut stopped = stop.0.lock().unwrap_or_else(PoisonError::into_inner);
    while !*stopped {
        stopped = stop.1.wait_timeout(stopped, pause).unwrap_or_else(PoisonError::into_inner).0;
        let now = Instant::now();
        look(profile, periods, nanoseconds(now - before), &mut last);
        before = now;
    }
}

/// One look at all threads that work.
fn look(profile: &Profile, periods: Periods, passed_ns: u64, last: &mut BTreeMap<usize, Last>) {
    let at_ns = nanoseconds(profile.started.elapsed());
    let live = profile.live();
    let mut sampled = lock(&profile.sampled);
    for slot in &live {
        let node = slot.node.load(Relaxed);
        let entered_with = slot.cpu_before.load(Relaxed);
        let cpu_now = cpu_ns(slot.thread).unwrap_or(entered_with);
        let new = Last { cpu_ns: entered_with, real_due_ns: 0, cpu_due_ns: 0 };
        let last = last.entry(slot.number).or_insert(new);
        // What the thread did for others meanwhile is not of this query.
        let spent = cpu_now.saturating_sub(last.cpu_ns.max(entered_with));
        last.cpu_ns = cpu_now;
        let weight = sampled.weights.entry((slot.number, node)).or_default();
        weight.samples += 1;
        weight.cpu_ns += spent;
        let due = [
            (TraceKind::Real, periods.real_ns, &mut last.real_due_ns, passed_ns),
            (TraceKind::Cpu, periods.cpu_ns, &mut last.cpu_due_ns, spent),
        ];
        for (kind, period, due, passed) in due {
            *due += passed;
            if period > 0 && *due >= period && sampled.samples.len() < MOST_SAMPLES {
                let weight_ns = std::mem::take(due);
                sampled.samples.push(Seen { kind, at_ns, number: slot.number, node, weight_ns });
            }
        }
    }
}

/// The operating system's number of this thread.
#[cfg(target_os = "linux")]
pub fn thread_id() -> u64 {
    // SAFETY: it takes nothing and cannot fail.
    u64::try_from(unsafe { libc::gettid() }).unwrap_or(0)
}

/// A number of this thread that no other has.
#[cfg(not(target_os = "linux"))]
pub fn thread_id() -> u64 {
    use std::sync::atomic::AtomicU64;
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! { static MINE: u64 = NEXT.fetch_add(1, Relaxed); }
    MINE.with(|mine| *mine)
}

/// The time of the processor that this thread has had.
pub fn own_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

/// That of another thread of the process; none where it has ended or cannot be asked.
#[cfg(target_os = "linux")]
fn cpu_ns(thread: u64) -> Option<u64> {
    // The clock of a thread, as the kernel numbers it: the thread in the high bits, then "of a thread" and "scheduled time".
    const PER_THREAD_SCHEDULED: i32 = 6;
    let thread = i32::try_from(thread).ok()?;
    clock_ns((!thread << 3) | PER_THREAD_SCHEDULED)
}

#[cfg(not(target_os = "linux"))]
fn cpu_ns(_: u64) -> Option<u64> {
    None
}

fn clock_ns(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is written to where it says.
    let status = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (status == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}
