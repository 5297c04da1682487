//! Strings of which only the length is asked: tables that keep lengths beside the bytes need not read the bytes.
//!
//! ```text
//! Aggregate compute [avg(length(url))]          the same
//!   Scan hits [url] where notEquals(url, '')  =>    Scan hits [url] where ... lengths of [url]
//! ```
//!
//! The kernel reads sub-columns there (`url.size`) and puts them into the expressions. Here the column stays what it is, and comes
//! with any bytes, so that no expression changes, and tables which keep no lengths need not know.

use crate::rewriter::Rewriter;
use chalet_base::Result;
use chalet_base::hash::HashSet;
use chalet_function_api::Comparison;
use chalet_plan::{ColumnId, Expr, Plan};
use chalet_types::DataType;

pub(crate) const NAME: &str = "only_lengths";

/// Columns of which more than the length is read.
type Whole = HashSet<ColumnId>;

pub(crate) fn apply(mut plan: Plan, _: &Rewriter) -> Result<Plan> {
    let mut whole = ids(&plan);
    mark(&mut plan, &mut whole);
    Ok(plan)
}

fn ids(plan: &Plan) -> Whole {
    plan.fields().iter().map(|field| field.id).collect()
}

/// Tells the scans below a node; `whole` is what the nodes above read.
fn mark(plan: &mut Plan, whole: &mut Whole) {
    match plan {
        Plan::Scan(node) => {
            node.filter.iter().for_each(|filter| add(filter, whole));
            let columns = node.columns.iter().map(|(_, field)| field);
            let only = columns.filter(|field| is_string(&field.ty) && !whole.contains(&field.id));
            node.only_lengths = only.map(|field| field.id).collect();
        }
        Plan::Project(node) => {
            for (field, expr) in &node.exprs {
                match expr.as_column() {
                    Some(id) if whole.contains(&field.id) => whole.extend([id]),
                    Some(_) => {}
                    None => add(expr, whole),
                }
            }
        }
        Plan::Join(node) => {
            let sources = node.left.fields().into_iter().chain(node.right.fields());
            let passed = node.fields.iter().zip(sources).filter(|(field, _)| whole.contains(&field.id));
            let passed: Vec<ColumnId> = passed.map(|(_, source)| source.id).collect();
            whole.extend(passed);
            plan.expressions().into_iter().for_each(|expr| add(expr, whole));
        }
        Plan::Filter(_)
        | Plan::Aggregate(_)
        | Plan::Sort(_)
        | Plan::Limit(_)
        | Plan::LimitBy(_)
        | Plan::ArrayJoin(_)
        | Plan::Window(_) => plan.expressions().into_iter().for_each(|expr| add(expr, whole)),
        _ => plan.inputs().into_iter().for_each(|input| whole.extend(ids(input))),
    }
    plan.inputs_mut().into_iter().for_each(|input| mark(input, whole));
}

/// Adds what an expression reads more of than the length.
fn add(expr: &Expr, whole: &mut Whole) {
    match expr {
        Expr::Call { function, args } => {
            let record = function.function.record();
            let by_length = record.only_length
                || matches!(record.comparison, Comparison::Equal | Comparison::NotEqual)
                    && args.iter().any(is_empty_string);
            let rest =
                args.iter().filter(|arg| !by_length || arg.as_column().is_none() || !is_string(arg.ty()));
            rest.for_each(|arg| add(arg, whole));
        }
        Expr::Column(..) | Expr::Lambda { .. } | Expr::Subquery(_) => expr.collect_columns(whole),
        Expr::Literal(_) | Expr::In(_) => expr.children().iter().for_each(|child| add(child, whole)),
    }
}

fn is_string(ty: &DataType) -> bool {
    match ty {
        DataType::Nullable(inner) => **inner == DataType::String,
        other => *other == DataType::String,
    }
}

fn is_empty_string(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(literal) if is_string(&literal.ty) && literal.value().as_bytes().is_some_and(<[u8]>::is_empty))
}
