//! A pipeline as JSON: stages, the last to run first, with operators in the order in which blocks go through them, and what
//! each of them spent where that was measured.

use super::json::Json;
use super::spent::{OperatorCost, Place, Spent};
use crate::ExecContext;
use crate::pipeline::{Operator, READ, Source, Stage, Stream, address};
use chalet_memory::profile::Cost;
use chalet_memory::profile::report::Report;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

/// A pipeline with what it spent, where it has run.
pub struct Document<'a> {
    pub ctx: &'a ExecContext,
    pub measured: Option<(&'a Report, Spent)>,
    /// The last to run first; a stage is known by its place here.
    pub stages: Vec<&'a Stage>,
}

/// All stages of a pipeline, each once.
fn stages(last: &Stage) -> Vec<&Stage> {
    fn of_stream<'a>(stream: &'a Stream, found: &mut Vec<&'a Stage>) {
        stream.dependencies.iter().for_each(|stage| of_stage(stage, found));
        match &stream.source {
            Source::Table(..) => {}
            Source::Stage(stage) => of_stage(stage, found),
            Source::Shared { rows, .. } => of_stage(&rows.stage, found),
            Source::Union(streams) => streams.iter().for_each(|stream| of_stream(stream, found)),
        }
    }
    fn of_stage<'a>(stage: &'a Stage, found: &mut Vec<&'a Stage>) {
        if found.iter().all(|known| known.id() != stage.id()) {
            found.push(stage);
            of_stream(&stage.stream, found);
        }
    }
    let mut found = Vec::new();
    of_stage(last, &mut found);
    found
}

