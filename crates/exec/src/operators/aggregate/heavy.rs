//! Heavy states of few groups: merged by all workers, where merging run after run would be one worker's.
//!
//! The states of different calls have nothing to do with each other, so that each call is a task. States that can be taken apart
//! ([`States::divide`]) are more than one: each run is divided, then the parts of one number are merged, number by number.

use super::Shape;
use super::groups::{Groups, states};
use super::runs::Gathered;
use crate::ExecContext;
use crate::tasks::collect_all;
use chalet_base::{Result, err};
use chalet_function_api::States;
use chalet_memory::Reservation;
use std::sync::{Arc, Mutex, PoisonError};

/// What a heavy state is divided into: enough that workers finish at about the same time, and that a part stays in the cache.
const PARTS: usize = 64;

/// Groups for each worker from which on the hash of their keys deals them out evenly enough, which costs less than taking them apart.
const GROUPS_PER_WORKER: usize = 2;

/// What is given to one task, which takes it away.
struct Once<T>(Mutex<Option<T>>);

impl<T> Once<T> {
    fn new(value: T) -> Once<T> {
        Once(Mutex::new(Some(value)))
    }

    fn take(&self) -> Result<T> {
        let value = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        value.ok_or_else(|| err!(LOGICAL_ERROR, "A task of a merge runs twice"))
    }
}

type BoxedStates = Box<dyn States>;

/// The states of a run: by call, and which groups of the result they are of.
struct RunStates {
    calls: Vec<CallStates>,
    groups: Arc<Vec<u32>>,
}

/// The states of one call in one run.
struct CallStates {
    states: BoxedStates,
    /// By group of the run; None where it was not divided.
    divided: Vec<Option<Vec<BoxedStates>>>,
}

/// A part of a state, from all runs that were divided, in their order.
struct Part {
    call: usize,
    group: u32,
    from: Vec<BoxedStates>,
}

/// What is left of one call: by run, its states, the groups there that were not divided, and the groups of the result.
type Rest = Vec<(BoxedStates, Vec<u32>, Vec<u32>)>;

impl Gathered {
    /// Would all workers have more to do here than where groups are dealt out by the hash of their keys?
    pub fn is_for_all(&self, n_workers: usize) -> bool {
        let (mut divisible, mut other) = (0, 0);
        let states = || self.runs.iter().flat_map(|run| &run.groups.states);
        for states in states() {
            *if states.is_divisible() { &mut divisible } else { &mut other } += states.memory();
        }
        match self.n_groups() {
            n if n <= self.runs.len() => divisible > 0 || states().count() > self.runs.len(),
            n => divisible / 4 > other && n < self.runs.len() * n_workers * GROUPS_PER_WORKER,
        }
    }

    /// The groups of all runs, merged by all workers.
    pub fn merged_by_all(mut self, shape: &Shape, ctx: &ExecContext) -> Result<(Groups, Reservation)> {
        let mut merged = Groups::new(&shape.layout, &shape.calls);
        let mut runs = Vec::with_capacity(self.runs.len());
        for run in std::mem::take(&mut self.runs) {
            let (groups, states) = merged.take_keys_of(run.groups);
            let undivided = |states| CallStates { states, divided: Vec::new() };
            let calls = states.into_iter().map(undivided).collect();
            runs.push(Once::new(RunStates { calls, groups: Arc::new(groups) }));
        }
        let runs = collect_all(runs.len(), ctx, move |run| {
            let mut run = runs[run].take()?;
            run.calls.iter_mut().for_each(|call| call.divide(run.groups.len()));
            Ok(run)
        })?;
        let (rests, parts) = tasks(runs, shape.calls.len());
        let n = merged.len();
        let places: Vec<(usize, u32)> = parts.iter().map(|part| (part.call, part.group)).collect();
        let parts: Vec<_> = parts.into_iter().map(Once::new).collect();
        let mut parts = collect_all(parts.len(), ctx, move |part| {
            let mut from = parts[part].take()?.from.into_iter();
            let mut into =
                from.next().ok_or_else(|| err!(LOGICAL_ERROR, "A part of a state is of no run"))?;
            from.try_for_each(|mut other| into.merge(&mut *other, &[0], &[0]))?;
            Ok(into)
        })?;
        let mut all = states(&shape.calls);
        all.iter_mut().for_each(|states| states.grow(n));
        for (of_state, places) in parts.chunks_mut(PARTS).zip(places.chunks(PARTS)) {
            let (call, group) = places[0];
            let mut of_state: Vec<&mut (dyn States + 'static)> =
                of_state.iter_mut().map(|part| &mut **part as _).collect();
            all[call].unite(group as usize, &mut of_state)?;
        }
        drop(parts);
        let calls: Vec<_> = all.into_iter().zip(rests).map(Once::new).collect();
        merged.states = collect_all(calls.len(), ctx, move |call| {
            let (mut into, rest) = calls[call].take()?;
            for (mut states, from, groups) in rest {
                into.merge(&mut *states, &from, &groups)?;
            }
            Ok(into)
        })?;
        let memory = self.reserved(merged.memory(), &ctx.control)?;
        Ok((merged, memory))
    }
}

impl CallStates {
    fn divide(&mut self, n_groups: usize) {
        if self.states.is_divisible() {
            self.divided = (0..n_groups).map(|group| self.states.divide(group, PARTS)).collect();
        }
    }
}

/// What was not divided, by call, and the parts of what was, [`PARTS`] for each state.
fn tasks(runs: Vec<RunStates>, n_calls: usize) -> (Vec<Rest>, Vec<Part>) {
    let mut rests: Vec<Rest> = (0..n_calls).map(|_| Vec::new()).collect();
    let mut parts: Vec<Part> = Vec::new();
    // Where the parts of a call's group begin.
    let mut starts: std::collections::HashMap<(usize, u32), usize> = std::collections::HashMap::new();
    for run in runs {
        for (call, CallStates { states, divided }) in run.calls.into_iter().enumerate() {
            let mut divided = divided.into_iter();
            let (mut from, mut into) = (Vec::new(), Vec::new());
            for (number, &group) in (0..).zip(run.groups.iter()) {
                let Some(of_state) = divided.next().flatten() else {
                    from.push(number);
                    into.push(group);
                    continue;
                };
                let start = *starts.entry((call, group)).or_insert_with(|| {
                    let start = parts.len();
                    parts.extend((0..PARTS).map(|_| Part { call, group, from: Vec::new() }));
                    start
                });
                parts[start..].iter_mut().zip(of_state).for_each(|(part, state)| part.from.push(state));
            }
            rests[call].push((states, from, into));
        }
    }
    (rests, parts)
}
