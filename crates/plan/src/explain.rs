//! The plan as an indented tree, one node a line, with what it computes.

use crate::{Field, Plan, ScanNode, SharedPlan};
use chalet_base::Result;
use std::fmt::Write;
use std::sync::Arc;

/// Lines of `EXPLAIN PLAN`. What several nodes share stands below the first of them.
pub fn explain(plan: &Plan) -> String {
    let lines = explain_with(plan, &mut |_| Ok(Vec::new()));
    // Nothing fails that says nothing.
    lines.unwrap_or_default()
}

/// What stands below a scan.
pub type AboutScan<'a> = &'a mut dyn FnMut(&ScanNode) -> Result<Vec<String>>;

/// The same with lines below each scan.
pub fn explain_with(plan: &Plan, about: AboutScan<'_>) -> Result<String> {
    let mut writer = Writer { out: String::new(), about, written: Vec::new() };
    writer.node(plan, 0)?;
    Ok(writer.out)
}

struct Writer<'a> {
    out: String,
    about: AboutScan<'a>,
    /// Shared plans that stand in the text.
    written: Vec<Arc<SharedPlan>>,
}

impl Writer<'_> {
    fn node(&mut self, plan: &Plan, depth: usize) -> Result<()> {
        // Writing to a String cannot fail.
        let _ = writeln!(self.out, "{:1$}{2}", "", depth * 2, describe(plan));
        if let Plan::Scan(scan) = plan {
            for line in (self.about)(scan)? {
                let _ = writeln!(self.out, "{:1$}{line}", "", depth * 2);
            }
        }
        plan.inputs().into_iter().try_for_each(|input| self.node(input, depth + 1))?;
        if let Plan::SharedScan(scan) = plan
            && !self.written.iter().any(|written| Arc::ptr_eq(written, &scan.source))
        {
            self.written.push(scan.source.clone());
            self.node(&scan.source.plan, depth + 1)?;
        }
        Ok(())
    }
}

fn list<T>(items: &[T], show: impl Fn(&T) -> String) -> String {
    items.iter().map(show).collect::<Vec<_>>().join(", ")
}

fn named(field: &Field) -> String {
    format!("{}#{}", field.name, field.id.0)
}

/// One line: the node and its parameters.
pub fn describe(plan: &Plan) -> String {
    let name = plan.name();
    let detail = match plan {
        Plan::Scan(n) => {
            let mut text = format!("{} [{}]", n.name, list(&n.columns, |c| named(&c.1)));
            if let Some(filter) = &n.filter {
                let _ = write!(text, " where {filter}");
            }
            if !n.only_lengths.is_empty() {
                let columns = n.columns.iter().map(|(_, field)| field);
                let names: Vec<String> =
                    columns.filter(|f| n.only_lengths.contains(&f.id)).map(named).collect();
                let _ = write!(text, " lengths of [{}]", names.join(", "));
            }
            if let Some(limit) = n.limit {
                let _ = write!(text, " limit {limit}");
            }
            if let Some(row_id) = &n.row_id {
                let _ = write!(text, " located by #{}", row_id.id.0);
            }
            text
        }
        Plan::CommonTable(n) => n.name.to_string(),
        Plan::SharedScan(n) => format!("{} [{}]", n.name, list(&n.columns, |c| named(&c.1))),
        Plan::Values(n) => format!("{} rows [{}]", n.block.n_rows(), list(&n.fields, named)),
        Plan::Filter(n) => n.condition.to_string(),
        Plan::Project(n) => list(&n.exprs, |(field, expr)| format!("{} := {expr}", named(field))),
        Plan::Aggregate(n) => {
            let keys = list(&n.keys, |(field, expr)| format!("{} := {expr}", named(field)));
            let calls = list(&n.calls, |c| format!("{} := {}", named(&c.field), c.name));
            let limit = n.limit.map_or(String::new(), |limit| format!(" limit {limit}"));
            let totals = if n.totals.is_some() { " with totals" } else { "" };
            let partial = if n.is_partial { "partially " } else { "" };
            format!("{partial}by [{keys}] compute [{calls}]{limit}{totals}")
        }
        Plan::Sort(n) => {
            let keys =
                list(&n.keys, |k| format!("{}{}", k.expr, if k.order.descending { " desc" } else { "" }));
            let limit = n.limit.map_or(String::new(), |limit| format!(" limit {limit}"));
            let offset = if n.offset > 0 { format!(" offset {}", n.offset) } else { String::new() };
            format!("by [{keys}]{limit}{offset}")
        }
        Plan::Fill(n) => list(&n.columns, |c| format!("#{}", c.0.0)),
        Plan::Limit(n) => {
            let limit = n.parts.limit.map(|part| part.to_string()).or(n.limit.map(|limit| limit.to_string()));
            let offset = n.parts.offset.map_or(n.offset.to_string(), |part| part.to_string());
            format!("{}offset {offset}", limit.map_or(String::new(), |limit| limit + " "))
        }
        Plan::LimitBy(n) => {
            let sign = |from_end| if from_end { "-" } else { "" };
            let (limit, offset) = (sign(n.from_end.limit), sign(n.from_end.offset));
            let by = list(&n.columns, |e| e.to_string());
            format!("{limit}{} offset {offset}{} by [{by}]", n.limit, n.offset)
        }
        Plan::Distinct(n) => list(&n.on, |id| format!("#{}", id.0)),
        Plan::Union(n) => list(&n.fields, named),
        Plan::SetOp(n) => String::from(if n.distinct { "distinct" } else { "all" }),
        Plan::Join(n) => {
            let keys = list(&n.on, |k| format!("{} = {}", k.left, k.right));
            let residual = n.residual.as_ref().map_or(String::new(), |r| format!(" and {r}"));
            format!("{:?} {:?} on [{keys}]{residual}", n.strictness, n.kind)
        }
        Plan::ArrayJoin(n) => list(&n.columns, |(field, expr)| format!("{} := {expr}", named(field))),
        Plan::MergeRows(n) => {
            format!("{} by [{}]", n.rule.name(), list(&n.keys, |k| k.expr.to_string()))
        }
        Plan::Fetch(n) => format!("[{}] by #{}", list(&n.columns, |c| named(&c.1)), n.row_id.0),
        Plan::Window(n) => {
            let keys = list(&n.partition_by, |e| e.to_string());
            format!("partition by [{keys}] compute [{}]", list(&n.calls, |c| c.name.to_string()))
        }
    };
    if detail.is_empty() { name.to_string() } else { format!("{name} {detail}") }
}
