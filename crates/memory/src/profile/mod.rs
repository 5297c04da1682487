//! What the threads of a query are at: a tree of frames per thread (stage, operator, function), with time and memory of each.
//! A thread charges a frame when it enters and leaves it, and publishes the one that it is in as the number of a node, in an
//! atomic of its own, which a [`sampler`] may read at any time. There is no signal handler and no lock on the way.
//!
//! While nothing is profiled, all that a frame costs is a look at one flag of the thread.

pub mod report;
pub mod sampler;

use crate::thread;
use chalet_base::Result;
use report::{Report, Totals};
use sampler::{Sampled, Sampler};
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The statement, outside of everything below.
    Statement,
    Stage,
    Operator,
    Function,
    /// A thread waits for others.
    Wait,
}

/// Something that takes time. `id` tells those of the same name apart: an address that lives as long as the query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    pub kind: Kind,
    pub name: &'static str,
    pub id: usize,
}

/// What was spent in a frame itself, without the frames inside of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// How often it was entered.
    pub calls: u64,
    pub wall_ns: u64,
    /// Of the processor, from samples.
    pub cpu_ns: u64,
    pub samples: u64,
    pub allocated_bytes: u64,
    pub freed_bytes: u64,
    /// Blocks that came in, and what is in them.
    pub blocks: u64,
    pub rows: u64,
    pub bytes: u64,
    pub spilled_bytes: u64,
}

impl Cost {
    pub fn add(&mut self, other: &Cost) {
        self.calls += other.calls;
        self.wall_ns += other.wall_ns;
        self.cpu_ns += other.cpu_ns;
        self.samples += other.samples;
        self.allocated_bytes += other.allocated_bytes;
        self.freed_bytes += other.freed_bytes;
        self.blocks += other.blocks;
        self.rows += other.rows;
        self.bytes += other.bytes;
        self.spilled_bytes += other.spilled_bytes;
    }
}

/// A frame in its place; node 0 of a tree is the statement.
#[derive(Clone, Debug)]
pub struct Node {
    pub frame: Frame,
    /// Itself for node 0.
    pub parent: u32,
    pub cost: Cost,
    first_child: u32,
    next_sibling: u32,
}

/// Frames by what they are inside of.
#[derive(Clone, Debug)]
pub struct Tree(pub Vec<Node>);

/// More nodes than this a tree does not get: what is further inside is charged to the frame around it.
const MOST_NODES: usize = 1 << 14;
/// No node. Node 0 is nobody's child.
const NONE: u32 = 0;

impl Default for Tree {
    fn default() -> Tree {
        let frame = Frame { kind: Kind::Statement, name: "Statement", id: 0 };
        Tree(vec![Node { frame, parent: 0, cost: Cost::default(), first_child: NONE, next_sibling: NONE }])
    }
}

impl Tree {
    /// The node of a frame inside of another, made where it is not there.
    fn child(&mut self, parent: u32, frame: Frame) -> u32 {
        let mut at = self.0[parent as usize].first_child;
        while at != NONE {
            let node = &self.0[at as usize];
            if node.frame.id == frame.id
                && node.frame.kind == frame.kind
                && (std::ptr::eq(node.frame.name, frame.name) || node.frame.name == frame.name)
            {
                return at;
            }
            at = node.next_sibling;
        }
        if self.0.len() >= MOST_NODES {
            return parent;
        }
        let made = self.0.len() as u32;
        let next_sibling = self.0[parent as usize].first_child;
        self.0.push(Node { frame, parent, cost: Cost::default(), first_child: NONE, next_sibling });
        self.0[parent as usize].first_child = made;
        made
    }

    /// The frames around a node and its own, from the outside, without the statement.
    pub fn path(&self, node: u32) -> Vec<Frame> {
        let mut path = Vec::new();
        let mut at = node;
        while at != 0 {
            path.push(self.0[at as usize].frame);
            at = self.0[at as usize].parent;
        }
        path.reverse();
        path
    }
}

/// What a thread shows of itself to others.
pub(crate) struct Slot {
    node: AtomicU32,
    /// The operating system's number of the thread.
    thread: u64,
    /// Its number in the profile.
    number: usize,
    /// Its time of the processor when it began to work here.
    cpu_before: AtomicU64,
}

/// What one thread has recorded.
struct Recorder {
    profile: Arc<Profile>,
    slot: Arc<Slot>,
    tree: Tree,
    current: u32,
    since: Instant,
    allocated: u64,
    freed: u64,
    totals: Totals,
    entered: Instant,
}

