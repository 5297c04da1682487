//! EXPLAIN PIPELINE, ANALYZE and PROFILE: stages with their source, operators and sink, and what they did.

mod document;
mod json;
mod notes;
mod shares;
mod spent;

pub use crate::pipeline::READ;
pub use notes::{Estimate, PlanNotes};
pub use spent::{Place, Spent};

use self::document::Document;
use crate::ExecContext;
use crate::operators::collect::Collect;
use crate::physical_planner::plan_physical;
use crate::pipeline::{Source, Stage, Stream};
use chalet_base::Result;
use chalet_memory::profile::report::Report;
use chalet_plan::Plan;
use std::fmt::Write;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

/// The stages of a plan.
pub struct Pipeline {
    last: Stage,
    ctx: ExecContext,
}

impl Pipeline {
    /// Plans it physically. Fails where a query with this plan would before it runs.
    pub fn of(plan: &Plan, ctx: &ExecContext) -> Result<Pipeline> {
        let (physical, rows) = plan_physical(plan, ctx.settings.exact_rows_before_limit, ctx)?;
        let last = Stage::new(physical.stream, Arc::new(Collect::new(Box::new(|_| Ok(())), false, rows)));
        Ok(Pipeline { last, ctx: ctx.clone() })
    }

    /// Runs it; nobody gets the rows.
    pub fn run(&self) -> Result<()> {
        self.last.run(&self.ctx).map(drop)
    }

    /// As text, the last stage to run first.
    pub fn text(&self) -> String {
        let mut out = String::new();
        write_stage(&self.last, 0, false, &mut out);
        out
    }

    /// As text when it has run, with rows, blocks, workers and time.
    pub fn measured_text(&self) -> String {
        let mut out = String::new();
        write_stage(&self.last, 0, true, &mut out);
        let control = &self.ctx.control;
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "Total: {:.3} ms, {} rows read, {} bytes read, peak memory {} bytes",
            control.elapsed().as_secs_f64() * 1e3,
            control.read_rows.load(Relaxed),
            control.read_bytes.load(Relaxed),
            control.memory.peak()
        );
        out
    }

    /// As JSON; with what was spent where it has run under a profile.
    pub fn json(&self, report: Option<&Report>) -> String {
        Document::new(&self.last, report, &self.ctx).json().to_string()
    }

    /// What was spent, as shares of operators and functions.
    pub fn shares(&self, report: &Report) -> String {
        shares::text(&Document::new(&self.last, Some(report), &self.ctx))
    }
}

fn milliseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}

fn write_stage(stage: &Stage, depth: usize, measured: bool, out: &mut String) {
    let indent = depth * 2;
    let _ = write!(out, "{:indent$}{}", "", stage.sink.name());
    if measured {
        let m = &stage.metrics;
        let workers = m.workers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let _ = write!(
            out,
            " (rows in: {}, rows read: {}, blocks read: {}, workers: {}, time: {:.3} ms",
            m.rows_sunk.load(Relaxed),
            m.rows.load(Relaxed),
            m.blocks.load(Relaxed),
            workers.len(),
            milliseconds(m.nanoseconds.load(Relaxed))
        );
        if workers.len() > 1 {
            let each: Vec<String> = workers.iter().map(|&w| format!("{:.3}", milliseconds(w))).collect();
            let finish = milliseconds(m.finishing.load(Relaxed));
            let _ = write!(out, ", each: {}, finish: {finish:.3}", each.join(" + "));
        }
        out.push(')');
    }
    out.push('\n');
    let source = stage.metrics.source.get().filter(|_| measured);
    write_stream(&stage.stream, depth + 1, measured, source.map_or(&[], Vec::as_slice), out);
}

/// `about`: what the source said of itself when it was read.
fn write_stream(stream: &Stream, depth: usize, measured: bool, about: &[(String, String)], out: &mut String) {
    let mut depth = depth;
    for operator in stream.operators.iter().rev() {
        let _ = writeln!(out, "{:1$}{2}", "", depth * 2, operator.name());
        depth += 1;
    }
    for stage in &stream.dependencies {
        let _ = writeln!(out, "{:1$}after:", "", depth * 2);
        write_stage(stage, depth + 1, measured, out);
    }
    match &stream.source {
        Source::Table(_, name) => {
            let _ = writeln!(out, "{:1$}Read {name}", "", depth * 2);
            for (what, value) in about {
                let _ = writeln!(out, "{:1$}{what}: {value}", "", depth * 2 + 2);
            }
        }
        Source::Stage(stage) => write_stage(stage, depth, measured, out),
        Source::Shared { rows, name, is_first, .. } => {
            let _ = writeln!(out, "{:1$}ReadShared {name}", "", depth * 2);
            if *is_first {
                write_stage(&rows.stage, depth + 1, measured, out);
            }
        }
        Source::Union(streams) => {
            let _ = writeln!(out, "{:1$}Union", "", depth * 2);
            streams.iter().for_each(|s| write_stream(s, depth + 1, measured, &[], out));
        }
    }
}
