//! What statistics, keys and indexes leave of the tables that a plan reads: for EXPLAIN with `indexes = 1`, and EXPLAIN ESTIMATE.

use crate::forced_keys::is_never;
use crate::projections::groups::GroupBy;
use crate::query_context::QueryContext;
use crate::stored_columns::bind_stored;
use chalet_base::Result;
use chalet_exec::expression::layout;
use chalet_exec::ranges::ranges;
use chalet_exec::skip_index;
use chalet_plan::{Expr, Plan, ScanNode};
use chalet_storage::merge_tree::part::Part;
use chalet_storage::merge_tree::{MergeTree, PartSet};
use chalet_storage::{ColumnRange, ScanRequest, Table};
use chalet_types::{DataType, Value};
use std::sync::Arc;

/// How much a step has left of parts and granules.
#[derive(Clone, Copy, Default)]
struct Left {
    parts: u64,
    granules: u64,
    rows: u64,
}

/// One way of leaving granules out.
struct Step {
    kind: &'static str,
    /// Of an index.
    name: Option<(String, String)>,
    keys: Vec<String>,
    condition: String,
    before: Left,
    after: Left,
}

/// What is read of a table.
struct Reading {
    steps: Vec<Step>,
    left: Left,
}

/// A table of parts, and those of them that are read.
fn parts_of(table: &dyn Table) -> Result<Option<(MergeTree, Vec<Arc<Part>>)>> {
    if let Some(set) = table.as_any().downcast_ref::<PartSet>() {
        return Ok(Some((set.table.clone(), set.parts.clone())));
    }
    match table.as_any().downcast_ref::<MergeTree>() {
        Some(table) => Ok(Some((table.clone(), table.parts().snapshot()?.parts.clone()))),
        None => Ok(None),
    }
}

/// `EXPLAIN ... indexes = 1`: lines below a scan.
pub(crate) fn lines(node: &ScanNode, ctx: &QueryContext) -> Result<Vec<String>> {
    let Some(reading) = Reading::of(node, &[], ctx)? else { return Ok(Vec::new()) };
    let mut lines = vec![
        format!("  Parts: {} | Granules: {}", reading.left.parts, reading.left.granules),
        "  Indexes:".to_string(),
    ];
    for step in &reading.steps {
        lines.push(format!("    {}", step.kind));
        if let Some((name, description)) = &step.name {
            lines.push(format!("      Name: {name}"));
            lines.push(format!("      Description: {description}"));
        }
        if !step.keys.is_empty() {
            lines.push("      Keys:".into());
            lines.extend(step.keys.iter().map(|key| format!("        {key}")));
        }
        if step.name.is_none() {
            lines.push(format!("      Condition: {}", step.condition));
        }
        lines.push(format!("      Parts: {}/{}", step.after.parts, step.before.parts));
        lines.push(format!("      Granules: {}/{}", step.after.granules, step.before.granules));
    }
    Ok(lines)
}

/// EXPLAIN ESTIMATE: database, table, parts, rows and granules of each table of the MergeTree family that is read. Of `written`, the
/// tables of the statement as it was written, those count with nothing that the plan no longer reads, because no row can come of it.
pub(crate) fn estimate(plan: &Plan, mut written: Vec<String>, ctx: &QueryContext) -> Result<Vec<Vec<Value>>> {
    let mut found: Vec<(String, Left)> = Vec::new();
    collect(plan, &mut Vec::new(), ctx, &mut found)?;
    let read = tables_with_rows(plan);
    written.retain(|name| !read.contains(name));
    found.extend(written.into_iter().map(|name| (name, Left::default())));
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let rows = found.into_iter().map(|(name, left)| {
        let (database, table) = name.split_once('.').unwrap_or(("", &name));
        vec![
            Value::from(database),
            Value::from(table),
            Value::UInt(left.parts),
            Value::UInt(left.rows),
            Value::UInt(left.granules),
        ]
    });
    Ok(rows.collect())
}