thread_local! {
    /// Is there a recorder? Looked at by every frame.
    static IS_ON: Cell<bool> = const { Cell::new(false) };
    static RECORDER: RefCell<Option<Box<Recorder>>> = const { RefCell::new(None) };
}

/// Of one statement, shared by the threads that work for it.
pub struct Profile {
    started: Instant,
    threads: Mutex<Vec<Thread>>,
    spans: Mutex<Vec<Span>>,
    sampled: Mutex<Sampled>,
}

/// A thread that has worked for the statement.
struct Thread {
    slot: Arc<Slot>,
    /// None while it works.
    tree: Option<Tree>,
    totals: Totals,
}

/// What a thread did for a stage, from when to when, in nanoseconds since the statement began.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// The number of the thread in the profile.
    pub thread: usize,
    /// The id of the stage.
    pub stage: usize,
    pub phase: Phase,
    pub start_ns: u64,
    pub end_ns: u64,
    pub cpu_ns: u64,
}

/// What a stage does in a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Blocks go through.
    Work,
    /// The sink makes its result.
    Finish,
    /// A task of that, on any thread.
    Task,
}

impl Phase {
    pub fn name(self) -> &'static str {
        match self {
            Phase::Work => "work",
            Phase::Finish => "finish",
            Phase::Task => "task",
        }
    }
}

/// More spans are not kept: a chart could not show them.
const MOST_SPANS: usize = 1 << 14;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Profile {
    /// A profile that begins now.
    #[expect(clippy::new_without_default, reason = "it begins now")]
    pub fn new() -> Profile {
        Profile {
            started: Instant::now(),
            threads: Mutex::default(),
            spans: Mutex::default(),
            sampled: Mutex::default(),
        }
    }

    /// Starts to sample with these periods, until what is returned is dropped. Fails where there can be no thread.
    pub fn sample(self: &Arc<Profile>, periods: sampler::Periods) -> Result<Sampler> {
        Sampler::start(self.clone(), periods)
    }

    /// Charges this thread's frames to the profile until the scope is dropped, which must happen on this thread. `around` are
    /// the frames that it works inside of.
    pub fn enter(self: &Arc<Profile>, around: &[Frame]) -> Entered {
        let is_entered =
            RECORDER.with_borrow(|now| now.as_ref().is_some_and(|now| Arc::ptr_eq(&now.profile, self)));
        if is_entered {
            return Entered { before: None, is_same: true, _not_send: PhantomData };
        }
        let (slot, mut tree) = self.thread();
        let mut current = 0;
        for frame in around {
            current = tree.child(current, *frame);
        }
        slot.node.store(current, Relaxed);
        let cpu = sampler::own_cpu_ns();
        slot.cpu_before.store(cpu, Relaxed);
        let (allocated, freed) = thread::counters();
        let now = Instant::now();
        let totals = Totals { cpu_ns: cpu, ..Totals::default() };
        let profile = self.clone();
        let recorder =
            Recorder { profile, slot, tree, current, since: now, allocated, freed, totals, entered: now };
        let before = RECORDER.replace(Some(Box::new(recorder)));
        IS_ON.set(true);
        Entered { before, is_same: false, _not_send: PhantomData }
    }

    /// The slot and tree of this thread, as it left them.
    fn thread(&self) -> (Arc<Slot>, Tree) {
        let thread = sampler::thread_id();
        let mut threads = lock(&self.threads);
        let known = threads.iter_mut().find(|known| known.slot.thread == thread && known.tree.is_some());
        if let Some(known) = known
            && let Some(tree) = known.tree.take()
        {
            return (known.slot.clone(), tree);
        }
        let number = threads.len();
        let (node, cpu_before) = (AtomicU32::new(0), AtomicU64::new(0));
        let slot = Arc::new(Slot { node, thread, number, cpu_before });
        threads.push(Thread { slot: slot.clone(), tree: None, totals: Totals::default() });
        (slot, Tree::default())
    }

    fn leave(&self, recorder: Recorder) {
        let mut threads = lock(&self.threads);
        let Some(thread) = threads.get_mut(recorder.slot.number) else { return };
        thread.totals.thread = recorder.slot.thread;
        thread.totals.wall_ns += nanoseconds(recorder.entered.elapsed());
        thread.totals.cpu_ns += sampler::own_cpu_ns().saturating_sub(recorder.totals.cpu_ns);
        thread.tree = Some(recorder.tree);
    }

    /// Slots of the threads that work now.
    fn live(&self) -> Vec<Arc<Slot>> {
        let threads = lock(&self.threads);
        threads.iter().filter(|thread| thread.tree.is_none()).map(|thread| thread.slot.clone()).collect()
    }

    /// What the threads have recorded that do not work any more.
    pub fn report(&self) -> Report {
        let threads = lock(&self.threads);
        let sampled = std::mem::take(&mut *lock(&self.sampled));
        let mut report =
            Report { elapsed_ns: nanoseconds(self.started.elapsed()), ..Report::new(sampled.period_ns) };
        for thread in threads.iter() {
            let Some(tree) = &thread.tree else { continue };
            report.add_thread(tree, thread.totals, thread.slot.number, &sampled);
        }
        report.spans = std::mem::take(&mut *lock(&self.spans));
        report
    }
}

