//! What is logged of statements that are profiled: their threads, operators and samples.

use super::{Head, LOGS};
use crate::explain::periods;
use crate::settings::Settings;
use chalet_base::Result;
use chalet_exec::QueryControl;
use chalet_exec::explain::{Place, READ, Spent};
use chalet_memory::profile::report::{Report, Totals};
use chalet_memory::profile::sampler::{Sampler, TraceKind};
use chalet_memory::profile::{Cost, Entered, Kind, Profile};
use std::sync::Arc;

/// A statement is profiled.
pub(super) struct Profiling {
    // Dropped before the sampler, which must see the thread end.
    entered: Entered,
    sampler: Option<Sampler>,
    profile: Arc<Profile>,
}

/// A row of `system.query_thread_log`.
pub(crate) struct ThreadTime {
    pub head: Arc<Head>,
    pub totals: Totals,
    pub peak_memory: u64,
}

/// A row of `system.processors_profile_log`.
pub(crate) struct Processor {
    pub head: Arc<Head>,
    /// Of the operator, as long as the statement ran.
    pub id: u64,
    pub stage: &'static str,
    pub stage_id: u64,
    pub name: &'static str,
    pub cost: Cost,
    pub waiting_ns: u64,
    /// Operators that it passes rows on to, and how many.
    pub parents: Vec<u64>,
    pub rows_out: u64,
    pub bytes_out: u64,
}

/// A row of `system.trace_log`.
pub(crate) struct Trace {
    pub head: Arc<Head>,
    pub kind: TraceKind,
    /// Since the statement began.
    pub at_ns: u64,
    pub thread: u64,
    pub weight_ns: u64,
    /// The innermost first.
    pub symbols: Arc<[&'static str]>,
}

impl Profiling {
    /// Profiles what this thread does from now on, where the settings ask for it.
    pub fn begin(settings: &Settings) -> Result<Option<Profiling>> {
        let periods = periods(settings);
        let is_on = |name| settings.flag(name) == Some(true);
        if periods.is_none() && !is_on("log_processors_profiles") && !is_on("log_query_threads") {
            return Ok(None);
        }
        let profile = Arc::new(Profile::new());
        let sampler = periods.map(|periods| profile.sample(periods)).transpose()?;
        Ok(Some(Profiling { entered: profile.enter(&[]), sampler, profile }))
    }

    /// Logs what was found.
    pub fn end(self, head: &Head, settings: &Settings, control: &QueryControl) {
        let Profiling { entered, sampler, profile } = self;
        drop(entered);
        drop(sampler);
        let report = profile.report();
        let head = Arc::new(head.clone());
        let is_on = |name| settings.flag(name) == Some(true);
        if is_on("log_query_threads") {
            for totals in &report.threads {
                let (head, peak_memory) = (head.clone(), control.memory.peak());
                LOGS.threads.push(ThreadTime { head, totals: *totals, peak_memory }, 128);
            }
        }
        if is_on("log_processors_profiles") {
            log_processors(&report, &head);
        }
        log_traces(&report, &head);
    }
}

fn log_processors(report: &Report, head: &Arc<Head>) {
    let mut processors: Vec<Processor> = Vec::new();
    let mut passed: Vec<(u64, u64, u64, u64)> = Vec::new();
    let spent = Spent::of(report);
    for (at, node) in report.tree.0.iter().enumerate().filter(|(_, node)| node.frame.kind == Kind::Operator) {
        let path = report.tree.path(at as u32);
        let place = Place::of(&path);
        let (Some(stage), Some(operator)) = (place.stage, place.operator) else { continue };
        // Who pushes a block calls who takes it; what was read is pushed when reading has returned.
        let id = operator.id as u64;
        let outer = path.iter().rev().skip(1).take_while(|frame| frame.kind != Kind::Stage);
        let outer = outer.into_iter().find(|frame| frame.kind == Kind::Operator).map(|frame| frame.id as u64);
        if operator.name != READ && node.cost.rows > 0 {
            passed.push((outer.unwrap_or(stage.id as u64), id, node.cost.rows, node.cost.bytes));
        }
        if processors.iter().any(|known| known.id == id && known.stage_id == stage.id as u64) {
            continue;
        }
        let own = spent.operators.get(&(stage.id, operator.id)).cloned().unwrap_or_default();
        processors.push(Processor {
            head: head.clone(),
            id,
            stage: stage.name,
            stage_id: stage.id as u64,
            name: operator.name,
            cost: own.cost,
            waiting_ns: own.waiting_ns,
            parents: Vec::new(),
            rows_out: 0,
            bytes_out: 0,
        });
    }
    for mut processor in processors {
        let from = if processor.name == READ { processor.stage_id } else { processor.id };
        for (_, to, rows, bytes) in passed.iter().filter(|(known, ..)| *known == from) {
            processor.rows_out += rows;
            processor.bytes_out += bytes;
            if !processor.parents.contains(to) {
                processor.parents.push(*to);
            }
        }
        let bytes = size_of::<Processor>() + processor.parents.len() * size_of::<u64>();
        LOGS.processors.push(processor, bytes);
    }
}

fn log_traces(report: &Report, head: &Arc<Head>) {
    let mut symbols: Vec<Option<Arc<[&'static str]>>> = vec![None; report.tree.0.len()];
    for sample in &report.samples {
        let known = &mut symbols[sample.node as usize];
        let symbols = known.get_or_insert_with(|| {
            let path = report.tree.path(sample.node);
            path.iter().rev().map(|frame| frame.name).collect()
        });
        let trace = Trace {
            head: head.clone(),
            kind: sample.kind,
            at_ns: sample.at_ns,
            thread: sample.thread,
            weight_ns: sample.weight_ns,
            symbols: symbols.clone(),
        };
        LOGS.traces.push(trace, size_of::<Trace>() + 16);
    }
}