/// The tables of the MergeTree family in a plan that have rows, each once.
pub(crate) fn tables_with_rows(plan: &Plan) -> Vec<String> {
    fn add(plan: &Plan, found: &mut Vec<String>) {
        if let Plan::Scan(node) = plan
            && is_of_family(&*node.table)
            && node.table.total_rows() != Some(0)
        {
            let name = table_of(node);
            if !found.iter().any(|known| known == name) {
                found.push(name.to_string());
            }
        }
        if let Plan::SharedScan(scan) = plan {
            add(&scan.source.plan, found);
        }
        plan.inputs().into_iter().for_each(|input| add(input, found));
    }
    let mut found = Vec::new();
    add(plan, &mut found);
    found
}

fn is_of_family(table: &dyn Table) -> bool {
    table.as_any().is::<MergeTree>() || table.as_any().is::<PartSet>()
}

/// The name of the table that is read: a projection is one of its table.
fn table_of(node: &ScanNode) -> &str {
    node.name.split(" (").next().unwrap_or_default()
}

/// The columns of EXPLAIN ESTIMATE.
pub(crate) fn estimate_header() -> [(&'static str, DataType); 5] {
    [
        ("database", DataType::String),
        ("table", DataType::String),
        ("parts", DataType::UInt64),
        ("rows", DataType::UInt64),
        ("marks", DataType::UInt64),
    ]
}

/// `conditions`: of filters that stand above, directly.
fn collect(
    plan: &Plan,
    conditions: &mut Vec<Expr>,
    ctx: &QueryContext,
    found: &mut Vec<(String, Left)>,
) -> Result<()> {
    if let Plan::Filter(filter) = plan {
        let mut all = Vec::new();
        filter.condition.clone().conjuncts(&mut all);
        if all.iter().any(is_never) {
            let mut unread = tables_with_rows(&filter.input);
            unread.retain(|name| found.iter().all(|(known, _)| known != name));
            found.extend(unread.into_iter().map(|name| (name, Left::default())));
            return Ok(());
        }
        conditions.push(filter.condition.clone());
        return collect(&filter.input, conditions, ctx, found);
    }
    // Answered without a look at rows.
    if let Plan::Aggregate(node) = plan
        && conditions.is_empty()
        && GroupBy::of(node).is_some_and(|by| by.is_known())
    {
        return Ok(());
    }
    if let Plan::Scan(node) = plan
        && node.table.total_rows() != Some(0)
        && let Some(reading) = Reading::of(node, conditions, ctx)?
    {
        let name = table_of(node).to_string();
        match found.iter_mut().find(|(known, _)| *known == name) {
            Some((_, left)) => {
                left.parts += reading.left.parts;
                left.granules += reading.left.granules;
                left.rows += reading.left.rows;
            }
            None => found.push((name, reading.left)),
        }
    }
    if let Plan::SharedScan(scan) = plan {
        return collect(&scan.source.plan, &mut Vec::new(), ctx, found);
    }
    plan.inputs().into_iter().try_for_each(|input| collect(input, &mut Vec::new(), ctx, found))
}

impl Reading {
    fn of(node: &ScanNode, above: &[Expr], ctx: &QueryContext) -> Result<Option<Reading>> {
        let Some((table, parts)) = parts_of(&*node.table)? else { return Ok(None) };
        let definition = table.definition().clone();
        let fields = Plan::Scan(node.clone()).fields();
        let layout = layout(&fields);
        let all = node.filter.iter().chain(above).flat_map(|filter| ranges(filter, &layout)).collect();
        let name_of = |range: &ColumnRange| node.columns[range.column].1.name.to_string();
        let mut measure = Measure { table: &table, parts, granularity: definition.granularity.max(1), node };
        let mut left = measure.left(&[], &[])?;
        let mut steps = Vec::new();
        let mut used: Vec<ColumnRange> = Vec::new();
        let mut step = |kind, keys: Vec<String>, new: Vec<ColumnRange>, measure: &mut Measure<'_>| {
            used.extend(new.iter().cloned());
            let before = left;
            left = measure.left(&used, &[])?;
            let texts: Vec<String> = new.iter().map(|range| shown(range, &name_of(range))).collect();
            let condition = if texts.is_empty() { "true".into() } else { texts.join(" and ") };
            let keys = if texts.is_empty() { Vec::new() } else { keys };
            steps.push(Step { kind, name: None, keys, condition, before, after: left });
            Result::Ok(left)
        };
        let keys = &definition.keys;
        let mut rest: Vec<ColumnRange> = all;
        let mut take = |names: &[String]| -> Vec<ColumnRange> {
            let (taken, others): (Vec<_>, Vec<_>) =
                std::mem::take(&mut rest).into_iter().partition(|range| names.contains(&name_of(range)));
            rest = others;
            taken
        };
        if !keys.partition.is_empty() {
            let (stored, bound) = bind_stored([&*keys.partition], &definition.schema, ctx)?;
            let columns = bound[0].columns();
            let names: Vec<String> =
                stored.iter().filter(|f| columns.contains(&f.id)).map(|f| f.name.to_string()).collect();
            step("Min-Max", names.clone(), take(&names), &mut measure)?;
        }
        let primary: Vec<String> =
            keys.sorting[..keys.n_primary].iter().map(|key| key.expr.to_string()).collect();
        step("PrimaryKey", primary.clone(), take(&primary), &mut measure)?;
        if !rest.is_empty() {
            // Every column has statistics of its pages.
            let names: Vec<String> = rest.iter().map(name_of).collect();
            let others = std::mem::take(&mut rest);
            step("Statistics", names, others, &mut measure)?;
        }
        let conditions = skip_index::conditions(node, &ctx.exec)?;
        for at in 0..conditions.len() {
            let before = left;
            left = measure.left(&used, &conditions[..=at])?;
            let name = conditions[at].name.to_string();
            let index = definition.schema.indexes.iter().find(|index| *index.name == *name);
            let description = index.map_or(String::new(), |index| {
                format!("{} GRANULARITY {}", index.kind_name(), index.granularity)
            });
            steps.push(Step {
                kind: "Skip",
                name: Some((name, description)),
                keys: Vec::new(),
                condition: String::new(),
                before,
                after: left,
            });
        }
        Ok(Some(Reading { steps, left }))
    }
}