/// While it lives, frames of this thread are recorded.
pub struct Entered {
    before: Option<Box<Recorder>>,
    is_same: bool,
    _not_send: PhantomData<*const ()>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        if self.is_same {
            return;
        }
        let before = self.before.take();
        IS_ON.set(before.is_some());
        let Some(mut recorder) = RECORDER.replace(before) else { return };
        recorder.charge();
        let profile = recorder.profile.clone();
        profile.leave(*recorder);
    }
}

impl Recorder {
    /// Charges the current frame for what was spent since the last change.
    fn charge(&mut self) {
        let now = Instant::now();
        let (allocated, freed) = thread::counters();
        let cost = &mut self.tree.0[self.current as usize].cost;
        cost.wall_ns += nanoseconds(now.duration_since(self.since));
        cost.allocated_bytes += allocated.wrapping_sub(self.allocated);
        cost.freed_bytes += freed.wrapping_sub(self.freed);
        (self.since, self.allocated, self.freed) = (now, allocated, freed);
    }

    fn go(&mut self, node: u32) {
        self.charge();
        self.current = node;
        self.slot.node.store(node, Relaxed);
    }
}

/// Is what this thread does recorded?
#[inline]
pub fn is_on() -> bool {
    IS_ON.get()
}

/// The profile of this thread and the frames that it is inside of, for threads that work for the same query.
pub fn current() -> Option<(Arc<Profile>, Vec<Frame>)> {
    if !is_on() {
        return None;
    }
    RECORDER.with_borrow(|recorder| {
        recorder.as_ref().map(|recorder| (recorder.profile.clone(), recorder.tree.path(recorder.current)))
    })
}

/// A frame that was entered; left when dropped.
#[must_use]
pub struct Scope {
    /// The node around it; [`OFF`] where nothing is recorded.
    before: u32,
    _not_send: PhantomData<*const ()>,
}

const OFF: u32 = u32::MAX;

/// Enters a frame.
#[inline]
pub fn enter(kind: Kind, name: &'static str, id: usize) -> Scope {
    let before = if is_on() { enter_recorded(Frame { kind, name, id }) } else { OFF };
    Scope { before, _not_send: PhantomData }
}

#[cold]
fn enter_recorded(frame: Frame) -> u32 {
    RECORDER.with_borrow_mut(|recorder| {
        let Some(recorder) = recorder else { return OFF };
        let before = recorder.current;
        let node = recorder.tree.child(before, frame);
        recorder.go(node);
        recorder.tree.0[node as usize].cost.calls += 1;
        before
    })
}

impl Drop for Scope {
    #[inline]
    fn drop(&mut self) {
        if self.before != OFF {
            leave_recorded(self.before);
        }
    }
}

#[cold]
fn leave_recorded(before: u32) {
    RECORDER.with_borrow_mut(|recorder| {
        if let Some(recorder) = recorder {
            recorder.go(before);
        }
    });
}

/// Counts a block that came into the current frame.
pub fn count_block(rows: usize, bytes: usize) {
    add_cost(|cost| {
        cost.blocks += 1;
        cost.rows += rows as u64;
        cost.bytes += bytes as u64;
    });
}

/// Counts bytes that the current frame wrote to disk because memory ran short.
pub fn count_spilled(bytes: u64) {
    add_cost(|cost| cost.spilled_bytes += bytes);
}

fn add_cost(add: impl FnOnce(&mut Cost)) {
    if !is_on() {
        return;
    }
    RECORDER.with_borrow_mut(|recorder| {
        if let Some(recorder) = recorder {
            add(&mut recorder.tree.0[recorder.current as usize].cost);
        }
    });
}

