//! Columns that nobody reads are not made: tables are asked for fewer, projections compute fewer.

use crate::rewriter::Rewriter;
use chalet_base::Result;
use chalet_base::hash::HashSet;
use chalet_plan::{ColumnId, Expr, Field, Join, Plan, Project, RowRule};

type Needed = HashSet<ColumnId>;

pub(crate) fn apply(plan: Plan, _: &Rewriter) -> Result<Plan> {
    let fields = plan.fields();
    let needed = fields.iter().map(|f| f.id).collect();
    let pruned = prune(plan, &needed);
    Ok(restore(pruned, fields))
}

fn add(exprs: &[&Expr], needed: &mut Needed) {
    exprs.iter().for_each(|e| e.collect_columns(needed));
}

/// Drops what is not needed above. The node may put out more than is needed, never less.
fn prune(plan: Plan, needed: &Needed) -> Plan {
    match plan {
        Plan::Scan(mut node) => {
            let mut wanted = needed.clone();
            if let Some(filter) = &node.filter {
                filter.collect_columns(&mut wanted);
            }
            node.columns.retain(|(_, f)| wanted.contains(&f.id));
            let ids = node.columns.iter().map(|(_, f)| f.id);
            node.only_filtered = ids.filter(|id| !needed.contains(id)).collect();
            node.row_id = node.row_id.filter(|f| wanted.contains(&f.id));
            Plan::Scan(node)
        }
        Plan::SharedScan(mut node) => {
            node.columns.retain(|(_, f)| needed.contains(&f.id));
            Plan::SharedScan(node)
        }
        // Those who share it must agree on its columns.
        Plan::CommonTable(mut node) => {
            let all = node.input.fields().iter().map(|f| f.id).collect();
            node.input = Box::new(prune(*node.input, &all));
            Plan::CommonTable(node)
        }
        Plan::Fetch(mut node) => {
            node.columns.retain(|(_, f)| needed.contains(&f.id));
            if node.columns.is_empty() {
                return prune(*node.input, needed);
            }
            let mut below = needed.clone();
            below.insert(node.row_id);
            node.input = Box::new(prune(*node.input, &below));
            Plan::Fetch(node)
        }
        Plan::Project(mut node) => {
            node.exprs.retain(|(f, _)| needed.contains(&f.id));
            let mut below = Needed::default();
            add(&node.exprs.iter().map(|e| &e.1).collect::<Vec<_>>(), &mut below);
            node.input = Box::new(prune(*node.input, &below));
            Plan::Project(node)
        }
        Plan::Aggregate(mut node) => {
            let mut kept = needed.clone();
            if let Some(having) = node.totals.as_ref().and_then(|t| t.having.as_ref()) {
                having.collect_columns(&mut kept);
            }
            node.calls.retain(|c| kept.contains(&c.field.id));
            let mut below = Needed::default();
            let keys = node.keys.iter().map(|k| &k.1);
            add(&keys.chain(node.calls.iter().flat_map(|c| &c.args)).collect::<Vec<_>>(), &mut below);
            node.input = Box::new(prune(*node.input, &below));
            Plan::Aggregate(node)
        }
        Plan::Sort(_) => prune_sorted(plan, needed),
        Plan::Window(mut node) => {
            node.calls.retain(|c| needed.contains(&c.field.id));
            prune_sorted(Plan::Window(node), needed)
        }
        Plan::MergeRows(mut node) => {
            let mut below = needed.clone();
            below.extend(node.rule.columns());
            if let RowRule::Folding { folds, .. } = &mut node.rule {
                folds.retain(|fold| fold.columns.iter().all(|(id, _)| below.contains(id)));
            }
            let below = with_own(&Plan::MergeRows(node.clone()), &below);
            prune_inputs(Plan::MergeRows(node), &below)
        }
        Plan::Union(node) => prune_union(node, needed),
        // Rows are compared as a whole: every column counts.
        Plan::SetOp(mut node) => {
            let all = |plan: &Plan| plan.fields().iter().map(|f| f.id).collect::<Needed>();
            let (left, right) = (all(&node.left), all(&node.right));
            let (left_fields, right_fields) = (node.left.fields(), node.right.fields());
            node.left = Box::new(restore(prune(*node.left, &left), left_fields));
            node.right = Box::new(restore(prune(*node.right, &right), right_fields));
            Plan::SetOp(node)
        }
        // Each row of the input becomes many: columns that only the arrays are made of must not go on with them.
        Plan::ArrayJoin(node) => {
            let plan = Plan::ArrayJoin(node);
            let below = with_own(&plan, needed);
            let mut pruned = prune_inputs(plan, &below);
            if let Plan::ArrayJoin(node) = &mut pruned {
                node.unread = unread(&node.input, needed);
            }
            let kept = pruned.fields().into_iter().filter(|f| needed.contains(&f.id)).collect();
            restore(pruned, kept)
        }
        Plan::Join(node) => prune_join(*node, needed),
        other => {
            let below = with_own(&other, needed);
            prune_inputs(other, &below)
        }
    }
}