struct Measure<'a> {
    table: &'a MergeTree,
    parts: Vec<Arc<Part>>,
    granularity: usize,
    node: &'a ScanNode,
}

impl Measure<'_> {
    /// What conditions leave.
    fn left(
        &mut self,
        ranges: &[ColumnRange],
        skip_conditions: &[chalet_storage::merge_tree::skip_index::SkipCondition],
    ) -> Result<Left> {
        let request = ScanRequest {
            columns: self.node.columns.iter().map(|c| c.0).collect(),
            ranges: ranges.to_vec(),
            skip_conditions: skip_conditions.to_vec(),
            ..ScanRequest::default()
        };
        let mut left = Left::default();
        let selected = self.table.selected_rows(self.parts.clone(), &request)?;
        for (rows, part) in selected.into_iter().zip(&self.parts) {
            left.parts += u64::from(rows > 0);
            left.rows += rows;
            let granularity = self.granularity as u64;
            let has_tail = rows % granularity == part.info.rows % granularity;
            left.granules +=
                if has_tail { self.table.definition().granules(rows) } else { rows.div_ceil(granularity) };
        }
        Ok(left)
    }
}

/// A bound as the kernel shows it: `(a in [1, 3])`.
fn shown(range: &ColumnRange, name: &str) -> String {
    let text = |value: &Value| match value {
        Value::Bytes(bytes) => format!("'{}'", String::from_utf8_lossy(bytes)),
        Value::UInt(x) => x.to_string(),
        Value::Int(x) => x.to_string(),
        Value::Float(x) => x.to_string(),
        other => format!("{other:?}"),
    };
    if !range.among.is_empty() {
        return format!("({name} in {}-element set)", range.among.len());
    }
    let low = range.low.as_ref().map_or("(-Inf".into(), |(value, included)| {
        format!("{}{}", if *included { '[' } else { '(' }, text(value))
    });
    let high = range.high.as_ref().map_or("+Inf)".into(), |(value, included)| {
        format!("{}{}", text(value), if *included { ']' } else { ')' })
    });
    format!("({name} in {low}, {high})")
}