/// A span that has begun; ends when dropped.
#[must_use]
pub struct SpanScope(Option<(Instant, u64, usize, Phase)>);

/// Begins a span of a stage on this thread.
#[inline]
pub fn span(stage: usize, phase: Phase) -> SpanScope {
    SpanScope(is_on().then(|| (Instant::now(), sampler::own_cpu_ns(), stage, phase)))
}

/// Begins a span of the innermost stage that this thread is inside of.
pub fn span_of_current(phase: Phase) -> SpanScope {
    let stage = current().and_then(|(_, path)| path.iter().rfind(|f| f.kind == Kind::Stage).map(|f| f.id));
    stage.map_or(SpanScope(None), |stage| span(stage, phase))
}

impl Drop for SpanScope {
    fn drop(&mut self) {
        let Some((start, cpu, stage, phase)) = self.0.take() else { return };
        let (end, cpu_ns) = (Instant::now(), sampler::own_cpu_ns().saturating_sub(cpu));
        RECORDER.with_borrow(|recorder| {
            let Some(recorder) = recorder else { return };
            let since = recorder.profile.started;
            let at = |instant: Instant| nanoseconds(instant.saturating_duration_since(since));
            let thread = recorder.slot.number;
            let span = Span { thread, stage, phase, start_ns: at(start), end_ns: at(end), cpu_ns };
            let mut spans = lock(&recorder.profile.spans);
            if spans.len() < MOST_SPANS {
                spans.push(span);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_charged_by_what_they_are_inside_of() {
        let profile = Arc::new(Profile::new());
        assert!(!is_on());
        {
            let _entered = profile.enter(&[]);
            let _stage = enter(Kind::Stage, "Sort", 1);
            for _ in 0..3 {
                let _operator = enter(Kind::Operator, "Filter", 2);
                count_block(10, 80);
                let _function = enter(Kind::Function, "equals", 0);
                drop(std::hint::black_box(vec![1u8; 1 << 20]));
            }
            let _span = span_of_current(Phase::Work);
        }
        assert!(!is_on());
        let report = profile.report();
        let found: Vec<(String, u64, u64)> = report
            .tree
            .0
            .iter()
            .map(|node| (node.frame.name.to_string(), node.cost.calls, node.cost.rows))
            .collect();
        let expected = [("Statement", 0, 0), ("Sort", 1, 0), ("Filter", 3, 30), ("equals", 3, 0)];
        assert_eq!(found, expected.map(|(name, calls, rows)| (name.to_string(), calls, rows)));
        if cfg!(target_os = "linux") {
            assert!(report.tree.0[3].cost.allocated_bytes >= 3 << 20, "{:?}", report.tree.0[3]);
        }
        assert_eq!(report.spans.len(), 1);
        assert_eq!(report.threads.len(), 1);
    }

    #[test]
    fn frames_end_with_an_unwinding_panic() {
        let profile = Arc::new(Profile::new());
        let _entered = profile.enter(&[]);
        let failed = crate::guarded::<()>(|| {
            let _operator = enter(Kind::Operator, "Filter", 2);
            panic!("on purpose")
        });
        assert!(failed.is_err());
        assert_eq!(current().map(|(_, path)| path), Some(Vec::new()));
    }

    /// What was sampled of a frame that ran for so long.
    fn busy(period: Duration) -> Report {
        let profile = Arc::new(Profile::new());
        {
            let _sampler = profile.sample(sampler::Periods { real_ns: 1_000_000, cpu_ns: 1_000_000 });
            let _entered = profile.enter(&[]);
            let _operator = enter(Kind::Operator, "Filter", 2);
            let began = Instant::now();
            while began.elapsed() < period {
                std::hint::spin_loop();
            }
        }
        profile.report()
    }

    #[test]
    fn samples_land_in_the_frame_that_runs() {
        // Longer and longer until the sampler has had its turn, which may take a while on a busy machine.
        let mut reports = (0..8).map(|attempt| busy(Duration::from_millis(100 << attempt)));
        let report = reports.find(|report| !report.samples.is_empty()).unwrap();
        let cost = report.tree.0[1].cost;
        assert!(cost.samples > 0, "{cost:?}");
        assert!(!report.samples.is_empty());
        if cfg!(target_os = "linux") {
            assert!(cost.cpu_ns > 0, "{cost:?}");
            assert!(cost.cpu_ns <= 2 * cost.wall_ns, "{cost:?}");
        }
    }
}