impl<'a> Document<'a> {
    pub fn new(last: &'a Stage, report: Option<&'a Report>, ctx: &'a ExecContext) -> Document<'a> {
        Document { ctx, measured: report.map(|report| (report, Spent::of(report))), stages: stages(last) }
    }

    /// The number of the stage with an id; none for those of sub-queries, which run while the plan is made.
    pub fn number(&self, id: usize) -> Option<usize> {
        self.stages.iter().position(|stage| stage.id() == id)
    }

    pub fn json(&self) -> Json {
        let mut members = vec![
            ("version", Json::Number(1)),
            ("stages", Json::array(self.stages.iter().map(|s| self.stage(s)))),
        ];
        if let Some((report, spent)) = &self.measured {
            let control = &self.ctx.control;
            members.extend([
                ("elapsed_ns", Json::Number(report.elapsed_ns)),
                ("wall_ns", Json::Number(spent.wall_ns)),
                ("cpu_ns", Json::Number(report.threads.iter().map(|thread| thread.cpu_ns).sum())),
                ("sampled_cpu_ns", Json::Number(spent.cpu_ns)),
                ("sample_period_ns", Json::Number(report.period_ns)),
                ("read_rows", Json::Number(control.read_rows.load(Relaxed))),
                ("read_bytes", Json::Number(control.read_bytes.load(Relaxed))),
                ("peak_memory", Json::Number(control.memory.peak())),
                ("lanes", self.lanes(report)),
                ("stacks", Json::array(spent.places.iter().map(|(place, cost)| self.stack(place, cost)))),
            ]);
        }
        Json::Object(members)
    }

    fn stage(&self, stage: &Stage) -> Json {
        let stream = &stage.stream;
        let mut members = vec![
            ("id", numbered(self.number(stage.id()))),
            ("sink", self.operator(stage, stage.sink.name(), address(&stage.sink), stage.id(), None)),
            ("operators", self.operators(stage, &stream.operators, Some(address(&stage.sink)))),
            ("source", self.source(stage, stream)),
            ("after", self.after(stream)),
        ];
        if self.measured.is_some() {
            let m = &stage.metrics;
            let workers = m.workers.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let facts = m.source.get().into_iter().flatten();
            members.extend([
                ("rows", Json::Number(m.rows.load(Relaxed))),
                ("blocks", Json::Number(m.blocks.load(Relaxed))),
                ("time_ns", Json::Number(m.nanoseconds.load(Relaxed))),
                ("finish_ns", Json::Number(m.finishing.load(Relaxed))),
                ("workers_ns", Json::array(workers.into_iter().map(Json::Number))),
                (
                    "facts",
                    Json::array(facts.map(|(name, value)| {
                        Json::array([Json::text(name.as_str()), Json::text(value.as_str())])
                    })),
                ),
            ]);
        }
        Json::Object(members)
    }

    fn after(&self, stream: &Stream) -> Json {
        Json::array(stream.dependencies.iter().map(|stage| numbered(self.number(stage.id()))))
    }

    /// `sink`: the operator that the last one pushes into.
    fn operators(&self, stage: &Stage, operators: &[Arc<dyn Operator>], sink: Option<usize>) -> Json {
        Json::array(operators.iter().enumerate().map(|(at, operator)| {
            let next = operators.get(at + 1).map(address).or(sink);
            self.operator(stage, operator.name(), address(operator), address(operator), next)
        }))
    }

    /// `note`: what the plan says of its output is known by that; `next`: the operator that it pushes into.
    fn operator(&self, stage: &Stage, name: &str, id: usize, note: usize, next: Option<usize>) -> Json {
        let mut members = vec![("name", Json::text(name))];
        if let Some(note) = self.ctx.notes.as_ref().and_then(|notes| notes.of(note)) {
            members.push(("detail", Json::text(note.detail)));
            members.push(("estimated_rows", note.rows.map_or(Json::Null, |rows| Json::Float(rows.round()))));
        }
        if let Some((_, spent)) = &self.measured {
            let own = spent.operator(stage.id(), id);
            let rows_out = match next {
                Some(next) => Some(spent.operator(stage.id(), next).cost.rows),
                // Of a sink: what the stage read that it is the source of.
                None => self.read_of(id, stage, spent),
            };
            members.push(("rows_out", rows_out.map_or(Json::Null, Json::Number)));
            push_cost(&mut members, &own);
        }
        Json::Object(members)
    }

    /// Rows that others have read of the result of a stage; `id` is that of its sink.
    fn read_of(&self, id: usize, stage: &Stage, spent: &Spent) -> Option<u64> {
        (id == address(&stage.sink)).then_some(())?;
        let reads = spent.operators.iter().filter(|((_, operator), _)| *operator == stage.id());
        reads.map(|(_, cost)| cost.cost.rows).reduce(|a, b| a + b)
    }

    fn source(&self, stage: &Stage, stream: &Stream) -> Json {
        let mut members = match &stream.source {
            Source::Table(_, name) => vec![("kind", Json::text("table")), ("name", Json::text(&**name))],
            Source::Stage(inner) => {
                vec![("kind", Json::text("stage")), ("stage", numbered(self.number(inner.id())))]
            }
            Source::Shared { rows, name, .. } => vec![
                ("kind", Json::text("shared")),
                ("name", Json::text(&**name)),
                ("stage", numbered(self.number(rows.stage.id()))),
            ],
            Source::Union(streams) => {
                let streams = streams.iter().map(|stream| {
                    Json::Object(vec![
                        ("operators", self.operators(stage, &stream.operators, None)),
                        ("source", self.source(stage, stream)),
                        ("after", self.after(stream)),
                    ])
                });
                vec![("kind", Json::text("union")), ("streams", Json::array(streams))]
            }
        };
        let id = stream.source.id();
        if let Some(note) = self.ctx.notes.as_ref().and_then(|notes| notes.of(id))
            && matches!(stream.source, Source::Table(..))
        {
            members.push(("detail", Json::text(note.detail)));
            members.push(("estimated_rows", note.rows.map_or(Json::Null, |rows| Json::Float(rows.round()))));
        }
        if let Some((_, spent)) = &self.measured {
            // What was read comes out of it.
            let own = spent.operator(stage.id(), id);
            members.push(("rows_out", Json::Number(own.cost.rows)));
            push_cost(&mut members, &own);
        }
        Json::Object(members)
    }

    /// What each thread did, and when.
    fn lanes(&self, report: &Report) -> Json {
        Json::array(report.threads.iter().enumerate().map(|(number, thread)| {
            let spans = report.spans.iter().filter(|span| span.thread == number).map(|span| {
                Json::Object(vec![
                    ("stage", numbered(self.number(span.stage))),
                    ("phase", Json::text(span.phase.name())),
                    ("start_ns", Json::Number(span.start_ns)),
                    ("end_ns", Json::Number(span.end_ns)),
                    ("cpu_ns", Json::Number(span.cpu_ns)),
                ])
            });
            Json::Object(vec![
                ("thread", Json::Number(thread.thread)),
                ("wall_ns", Json::Number(thread.wall_ns)),
                ("cpu_ns", Json::Number(thread.cpu_ns)),
                ("spans", Json::array(spans)),
            ])
        }))
    }

    fn stack(&self, place: &Place, cost: &Cost) -> Json {
        let stage = place.stage.map_or(Json::Null, |stage| match self.number(stage.id) {
            Some(number) => Json::text(format!("stage {number}: {}", stage.name)),
            None => Json::text(format!("sub-query: {}", stage.name)),
        });
        let mut members = vec![
            ("stage", stage),
            (
                "operator",
                place.operator.map_or(Json::Null, |operator| {
                    Json::text(self.operator_name(place, operator.id, operator.name))
                }),
            ),
            ("functions", Json::array(place.functions.iter().map(|name| Json::text(*name)))),
        ];
        if place.waits {
            members.push(("waits", Json::Number(1)));
        }
        push_numbers(&mut members, cost);
        Json::Object(members)
    }

    /// Reading says of what, where that has a name.
    pub fn operator_name(&self, place: &Place, id: usize, name: &str) -> String {
        fn source(stream: &Stream, id: usize) -> Option<&Source> {
            match &stream.source {
                found if found.id() == id => Some(found),
                Source::Union(streams) => streams.iter().find_map(|stream| source(stream, id)),
                _ => None,
            }
        }
        let stage = place.stage.and_then(|stage| self.stages.get(self.number(stage.id)?));
        match stage.filter(|_| name == READ).and_then(|stage| source(&stage.stream, id)) {
            Some(Source::Table(_, table) | Source::Shared { name: table, .. }) => format!("{READ} {table}"),
            Some(Source::Stage(inner)) => match self.number(inner.id()) {
                Some(number) => format!("{READ} stage {number}"),
                None => name.to_string(),
            },
            _ => name.to_string(),
        }
    }
}

fn numbered(number: Option<usize>) -> Json {
    number.map_or(Json::Null, |number| Json::Number(number as u64))
}

fn push_cost(members: &mut Vec<(&'static str, Json)>, own: &OperatorCost) {
    push_numbers(members, &own.cost);
    members.push(("waiting_ns", Json::Number(own.waiting_ns)));
    let functions = own.functions.iter().map(|(name, cost)| {
        let mut members = vec![("name", Json::text(*name))];
        push_numbers(&mut members, cost);
        Json::Object(members)
    });
    members.push(("functions", Json::array(functions)));
}

fn push_numbers(members: &mut Vec<(&'static str, Json)>, cost: &Cost) {
    members.extend([
        ("calls", Json::Number(cost.calls)),
        ("wall_ns", Json::Number(cost.wall_ns)),
        ("cpu_ns", Json::Number(cost.cpu_ns)),
        ("samples", Json::Number(cost.samples)),
        ("blocks", Json::Number(cost.blocks)),
        ("rows", Json::Number(cost.rows)),
        ("bytes", Json::Number(cost.bytes)),
        ("allocated_bytes", Json::Number(cost.allocated_bytes)),
        ("freed_bytes", Json::Number(cost.freed_bytes)),
        ("spilled_bytes", Json::Number(cost.spilled_bytes)),
    ]);
}
