//! EXPLAIN PIPELINE and EXPLAIN ANALYZE: stages with their source, operators and sink, and what they did.

use crate::ExecContext;
use crate::operators::collect::Collect;
use crate::physical_planner::plan_physical;
use crate::pipeline::{Source, Stage, Stream};
use chalet_base::Result;
use chalet_plan::Plan;
use std::fmt::Write;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

/// The stages of a plan, the last to run first.
pub fn pipeline(plan: &Plan, ctx: &ExecContext) -> Result<String> {
    let stage = last_stage(plan, ctx)?;
    let mut out = String::new();
    write_stage(&stage, 0, false, &mut out);
    Ok(out)
}

/// Runs the plan, and shows the stages with rows, blocks, workers and time.
pub fn analyze(plan: &Plan, ctx: &ExecContext) -> Result<String> {
    let stage = last_stage(plan, ctx)?;
    stage.run(ctx)?;
    let mut out = String::new();
    write_stage(&stage, 0, true, &mut out);
    let elapsed = ctx.control.elapsed();
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "Total: {:.3} ms, {} rows read, {} bytes read, peak memory {} bytes",
        elapsed.as_secs_f64() * 1e3,
        ctx.control.read_rows.load(Relaxed),
        ctx.control.read_bytes.load(Relaxed),
        ctx.control.memory.peak()
    );
    Ok(out)
}

fn milliseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}

fn last_stage(plan: &Plan, ctx: &ExecContext) -> Result<Stage> {
    let (physical, rows) = plan_physical(plan, ctx)?;
    Ok(Stage::new(physical.stream, Arc::new(Collect::new(Box::new(|_| Ok(())), false, rows))))
}

fn write_stage(stage: &Stage, depth: usize, measured: bool, out: &mut String) {
    let indent = depth * 2;
    let _ = write!(out, "{:indent$}{}", "", stage.sink.name());
    if measured {
        let m = &stage.metrics;
        let workers = m.workers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let _ = write!(
            out,
            " (rows in: {}, blocks in: {}, workers: {}, time: {:.3} ms",
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
