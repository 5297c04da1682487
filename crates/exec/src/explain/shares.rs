//! EXPLAIN PROFILE: operators, and the functions below them, by their shares of time, processor and memory.

use super::document::Document;
use super::spent::Place;
use chalet_memory::profile::Cost;
use std::fmt::Write;

/// A line: the operator of a stage or a function in it.
struct Line {
    path: Vec<String>,
    /// With all that is further inside.
    cost: Cost,
}

/// Lines below this share of everything are left out.
const LEAST_SHARE: f64 = 0.001;

pub(super) fn text(document: &Document) -> String {
    let Some((report, spent)) = &document.measured else { return String::new() };
    let mut lines: Vec<Line> = Vec::new();
    for (place, cost) in spent.places.iter().filter(|(place, _)| !place.waits) {
        let path = path(document, place);
        for depth in 1..=path.len() {
            match lines.iter_mut().find(|line| line.path == path[..depth]) {
                Some(line) => line.cost.add(cost),
                None => lines.push(Line { path: path[..depth].to_vec(), cost: *cost }),
            }
        }
    }
    let (wall, cpu, memory) = (spent.wall_ns.max(1), spent.cpu_ns.max(1), spent.allocated_bytes.max(1));
    let share = |cost: &Cost| {
        let of = |part: u64, whole: u64| part as f64 / whole as f64;
        [of(cost.wall_ns, wall), of(cost.cpu_ns, cpu), of(cost.allocated_bytes, memory)]
    };
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "Total: {:.3} ms, {:.3} ms in {} threads, {:.3} ms of them on a processor, {} samples, {} bytes allocated",
        milliseconds(report.elapsed_ns),
        milliseconds(spent.wall_ns),
        report.threads.len(),
        milliseconds(report.threads.iter().map(|thread| thread.cpu_ns).sum()),
        report.tree.0.iter().map(|node| node.cost.samples).sum::<u64>(),
        spent.allocated_bytes,
    );
    let _ = writeln!(out, "    time  processor  allocated  what");
    write_below(&[], &lines, &share, &mut out);
    out
}

fn path(document: &Document, place: &Place) -> Vec<String> {
    let Some(stage) = place.stage else { return vec!["planning and output".to_string()] };
    let number =
        document.number(stage.id).map_or("sub-query".to_string(), |number| format!("stage {number}"));
    let operator = place.operator.map_or("between operators".to_string(), |operator| {
        document.operator_name(place, operator.id, operator.name)
    });
    let mut path = vec![format!("{operator} ({number})")];
    path.extend(place.functions.iter().map(|name| (*name).to_string()));
    path
}

/// The lines below a path, those with the most time first.
fn write_below(above: &[String], lines: &[Line], share: &dyn Fn(&Cost) -> [f64; 3], out: &mut String) {
    let is_below = |line: &&Line| line.path.len() == above.len() + 1 && line.path.starts_with(above);
    let mut below: Vec<&Line> = lines.iter().filter(is_below).collect();
    below.sort_by(|a, b| b.cost.wall_ns.cmp(&a.cost.wall_ns).then_with(|| a.path.cmp(&b.path)));
    for line in below {
        let shares = share(&line.cost);
        if shares.iter().all(|&share| share < LEAST_SHARE) {
            continue;
        }
        let [wall, cpu, memory] = shares.map(|share| share * 100.0);
        let indent = above.len() * 2;
        let name = line.path.last().map_or("", String::as_str);
        let _ = writeln!(out, "{wall:6.1} %   {cpu:6.1} %   {memory:6.1} %  {:indent$}{name}", "");
        write_below(&line.path, lines, share, out);
    }
}

fn milliseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}
