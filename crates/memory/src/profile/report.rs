//! What a profile has found, when all is over.

use super::sampler::{Sampled, TraceKind};
use super::{Cost, Span, Tree};

/// What one thread spent for the statement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// The operating system's number of the thread.
    pub thread: u64,
    pub wall_ns: u64,
    pub cpu_ns: u64,
}

/// One look at a thread.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub kind: TraceKind,
    /// Since the statement began.
    pub at_ns: u64,
    /// The operating system's number of the thread.
    pub thread: u64,
    /// A node of the report's tree.
    pub node: u32,
    /// Time since the last sample of the kind on this thread.
    pub weight_ns: u64,
}

/// All threads together.
#[derive(Clone, Debug)]
pub struct Report {
    pub tree: Tree,
    pub threads: Vec<Totals>,
    pub spans: Vec<Span>,
    pub samples: Vec<Sample>,
    pub elapsed_ns: u64,
    /// Between samples; 0 without any.
    pub period_ns: u64,
}

impl Report {
    pub(super) fn new(period_ns: u64) -> Report {
        let (threads, spans, samples) = (Vec::new(), Vec::new(), Vec::new());
        Report { tree: Tree::default(), threads, spans, samples, elapsed_ns: 0, period_ns }
    }

    /// Adds what a thread has recorded, and what was sampled of it.
    pub(super) fn add_thread(&mut self, tree: &Tree, totals: Totals, number: usize, sampled: &Sampled) {
        let mut places: Vec<u32> = Vec::with_capacity(tree.0.len());
        for (at, node) in tree.0.iter().enumerate() {
            let place = match places.get(node.parent as usize) {
                Some(&parent) if at > 0 => self.tree.child(parent, node.frame),
                _ => 0,
            };
            places.push(place);
            self.tree.0[place as usize].cost.add(&node.cost);
        }
        let place = |node: u32| places.get(node as usize).copied().unwrap_or(0);
        for ((_, node), weight) in sampled.weights.iter().filter(|((thread, _), _)| *thread == number) {
            let cost = Cost { cpu_ns: weight.cpu_ns, samples: weight.samples, ..Cost::default() };
            self.tree.0[place(*node) as usize].cost.add(&cost);
        }
        for sample in sampled.samples.iter().filter(|sample| sample.number == number) {
            let (kind, at_ns, weight_ns) = (sample.kind, sample.at_ns, sample.weight_ns);
            self.samples.push(Sample {
                kind,
                at_ns,
                weight_ns,
                thread: totals.thread,
                node: place(sample.node),
            });
        }
        self.threads.push(totals);
    }
}