/// What the inputs of a node must put out: what is needed above and what the node reads.
fn with_own(plan: &Plan, needed: &Needed) -> Needed {
    let mut below = needed.clone();
    add(&plan.expressions(), &mut below);
    match plan {
        Plan::Distinct(node) => below.extend(&node.on),
        Plan::Fill(node) => {
            below.extend(node.columns.iter().map(|c| c.0));
            below.extend(node.interpolate.iter().map(|i| i.0));
        }
        _ => {}
    }
    below
}

fn prune_inputs(mut plan: Plan, needed: &Needed) -> Plan {
    for input in plan.inputs_mut() {
        let taken = std::mem::replace(input, crate::rewriter::placeholder());
        *input = prune(taken, needed);
    }
    plan
}

/// The inputs match by position: each is cut to the positions that are needed.
fn prune_union(mut node: chalet_plan::Union, needed: &Needed) -> Plan {
    let kept: Vec<usize> = (0..node.fields.len()).filter(|&i| needed.contains(&node.fields[i].id)).collect();
    let inputs = std::mem::take(&mut node.inputs);
    node.inputs = inputs
        .into_iter()
        .map(|input| {
            let fields = input.fields();
            let fields: Vec<Field> = kept.iter().map(|&i| fields[i].clone()).collect();
            let needed = fields.iter().map(|f| f.id).collect();
            restore(prune(input, &needed), fields)
        })
        .collect();
    node.fields = kept.iter().map(|&i| node.fields[i].clone()).collect();
    Plan::Union(node)
}

/// Sorted rows put out all columns of their input, but those that only their keys or windows read are not made behind them.
fn prune_sorted(plan: Plan, needed: &Needed) -> Plan {
    let below = with_own(&plan, needed);
    let mut pruned = prune_inputs(plan, &below);
    match &mut pruned {
        Plan::Sort(node) => node.unread = unread(&node.input, needed),
        Plan::Window(node) => node.unread = unread(&node.input, needed),
        _ => {}
    }
    pruned
}

/// The columns of a plan that are not needed.
fn unread(plan: &Plan, needed: &Needed) -> Vec<ColumnId> {
    plan.fields().into_iter().map(|field| field.id).filter(|id| !needed.contains(id)).collect()
}

/// A join renames: what is needed of its fields is asked of the sides by position.
fn prune_join(node: Join, needed: &Needed) -> Plan {
    let mut node = node;
    let mut below = Needed::default();
    add(&Plan::Join(Box::new(node.clone())).expressions(), &mut below);
    let (left, right) = (node.left.fields(), node.right.fields());
    let sources: Vec<ColumnId> = left.iter().chain(&right).map(|f| f.id).collect();
    let wanted = node.fields.iter().zip(&sources).filter(|(f, _)| needed.contains(&f.id));
    below.extend(wanted.map(|(_, source)| *source));
    let cut = |side: Plan, fields: &[Field]| {
        let kept: Vec<Field> = fields.iter().filter(|f| below.contains(&f.id)).cloned().collect();
        restore(prune(side, &below), kept)
    };
    let fields = std::mem::take(&mut node.fields);
    node.fields = fields
        .into_iter()
        .zip(&sources)
        .filter(|(_, source)| below.contains(*source))
        .map(|(f, _)| f)
        .collect();
    node.unread = node.fields.iter().map(|f| f.id).filter(|id| !needed.contains(id)).collect();
    node.left = cut(node.left, &left);
    node.right = cut(node.right, &right);
    Plan::Join(Box::new(node))
}

/// Makes the plan put out exactly these fields.
fn restore(plan: Plan, fields: Vec<Field>) -> Plan {
    if plan.fields().iter().map(|f| f.id).eq(fields.iter().map(|f| f.id)) {
        return plan;
    }
    let exprs = fields.into_iter().map(|f| (f.clone(), Expr::Column(f.id, f.ty)));
    Plan::Project(Project { input: Box::new(plan), exprs: exprs.collect() })
}
